# What the inspections of Ruby's app servers have in common; a server's own script follows.
require "json"

# Settings may insist on a port, which every start has; where the environment names none, this one
# stands for it.
ANY_PORT = "50505"
ENV["PORT"] ||= ANY_PORT

# The addresses that settings name themselves: not those that only follow the port.
def own_addresses(addresses)
  addresses.map(&:to_s).reject { |address| address.end_with?(ANY_PORT) }
end

# The text of the app's own settings, as bytes, which need not fit the locale; empty without any.
def own_text
  ARGV[0] && File.file?(ARGV[0]) ? File.binread(ARGV[0]) : ""
end

# Each with a number of its own, which settings rarely hold by themselves: MIN_THREADS with a
# smaller one than MAX_THREADS, as Puma insists on.
def numbered(names)
  names.sort.reverse.each.with_index(101).to_h
end

# What the block gives, asked in a process of its own, so that settings that have been loaded once
# don't get in the way, with nothing printed. Nil when the settings don't load there.
def ask_apart
  return unless Process.respond_to?(:fork)

  answer, out = IO.pipe
  child = fork do
    [$stdout, $stderr].each { |stream| stream.reopen(File::NULL, "w") }
    out.write(JSON.generate(yield))
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

# What the block finds that settings follow: of the variables that are usual alone, then also of
# those in the settings' quotation marks that sound like one for workers or threads. One of these
# may be a switch that changes everything, or be refused with a number in it: what was found without
# them comes first. Nil where the settings load in neither case.
def ask_for_variables
  named = own_text.scan(/["'](\w*(?:WORKER|THREAD|CONCURRENCY|PROCESS)\w*)["']/).flatten.uniq
  found = [[], named].uniq.filter_map { |others| ask_apart { yield others } }
  found.reduce { |first, second| first.merge(second) { |_name, one, other| one || other } }
end

# The environment that the first of these variables names, in production unless one does; all of them
# say so from then on.
def settle_environment(*names)
  environment = names.filter_map { |name| ENV[name] }.first || "production"
  names.each { |name| ENV[name] ||= environment }
  environment
end

# Prints what the block gives, or what went wrong in it, as one line of JSON after a mark.
def print_inspection_of(server)
  report =
    begin
      yjit = RbConfig::CONFIG.fetch("YJIT_SUPPORT", "no") != "no"
      yield.merge("ruby" => "#{RUBY_ENGINE} #{RUBY_VERSION}", "yjit" => yjit)
    # Settings that miss something may abort.
    rescue LoadError, StandardError, SyntaxError, SystemExit => error
      {
        "error" => "#{error.class}: #{error.message}",
        "at" => error.backtrace&.first,
        "server_missing" => error.is_a?(LoadError) && error.path.to_s.start_with?(server),
      }
    end

  puts
  puts "sweetspot-inspection #{JSON.generate(report)}"
end

