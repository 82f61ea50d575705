-- Counts the messages of a job in one shard.
--
-- KEYS: 1 c  2 w  3 l  4 x
-- ARGV: 1 clock offset in us  2 job
-- Result: waiting, ready (included in waiting), leased, dead, score of the first waiting or '',
--       1 if paused else 0
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
return {
  redis.call('ZCARD', KEYS[2]),
  redis.call('ZCOUNT', KEYS[2], '-inf', string.format('%.0f', now)),
  redis.call('ZCARD', KEYS[3]),
  redis.call('ZCARD', KEYS[4]),
  redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or '',
  redis.call('HEXISTS', KEYS[1], 'p:' .. ARGV[2]),
}
