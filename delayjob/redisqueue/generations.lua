-- Records that a generation is in use and returns the unused ones.
--
-- KEYS: 1 zset of generations, scored by last use in ms
-- ARGV: 1 this generation, '' for none  2 how long others must be unused, in ms
-- Result: names of the unused generations
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[1] ~= '' then redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1]) end
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[2])))
