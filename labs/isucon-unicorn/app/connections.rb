require "dalli"
require "mysql2"

# The connections of the thread that asks, opened when it first asks: none is ever shared between
# threads, or between a process and the one it was forked from.
module Connections
  class << self
    def database
      mine[:database] ||= Mysql2::Client.new(
        socket: ENV.fetch("DATABASE_SOCKET"),
        username: ENV.fetch("DATABASE_USER", "root"),
        database: ENV.fetch("DATABASE_NAME", "lab"),
        encoding: "utf8mb4",
        database_timezone: :utc,
        symbolize_keys: true
      )
    end

    def memcached
      mine[:memcached] ||= Dalli::Client.new(ENV.fetch("MEMCACHED_SOCKET"), namespace: "board")
    end

    # To be called before a fork: a child that closed what it inherited would end its parent's talk.
    def close
      mine.each_value(&:close)
      mine.clear
    end

    private

    # By thread and not by fiber, which `Thread.current[]` would be.
    def mine
      Thread.current.thread_variable_get(:connections) ||
        {}.tap { |empty| Thread.current.thread_variable_set(:connections, empty) }
    end
  end
end
