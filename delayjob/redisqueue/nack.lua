-- Returns messages of one job to the queue.
--
-- KEYS: 1 s  2 w  3 l  4 x
-- ARGV: 1 clock offset in us  2 hint channel  3 PUBLISH or SPUBLISH  then per message: id, token,
--       delay in us, how (0 retry, 1 release without charging the attempt, 2 bury)
-- Result: positions of the lost leases, from 1
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2] + tonumber(ARGV[1])
local nowMs = math.floor(now / 1000)
local s, w, l, x = unpack(KEYS)
local n = (#ARGV - 3) / 4
local ids = {}
for k = 1, n do ids[k] = ARGV[4 * k] end
local states = redis.call('HMGET', s, unpack(ids))
local head = tonumber(redis.call('ZRANGE', w, 0, 0, 'WITHSCORES')[2])
local lost, held, done, wait, dead, keep, least = {}, {}, {}, {}, {}, {}, nil
for k, id in ipairs(ids) do
  local token, attempts, crashes = nil, nil, nil
  if states[k] then token, attempts, crashes = string.match(states[k], '^(%d+) (%d+)(.*)$') end
  if done[id] or not token or token == '0' or token ~= ARGV[4 * k + 1] then
    lost[#lost + 1] = k
  else
    local delay, how = tonumber(ARGV[4 * k + 2]), ARGV[4 * k + 3]
    attempts = tonumber(attempts)
    if how == '1' then attempts = attempts - 1 end
    keep[#keep + 1] = id; keep[#keep + 1] = '0 ' .. attempts .. crashes
    if how == '2' then
      dead[#dead + 1] = string.format('%.0f', nowMs); dead[#dead + 1] = id
    else
      local at = nowMs -- now is rounded down, later times are rounded up
      if delay > 0 then at = math.ceil((now + delay) / 1000) end
      wait[#wait + 1] = string.format('%.0f', at); wait[#wait + 1] = id
      if not least or at < least then least = at end
    end
    held[#held + 1] = id
    done[id] = true
  end
end
if #held > 0 then redis.call('HDEL', s, '') end -- allows writes when memory is full, see claim.lua
if #wait > 0 then redis.call('ZADD', w, unpack(wait)) end
if #dead > 0 then redis.call('ZADD', x, unpack(dead)) end
if #keep > 0 then redis.call('HSET', s, unpack(keep)) end
if #held > 0 then redis.call('ZREM', l, unpack(held)) end
if least and (not head or least < head) then redis.call(ARGV[3], ARGV[2], string.format('%.0f', least)) end
return lost
