-- KEYS: the value. ARGV: the old value, the new value, its lifetime in milliseconds. Gives 1 when it was swapped.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
