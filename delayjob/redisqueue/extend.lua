-- Lets leases of one job end later, or earlier.
--
-- KEYS 1 s  2 l
-- ARGV 1 clock offset in us  2 time from now in us, then id, token ...
-- result: per id 1 extended, 0 lost
local t = redis.call('TIME')
local untilAt = string.format('%.0f', math.ceil((t[1] * 1000000 + t[2] + tonumber(ARGV[1]) + tonumber(ARGV[2])) / 1000))
local ids = {}
for k = 1, (#ARGV - 2) / 2 do ids[k] = ARGV[2 * k + 1] end
local states = redis.call('HMGET', KEYS[1], unpack(ids))
local res, zadd = {}, {}
for k, id in ipairs(ids) do
  local token = states[k] and string.match(states[k], '^%d+')
  if token and token ~= '0' and token == ARGV[2 * k + 2] then
    zadd[#zadd + 1] = untilAt; zadd[#zadd + 1] = id
    res[k] = 1
  else
    res[k] = 0
  end
end
if #zadd > 0 then redis.call('ZADD', KEYS[2], unpack(zadd)) end
return res
