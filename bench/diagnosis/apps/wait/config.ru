require_relative "../slow_service"

# Waits for a service elsewhere as many milliseconds as `?ms=` says; with `&spread=1` so many on the
# average, exponentially distributed.
run lambda { |env|
  asked = Integer(env["QUERY_STRING"][/\bms=(\d+)/, 1] || 50) / 1000.0
  asked *= -Math.log(1.0 - rand) if env["QUERY_STRING"].include?("spread=1")
  SlowService.wait(asked)
  [200, { "Content-Type" => "text/plain" }, ["waited\n"]]
}
