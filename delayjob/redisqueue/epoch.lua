-- Marks a shard as completely loaded, unless it lost messages that the loading process stored.
--
-- KEYS: 1 c
-- ARGV: 1 id of the load  2 born as the process knows it, '' if it has stored nothing here
-- Result: 1 marked, 0 the content has changed
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], 'born') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 1
