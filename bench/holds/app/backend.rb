# A service that gets slower for everybody the more it has to do at once, as a database does whose
# queries share a disk: beside n - 1 others a request takes 1 + (n / KNEE)^2 times as long as it asked
# for with `?wait=SECONDS`. Usage: ruby backend.rb PORT, 0 for any free one; prints `listening on PORT`.
require "socket"

KNEE = 8.0
LOCK = Mutex.new
at_once = 0

serve = lambda do |client|
  while (head = client.gets("\r\n\r\n"))
    beside = LOCK.synchronize { at_once += 1 }
    sleep(Float(head[/[?&]wait=([\d.]+)/, 1]) * (1 + (beside / KNEE)**2))
    LOCK.synchronize { at_once -= 1 }
    client.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")
  end
rescue SystemCallError
  # The worker that asked has ended.
ensure
  client.close
end

%w[INT TERM].each { |signal| trap(signal) { exit } }
server = TCPServer.new("127.0.0.1", Integer(ARGV.fetch(0)))
puts "listening on #{server.addr[1]}"
$stdout.flush
loop do
  client = server.accept
  client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  Thread.new { serve.call(client) }
end
