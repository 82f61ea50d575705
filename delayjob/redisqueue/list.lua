-- Pages through one set of a job by score, then id.
--
-- KEYS: 1 m  2 s  3 w, l or x
-- ARGV: 1 clock offset in us  2 'ready' (until now), 'delayed' (after now) or ''  3 page size
--       4 score and 5 id of the last entry of the previous page, '' for the first page
-- Result: per message: id, score, value, "<token> <attempts> <crashes>"
local t = redis.call('TIME')
local now = math.floor((t[1] * 1000000 + t[2] + tonumber(ARGV[1])) / 1000)
local m, s, z = unpack(KEYS)
local which, n = ARGV[2], tonumber(ARGV[3])

-- a < b would follow the server's locale.
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local p, q = string.byte(a, i), string.byte(b, i)
    if p ~= q then return p < q end
  end
  return #a < #b
end

-- Binary search for the first rank. A range by score would not do: a hundred thousand messages may
-- be due at the same time.
local low, high = 0, 0
if ARGV[4] ~= '' then
  local score, id = tonumber(ARGV[4]), ARGV[5]
  high = redis.call('ZCARD', z)
  while low < high do
    local mid = math.floor((low + high) / 2)
    local at = redis.call('ZRANGE', z, mid, mid, 'WITHSCORES')
    local sc = tonumber(at[2])
    if sc < score or sc == score and not less(id, at[1]) then low = mid + 1 else high = mid end
  end
end
if which == 'delayed' then low = math.max(low, redis.call('ZCOUNT', z, '-inf', string.format('%.0f', now))) end

local page = redis.call('ZRANGE', z, low, low + n - 1, 'WITHSCORES')
local ids, scores = {}, {}
for i = 1, #page, 2 do
  if which == 'ready' and tonumber(page[i + 1]) > now then break end
  ids[#ids + 1] = page[i]
  scores[#scores + 1] = page[i + 1]
end
if #ids == 0 then return {} end
local values, states = redis.call('HMGET', m, unpack(ids)), redis.call('HMGET', s, unpack(ids))
local res = {}
for k, id in ipairs(ids) do
  res[4 * k - 3], res[4 * k - 2], res[4 * k - 1], res[4 * k] = id, scores[k], values[k], states[k]
end
return res
