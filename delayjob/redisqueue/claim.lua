-- Leases due messages of one shard. Messages with an ended lease get at most half of a batch,
-- rounded up. Each ended lease counts as a crash. Crashes beyond the free ones are charged as
-- attempts, and messages without an attempt left die.
--
-- KEYS: 1 m  2 s  3 c  then per job: w, l, x
-- ARGV: 1 clock offset in us  then per job: name, limit (from 1), lease in us, max attempts (0 or
--       less: no limit), free crashes
-- Result: now in us, token, 1 if the shard is completely loaded else 0, next due time in ms or '',
--       then per job: {lease end in ms, taken, marks, died}
--         taken, per message: id, value
--         marks, per message not at its first attempt: position in taken (from 1), attempt, crashes,
--               when this delivery was due in ms
--         died, per message: id, value, attempts, crashes, when it was due in ms
local t = redis.call('TIME')
local clock = t[1] * 1000000 + t[2]
local now = clock + tonumber(ARGV[1])
local due = string.format('%.0f', math.floor(now / 1000))
local m, s, c = KEYS[1], KEYS[2], KEYS[3]
local jobs = (#KEYS - 3) / 3
local fields = {'seq', 'epoch'}
for i = 1, jobs do fields[i + 2] = 'p:' .. ARGV[5 * i - 3] end
local control = redis.call('HMGET', c, unpack(fields))

-- Greater than all earlier tokens, even if a flush removed the last one.
local token = math.max(clock, tonumber(control[1] or 0) + 1)
local tokens = string.format('%.0f', token)
local first = tokens .. ' 1'
local used, nextAt = false, nil
local res = {string.format('%.0f', now), tokens, control[2] and 1 or 0, ''}

-- Redis stores small hashes and sets as lists and searches them linearly, which would dominate the
-- cost for hundreds of elements. Writing a long key first and deleting it afterward forces tables.
local many, long = 32, string.rep('-', 65)

local function soon(z)
  local head = tonumber(redis.call('ZRANGE', z, 0, 0, 'WITHSCORES')[2])
  if head and (not nextAt or head < nextAt) then nextAt = head end
end

-- Due times of waiting messages. One that was never claimed is due at the time in its value.
local function since(w, ids)
  if #ids == 0 then return {} end
  return redis.call('ZMSCORE', w, unpack(ids))
end

for i = 1, jobs do
  local w, l, x = KEYS[3 * i + 1], KEYS[3 * i + 2], KEYS[3 * i + 3]
  local limit, most, free = tonumber(ARGV[5 * i - 2]), tonumber(ARGV[5 * i]), tonumber(ARGV[5 * i + 1])
  local untilAt = string.format('%.0f', math.ceil((now + tonumber(ARGV[5 * i - 1])) / 1000))
  local taken, marks, died = {}, {}, {}
  if not control[i + 2] then
    local ended = redis.call('ZRANGEBYSCORE', l, '-inf', due, 'WITHSCORES', 'LIMIT', 0, math.ceil(limit / 2))
    local crashed = #ended / 2
    local ready = redis.call('ZRANGEBYSCORE', w, '-inf', due, 'LIMIT', 0, limit - crashed)
    local ids = ready
    if crashed > 0 then
      ids = {}
      for j = 1, crashed do ids[j] = ended[2 * j - 1] end
      for j, id in ipairs(ready) do ids[crashed + j] = id end
    end
    if #ids > 0 then
      local values, states = redis.call('HMGET', m, unpack(ids)), redis.call('HMGET', s, unpack(ids))
      local known = {}
      for j = crashed + 1, #ids do
        if states[j] then known[#known + 1] = ids[j] end
      end
      local scores, k = since(w, known), 0
      local state, lease, n, dead, deadIds, gone = {}, {}, 0, {}, {}, {}
      for j, id in ipairs(ids) do
        local value, st = values[j], states[j]
        local attempts, crashes, charged, at = 0, 0, true, nil
        if st then
          local a, c = string.match(st, ' (%d+) ?(%d*)')
          attempts, crashes = tonumber(a) or 0, tonumber(c) or 0
        end
        if j <= crashed then
          at = ended[2 * j]
          crashes = math.min(crashes + 1, 255)
          charged = crashes > free
        elseif st then
          k = k + 1
          at = scores[k]
        end
        if not value then -- in a set without a body: nothing to run
          gone[#gone + 1] = id
        elseif j <= crashed and charged and most > 0 and attempts >= most then
          deadIds[#deadIds + 1] = id
          dead[#dead + 1] = due; dead[#dead + 1] = id
          state[#state + 1] = id; state[#state + 1] = '0 ' .. attempts .. (crashes > 0 and ' ' .. crashes or '')
          for _, v in ipairs({id, value, attempts, crashes, at}) do died[#died + 1] = v end
        else
          n = n + 1
          lease[2 * n - 1] = untilAt; lease[2 * n] = id
          taken[2 * n - 1] = id; taken[2 * n] = value
          if at then
            if charged then attempts = attempts + 1 end
            state[#state + 1] = id; state[#state + 1] = tokens .. ' ' .. attempts .. (crashes > 0 and ' ' .. crashes or '')
            for _, v in ipairs({n, attempts, crashes, at}) do marks[#marks + 1] = v end
          else
            state[#state + 1] = id; state[#state + 1] = first
          end
        end
      end
      -- A server with full memory refuses commands that may need more, but not after a first write
      -- in the same script. Claims must still work, because finished messages free memory.
      redis.call('HDEL', s, '')
      if #state > 2 * many then
        redis.call('HSET', s, long, '', unpack(state))
        redis.call('HDEL', s, long)
      elseif #state > 0 then
        redis.call('HSET', s, unpack(state))
      end
      if n > many then
        redis.call('ZADD', l, 0, long, unpack(lease))
        redis.call('ZREM', l, long)
      elseif n > 0 then
        redis.call('ZADD', l, unpack(lease))
      end
      used = used or n > 0
      if #dead > 0 then
        redis.call('ZADD', x, unpack(dead))
        redis.call('ZREM', l, unpack(deadIds))
      end
      if #ready > 0 then redis.call('ZREMRANGEBYRANK', w, 0, #ready - 1) end -- they are the first
      if #gone > 0 then
        redis.call('ZREM', l, unpack(gone))
        redis.call('HDEL', s, unpack(gone))
      end
    end
    soon(w)
    soon(l)
  end
  res[i + 4] = {untilAt, taken, marks, died}
end
if used then redis.call('HSET', c, 'seq', tokens) end
if nextAt then res[4] = string.format('%.0f', nextAt) end
return res
