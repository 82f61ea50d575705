-- Leases due messages of one shard. Messages whose lease has ended get at most half of a
-- batch, rounded up. Each such end is counted as a crash; from one more than the free ones on
-- it is charged as an attempt, and those without an attempt left die.
--
-- KEYS 1 m  2 s  3 c, then w, l, x of each job
-- ARGV 1 clock offset in us, then of each job: name, limit (from 1), lease in us, most
--      attempts (0 or less: no limit), free crashes
-- result: now in us, token, 1 if the shard was completely loaded, next in ms or '', then of
--      each job: {taken, until in ms, died}, both flat: id, attempt, crashes, value, when it
--      was due this time in ms ...
local t = redis.call('TIME')
local clock = t[1] * 1000000 + t[2]
local now = clock + tonumber(ARGV[1])
local due = string.format('%.0f', math.floor(now / 1000))
local m, s, c = KEYS[1], KEYS[2], KEYS[3]
local jobs = (#KEYS - 3) / 3
local fields = {'seq', 'epoch'}
for i = 1, jobs do fields[i + 2] = 'p:' .. ARGV[5 * i - 3] end
local control = redis.call('HMGET', c, unpack(fields))

-- Greater than any token before it, also after a flush took the last one with it.
local token = math.max(clock, tonumber(control[1] or 0) + 1)
local tokens = string.format('%.0f', token)
local used, nextAt = false, nil
local res = {string.format('%.0f', now), tokens, control[2] and 1 or 0, ''}

local function soon(z)
  local first = tonumber(redis.call('ZRANGE', z, 0, 0, 'WITHSCORES')[2])
  if first and (not nextAt or first < nextAt) then nextAt = first end
end

for i = 1, jobs do
  local w, l, x = KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3]
  local limit, most, free = tonumber(ARGV[5 * i - 2]), tonumber(ARGV[5 * i]), tonumber(ARGV[5 * i + 1])
  local untilAt = string.format('%.0f', math.ceil((now + tonumber(ARGV[5 * i - 1])) / 1000))
  local taken, died = {}, {}
  if not control[i + 2] then
    local ended = redis.call('ZRANGEBYSCORE', l, '-inf', due, 'WITHSCORES', 'LIMIT', 0, math.ceil(limit / 2))
    local crashed = #ended / 2
    local ready = redis.call('ZRANGEBYSCORE', w, '-inf', due, 'WITHSCORES', 'LIMIT', 0, limit - crashed)
    local ids, since = {}, {}
    for _, z in ipairs({ended, ready}) do
      for j = 1, #z, 2 do ids[#ids + 1] = z[j]; since[#ids] = z[j + 1] end
    end
    if #ids > 0 then
      local values, states = redis.call('HMGET', m, unpack(ids)), redis.call('HMGET', s, unpack(ids))
      local state, lease, dead, deadIds, gone = {}, {}, {}, {}, {}
      for j, id in ipairs(ids) do
        local value = values[j]
        local attempts, crashes = 0, 0
        if states[j] then
          local a, c = string.match(states[j], ' (%d+) ?(%d*)')
          attempts, crashes = tonumber(a) or 0, tonumber(c) or 0
        end
        local charged = true
        if j <= crashed then
          crashes = math.min(crashes + 1, 255)
          charged = crashes > free
        end
        local suffix = crashes > 0 and ' ' .. crashes or ''
        if not value then -- a set without a body: nothing to run
          gone[#gone + 1] = id
        elseif j <= crashed and charged and most > 0 and attempts >= most then
          deadIds[#deadIds + 1] = id
          dead[#dead + 1] = due; dead[#dead + 1] = id
          state[#state + 1] = id; state[#state + 1] = '0 ' .. attempts .. suffix
          died[#died + 1] = id; died[#died + 1] = attempts; died[#died + 1] = crashes; died[#died + 1] = value; died[#died + 1] = since[j]
        else
          if charged then attempts = attempts + 1 end
          lease[#lease + 1] = untilAt; lease[#lease + 1] = id
          state[#state + 1] = id; state[#state + 1] = tokens .. ' ' .. attempts .. suffix
          taken[#taken + 1] = id; taken[#taken + 1] = attempts; taken[#taken + 1] = crashes; taken[#taken + 1] = value; taken[#taken + 1] = since[j]
        end
      end
      -- A server whose memory is full refuses what may take more of it, but not to a script that
      -- has written before. Were nothing handed out, nothing would be finished and freed.
      redis.call('HDEL', s, '')
      if #state > 0 then redis.call('HSET', s, unpack(state)) end
      if #lease > 0 then
        used = true
        redis.call('ZADD', l, unpack(lease))
      end
      if #dead > 0 then
        redis.call('ZADD', x, unpack(dead))
        redis.call('ZREM', l, unpack(deadIds))
      end
      if #ready > 0 then redis.call('ZREMRANGEBYRANK', w, 0, #ready / 2 - 1) end -- they are the first
      if #gone > 0 then
        redis.call('ZREM', l, unpack(gone))
        redis.call('HDEL', s, unpack(gone))
      end
    end
    soon(w)
    soon(l)
  end
  res[i + 4] = {taken, untilAt, died}
end
if used then redis.call('HSET', c, 'seq', tokens) end
if nextAt then res[4] = string.format('%.0f', nextAt) end
return res
