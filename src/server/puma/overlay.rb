# Loaded after the app's own Puma settings: what a measurement needs to differ, and nothing else.
# Whatever Puma writes goes into the measurement's own folder, and all that is printed stays
# visible.
pidfile "SCRATCH/puma.pid"
state_path "SCRATCH/puma.state"
stdout_redirect nil, nil
directory "FOLDER"
# Not every Puma has these: the first came with 5.1, the second with 5.6.
bind_to_activated_sockets false if respond_to?(:bind_to_activated_sockets)
worker_check_interval 1 if respond_to?(:worker_check_interval)

# Puma prints when it is ready; a logger of the app's would take these lines. Puma can be given one
# since 6.2.
custom_logger nil if respond_to?(:custom_logger)

# It would make tmp/restart.txt in the app's folder, and restart the server in the middle of a
# measurement when somebody touches it.
Puma::Plugins.find("tmp_restart").define_method(:start) { |_launcher| }

# Replacing all workers after so many requests would disturb a measurement. Worker 0 still forks
# the others.
fork_worker 0 if get(:fork_worker)

# A worker that cannot load the app tells where, but in some versions of Puma not why. It has to be
# told before the worker's exit begins: the master may end an exiting worker at once.
require "puma/runner"
Puma::Runner.prepend(Module.new do
  def start_server
    super
  rescue Exception => e
    $stderr.puts e.full_message(highlight: false, order: :top)
    raise
  end
end)
