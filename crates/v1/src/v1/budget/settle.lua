-- What became of calls that were reserved.
-- KEYS[1]: the window. ARGV: how long they count from now in milliseconds (0: they never did), how long v1 takes no calls
-- from now (0: it does), id of the process, and the number of each call.
local time = redis.call('TIME')
-- What was before ends by the millisecond that has begun, and what is now counts from the end of that millisecond, so that
-- no call counts for less than its time.
local begun, now = time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000 + math.ceil(time[2] / 1000)
-- First what frees room: a script that has written may go on where Redis has no room left.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', begun)
local counts, closed = tonumber(ARGV[1]), tonumber(ARGV[2])
for at = 4, #ARGV do
  local call = ARGV[3] .. ':' .. ARGV[at]
  if counts > 0 then
    redis.call('ZADD', KEYS[1], now + counts, call)
  else
    redis.call('ZREM', KEYS[1], call)
  end
end
if closed > 0 and tonumber(redis.call('ZSCORE', KEYS[1], 'closed') or '0') < now + closed then
  redis.call('ZADD', KEYS[1], now + closed, 'closed')
end
local left = redis.call('PTTL', KEYS[1])
if left <= math.max(counts, closed) then
  redis.call('PEXPIRE', KEYS[1], math.max(counts, closed) + 1)
end
return {1}
