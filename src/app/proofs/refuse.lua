-- v1 has refused something that a key could do: its proofs end, and when there were any all processes are told.
-- KEYS[1]: the proofs of one key. ARGV: the proof, or nothing for all; how long a question that began before may still be
-- answered, in milliseconds; the channel and what is told there.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local had = false
if ARGV[1] == '' then
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    had = had or string.sub(field, -3) == ':at'
  end
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'ended', now)
else
  local of = ARGV[1]
  had = redis.call('HDEL', KEYS[1], of) == 1
  redis.call('HDEL', KEYS[1], of .. ':at', of .. ':by')
  redis.call('HSET', KEYS[1], of .. ':ended', now)
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if had then
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
return {had and 1 or 0}
