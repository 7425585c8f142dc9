# Loaded by Thin before the app: says when a process listens, and nothing else that a measurement
# doesn't need.

# What it prints is seen when it is printed, and not when the process ends.
$stdout.sync = true

# A process that was killed left its socket behind.
Thin::Backends::UnixServer.prepend(Module.new do
  def connect
    remove_socket_file
    super
  end
end)

# Thin's own line comes before it listens.
Thin::Backends::Base.prepend(Module.new do
  def start
    super do
      yield if block_given?
      puts "sweetspot: Thin listens on #{self}"
    end
  end
end)
