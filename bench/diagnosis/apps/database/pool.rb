require "mysql2"

# As many connections in each process as POOL says (16), opened when the first is needed: after the
# workers were forked. A thread that finds none free waits for one.
module Pool
  SIZE = Integer(ENV.fetch("POOL", 16))
  LOCK = Mutex.new

  class << self
    def with
      connection = free.pop
      yield connection
    ensure
      free << connection if connection
    end

    # Opens them, if nobody has yet.
    def free
      LOCK.synchronize { @free ||= Queue.new.tap { |queue| SIZE.times { queue << open } } }
    end

    private

    def open
      Mysql2::Client.new(
        socket: ENV.fetch("DATABASE_SOCKET"),
        username: ENV.fetch("DATABASE_USER", "root"),
        database: ENV.fetch("DATABASE_NAME")
      )
    end
  end
end
