-- Pauses claims of a job.
--
-- KEYS: 1 c
-- ARGV: 1 job
-- Result: 1 paused now, 0 paused before
return redis.call('HSET', KEYS[1], 'p:' .. ARGV[1], 1)
