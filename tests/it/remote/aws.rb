#!/usr/bin/env ruby
# A small ECS: stands in for AWS's command with the operations that sweetspot needs, takes what the
# real one takes and nothing else, and runs a real Puma where ECS runs a task. A deployment goes on
# while it is asked about: what ran before is drained, the new task comes up or fails. HOST_FOLDER
# is the account: state.json what it holds, `denied` an operation that the credentials may not do,
# `expired` that they are no longer good, `fatal` an operation before which whoever asks for it is
# killed, once, `throttled` how many of the next questions are too many, `stuck` that no task starts
# any more, `others` when somebody else deploys: "2 deploying", while the second setting comes up,
# or "2 measured", once it is up and asked about again.
require "json"
require "socket"

HOST = ENV.fetch("HOST_FOLDER")
AT = ->(name) { File.join(HOST, name) }
PREFIX = "arn:aws:ecs:eu-west-1:1:task-definition/"

def refuse(status, text)
  warn "\n#{text}"
  exit status
end

def fail_with(kind, operation, text)
  refuse 254, "An error occurred (#{kind}) when calling the #{operation} operation: #{text}"
end

service, operation, *rest = ARGV
given = {}
until rest.empty?
  option = rest.shift
  refuse 252, "aws: error: unknown options: #{option}" unless option.start_with?("--")
  given[option.delete_prefix("--")] = rest.shift
end
refuse 252, "aws: only json" unless given.delete("output") == "json"
if (input = given.delete("cli-input-json"))
  given = JSON.parse(File.read(input.delete_prefix("file://")))
end
TAKES = {
  "describe-services" => %w[cluster services],
  "describe-task-definition" => %w[task-definition include],
  "register-task-definition" => %w[family containerDefinitions cpu memory networkMode
    requiresCompatibilities tags executionRoleArn],
  "update-service" => %w[cluster service taskDefinition desiredCount forceNewDeployment
    healthCheckGracePeriodSeconds],
  "list-tasks" => %w[cluster family desired-status],
  "describe-tasks" => %w[cluster tasks],
  "list-task-definitions" => %w[family-prefix],
  "deregister-task-definition" => %w[task-definition],
  "describe-scalable-targets" => %w[service-namespace resource-ids scalable-dimension],
  "register-scalable-target" => %w[ServiceNamespace ScalableDimension ResourceId SuspendedState],
  "describe-target-group-attributes" => %w[target-group-arn],
  "modify-target-group-attributes" => %w[TargetGroupArn Attributes],
}.freeze
OWNERS = { "ecs" => 0..7, "application-autoscaling" => 8..9, "elbv2" => 10..11 }.freeze
known = TAKES.keys[OWNERS.fetch(service) { refuse 252, "aws: no service #{service}" }]
refuse 252, "aws: #{service} has no #{operation}" unless known.include?(operation)
odd = given.keys - TAKES.fetch(operation)
refuse 252, "aws: #{operation} takes no #{odd.join(", ")}" unless odd.empty?
if File.exist?(AT["expired"])
  fail_with("ExpiredTokenException", operation, "The security token included in the request is expired")
end
denied = File.exist?(AT["denied"]) ? File.read(AT["denied"]).strip : nil
fail_with("AccessDeniedException", operation, "not authorized") if denied == operation
if File.exist?(AT["fatal"]) && File.read(AT["fatal"]).strip == operation
  File.delete(AT["fatal"])
  Process.kill("KILL", Process.ppid)
  exit 1
end

lock = File.open(AT["lock"], "w")
lock.flock(File::LOCK_EX)
left = File.exist?(AT["throttled"]) ? File.read(AT["throttled"]).to_i : 0
if left.positive?
  File.write(AT["throttled"], left - 1)
  fail_with("ThrottlingException", operation, "Rate exceeded")
end
state = JSON.parse(File.read(AT["state.json"]))
shop = state["service"]

definition = ->(arn) { state["definitions"].find { |it| it["taskDefinitionArn"] == arn } }

stop = lambda do
  next unless File.exist?(AT["pid"])
  pid = File.read(AT["pid"]).to_i
  Process.kill("TERM", pid) rescue nil
  gone = -> { (File.read("/proc/#{pid}/stat") rescue ") Z ").include?(") Z ") }
  sleep 0.02 until gone.call
end

start = lambda do |arn|
  web = definition[arn]["containerDefinitions"].find { |it| it["name"] == "web" }
  env = web["environment"].to_h { |it| it.values_at("name", "value") }
  # One that does not start.
  next false if env["RAILS_MAX_THREADS"] == "7" || File.exist?(AT["stuck"])
  clean = { "PATH" => ENV["PATH"].split(":").reject { |it| it.end_with?("/tools") }.join(":") }
  threads = env.fetch("RAILS_MAX_THREADS")
  address = File.read(AT["address"]).strip
  pid = spawn(clean.merge(env), "puma", "--quiet", "--bind", "tcp://#{address}",
    "-w", env.fetch("WEB_CONCURRENCY", "1"), "-t", "#{threads}:#{threads}", AT["config.ru"],
    pgroup: true, unsetenv_others: true, chdir: HOST, in: "/dev/null", %i[out err] => AT["log"])
  Process.detach(pid)
  File.write(AT["pid"], pid)
  File.write(AT["env"], env.sort.map { |name, value| "#{name}=#{value}\n" }.join)
  true
