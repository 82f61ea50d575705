-- Returns what a claim would find in some shards. It leases nothing.
--
-- KEYS: per shard: c, then per job: w, l
-- ARGV: job names
-- Result: now in us, then per shard: 1 if completely loaded else 0, next due time in ms or ''
local t = redis.call('TIME')
local fields = {'epoch'}
for i, job in ipairs(ARGV) do fields[i + 1] = 'p:' .. job end
local per = 1 + 2 * #ARGV
local res = {string.format('%.0f', t[1] * 1000000 + t[2])}
for k = 1, #KEYS, per do
  local control = redis.call('HMGET', KEYS[k], unpack(fields))
  local nextAt = nil
  for i = 1, #ARGV do
    if not control[i + 1] then
      for z = k + 2 * i - 1, k + 2 * i do
        local first = tonumber(redis.call('ZRANGE', KEYS[z], 0, 0, 'WITHSCORES')[2])
        if first and (not nextAt or first < nextAt) then nextAt = first end
      end
    end
  end
  res[#res + 1] = control[1] and 1 or 0
  res[#res + 1] = nextAt and string.format('%.0f', nextAt) or ''
end
return res
