require_relative "../work"

# Computes for as many milliseconds of CPU as `?ms=` says.
run lambda { |env|
  rounds = Work.for_ms(Integer(env["QUERY_STRING"][/\bms=(\d+)/, 1] || 10))
  [200, { "Content-Type" => "text/plain" }, ["#{rounds} rounds\n"]]
}