end

is_up = lambda do
  TCPSocket.new(*File.read(AT["address"]).strip.split(":")).close
  true
rescue SystemCallError
  false
end

# From now on the service runs so many tasks of a revision.
deploy = lambda do |arn, tasks, is_afresh|
  is_new = shop["taskDefinition"] != arn || is_afresh
  shop.merge!("taskDefinition" => arn, "desiredCount" => tasks)
  if is_new
    stop.call
    old = shop["deployments"].map { |it| it.merge("status" => "ACTIVE", "rolloutState" => "") }
    state["begun"] = state["begun"].to_i + 1
    newest = { "id" => "ecs-svc/#{state["begun"]}", "status" => "PRIMARY", "pendingCount" => 0,
      "rolloutState" => "IN_PROGRESS", "taskDefinition" => arn, "runningCount" => 0,
      "failedTasks" => 0 }
    shop["deployments"] = [newest, *old]
  end
  newest = shop["deployments"].first
  newest["desiredCount"] = tasks
  newest["runningCount"] = tasks unless is_new
end

# Somebody else deploys a revision of their own.
others = lambda do
  next unless File.exist?(AT["others"])
  number, moment = File.read(AT["others"]).split
  has_settled = shop["deployments"].first["rolloutState"] == "COMPLETED"
  next if state["begun"].to_i < number.to_i || has_settled != (moment == "measured")
  File.delete(AT["others"])
  arn = "#{PREFIX}shop:8"
  first = state["definitions"].first
  state["definitions"] << first.merge("taskDefinitionArn" => arn, "revision" => 8)
  deploy[arn, shop["desiredCount"], false]
end

# As far as a deployment has come since it was last looked at.
go_on = lambda do
  newest = shop["deployments"].first
  next if newest["rolloutState"] != "IN_PROGRESS"
  if newest["isStarted"].nil?
    newest["isStarted"] = start[newest["taskDefinition"]]
  elsif newest["isStarted"] && is_up.call
    newest.merge!("runningCount" => newest["desiredCount"], "rolloutState" => "COMPLETED")
    shop["deployments"] = [newest]
  elsif !newest["isStarted"]
    newest["failedTasks"] += 1
    state["stopped"] = true
  end
end

answer =
  case operation
  when "describe-services"
    fail_with("ClusterNotFoundException", operation, "none") if given["cluster"] != "prod"
    if given["services"] == "shop"
      others.call
      go_on.call
      { services: [shop], failures: [] }
    else
      { services: [], failures: [{ reason: "MISSING" }] }
    end
  when "describe-task-definition"
    found = definition[given["task-definition"]]
    { taskDefinition: found.except("tags"), tags: found["tags"] || [] }
  when "register-task-definition"
    names = given["containerDefinitions"].flat_map do |it|
      all = [*it["environment"], *it["secrets"]].map { |one| one["name"] }
      fail_with("ClientException", operation, "a name twice") if all.uniq != all
      all
    end
    fail_with("ClientException", operation, "no variables") if names.empty?
    revision = state["definitions"].count { |it| it["family"] == given["family"] } + 1
    arn = "#{PREFIX}#{given["family"]}:#{revision}"
    made = given.merge("taskDefinitionArn" => arn, "revision" => revision, "status" => "ACTIVE")
    state["definitions"] << made
    { taskDefinition: made }
  when "update-service"
    shop.merge!(given.slice("healthCheckGracePeriodSeconds"))
    deploy[given["taskDefinition"], given["desiredCount"], given["forceNewDeployment"]]
    { service: shop }
  when "list-tasks"
    { taskArns: state["stopped"] ? ["arn:task"] : [] }
  when "describe-tasks"
    web = { name: "web", exitCode: 1, reason: "" }
    { tasks: [{ stoppedReason: "Essential container in task exited", containers: [web] }] }
  when "list-task-definitions"
    own = state["definitions"].select do |it|
      it["family"].start_with?(given["family-prefix"]) && it["status"] == "ACTIVE"
    end
    { taskDefinitionArns: own.map { |it| it["taskDefinitionArn"] } }
  when "deregister-task-definition"
    definition[given["task-definition"]]["status"] = "INACTIVE"
    { taskDefinition: {} }
  when "describe-scalable-targets"
    { ScalableTargets: [{ SuspendedState: state["suspended"] }] }
  when "register-scalable-target"
    state["suspended"] = given["SuspendedState"]
    nil
  when "describe-target-group-attributes"
    { Attributes: [{ Key: "stickiness.enabled", Value: "false" },
      { Key: "deregistration_delay.timeout_seconds", Value: state["drain"] }] }
  when "modify-target-group-attributes"
    state["drain"] = given["Attributes"].first["Value"]
    { Attributes: [] }
  end
File.open(AT["calls"], "a") { |file| file.puts "#{operation} #{ENV["AWS_RETRY_MODE"]}" }
File.write(AT["state.json"], JSON.generate(state))
puts JSON.generate(answer) if answer
