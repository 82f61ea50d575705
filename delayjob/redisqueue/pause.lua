-- Makes claims of a job hand out nothing.
--
-- KEYS 1 c
-- ARGV 1 job
-- result: 1 it was not paused, 0 it was
return redis.call('HSET', KEYS[1], 'p:' .. ARGV[1], 1)
