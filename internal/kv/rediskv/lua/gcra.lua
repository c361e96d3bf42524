-- The twin of kv.GCRA: same names, same microseconds. Every number is whole and below 2^53, so doubles hold it exactly.
local function gcra(stored, now, interval, burst)
  local skew = 60000000
  local full = interval * burst
  local free = math.max(stored, now)
  if free > now + full + skew then
    free = now + full
  end
  local wait = free + interval - full - now
  if wait > 0 then
    return free, { 0, 0, wait, free - now }
  end
  free = free + interval
  return free, { 1, math.floor((full - (free - now)) / interval), 0, free - now }
end
