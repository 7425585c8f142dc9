# Prints what Puma's own loader makes of the app's settings, as one line of JSON after a mark, and
# starts nothing. The file to load is the first argument, when there is one.
# Every variable by which workers and threads are set by convention, each with a number of its own:
# a number that turns up in the settings shows which variable they follow. Those that the settings
# name themselves are tried too.
WORKERS = { "WEB_CONCURRENCY" => 31 }
MIN_THREADS = { "RAILS_MIN_THREADS" => 11, "PUMA_MIN_THREADS" => 13, "MIN_THREADS" => 17 }
MAX_THREADS = { "RAILS_MAX_THREADS" => 41, "PUMA_MAX_THREADS" => 43, "MAX_THREADS" => 47 }

def load_settings
  configuration = Puma::Configuration.new do |user, _file, _default|
    user.load ARGV[0] if ARGV[0]
  end
  configuration.load
  configuration.clamp
  configuration.options
end

# The plugins that the settings load.
def plugins
  Puma::Plugins.instance_variable_get(:@plugins).keys.map(&:to_s)
end

# Those that they would load if a variable were set, each with that variable.
def plugins_off
  # Where it is compared with a value, that one is not known.
  waits = /^\s*plugin[\s(]+[:"'](\w+)["']?\)?\s+if\s+ENV(?:\.\w+\??)?[\[(]["'](\w+)["'](?!.*=)/
  own_text.scan(waits).reject { |name, _variable| plugins.include?(name) }
end

# Sidekiq as the settings start it in each worker, in a block that has not run yet.
def embedded
  own_text.include?("configure_embed") ? ["sidekiq"] : []
end

# Action Cable's channels, but for those that all others are made of.
def channels
  Dir.glob("app/channels/**/*_channel.rb").length
end

# `named`: variables beside those by convention.
def obeyed(named)
  others = numbered(named - [WORKERS, MIN_THREADS, MAX_THREADS].flat_map(&:keys))
  workers, most = WORKERS.merge(others), MAX_THREADS.merge(others)
  [workers, MIN_THREADS, most].each do |variables|
    variables.each { |name, number| ENV[name] = number.to_s }
  end
  options = load_settings
  min_threads = options[:min_threads].to_i
  {
    "workers" => workers.key(options[:workers].to_i),
    "max_threads" => most.key(options[:max_threads].to_i),
    # Often the same variable as for the most.
    "min_threads" => MIN_THREADS.merge(most).key(min_threads),
    "min_threads_else" => min_threads,
  }
end

print_inspection_of("puma") do
  require "puma"
  require "puma/configuration"
  require "puma/const"

  settle_environment("APP_ENV", "RACK_ENV", "RAILS_ENV")
  obeys = ask_for_variables { |named| obeyed(named) }
  options = load_settings
  {
    "workers" => options[:workers].to_i,
    "min_threads" => options[:min_threads].to_i,
    "max_threads" => options[:max_threads].to_i,
    "preload" => options[:preload_app] ? true : false,
    # Said in the file, where Puma's own default changes nothing.
    "preload_is_off" => options.file_options[:preload_app] == false,
    "environment" => options[:environment].to_s,
    "obeys" => obeys,
    # What does something beside serving, such as a job runner; these two are Puma's own.
    "plugins" => plugins - %w[tmp_restart systemd] + embedded,
    "plugins_off" => plugins_off,
    "channels" => channels,
    "binds" => options[:binds] || [],
    "puma" => Puma::Const::PUMA_VERSION,
  }
end
