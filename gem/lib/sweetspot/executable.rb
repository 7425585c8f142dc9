# frozen_string_literal: true

require "rbconfig"
require "rubygems"
require_relative "version"

module Sweetspot
  # The program for this machine, which a gem of its platform brings.
  module Executable
    # There is none; the message says how to have one.
    class Missing < StandardError; end

    # Names a program to run in place of the gem's.
    VARIABLE = "SWEETSPOT_EXECUTABLE"

    # The platforms that have a gem.
    PLATFORMS = %w[x86_64-linux x86_64-linux-musl aarch64-linux aarch64-linux-musl].freeze

    module_function

    # Its path. Raises Missing where there is none for this machine.
    def path
      named = ENV[VARIABLE].to_s
      return checked(named) unless named.empty?
      candidates = folders.flat_map { |folder| below(folder, "exe/*/sweetspot") }
      candidates.find { |it| fits?(File.basename(File.dirname(it))) } || raise(Missing, missing)
    end

    # This gem's folder, and those of its other platforms and versions that are installed: Bundler
    # may have locked the plain gem where one with a program stands beside it.
    def folders
      installed = Gem::Specification.find_all_by_name("sweetspot", VERSION)
      [File.expand_path("../..", __dir__), *installed.map(&:full_gem_path), *beside].uniq
    end

    # Bundler hides what it has not locked, and what `gem install` installs where it has a path of
    # its own.
    def beside
      parents = [*Gem.path, Gem.dir, Gem.default_dir, Gem.user_dir]
      parents.flat_map { |it| below(it, "gems/sweetspot-#{VERSION}-*") }.uniq
    end

    # A folder's name is no pattern.
    def below(folder, pattern)
      Dir.glob(pattern, base: folder).map { |it| File.join(folder, it) }
    end

    # What the gem for this machine is called, by the machine's own words: JRuby's platform is Java to
    # RubyGems.
    def platform
      cpu, os = RbConfig::CONFIG.values_at("host_cpu", "host_os")
      "#{cpu}-#{os.delete_suffix("-gnu")}"
    end

    # A program is static, so that it runs with either C library.
    def fits?(other)
      other.delete_suffix("-musl") == platform.delete_suffix("-musl")
    end

    def checked(path)
      return path if File.executable?(path)
      raise Missing, "#{VARIABLE} names #{path}, which is no program that may be run"
    end

    def missing
      unless PLATFORMS.include?(platform)
        return "sweetspot runs on Linux (x86_64 and aarch64), and this is #{platform}: run it in a " \
          "container, or name a program with #{VARIABLE}"
      end
      "this is the gem without the program for #{platform}: it was locked or installed for another " \
        "platform. From the files of a release: gem install --local " \
        "./sweetspot-#{VERSION}-#{platform}.gem. From a gem server that has it, with Bundler: bundle " \
        "lock --add-platform #{platform} && bundle install; without: gem install sweetspot " \
        "--platform #{platform}. Or name a program of your own with #{VARIABLE}"
    end
  end
end
