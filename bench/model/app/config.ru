require_relative "../../diagnosis/apps/slow_service"
require_relative "../../diagnosis/apps/work"

# Computes `?cpu=` milliseconds in all, and waits `?wait=` milliseconds in all for a service elsewhere,
# in `?waits=` parts with computing before, between and behind them.
run lambda { |env|
  asked = Hash.new(0).merge(env["QUERY_STRING"].scan(/(\w+)=(\d+)/).to_h.transform_values(&:to_i))
  bursts = asked["waits"] + 1
  bursts.times do |burst|
    Work.for_ms(asked["cpu"].fdiv(bursts)) if asked["cpu"].positive?
    SlowService.wait(asked["wait"] / 1000.0 / asked["waits"]) if burst < asked["waits"]
  end
  [200, { "Content-Type" => "text/plain" }, ["done\n"]]
}
