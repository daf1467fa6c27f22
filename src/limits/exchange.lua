-- One bucket of the generic cell rate algorithm, for all processes: what was let through already is charged whatever
-- is left, what is asked for is granted as far as there is something left.
-- KEYS[1]: the moment at which the bucket is full again, in microseconds. ARGV: time for one slot to come back in
-- microseconds, slots, how many were used already, how many are asked for.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, slots, used, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
-- No client comes so far above its limit: the clock was put back, and the bucket begins anew.
if full - now > 10 * slots * interval then
  full = now
end
full = full + used * interval
local left = math.max(math.floor((slots * interval - (full - now)) / interval), 0)
local granted = math.min(left, wanted)
full = full + granted * interval
if full > now then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
end
return {granted, full - now}
