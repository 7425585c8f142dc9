# frozen_string_literal: true

require_relative "lib/sweetspot/version"

# The plain gem has no program in it and says so; package.rake adds one and its platform.
Gem::Specification.new do |gem|
  gem.name = "sweetspot"
  gem.version = Sweetspot::VERSION
  gem.summary = "Finds, by measuring, how many workers and threads your app server should run"
  gem.description = "Runs the app on real servers under a real load, finds the best number of " \
    "workers and threads of Puma, Unicorn and others, how much load that holds within a latency " \
    "goal, and why not more."
  gem.authors = ["The sweetspot authors"]
  gem.licenses = ["MIT", "Apache-2.0"]
  gem.metadata = { "rubygems_mfa_required" => "true" }
  gem.required_ruby_version = ">= 3.0"
  gem.files = Dir.chdir(__dir__) { Dir["{lib,exe}/**/*", "README.md", "LICENSE-*", "THIRD-PARTY"].select { |it| File.file?(it) } }
  gem.bindir = "exe"
  gem.executables = ["sweetspot"]
  gem.require_paths = ["lib"]
end
