-- A proof of access, or whether somebody is just asking for it; when nobody is, the one who looks here is.
-- KEYS[1]: the proofs of one key. ARGV: the proof, how long a question may take and how old a proof may be, in
-- milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local of = ARGV[1]
local kept = redis.call('HMGET', KEYS[1], of, of .. ':at', of .. ':by', of .. ':ended', 'ended')
local at, ended = tonumber(kept[2] or '0'), math.max(tonumber(kept[4] or '0'), tonumber(kept[5] or '0'))
if kept[1] and at > ended and now - at < tonumber(ARGV[3]) then
  return {1, now - at, kept[1]}
end
if kept[3] and tonumber(kept[3]) > now then
  return {2, tonumber(kept[3]) - now}
end
redis.call('HSET', KEYS[1], of .. ':by', now + ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {0, 0}
