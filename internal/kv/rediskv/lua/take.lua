-- KEYS: the limit. ARGV: interval in microseconds, burst. Gives allowed, remaining, retry after, reset after.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = tonumber(redis.call('GET', KEYS[1]) or 0)
local free, decision = gcra(stored, now, tonumber(ARGV[1]), tonumber(ARGV[2]))
if free ~= stored then
  -- Written out in full, whatever the server makes of a large number.
  redis.call('SET', KEYS[1], string.format('%.0f', free), 'PX', math.ceil((free - now) / 1000))
end
return decision
