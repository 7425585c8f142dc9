# Prints what Puma's own loader makes of the app's settings, as one line of JSON after a mark, and
# starts nothing. The file to load is the first argument, when there is one.
require "json"

report =
  begin
    require "puma"
    require "puma/configuration"
    require "puma/const"

    environment = ENV["APP_ENV"] || ENV["RACK_ENV"] || ENV["RAILS_ENV"] || "production"
    %w[APP_ENV RACK_ENV RAILS_ENV].each { |name| ENV[name] ||= environment }

    configuration = Puma::Configuration.new do |user, _file, _default|
      user.load ARGV[0] if ARGV[0]
    end
    configuration.load
    configuration.clamp
    options = configuration.options
    {
      "workers" => options[:workers].to_i,
      "min_threads" => options[:min_threads].to_i,
      "max_threads" => options[:max_threads].to_i,
      "preload" => options[:preload_app] ? true : false,
      "environment" => options[:environment].to_s,
      "puma" => Puma::Const::PUMA_VERSION,
      "ruby" => "#{RUBY_ENGINE} #{RUBY_VERSION}",
    }
  rescue LoadError, StandardError, SyntaxError => error
    {
      "error" => "#{error.class}: #{error.message}",
      "at" => error.backtrace&.first,
      "puma_missing" => error.is_a?(LoadError) && error.path.to_s.start_with?("puma"),
    }
  end

puts
puts "sweetspot-inspection #{JSON.generate(report)}"
