require_relative "../work"
require_relative "pool"

plain = ->(text) { [200, { "Content-Type" => "text/plain" }, ["#{text}\n"]] }

# /slow    the database waits as many milliseconds as `?ms=` says
# /search  the database reads a whole table
# /compute no query: CPU in Ruby, while the connections are open and at rest
run lambda { |env|
  asked = Integer(env["QUERY_STRING"][/\bms=(\d+)/, 1] || 10)
  case env["PATH_INFO"]
  when "/slow"
    Pool.with { |connection| connection.query("SELECT SLEEP(#{asked / 1000.0}) AS slept").first }
    plain["slept"]
  when "/search"
    word = Work::WORDS.sample
    found = Pool.with do |connection|
      connection.query(
        "SELECT COUNT(*) AS orders, SUM(cents) AS cents FROM orders WHERE note LIKE '%#{word}%'"
      ).first
    end
    plain["#{word}: #{found["orders"]} orders of #{found["cents"].to_i} cents"]
  when "/compute"
    Pool.free
    plain["#{Work.for_ms(asked)} rounds"]
  else
    plain["up"]
  end
}
