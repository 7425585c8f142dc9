# frozen_string_literal: true

# Packs a program into the gem of a platform, and the plain gem that says that it has none.
#
#   rake -f gem/package.rake package PROGRAM=target/release/sweetspot PLATFORM=x86_64-linux
#   rake -f gem/package.rake plain
#
# Gems are written to FOLDER (target/gems). Run in the project's folder.

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
