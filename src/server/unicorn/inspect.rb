# Prints what Unicorn's own loader makes of the app's settings, as one line of JSON after a mark, and
# starts nothing. The file to load is the first argument, when there is one.
# Every variable by which workers are set by convention, each with a number of its own: a number that
# turns up in the settings shows which variable they follow. Those that the settings name themselves
# are tried too.
WORKERS = {
  "WEB_CONCURRENCY" => 31, "UNICORN_WORKERS" => 37, "UNICORN_PROCESSES" => 41,
  "UNICORN_WORKER_PROCESSES" => 43, "WORKER_PROCESSES" => 47, "WORKERS" => 53,
}

def load_settings
  configurator = Unicorn::Configurator.new(:use_defaults => true)
  # It may name a folder that only production has.
  configurator.define_singleton_method(:working_directory) { |_folder| }
  if ARGV[0]
    configurator.config_file = path = File.expand_path(ARGV[0])
    configurator.instance_eval(File.read(path), path)
  end
  configurator.set
end

# Nil where they follow no variable. `named`: variables beside those by convention.
def obeyed(named)
  variables = WORKERS.merge(numbered(named - WORKERS.keys))
  variables.each { |name, number| ENV[name] = number.to_s }
  { "workers" => variables.key(load_settings[:worker_processes]) }
end

print_inspection_of("unicorn") do
  require "unicorn"

  environment = settle_environment("RACK_ENV", "RAILS_ENV", "APP_ENV")
  obeys = ask_for_variables { |named| obeyed(named) }
  settings = load_settings
  logs = [:stderr_path, :stdout_path].map { |name| settings[name] }
  {
    "workers" => settings[:worker_processes],
    "preload" => settings[:preload_app] == true,
    "timeout_s" => settings[:timeout],
    "listeners" => own_addresses(settings[:listeners]),
    "logs" => logs.grep(String).uniq,
    "environment" => environment,
    "obeys" => obeys && obeys["workers"],
    "unicorn" => Unicorn::Const::UNICORN_VERSION,
  }
end
