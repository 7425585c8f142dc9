require "net/http"
require "sinatra/base"

# Waits and computes as much as the request says.
class Load < Sinatra::Base
  LONGEST_WAIT_S = 60.0
  GREATEST_WEIGHT = 20_000

  # The service that is waited for. Each thread that asks keeps a connection: a new one for every
  # request would run out of ports, as a closed one occupies its own for a minute.
  class Waiter
    def self.mine
      Thread.current.thread_variable_get(:waiter) ||
        new(URI(ENV.fetch("EXTERNAL_URL"))).tap do |waiter|
          Thread.current.thread_variable_set(:waiter, waiter)
        end
    end

    def initialize(url)
      @http = Net::HTTP.new(url.host, url.port)
      @http.keep_alive_timeout = 3600
      @http.start
    end

    def wait(seconds)
      reply = @http.get("/?wait=#{seconds}")
      raise "the waiter answered #{reply.code}: #{reply.body}" unless reply.code == "200"
    end
  end

  # The sum of i * j over all pairs of 1..n in n * n steps, as published: a million take some
  # 40 ms on an AMD EPYC with Ruby 3.1.
  def sum_over_pairs(n)
    sum = 0
    1.upto(n) { |i| 1.upto(n) { |j| sum += i * j } }
    sum
  end

  get "/load" do
    content_type :text
    wait = Float(params.fetch("wait", 0), exception: false)
    weight = Integer(params.fetch("weight", 0), exception: false)
    halt 400, "wait: 0 to #{LONGEST_WAIT_S} seconds\n" unless wait&.between?(0, LONGEST_WAIT_S)
    halt 400, "weight: 0 to #{GREATEST_WEIGHT}\n" unless weight&.between?(0, GREATEST_WEIGHT)

    Waiter.mine.wait(wait) if wait > 0
    "#{sum_over_pairs(weight)}\n"
  end
end
