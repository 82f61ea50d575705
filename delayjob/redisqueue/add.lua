-- Stores or replaces messages of one job. If the script aborts midway (out of memory), it leaves at
-- worst a body in no set. The next add of the same version heals it.
--
-- KEYS: 1 m  2 s  3 w  4 l  5 x  6 c
-- ARGV: 1 hint channel  2 PUBLISH or SPUBLISH  then per message: id (unique), value (see value.go)
-- Result: born, then per id: 1 added, 2 replaced, 3 unchanged, 4 healed, 5 outdated
local m, s, w, l, x, c = unpack(KEYS)
local n = (#ARGV - 2) / 2
local ids = {}
for k = 1, n do ids[k] = ARGV[2 * k + 1] end

-- A shard that was emptied gets a new born.
local born = redis.call('HGET', c, 'born')
if not born then
  local t = redis.call('TIME')
  born = string.format('%.0f', t[1] * 1000000 + t[2])
  redis.call('HSET', c, 'born', born)
end

local function newer(a, b) -- versions are decimal and may exceed a double's precision
  return #a > #b or #a == #b and a > b
end

local old = redis.call('HMGET', m, unpack(ids))
local first = redis.call('ZRANGE', w, 0, 0, 'WITHSCORES')
local head = tonumber(first[2])
local res, hset, zadd, replaced, same, least = {born}, {}, {}, {}, {}, nil
local function wait(id, due)
  zadd[#zadd + 1] = due
  zadd[#zadd + 1] = id
  due = tonumber(due)
  if not least or due < least then least = due end
end
for k = 1, n do
  local id, value = ids[k], ARGV[2 * k + 2]
  local version, due = string.match(value, '^(%d+) (%-?%d+) ')
  local known = old[k] and string.match(old[k], '^%d+')
  if known == version then
    same[#same + 1] = k
    res[k + 1] = 3
  elseif known and newer(known, version) then
    res[k + 1] = 5
  else
    hset[#hset + 1] = id
    hset[#hset + 1] = value
    wait(id, due)
    if known then replaced[#replaced + 1] = id end
    res[k + 1] = known and 2 or 1
  end
end

if #same > 0 then
  local known = {}
  for i, k in ipairs(same) do known[i] = ids[k] end
  local a, b, d = redis.call('ZMSCORE', w, unpack(known)), redis.call('ZMSCORE', l, unpack(known)), redis.call('ZMSCORE', x, unpack(known))
  for i, k in ipairs(same) do
    if not (a[i] or b[i] or d[i]) then
      local st = redis.call('HGET', s, ids[k])
      if st then redis.call('HSET', s, ids[k], '0' .. string.match(st, ' .*')) end
      wait(ids[k], string.match(old[k], '^%d+ (%-?%d+) '))
      res[k + 1] = 4
    end
  end
end

if #zadd > 0 then
  if #hset > 0 then redis.call('HSET', m, unpack(hset)) end
  redis.call('ZADD', w, unpack(zadd))
  if #replaced > 0 then
    redis.call('ZREM', l, unpack(replaced))
    redis.call('ZREM', x, unpack(replaced))
    redis.call('HDEL', s, unpack(replaced))
  end
  if not head or least < head then redis.call(ARGV[2], ARGV[1], string.format('%.0f', least)) end
end
return res
