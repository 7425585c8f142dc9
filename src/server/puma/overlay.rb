# Loaded after the app's own Puma settings: what a measurement needs to differ, and nothing else.
# Whatever Puma writes goes into the measurement's own folder, and all that is printed stays
# visible.
pidfile "SCRATCH/puma.pid"
state_path "SCRATCH/puma.state"
stdout_redirect nil, nil
directory "FOLDER"
bind_to_activated_sockets false
worker_check_interval 1

# It would make tmp/restart.txt in the app's folder, and restart the server in the middle of a
# measurement when somebody touches it.
Puma::Plugins.find("tmp_restart").define_method(:start) { |_launcher| }

# Replacing all workers after so many requests would disturb a measurement.
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
