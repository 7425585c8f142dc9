# frozen_string_literal: true

require "json"
require "open3"
require "rails/generators"
require "sweetspot/executable"

module Sweetspot
  # bin/rails generate sweetspot:install
  class InstallGenerator < Rails::Generators::Base
    desc "Writes sweetspot.toml, with what sweetspot sees of this app"

    # The keys of the plan file, by what `tune --dry-run --json` calls them.
    KEYS = {
      "server" => "server", "workers" => "workers", "threads" => "threads", "targets" => "target",
      "connection" => "connection", "budget" => "budget", "ready path" => "ready"
    }.freeze

    def write_plan
      # What sweetspot sees is what stands there already.
      if behavior == :invoke && File.exist?(File.join(destination_root, "sweetspot.toml"))
        return say("sweetspot.toml is there already and stays as it is; without it a new one is written")
      end
      create_file("sweetspot.toml") { plan }
      say "Try it: bundle exec sweetspot tune --dry-run"
    end

    private

    def plan
      head = "# How sweetspot measures this app. Every line is what it does anyway: take away the\n" \
        "# '#' where it is to do something else. Run it with: bundle exec sweetspot tune\n\n"
      goal = "# The latency goal.\n# slo = \"p95<200ms,errors<1%\"\n\n" \
        "# Requests of the mix, with their shares.\n# [[target]]\n# path = \"/\"\n# weight = 3\n"
      head + seen.map { |it| line(it) }.join + goal
    end

    def line(row)
      key = KEYS[row["what"]]
      return "" if key.nil? || key == "target"
      "# #{key} = #{row["value"].to_s.split(" ").first(1).join.inspect}   # #{row["source"]}\n\n"
    end

    # The plan's lines; where sweetspot cannot see the app its own words are shown.
    def seen
      command = [Executable.path, "tune", "--dry-run", "--json"]
      look = -> { Open3.capture3(*command, chdir: destination_root) }
      out, error, status = defined?(Bundler) ? Bundler.with_original_env(&look) : look.call
      raise Thor::Error, error.strip unless status.success?
      JSON.parse(out)
    rescue Executable::Missing => missing
      raise Thor::Error, missing.message
    end
  end
end
