-- Notes that a process is there, and counts those that are.
-- KEYS[1]: the processes by the time until which they count. ARGV: id of this one, how long it counts in milliseconds
-- (0: it goes).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if tonumber(ARGV[2]) > 0 then
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return {redis.call('ZCARD', KEYS[1])}
