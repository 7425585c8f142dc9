# frozen_string_literal: true

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
      candidates = folders.flat_map { |folder| Dir[File.join(folder, "exe", "*", "sweetspot")] }
      candidates.find { |it| fits?(File.basename(File.dirname(it))) } || raise(Missing, missing)
    end

    # This gem's folder, and those of its other platforms and versions that are installed: Bundler
    # may have locked the plain gem where one with a program stands beside it.
    def folders
      installed = Gem::Specification.find_all_by_name("sweetspot", VERSION)
      [File.expand_path("../..", __dir__), *installed.map(&:full_gem_path), *beside].uniq
    end

    # Bundler hides what it has not locked.
    def beside
      parents = Gem.path + [Gem.dir]
      parents.flat_map { |it| Dir[File.join(it, "gems", "sweetspot-#{VERSION}-*")] }.uniq
    end

    # A program is static, so that it runs with either C library.
    def fits?(platform)
      its, ours = Gem::Platform.new(platform), Gem::Platform.local
      its.os == ours.os && its.cpu == ours.cpu
    end

    def checked(path)
      return path if File.executable?(path)
      raise Missing, "#{VARIABLE} names #{path}, which is no program that may be run"
    end

    def missing
      ours = Gem::Platform.local
      if PLATFORMS.none? { |it| fits?(it) }
        return "sweetspot runs on Linux (x86_64 and aarch64), and this is #{ours}: run it in a " \
          "container, or name a program with #{VARIABLE}"
      end
      name = platform_of(ours)
      "this is the gem without the program for #{ours}: it was locked or installed for another " \
        "platform. From the files of a release: gem install --local " \
        "./sweetspot-#{VERSION}-#{name}.gem. From a gem server that has it, with Bundler: bundle " \
        "lock --add-platform #{name} && bundle install; without: gem install sweetspot " \
        "--platform #{name}. Or name a program of your own with #{VARIABLE}"
    end

    # What the gem for this machine is called; C libraries but for musl have one name.
    def platform_of(ours)
      libc = "-musl" if ours.version.to_s.start_with?("musl")
      "#{ours.cpu}-#{ours.os}#{libc}"
    end
  end
end
