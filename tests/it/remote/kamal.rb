#!/usr/bin/env ruby
# Stands in for Kamal 2.12, which is in no registry that the tests reach: reads its configuration as
# that does (ERB, YAML, a destination's merged in; variables of env, of the role and of tags; all
# strings), refuses options that it does not have, and runs a real Puma where that runs a container;
# what does not come up leaves the container before it renamed. Of locks it has none. HOST_FOLDER is
# the machine; with a file `old` there it prints a version as Kamal did before 2.9, which has no other
# way.
require "erb"
require "net/http"
require "yaml"

TAKING = %w[--config-file --version --destination --roles].freeze
options = {}
words = []
rest = ARGV.dup
while (word = rest.shift)
  case word
  when *TAKING then options[word] = rest.shift
  when "--primary", "--quiet" then options[word] = true
  when /\A-/ then abort "kamal: unknown option #{word}"
  else words << word
  end
end

merge = ->(a, b) { a.merge(b) { |_, x, y| x.is_a?(Hash) && y.is_a?(Hash) ? merge.call(x, y) : y } }
read = ->(path) { YAML.unsafe_load(ERB.new(File.read(path), trim_mode: "-").result) }
path = options["--config-file"] || "config/deploy.yml"
config = read.call(path)
destination = options["--destination"]
config = merge.call(config, read.call(path.sub(/\.yml\z/, ".#{destination}.yml"))) if destination

clear = lambda do |env|
  known = (env || {}).keys & %w[clear secret tags]
  values = known.empty? ? (env || {}) : (env["clear"] || {})
  odd = values.reject { |_, value| [String, Integer, Float, true, false].any? { |it| it === value } }
  abort "kamal: env/clear: should be strings: #{odd}" unless odd.empty?
  values.transform_values(&:to_s)
end

failed = lambda do |words|
  puts "  \e[31mERROR (SSHKit::Command::Failed): #{words}\e[0m"
  exit 1
end

host = ENV.fetch("HOST_FOLDER")
at = ->(name) { File.join(host, name) }
role = config["servers"].is_a?(Hash) ? config["servers"]["web"] : {}
role = {} if role.is_a?(Array)

case words
when %w[app version]
  puts "App Host: 10.0.0.7" if !options["--quiet"] || File.exist?(at.call("old"))
  puts "#{File.read(at.call("version"))}\n\n"
when %w[lock status]
  abort "kamal: There is no deploy lock"
when %w[app boot]
  version = options["--version"].to_s
  abort "kamal: no image of version '#{version}'" unless version == "abc123"
  env = clear.call(config["env"]).merge(clear.call(role["env"]))
  if env["RAILS_MAX_THREADS"] == "7"
    # The one before goes on, under another name.
    File.write(at.call("version"), "abc123_replaced_0123456789abcdef")
    failed.call("target failed to become healthy within 30s")
  end
  File.write(at.call("version"), version)
  if File.exist?(at.call("pid"))
    pid = File.read(at.call("pid")).to_i
    Process.kill("TERM", pid) rescue nil
    gone = -> { (File.read("/proc/#{pid}/stat") rescue ") Z ").include?(") Z ") }
    sleep 0.02 until gone.call
  end
  address = File.read(at.call("address")).strip
  threads = env.fetch("RAILS_MAX_THREADS", "3")
  # Elsewhere nothing of who typed the command is there.
  clean = { "PATH" => ENV["PATH"].split(":").reject { |it| it.end_with?("/tools") }.join(":") }
  clean["HOME"] = host
  pid = spawn(clean.merge(env), "puma", "--quiet", "--bind", "tcp://#{address}",
    "-w", env.fetch("WEB_CONCURRENCY", "1"), "-t", "#{threads}:#{threads}", at.call("config.ru"),
    pgroup: true, unsetenv_others: true, chdir: host, in: "/dev/null", %i[out err] => at.call("log"))
  Process.detach(pid)
  File.write(at.call("pid"), pid)
  File.write(at.call("env"), env.sort.map { |name, value| "#{name}=#{value}\n" }.join)
  deadline = Time.now + 30
  begin
    Net::HTTP.new(*address.split(":"), nil).get("/up")
  rescue SystemCallError, IOError, Net::ReadTimeout
    failed.call("target failed to become healthy within 30s") if Time.now > deadline
    sleep 0.05
    retry
  end
when %w[config]
  puts({ primary_host: "10.0.0.7", version: "abc123",
    service_with_version: "#{config["service"]}-abc123",
    ssh_options: { user: "deploy", port: 2222 } }.to_yaml)
else
  abort "kamal: could not find command #{words.join(" ")}"
end
