-- Returns one message.
--
-- KEYS: 1 m  2 s  3 w  4 l  5 x
-- ARGV: 1 clock offset in us  2 id
-- Result: now in ms, value, "<token> <attempts> <crashes>", scores in w, l and x; nil if absent
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
local id = ARGV[2]
return {
  string.format('%.0f', now),
  redis.call('HGET', KEYS[1], id), redis.call('HGET', KEYS[2], id),
  redis.call('ZSCORE', KEYS[3], id), redis.call('ZSCORE', KEYS[4], id), redis.call('ZSCORE', KEYS[5], id),
}
