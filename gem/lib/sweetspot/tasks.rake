# frozen_string_literal: true

require "shellwords"
require "sweetspot/executable"

# The words of ARGS, parted as a shell does.
typed = lambda do
  Shellwords.split(ENV.fetch("ARGS", ""))
rescue ArgumentError => unmatched
  abort("sweetspot: ARGS: #{unmatched.message}")
end

# Hands over what follows in ARGS: rake sweetspot:tune ARGS="--budget 3m --workers 1..4".
# Its exit codes are answers, and no failures of rake's. Ctrl-C is its own to answer: rake waits.
run = lambda do |*words|
  before = trap("INT") {}
  all = [Sweetspot::Executable.path, *words, *typed.call]
  start = -> { sh(*all, verbose: false) { |is_ok, status| exit(status.exitstatus || 1) unless is_ok } }
  defined?(Bundler) ? Bundler.with_original_env(&start) : start.call
rescue Sweetspot::Executable::Missing => missing
  abort("sweetspot: #{missing.message}")
ensure
  trap("INT", before || "DEFAULT")
end

namespace :sweetspot do
  desc "Find how many workers and threads this app should run with (ARGS='--budget 3m')"
  task(:tune) { run.call("tune") }

  desc "Show what would be done, and why"
  task(:plan) { run.call("tune", "--dry-run") }

  desc "Measure whether the last recommendation is still right"
  task(:verify) { run.call("verify", "last") }
end
