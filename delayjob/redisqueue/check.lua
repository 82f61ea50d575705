-- Verifies the invariants for some ids of one job. Each run is atomic, so concurrent changes raise
-- no false alarms.
--
-- KEYS: 1 m  2 s  3 w  4 l  5 x  6 c
-- ARGV: ids
-- Result: per violation: id, description
local m, s, w, l, x, c = unpack(KEYS)
local last = redis.call('HGET', c, 'seq') or '0'

local function later(a, b) -- decimals may exceed a double's precision
  return #a > #b or #a == #b and a > b
end

-- Returns what is wrong with the time of a waiting message, or nil.
local function time(value, state, score)
  local due = string.match(value, '^%d+ (%-?%d+) ')
  local at = string.format('%.0f', score)
  if not due then return 'has a body without a due time' end
  if tonumber(at) < tonumber(due) then return 'waits until ' .. at .. ', before it is due at ' .. due end
  if not state and at ~= due then return 'waits until ' .. at .. ', though it is due at ' .. due .. ' and was never returned' end
end

local bodies, states = redis.call('HMGET', m, unpack(ARGV)), redis.call('HMGET', s, unpack(ARGV))
local a, b, d = redis.call('ZMSCORE', w, unpack(ARGV)), redis.call('ZMSCORE', l, unpack(ARGV)), redis.call('ZMSCORE', x, unpack(ARGV))
local res = {}
for k, id in ipairs(ARGV) do
  local sets = {}
  if a[k] then sets[#sets + 1] = 'waiting' end
  if b[k] then sets[#sets + 1] = 'leased' end
  if d[k] then sets[#sets + 1] = 'dead' end
  local token = states[k] and string.match(states[k], '^(%d+) %d+') or '0'
  local wrong = nil
  if #sets > 1 then wrong = 'is ' .. table.concat(sets, ' and ')
  elseif bodies[k] and #sets == 0 then wrong = 'has a body but is in no set'
  elseif not bodies[k] and #sets == 1 then wrong = 'is ' .. sets[1] .. ' but has no body'
  elseif not bodies[k] and states[k] then wrong = 'has a state but no body'
  elseif (token ~= '0') ~= (b[k] and true or false) then
    wrong = 'has the token ' .. token .. ' while it is ' .. (sets[1] or 'nowhere')
  end
  if not wrong and token ~= '0' and later(token, last) then
    wrong = 'has the token ' .. token .. ', later than the last one of its shard, ' .. last
  end
  if not wrong and a[k] then wrong = time(bodies[k], states[k], tonumber(a[k])) end
  if wrong then
    res[#res + 1] = id
    res[#res + 1] = wrong
  end
end
return res
