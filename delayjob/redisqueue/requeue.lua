-- Makes dead messages of one job due now and resets their attempts.
--
-- KEYS: 1 s  2 w  3 l  4 x
-- ARGV: 1 clock offset in us  2 hint channel  3 PUBLISH or SPUBLISH  then ids
-- Result: per id its previous state: 0 absent, 1 delayed, 2 ready, 3 reserved, 4 dead
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
local s, w, l, x = unpack(KEYS)
local ids = {}
for k = 4, #ARGV do ids[k - 3] = ARGV[k] end
local head = tonumber(redis.call('ZRANGE', w, 0, 0, 'WITHSCORES')[2])
local a, b, d = redis.call('ZMSCORE', w, unpack(ids)), redis.call('ZMSCORE', l, unpack(ids)), redis.call('ZMSCORE', x, unpack(ids))
local res, zadd, dead, fresh, seen = {}, {}, {}, {}, {}
for k, id in ipairs(ids) do
  if b[k] then res[k] = 3
  elseif a[k] then res[k] = tonumber(a[k]) > now and 1 or 2
  elseif not d[k] then res[k] = 0
  elseif seen[id] then res[k] = 2
  else
    dead[#dead + 1] = id
    zadd[#zadd + 1] = string.format('%.0f', now); zadd[#zadd + 1] = id
    fresh[#fresh + 1] = id; fresh[#fresh + 1] = '0 0'
    seen[id] = true
    res[k] = 4
  end
end
if #dead > 0 then
  redis.call('ZADD', w, unpack(zadd))
  redis.call('ZREM', x, unpack(dead))
  redis.call('HSET', s, unpack(fresh))
  if not head or now < head then redis.call(ARGV[3], ARGV[2], string.format('%.0f', now)) end
end
return res
