# Prints what Unicorn's own loader makes of the app's settings, as one line of JSON after a mark, and
# starts nothing. The file to load is the first argument, when there is one.
require "json"

# Every variable by which workers are set by convention, each with a number of its own: a number that
# turns up in the settings shows which variable they follow.
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

# In a process of its own, so that settings that have been loaded once don't get in the way, with
# nothing printed. Nil when the settings don't load with these numbers, or follow no variable.
def ask_which_is_obeyed
  return unless Process.respond_to?(:fork)

  answer, out = IO.pipe
  child = fork do
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    WORKERS.each { |name, number| ENV[name] = number.to_s }
    out.write(WORKERS.key(load_settings[:worker_processes]))
  rescue LoadError, StandardError, SyntaxError
    # The settings as they are today say what is wrong.
  ensure
    out.close
    exit!
  end
  out.close
  text = answer.read
  Process.wait(child)
  text unless text.empty?
end

report =
  begin
    require "unicorn"

    environment = ENV["RACK_ENV"] || ENV["RAILS_ENV"] || ENV["APP_ENV"] || "production"
    %w[APP_ENV RACK_ENV RAILS_ENV].each { |name| ENV[name] ||= environment }

    obeys = ask_which_is_obeyed
    settings = load_settings
    logs = [:stderr_path, :stdout_path].map { |name| settings[name] }
    {
      "workers" => settings[:worker_processes],
      "preload" => settings[:preload_app] == true,
      "timeout_s" => settings[:timeout],
      "listeners" => settings[:listeners].map(&:to_s),
      "logs" => logs.grep(String).uniq,
      "environment" => environment,
      "obeys" => obeys,
      "unicorn" => Unicorn::Const::UNICORN_VERSION,
      "ruby" => "#{RUBY_ENGINE} #{RUBY_VERSION}",
    }
  rescue LoadError, StandardError, SyntaxError => error
    {
      "error" => "#{error.class}: #{error.message}",
      "at" => error.backtrace&.first,
      "server_missing" => error.is_a?(LoadError) && error.path.to_s.start_with?("unicorn"),
    }
  end

puts
puts "sweetspot-inspection #{JSON.generate(report)}"
