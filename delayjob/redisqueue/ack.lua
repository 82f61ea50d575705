-- Finishes messages of one job. An ended lease counts until another consumer claims the message.
--
-- KEYS: 1 m  2 s  3 l
-- ARGV: per claim: token, number of ids, ids
-- Result: positions of the lost leases, from 1
local ids, tokens, k = {}, {}, 1
while k < #ARGV do
  local token, n = ARGV[k], tonumber(ARGV[k + 1])
  for j = k + 2, k + 1 + n do
    ids[#ids + 1] = ARGV[j]
    tokens[#ids] = token
  end
  k = k + 2 + n
end
local states = redis.call('HMGET', KEYS[2], unpack(ids))
local lost, held, token = {}, {}, {}
for k, id in ipairs(ids) do
  local st = states[k]
  if st and not token[st] then token[st] = string.match(st, '^%d+') end
  if st and token[st] ~= '0' and token[st] == tokens[k] then
    held[#held + 1] = id
  else
    lost[#lost + 1] = k
  end
end
if #held > 0 then
  redis.call('ZREM', KEYS[3], unpack(held))
  redis.call('HDEL', KEYS[1], unpack(held))
  redis.call('HDEL', KEYS[2], unpack(held))
end
return lost
