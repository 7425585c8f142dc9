#!/usr/bin/env ruby
# The load balancer in front of the ECS of aws.rb: takes connections at the address that HOST_FOLDER's
# file of this name has, and hands each to one of the tasks that `targets` names, in turn; 503 where
# there is none. For each that comes while tasks of several deployments stand behind it, `mixed` gets
# a line.
require "socket"

HOST = ENV.fetch("HOST_FOLDER")
AT = ->(name) { File.join(HOST, name) }
NONE = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".freeze

host, port = File.read(AT["address"]).strip.split(":")
server = TCPServer.new(host, port)
turns = 0

# Whoever closes first ends both.
join = lambda do |front, back|
  there = Thread.new do
    IO.copy_stream(front, back) rescue nil
    back.close_write rescue nil
  end
  IO.copy_stream(back, front) rescue nil
  front.shutdown rescue nil
  there.join
end

serve = lambda do |front, turn|
  front.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  targets = File.readlines(AT["targets"]).map(&:split)
  are_mixed = targets.map(&:last).uniq.size > 1
  File.write(AT["mixed"], "#{targets.map(&:last).join(" ")}\n", mode: "a") if are_mixed
  socket, = targets[turn % targets.size] unless targets.empty?
  back = socket && (UNIXSocket.new(socket) rescue nil)
  next join[front, back] if back
  front.readpartial(65_536)
  front.write(NONE)
rescue SystemCallError, EOFError
  # Who asked has gone.
ensure
  [front, back].compact.each(&:close)
end

loop { Thread.new(server.accept, turns += 1, &serve) }
