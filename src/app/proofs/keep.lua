-- A proof of access that v1 has given, unless it was refused after the question.
-- KEYS[1]: the proofs of one key. ARGV: the proof, how long ago v1 was asked and how long it is good, in milliseconds, and
-- what it says; nothing when nothing came of the question.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local of, at = ARGV[1], now - ARGV[2]
local kept = redis.call('HMGET', KEYS[1], of .. ':at', of .. ':ended', 'ended')
local wanted = ARGV[4] ~= ''
for number = 1, 3 do
  wanted = wanted and not (kept[number] and tonumber(kept[number]) >= at)
end
-- Comes first: when memory is full, Redis refuses only the first write of a script.
local stored = wanted and redis.pcall('HSET', KEYS[1], of, ARGV[4], of .. ':at', at)
redis.call('HDEL', KEYS[1], of .. ':by')
if not wanted then
  return {0}
end
if type(stored) == 'table' and stored.err then
  return stored
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return {1}
