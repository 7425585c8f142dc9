# The slow service elsewhere: answers any GET with JSON after two seconds, `?wait=SECONDS` says
# otherwise. Usage: ruby external.rb [PORT], 0 or none for any free one; prints `listening on PORT`.
#
# A single thread holds thousands of connections: those whose request is here need nothing but a
# place in the list of what is due, and only the others are waited for in `select`.
require "json"
require "socket"

class SlowService
  USUAL_WAIT_S = 2.0
  LONGEST_HEAD = 16_384
  END_OF_HEAD = "\r\n\r\n"

  Due = Struct.new(:at, :client, :reply, :is_kept)

  def initialize(server)
    @server = server
    # What has been read of the next request, by connection.
    @reading = {}
    # Replies to come, soonest first.
    @due = []
  end

  def run
    loop do
      readable, = IO.select([@server, *@reading.keys], nil, nil, seconds_to_next)
      readable&.each { |socket| socket.equal?(@server) ? accept : read(socket) }
      answer(@due.shift) while @due.any? && @due.first.at <= now
    end
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def seconds_to_next
    [@due.first.at - now, 0].max if @due.any?
  end

  def accept
    while (client = @server.accept_nonblock(exception: false)) != :wait_readable
      @reading[client] = +""
    end
  rescue Errno::ECONNABORTED
    # It was gone before it was taken; the others are taken the next time.
  end

  def read(client)
    part = client.read_nonblock(LONGEST_HEAD, exception: false)
    return if part == :wait_readable
    return drop(client) if part.nil?

    @reading[client] << part
    take_request(client)
  rescue SystemCallError
    drop(client)
  end

  # Once the head of a request is whole, its connection is not read from until it is answered.
  def take_request(client)
    head, found, rest = @reading[client].partition(END_OF_HEAD)
    return (drop(client) if head.size > LONGEST_HEAD) if found.empty?
    return drop(client) unless head.start_with?("GET ")

    @reading.delete(client)
    target, version = head.lines.first.split.drop(1)
    is_kept = version == "HTTP/1.1" && !head.match?(/^connection:\s*close/i) && rest.empty?
    wait_s = (target[/[?&]wait=(\d+(\.\d+)?)/, 1] || USUAL_WAIT_S).to_f
    enlist Due.new(now + wait_s, client, reply(target, wait_s, is_kept), is_kept)
  end

  # At the end, unless it waits shorter than those before it.
  def enlist(due)
    place = @due.bsearch_index { |other| other.at > due.at } || @due.size
    @due.insert(place, due)
  end

  def reply(target, wait_s, is_kept)
    # The same question always has the same answer.
    body = JSON.generate(asked: target, stock: target[/[^&]*/].sum % 100, waited_s: wait_s)
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n" \
      "Connection: #{is_kept ? "keep-alive" : "close"}\r\n\r\n#{body}"
  end

  # So short a reply always fits into a connection's empty buffer.
  def answer(due)
    due.client.write_nonblock(due.reply)
    due.is_kept ? @reading[due.client] = +"" : due.client.close
  rescue SystemCallError
    drop(due.client)
  end

  def drop(client)
    @reading.delete(client)
    client.close
  end
end

# Connections are many, and the usual limit is 1024.
Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
%w[INT TERM].each { |signal| trap(signal) { exit } }

server = TCPServer.new("127.0.0.1", Integer(ARGV.fetch(0, 0)))
puts "listening on #{server.addr[1]}"
$stdout.flush
SlowService.new(server).run
