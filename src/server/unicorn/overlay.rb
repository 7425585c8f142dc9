# Given to Unicorn in place of the app's own settings: these first, then what a measurement needs to
# differ, and nothing else.

# The app is served from the folder it stands in, wherever it stands in production; options in the
# first line of config.ru would open other ports or send the server into the background.
define_singleton_method(:working_directory) { |_folder| }
define_singleton_method(:parse_rackup_file) { }

OWN_SETTINGS

worker_processes WORKERS
KNOBS

# A port of our own, with the queue and the socket options of the app's first listener. One that is
# taken is said at once.
sweetspot_own = set[:listeners].first
sweetspot_kept = sweetspot_own ? set[:listener_opts][sweetspot_own].to_h : {}
sweetspot_kept = sweetspot_kept.select do |name, _|
  [:backlog, :rcvbuf, :sndbuf, :tcp_nodelay, :tcp_nopush, :tcp_defer_accept].include?(name)
end
set[:listeners].clear
listen "ADDRESS", sweetspot_kept.merge(:tries => 0)

# All that is printed stays visible, and nothing is written into the app's folder. An earlier
# server's file may name a process that is somebody else's by now.
set[:logger] = Unicorn::Configurator::DEFAULTS[:logger]
stdout_path nil
stderr_path nil
File.delete("SCRATCH/unicorn.pid") if File.exist?("SCRATCH/unicorn.pid")
pid "SCRATCH/unicorn.pid"

# Unicorn's own hooks say when a worker is ready or gone; hooks of the app's own, which come in their
# place, are called before them.
[:after_worker_ready, :after_worker_exit].each do |name|
  usual = Unicorn::Configurator::DEFAULTS[name]
  own = set[name]
  next if usual.nil? || own.equal?(usual)

  set[name] = lambda do |*arguments|
    own.call(*arguments)
    usual.call(*arguments)
  end
end
