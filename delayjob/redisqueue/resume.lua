-- Resumes claims of a paused job and publishes a hint.
--
-- KEYS: 1 c
-- ARGV: 1 clock offset in us  2 hint channel  3 PUBLISH or SPUBLISH  4 job
-- Result: 1 it was paused, 0 it was not
if redis.call('HDEL', KEYS[1], 'p:' .. ARGV[4]) == 0 then return 0 end
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
redis.call(ARGV[3], ARGV[2], string.format('%.0f', now))
return 1
