-- Lets a paused job be claimed again and tells those who wait.
--
-- KEYS 1 c
-- ARGV 1 clock offset in us  2 channel for hints  3 PUBLISH or SPUBLISH  4 job
-- result: 1 it was paused, 0 it was not
if redis.call('HDEL', KEYS[1], 'p:' .. ARGV[4]) == 0 then return 0 end
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
redis.call(ARGV[3], ARGV[2], string.format('%.0f', now))
return 1
