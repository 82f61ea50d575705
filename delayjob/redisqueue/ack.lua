-- Finishes messages of one job. A lease that has ended counts as long as nobody took it over.
--
-- KEYS 1 m  2 s  3 l
-- ARGV id, token ...
-- result: per id 1 finished, 0 lost
local ids = {}
for k = 1, #ARGV / 2 do ids[k] = ARGV[2 * k - 1] end
local states = redis.call('HMGET', KEYS[2], unpack(ids))
local res, held = {}, {}
for k, id in ipairs(ids) do
  local token = states[k] and string.match(states[k], '^%d+')
  if token and token ~= '0' and token == ARGV[2 * k] then
    held[#held + 1] = id
    res[k] = 1
  else
    res[k] = 0
  end
end
if #held > 0 then
  redis.call('ZREM', KEYS[3], unpack(held))
  redis.call('HDEL', KEYS[1], unpack(held))
  redis.call('HDEL', KEYS[2], unpack(held))
end
return res
