-- Deletes messages of one job in any state, even an inconsistent one.
--
-- KEYS: 1 m  2 s  3 w  4 l  5 x
-- ARGV: 1 clock offset in us  then ids
-- Result: per id its previous state: 0 absent, 1 delayed, 2 ready, 3 reserved, 4 dead
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
local m, s, w, l, x = unpack(KEYS)
local ids = {}
for k = 2, #ARGV do ids[k - 1] = ARGV[k] end
local a, b, d = redis.call('ZMSCORE', w, unpack(ids)), redis.call('ZMSCORE', l, unpack(ids)), redis.call('ZMSCORE', x, unpack(ids))
local res, seen = {}, {}
for k, id in ipairs(ids) do
  if seen[id] then res[k] = 0
  elseif b[k] then res[k] = 3
  elseif d[k] then res[k] = 4
  elseif a[k] then res[k] = tonumber(a[k]) > now and 1 or 2
  else res[k] = 0 end
  seen[id] = true
end
redis.call('ZREM', w, unpack(ids))
redis.call('ZREM', l, unpack(ids))
redis.call('ZREM', x, unpack(ids))
redis.call('HDEL', m, unpack(ids))
redis.call('HDEL', s, unpack(ids))
return res
