-- Calls of all processes in a sliding window, each by the moment up to which it counts.
-- KEYS[1]: the window. KEYS[2]: how many calls v1 was seen to allow. ARGV: its length in milliseconds, how many calls may
-- count, how many are wanted, how long a call may be under way, id of the process, number of the first call, and how many
-- calls this process has seen v1 allow (0: none). With a limit below zero the calls are noted whatever counts already.
-- Answer: whether they are reserved, else how long to wait, how many calls v1 was seen to allow, how many count now.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local length, limit, wanted, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
-- No call counts for so long: the clock was put back. Until when they count is not known then, so for a window from now.
local most = string.format('(%.0f', now + 2 * (length + longest))
for _, call in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], most, '+inf')) do
  redis.call('ZADD', KEYS[1], now + length, call)
end
local count = redis.call('ZCARD', KEYS[1])
local learned = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[7]) > 0 and tonumber(ARGV[7]) >= learned then
  learned = tonumber(ARGV[7])
  redis.call('SET', KEYS[2], ARGV[7], 'PX', 10 * length)
end
if limit >= 0 then
  local closed = redis.call('ZSCORE', KEYS[1], 'closed')
  if closed then
    return {0, tonumber(closed) - now, learned, count - 1}
  end
  if wanted > limit then
    return {0, length, learned, count}
  end
  if count + wanted > limit then
    local last = redis.call('ZRANGE', KEYS[1], count + wanted - limit - 1, count + wanted - limit - 1, 'WITHSCORES')
    return {0, math.max(math.min(tonumber(last[2]) - now, length), 1), learned, count}
  end
end
for number = 0, wanted - 1 do
  redis.call('ZADD', KEYS[1], 'NX', now + length + longest, ARGV[5] .. ':' .. string.format('%.0f', ARGV[6] + number))
end
if redis.call('PTTL', KEYS[1]) < length + longest then
  redis.call('PEXPIRE', KEYS[1], length + longest)
end
return {1, 0, learned, count + wanted}
