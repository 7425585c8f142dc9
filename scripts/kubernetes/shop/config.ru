# Each request computes for some milliseconds and waits for 20.
run lambda { |_env|
  sum = 0
  40_000.times { |i| sum += i * i }
  sleep 0.02
  [200, {}, ["#{sum}"]]
}
