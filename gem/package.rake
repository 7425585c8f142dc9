# frozen_string_literal: true

# Packs a program into the gem of a platform, and the plain gem that says that it has none.
#
#   rake -f gem/package.rake package PROGRAM=target/release/sweetspot PLATFORM=x86_64-linux THIRD_PARTY=FILE
#   rake -f gem/package.rake plain
#
# Gems are written to FOLDER (target/gems). THIRD_PARTY has the licences of what the program is linked
# with, for gems that are given on. Run in the project's folder.

require "fileutils"
require "rubygems/package"
require "tmpdir"

pack = lambda do |platform, program|
  into = File.expand_path(ENV.fetch("FOLDER", "target/gems"))
  FileUtils.mkdir_p(into)
  Dir.mktmpdir do |folder|
    FileUtils.cp_r("gem/.", folder)
    FileUtils.rm_f(File.join(folder, "package.rake"))
    FileUtils.cp(Dir["LICENSE-*"], folder)
    # A link in the repository.
    script = File.join(folder, "lib/sweetspot/probe_script.rb")
    FileUtils.rm_f(script)
    FileUtils.cp("src/server/rack/probe.rb", script)
    if program
      at = File.join(folder, "exe", platform)
      FileUtils.mkdir_p(at)
      FileUtils.install(program, at, mode: 0o755)
      FileUtils.cp(ENV["THIRD_PARTY"], File.join(folder, "THIRD-PARTY")) if ENV["THIRD_PARTY"]
    end
    Dir.chdir(folder) do
      gem = Gem::Specification.load("sweetspot.gemspec")
      gem.platform = platform if platform
      FileUtils.mv(Gem::Package.build(gem), into)
    end
  end
end

task(:plain) { pack.call(nil, nil) }

task(:package) { pack.call(ENV.fetch("PLATFORM"), File.expand_path(ENV.fetch("PROGRAM"))) }
