require "bigdecimal"
require "mysql2"
require "sinatra/base"

# One endpoint for each kind of work.
class Weights < Sinatra::Base
  DIGITS = 200

  # Sized so that the kinds that compute take the published 100 ms or so on an AMD EPYC with Ruby
  # 3.1: what took that long on their author's laptop is done this many times over.
  TIMES_OVER = 3

  before { content_type :text }

  helpers do
    # A connection for each thread that asks, opened when it first does. No database is named: no
    # query touches a table.
    def database
      thread = Thread.current
      thread.thread_variable_get(:database) || Mysql2::Client.new(
        socket: ENV.fetch("DATABASE_SOCKET"),
        username: ENV.fetch("DATABASE_USER", "root")
      ).tap { |opened| thread.thread_variable_set(:database, opened) }
    end

    # The arc tangent of 1/x: 1/x - 1/(3 x^3) + 1/(5 x^5) - ..., until a term no longer counts.
    def arctan_of_inverse(x, digits)
      power = BigDecimal(1).div(x, digits)
      square = x * x
      sum = power
      smallest = BigDecimal("1e-#{digits}")
      (1..).each do |k|
        power = power.div(square, digits)
        term = power.div(2 * k + 1, digits)
        return sum if term < smallest

        sum = k.odd? ? sum - term : sum + term
      end
    end

    # Machin, 1706: pi = 16 arctan(1/5) - 4 arctan(1/239).
    def pi(digits)
      # Some digits more than asked for: each term's last one is rounded.
      enough = digits + 10
      pi = 16 * arctan_of_inverse(5, enough) - 4 * arctan_of_inverse(239, enough)
      pi.truncate(digits - 1)
    end
  end

  get "/hello_world" do
    "Hello, world\n"
  end

  get "/calc_pi" do
    found = nil
    (100 * TIMES_OVER).times { found = pi(DIGITS) }
    "#{found.to_s("F")}\n"
  end

  get "/push_array_hash" do
    array = nil
    (5_000 * TIMES_OVER).times do
      array = []
      100.times { |i| array.push({ number: i }) }
    end
    "#{array.size}\n"
  end

  get "/concat_string" do
    string = nil
    (50 * TIMES_OVER).times do
      string = ""
      1_000.times { string += "twelve chars" }
    end
    "#{string.length}\n"
  end

  get "/wait_for_db_many" do
    sum = 50.times.sum { database.query("SELECT 1 AS one").first["one"] }
    "#{sum}\n"
  end

  # The waiting is done in the database, as if it had long work to do.
  get "/wait_for_db_long" do
    sum = 5.times.sum { database.query("SELECT SLEEP(0.05) AS slept").first["slept"] }
    "#{sum}\n"
  end
end
