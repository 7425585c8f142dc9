# Prints what Puma's own loader makes of the app's settings, as one line of JSON after a mark, and
# starts nothing. The file to load is the first argument, when there is one.
require "json"

# Every variable by which workers and threads are set by convention, each with a number of its own:
# a number that turns up in the settings shows which variable they follow.
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

def obeyed
  [WORKERS, MIN_THREADS, MAX_THREADS].each do |variables|
    variables.each { |name, number| ENV[name] = number.to_s }
  end
  options = load_settings
  min_threads = options[:min_threads].to_i
  {
    "workers" => WORKERS.key(options[:workers].to_i),
    "max_threads" => MAX_THREADS.key(options[:max_threads].to_i),
    # Often the same variable as for the most.
    "min_threads" => MIN_THREADS.merge(MAX_THREADS).key(min_threads),
    "min_threads_else" => min_threads,
  }
end

# In a process of its own, so that settings that have been loaded once don't get in the way, with
# nothing printed. Nil when the settings don't load with these numbers.
def ask_which_are_obeyed
  return unless Process.respond_to?(:fork)

  answer, out = IO.pipe
  child = fork do
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    out.write(JSON.generate(obeyed))
  rescue LoadError, StandardError, SyntaxError
    # The settings as they are today say what is wrong.
  ensure
    out.close
    exit!
  end
  out.close
  text = answer.read
  Process.wait(child)
  JSON.parse(text) unless text.empty?
end

report =
  begin
    require "puma"
    require "puma/configuration"
    require "puma/const"

    environment = ENV["APP_ENV"] || ENV["RACK_ENV"] || ENV["RAILS_ENV"] || "production"
    %w[APP_ENV RACK_ENV RAILS_ENV].each { |name| ENV[name] ||= environment }

    obeys = ask_which_are_obeyed
    options = load_settings
    {
      "workers" => options[:workers].to_i,
      "min_threads" => options[:min_threads].to_i,
      "max_threads" => options[:max_threads].to_i,
      "preload" => options[:preload_app] ? true : false,
      "environment" => options[:environment].to_s,
      "obeys" => obeys,
      "puma" => Puma::Const::PUMA_VERSION,
      "ruby" => "#{RUBY_ENGINE} #{RUBY_VERSION}",
    }
  rescue LoadError, StandardError, SyntaxError => error
    {
      "error" => "#{error.class}: #{error.message}",
      "at" => error.backtrace&.first,
      "server_missing" => error.is_a?(LoadError) && error.path.to_s.start_with?("puma"),
    }
  end

puts
puts "sweetspot-inspection #{JSON.generate(report)}"
