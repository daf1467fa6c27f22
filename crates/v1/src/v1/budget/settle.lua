-- What became of calls that were reserved.
-- KEYS[1]: the window. ARGV: how long v1 takes no calls from now in milliseconds (0: it does), id of the process, and
-- for each call its number and how long it counts from now in milliseconds (0: it never did).
local time = redis.call('TIME')
-- What was before ends by the millisecond that has begun, and what is now counts from the end of that millisecond, so that
-- no call counts for less than its time.
local begun, now = time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000 + math.ceil(time[2] / 1000)
-- First what frees room: a script that has written may go on where Redis has no room left.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', begun)
local closed = tonumber(ARGV[1])
local longest = closed
for at = 3, #ARGV, 2 do
  local call, counts = ARGV[2] .. ':' .. ARGV[at], tonumber(ARGV[at + 1])
  if counts > 0 then
    redis.call('ZADD', KEYS[1], now + counts, call)
    longest = math.max(longest, counts)
  else
    redis.call('ZREM', KEYS[1], call)
  end
end
if closed > 0 and tonumber(redis.call('ZSCORE', KEYS[1], 'closed') or '0') < now + closed then
  redis.call('ZADD', KEYS[1], now + closed, 'closed')
end
local left = redis.call('PTTL', KEYS[1])
if left <= longest then
  redis.call('PEXPIRE', KEYS[1], longest + 1)
end
return {1}
