require_relative "../../diagnosis/apps/garbage/shelf"
require_relative "../../diagnosis/apps/slow_service"
require_relative "../../diagnosis/apps/work"

# What each kind of app does with a request; the answer is its status. Milliseconds of computing are
# of the thread's own CPU clock, so that a busy machine does not make requests smaller.
module Kinds
  LOCK = Mutex.new
  CONNECTIONS = 3
  KEYS = 2_000
  # How much more a request computes and waits than is said below.
  CPU, WAIT = %w[CPU_SCALE WAIT_SCALE].map { |name| Float(ENV.fetch(name, 1)) }
  SHELF = Shelf.new(ENV["KIND"] == "collection" ? 1_500 : 1)

  @cached = {}
  @served = 0

  class << self
    def plain(_path)
      page(cpu_ms: 6, wait_ms: 24)
    end

    # Waits are lognormal with a mean of 20 ms and a squared coefficient of variation of 8: one in
    # twenty takes more than 76 ms, one in a hundred more than 209 ms.
    def tails(_path)
      variance = Math.log(1 + 8)
      page(cpu_ms: 5, wait_ms: 20 * Math.exp(Math.sqrt(variance) * normal - variance / 2))
    end

    # Three in a hundred are slow by themselves, and nothing in the request says so.
    def mixture(_path)
      slower = rand < 0.03 ? 10 : 1
      page(cpu_ms: 4 * slower, wait_ms: 20 * slower)
    end

    def endpoint(path)
      path == "/report" ? page(cpu_ms: 12, wait_ms: 80) : page(cpu_ms: 4, wait_ms: 16)
    end

    def errors(_path)
      status = rand < 0.0012 ? 500 : 200
      page(cpu_ms: 6, wait_ms: 24, status: status)
    end

    # One request of a process at a time has the lock, while it computes and while it waits.
    def lock(_path)
      LOCK.synchronize { page(cpu_ms: 1, wait_ms: 7) }
      page(cpu_ms: 4, wait_ms: 16)
    end

    def pool(_path)
      Work.for_ms(3 * CPU)
      connection = connections.pop
      begin
        connection.wait(0.024 * WAIT)
      ensure
        connections << connection
      end
      Work.for_ms(2 * CPU)
      200
    end

    # The service is bench/holds/app/backend.rb, which all workers share.
    def thrashing(_path)
      Work.for_ms(3 * CPU)
      SlowService.wait(0.02 * WAIT)
      Work.for_ms(2 * CPU)
      200
    end

    # Half a million objects stay, and each request replaces some thousand: major collections, in which
    # the whole process stands still.
    def collection(_path)
      SHELF.renew(15)
      page(cpu_ms: 3, wait_ms: 20)
    end

    # The first request for a key in a process makes what later ones find.
    def cache(_path)
      key = rand(KEYS)
      unless LOCK.synchronize { @cached.key?(key) }
        page(cpu_ms: 8, wait_ms: 40)
        LOCK.synchronize { @cached[key] = "page #{key}" * 10 }
      end
      page(cpu_ms: 5, wait_ms: 10)
    end

    # A young process computes up to twice as long; the excess falls by a factor of e every 300 requests.
    def cold(_path)
      served = LOCK.synchronize { @served += 1 }
      page(cpu_ms: 6 * (1 + Math.exp(-served / 300.0)), wait_ms: 24)
    end

    private

    def page(cpu_ms:, wait_ms:, status: 200)
      Work.for_ms(CPU * cpu_ms / 2.0)
      sleep(WAIT * wait_ms / 1000.0)
      Work.for_ms(CPU * cpu_ms / 2.0)
      status
    end

    # Of the standard normal distribution (Box and Muller).
    def normal
      Math.sqrt(-2 * Math.log(1 - rand)) * Math.cos(2 * Math::PI * rand)
    end

    # Opened when the first is needed: after the workers were forked.
    def connections
      LOCK.synchronize do
        @connections ||= SizedQueue.new(CONNECTIONS).tap do |queue|
          CONNECTIONS.times { queue << SlowService::Connection.new }
        end
      end
    end
  end
end
