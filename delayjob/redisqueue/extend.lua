-- Sets a new end for leases of any jobs.
--
-- KEYS: 1 s  then per job: l
-- ARGV: 1 clock offset in us  2 time from now in us  then per lease: id, token,
--       index of its l in KEYS
-- Result: positions of the lost leases, from 1
local t = redis.call('TIME')
local untilAt = string.format('%.0f', math.ceil((t[1] * 1000000 + t[2] + tonumber(ARGV[1]) + tonumber(ARGV[2])) / 1000))
local ids = {}
for k = 1, (#ARGV - 2) / 3 do ids[k] = ARGV[3 * k] end
local states = redis.call('HMGET', KEYS[1], unpack(ids))
local lost, zadd = {}, {}
for j = 2, #KEYS do zadd[j] = {} end
for k, id in ipairs(ids) do
  local token = states[k] and string.match(states[k], '^%d+')
  if token and token ~= '0' and token == ARGV[3 * k + 1] then
    local z = zadd[tonumber(ARGV[3 * k + 2])]
    z[#z + 1] = untilAt; z[#z + 1] = id
  else
    lost[#lost + 1] = k
  end
end
redis.call('HDEL', KEYS[1], '') -- allows writes when memory is full, see claim.lua
for j = 2, #KEYS do
  if #zadd[j] > 0 then redis.call('ZADD', KEYS[j], unpack(zadd[j])) end
end
return lost
