-- Notes that a generation is in use and tells which others have not been for long.
--
-- KEYS 1 the register: a zset, generation -> when it was last in use, ms
-- ARGV 1 this generation, '' for none  2 for how long another must be unused, in ms
-- result: the others
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[1] ~= '' then redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1]) end
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[2])))
