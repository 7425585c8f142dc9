require "socket"

# A service elsewhere that answers when the time asked for is over.
module SlowService
  class Failed < StandardError
  end

  # Kept open; for one thread at a time.
  class Connection
    def initialize
      host, port = ENV.fetch("EXTERNAL_URL").delete_prefix("http://").split(":")
      @socket = TCPSocket.new(host, Integer(port))
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    end

    def wait(seconds)
      @socket.write("GET /?wait=#{format("%.4f", seconds)} HTTP/1.1\r\nHost: elsewhere\r\n\r\n")
      head = @socket.gets("\r\n\r\n") or raise Failed, "it hung up"
      raise Failed, head.lines.first.chomp unless head.start_with?("HTTP/1.1 200 ")

      @socket.read(Integer(head[/^content-length: *(\d+)/i, 1]))
    end
  end

  # Over one kept connection for each thread that asks.
  def self.wait(seconds)
    thread = Thread.current
    connection = thread.thread_variable_get(:slow_service) ||
      Connection.new.tap { |opened| thread.thread_variable_set(:slow_service, opened) }
    connection.wait(seconds)
  end
end
