# Prints what Thin makes of the app's settings, as one line of JSON after a mark, and starts nothing.
# The file to load is the first argument, when there is one.
# Every variable by which workers and threads are set by convention, each with a number of its own: a
# number that turns up in the settings shows which variable they follow. Those that the settings name
# themselves are tried too.
WORKERS = {
  "WEB_CONCURRENCY" => 31, "THIN_SERVERS" => 37, "SERVERS" => 41, "WORKERS" => 43,
}
THREADS = {
  "RAILS_MAX_THREADS" => 51, "THIN_THREADS" => 53, "MAX_THREADS" => 57, "THREADS" => 59,
}

# Its users write them in YAML, with Ruby in it.
def load_settings
  return {} unless ARGV[0]

  path = File.expand_path(ARGV[0])
  template = ERB.new(File.read(path))
  template.filename = path
  own = YAML.load(template.result, :filename => path) || {}
  raise TypeError, "#{ARGV[0]} holds no names with values" unless own.is_a?(Hash)

  own.to_h { |name, value| [name.to_s, value] }
end

def workers_in(settings)
  (settings["servers"] || 1).to_i
end

# Thin's own pool has 20 unless it is told otherwise.
def threads_in(settings)
  settings["threaded"] ? (settings["threadpool_size"] || 20).to_i : 1
end

# Nil where they follow no variable. `named`: variables beside those by convention.
def obeyed(named)
  others = numbered(named - WORKERS.keys - THREADS.keys)
  workers, threads = WORKERS.merge(others), THREADS.merge(others)
  workers.merge(threads).each { |name, number| ENV[name] = number.to_s }
  settings = load_settings
  { "workers" => workers.key(workers_in(settings)), "threads" => threads.key(threads_in(settings)) }
end

print_inspection_of("thin") do
  require "thin"
  require "erb"
  require "yaml"

  settle_environment("RACK_ENV", "RAILS_ENV", "APP_ENV")
  obeys = ask_for_variables { |named| obeyed(named) }
  settings = load_settings
  listeners = %w[socket address port].filter_map { |name| settings[name] }
  {
    "workers" => workers_in(settings),
    "threads" => threads_in(settings),
    "timeout_s" => (settings["timeout"] || Thin::Server::DEFAULT_TIMEOUT).to_i,
    "connections" => (settings["max_conns"] || Thin::Server::DEFAULT_MAXIMUM_CONNECTIONS).to_i,
    "listeners" => own_addresses(listeners),
    "written" => %w[log pid].filter_map { |name| settings[name] }.map(&:to_s),
    "not_applied" => %w[backend swiftiply ssl adapter user].select { |name| settings[name] },
    "rackup" => settings["rackup"]&.to_s,
    "obeys" => obeys,
    # A text since Thin 2.
    "thin" => Thin::VERSION.is_a?(String) ? Thin::VERSION : Thin::VERSION::STRING,
  }
end
