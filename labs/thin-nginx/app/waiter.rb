# A service that only lets its clients wait: GET /?wait=SECONDS is answered with a line when the
# time is over. One thread and no work, so that it holds thousands of clients and takes little of
# the cores that are being measured.
#
# Usage: ruby waiter.rb PORT (0: any that is free)
require "socket"

class Waiter
  LONGEST_WAIT_S = 60.0
  LARGEST_HEAD_BYTES = 16 * 1024
  ACCEPTED_AT_ONCE = 64

  # `input` is what was read and is not answered yet; `is_waiting` until the answer is due.
  Client = Struct.new(:socket, :input, :is_waiting)
  Answer = Struct.new(:due_s, :client, :text)

  # Files that Ruby itself, its output and the listener have open.
  OTHER_FILES = 32

  def initialize(listener, most_files)
    @listener = listener
    @most_clients = most_files - OTHER_FILES
    @clients = {}
    # Ordered, the first one due at the end.
    @answers = []
  end

  def run
    loop do
      readable, = IO.select(listening + @clients.keys, nil, nil, seconds_left)
      readable&.each { |socket| socket == @listener ? accept : read(@clients[socket]) }
      answer_due
    end
  end

  private

  # Who comes when there are as many as can be has to wait until another leaves.
  def listening
    @clients.size < @most_clients ? [@listener] : []
  end

  def now_s
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Nil, which is forever, when nobody waits.
  def seconds_left
    first = @answers.last
    first && [first.due_s - now_s, 0].max
  end

  def accept
    [ACCEPTED_AT_ONCE, @most_clients - @clients.size].min.times do
      socket = @listener.accept_nonblock(exception: false)
      return if socket == :wait_readable

      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @clients[socket] = Client.new(socket, +"", false)
    end
  rescue Errno::ECONNABORTED
    # Gone again.
  end

  def read(client)
    data = client.socket.read_nonblock(LARGEST_HEAD_BYTES, exception: false)
    return if data == :wait_readable
    return close(client) if data.nil?

    client.input << data
    take_request(client) unless client.is_waiting
    close(client) if client.input.bytesize > LARGEST_HEAD_BYTES
  rescue SystemCallError
    close(client)
  end

  # One at a time: a request sent before the last one was answered waits for its turn.
  def take_request(client)
    head, rest = client.input.split("\r\n\r\n", 2)
    return if rest.nil?

    client.input = rest
    seconds = wait_asked(head)
    return refuse(client) if seconds.nil?

    client.is_waiting = true
    wait(client, seconds)
  end

  # Nil for what isn't a request of the kind that is answered here.
  def wait_asked(head)
    path = head[%r{\AGET (/\S*) HTTP/1\.1\r?$}, 1] or return
    seconds = Float(path[/[?&]wait=([^&]*)/, 1] || 0, exception: false)
    seconds if seconds&.between?(0, LONGEST_WAIT_S)
  end

  def wait(client, seconds)
    due_s = now_s + seconds
    place = @answers.bsearch_index { |other| other.due_s <= due_s } || @answers.size
    line = format("waited %.3f s\n", seconds)
    @answers.insert(place, Answer.new(due_s, client, reply("200 OK", line)))
  end

  def answer_due
    while (first = @answers.last) && first.due_s <= now_s
      @answers.pop
      send_to(first.client, first.text)
    end
  end

  def send_to(client, text)
    # It may have hung up meanwhile.
    return unless @clients.key?(client.socket)

    # So short a reply fits what the kernel takes at once, unless the client reads nothing.
    written = client.socket.write_nonblock(text, exception: false)
    return close(client) unless written == text.bytesize

    client.is_waiting = false
    take_request(client)
  rescue SystemCallError
    close(client)
  end

  def refuse(client)
    line = "GET /?wait=SECONDS over HTTP/1.1, 0 to #{LONGEST_WAIT_S} s\n"
    client.socket.write_nonblock(reply("400 Bad Request", line), exception: false)
    close(client)
  end

  def reply(status, line)
    "HTTP/1.1 #{status}\r\nContent-Type: text/plain\r\n" \
      "Content-Length: #{line.bytesize}\r\n\r\n#{line}"
  end

  def close(client)
    @clients.delete(client.socket)
    client.socket.close
  end
end

_, most_files = Process.getrlimit(:NOFILE)
most_files = [most_files, 20_000].min
Process.setrlimit(:NOFILE, most_files, most_files)
listener = TCPServer.new("127.0.0.1", Integer(ARGV.fetch(0)))
listener.listen(1024)
puts "listening on #{listener.addr[1]}"
$stdout.flush
Waiter.new(listener, most_files).run
