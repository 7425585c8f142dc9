#!/usr/bin/env ruby
# Stands in for ssh and the host behind it: forwards the port that -R names, and runs the command
# here, as a shell there would, with a folder of its own for what is temporary. Where a file asks for
# it, the connection breaks once, soon after the program there has joined.
require "socket"

abort "deploy@load1: Permission denied (publickey)." if ARGV.include?("nobody@load1")
far, near = ARGV[ARGV.index("-R") + 1].scan(/[^:]+:[0-9]+/)
place = ->(text) { [text[/[^:]+/], Integer(text[/[0-9]+\z/])] }
server = TCPServer.new(*place[far])
breaks = File.expand_path("../breaks", ENV.fetch("HOST_FOLDER"))
Thread.new do
  loop do
    Thread.new(server.accept, TCPSocket.new(*place[near])) do |here, there|
      Thread.new { sleep(1) && exit!(255) } if File.exist?(breaks) && File.delete(breaks)
      back = Thread.new { IO.copy_stream(there, here) rescue nil; here.close_write rescue nil }
      IO.copy_stream(here, there) rescue nil
      there.close_write rescue nil
      back.join
    end
  end
end
pid = spawn({ "TMPDIR" => ENV.fetch("HOST_FOLDER") }, "sh", "-c", ARGV.last, in: $stdin)
Process.wait(pid)
exit $?.exitstatus || 1
