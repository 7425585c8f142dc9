#!/usr/bin/env -S ruby --disable=gems
# A small ECS: stands in for AWS's command with the operations that sweetspot needs, takes what the
# real one takes and nothing else, and runs a real Puma for each task, behind balancer.rb. A
# deployment goes on a step each time that the service is described: as many new tasks come up and
# old ones are drained as its limits let it, so that for a step both are there. HOST_FOLDER is the
# account: state.json what it holds, parameters among it, tasks/ what runs, `targets` whom the
# balancer knows; `denied` an operation that the credentials may not do, `expired` that they are no
# longer good, `fatal` an operation before which whoever asks for it is killed, once (with a number:
# the how-manieth time), and which is done some seconds later all the same, `throttled` how many of
# the next questions are too many, `stale` the service as it is told once more, `stuck` that no task
# starts any more, `silent` that none answers its health check, `others` when somebody else deploys:
# "2 deploying", while the second setting comes up, or "2 measured", once it is up and asked about
# again. `down` gets a line each time that the balancer is left with nobody. A service that was
# deleted has the status INACTIVE, and later the one of ours, MISSING: it is not told of any more.
# Tasks that ended are in state.json's `stopped`, and told of for ever.
require "json"

HOST = ENV.fetch("HOST_FOLDER")
AT = ->(name) { File.join(HOST, name) }
PREFIX = "arn:aws:ecs:eu-west-1:1:task-definition/"
# Seconds after its end from which on CloudWatch has a minute.
LATE_S = 75

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
    healthCheckGracePeriodSeconds deploymentConfiguration],
  "list-tasks" => %w[cluster family desired-status],
  "describe-tasks" => %w[cluster tasks],
  "list-task-definitions" => %w[family-prefix],
  "deregister-task-definition" => %w[task-definition],
  "describe-scalable-targets" => %w[service-namespace resource-ids scalable-dimension],
  "register-scalable-target" => %w[ServiceNamespace ScalableDimension ResourceId SuspendedState],
  "describe-target-group-attributes" => %w[target-group-arn],
  "modify-target-group-attributes" => %w[TargetGroupArn Attributes],
  "get-metric-data" => %w[StartTime EndTime ScanBy MetricDataQueries],
}.freeze
OWNERS = { "ecs" => 0..7, "application-autoscaling" => 8..9, "elbv2" => 10..11,
  "cloudwatch" => 12..12 }.freeze
known = TAKES.keys[OWNERS.fetch(service) { refuse 252, "aws: no service #{service}" }]
refuse 252, "aws: #{service} has no #{operation}" unless known.include?(operation)
odd = given.keys - TAKES.fetch(operation)
refuse 252, "aws: #{operation} takes no #{odd.join(", ")}" unless odd.empty?
if File.exist?(AT["expired"])
  fail_with("ExpiredTokenException", operation, "The security token included in the request is expired")
end
denied = File.exist?(AT["denied"]) ? File.read(AT["denied"]).strip : nil
fail_with("AccessDeniedException", operation, "not authorized") if denied == operation
fatal, times = File.exist?(AT["fatal"]) ? File.read(AT["fatal"]).split : nil
if fatal == operation && times.to_i > 1
  File.write(AT["fatal"], "#{fatal} #{times.to_i - 1}")
elsif fatal == operation
  File.delete(AT["fatal"])
  File.write(AT["fatal.pid"], Process.pid)
  Process.kill("KILL", Process.ppid)
  # As where AWS throttles, and is asked again.
  sleep 5
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

# Written as a whole or not at all, as whoever asks may be killed.
put = lambda do |name, text|
  File.write(AT["#{name}.new"], text)
  File.rename(AT["#{name}.new"], AT[name])
end

socket_of = ->(task) { AT["tasks/#{task["number"]}.sock"] }

stop = lambda do |task|
  pid, looks = task["pid"], 0
  Process.kill("TERM", pid) rescue nil
  gone = -> { (File.read("/proc/#{pid}/stat") rescue ") Z ").include?(") Z ") }
  until gone.call
    # One that boots may not hear of it.
    Process.kill("KILL", -pid) rescue nil if (looks += 1) > 500
    sleep 0.02
  end
end

# A task of this deployment; nil where it does not start.
start = lambda do |deployment|
  arn = deployment["taskDefinition"]
  web = definition[arn]["containerDefinitions"].find { |it| it["name"] == "web" }
  env = web["environment"].to_h { |it| it.values_at("name", "value") }
  web["secrets"].to_a.each { |it| env[it["name"]] = state["parameters"].fetch(it["valueFrom"]) }
  next if env["RAILS_MAX_THREADS"] == "7" || File.exist?(AT["stuck"])
  task = { "number" => state["started"] = state["started"].to_i + 1, "status" => "PENDING",
    "deployment" => deployment["id"], "taskDefinition" => arn }
  clean = { "PATH" => ENV["PATH"].split(":").reject { |it| it.end_with?("/tools") }.join(":") }
  threads = env.fetch("RAILS_MAX_THREADS")
  pid = spawn(clean.merge(env), "puma", "--quiet", "--bind", "unix://#{socket_of[task]}",
    "-w", env.fetch("WEB_CONCURRENCY", "1"), "-t", "#{threads}:#{threads}", AT["config.ru"],
    pgroup: true, unsetenv_others: true, chdir: HOST, in: "/dev/null", %i[out err] => AT["log"])
  Process.detach(pid)
  # What the newest one runs with.
  File.write(AT["env"], env.sort.map { |name, value| "#{name}=#{value}\n" }.join)
  task.merge("pid" => pid)
end

# Its health check, by which it may be called for.
is_healthy = lambda do |task|
  next false if File.exist?(AT["silent"])
  # What not each question needs is not read for each.
  require "socket"
  UNIXSocket.open(socket_of[task]) do |socket|
    socket.write("GET / HTTP/1.0\r\n\r\n")
    IO.select([socket], nil, nil, 0.5) && socket.gets.to_s.include?(" 200 ")
  end
rescue SystemCallError
  false
end

# From now on the service runs so many tasks of a revision.
deploy = lambda do |arn, tasks, is_afresh|
  is_new = shop["taskDefinition"] != arn || is_afresh
  shop.merge!("taskDefinition" => arn, "desiredCount" => tasks)
  if is_new
    old = shop["deployments"].map { |it| it.merge("status" => "ACTIVE", "rolloutState" => "") }
    state["begun"] = state["begun"].to_i + 1
    newest = { "id" => "ecs-svc/#{state["begun"]}", "status" => "PRIMARY", "pendingCount" => 0,
      "rolloutState" => "IN_PROGRESS", "taskDefinition" => arn, "runningCount" => 0,
      "failedTasks" => 0 }
    shop["deployments"] = [newest, *old]
  end
  shop["deployments"].first["desiredCount"] = tasks
end

# Somebody else deploys a revision of their own, with another image.
others = lambda do
  next unless File.exist?(AT["others"])
  number, moment = File.read(AT["others"]).split
  has_settled = shop["deployments"].first["rolloutState"] == "COMPLETED"
  next if state["begun"].to_i < number.to_i || has_settled != (moment == "measured")
  File.delete(AT["others"])
  arn = "#{PREFIX}shop:8"
  theirs = JSON.parse(JSON.generate(state["definitions"].first))
  theirs["containerDefinitions"].first["image"] = "shop:2"
  state["definitions"] << theirs.merge("taskDefinitionArn" => arn, "revision" => 8)
  deploy[arn, shop["desiredCount"], false]
end

# Whom the balancer knows: their sockets, and the deployments that they are of.
balance = lambda do |tasks|
  behind = tasks.select { |it| it["status"] == "RUNNING" }
  put["targets", behind.map { |it| "#{socket_of[it]} #{it["deployment"]}\n" }.join]
  File.write(AT["down"], "#{shop["taskDefinition"]}\n", mode: "a") if behind.empty?
end

# Who is no longer wanted leaves, but for those who have to stay so that enough are healthy: the
# balancer hands it nothing more, and it ends at once or, with a long drain time, some steps later.
leave = lambda do |tasks, own, limits|
  wanted = shop["desiredCount"]
  least = (wanted * limits.fetch("minimumHealthyPercent", 100) / 100.0).ceil
  spare = tasks.count { |it| it["status"] == "RUNNING" } - least
  ((tasks - own) + own.drop(wanted)).each do |task|
    next if task["status"] == "DRAINING"
    next if task["status"] == "RUNNING" && (spare -= 1).negative?
    task.merge!("status" => "DRAINING", "steps" => state["drain"].to_i / 60)
  end
  balance[tasks]
  over = tasks.select { |it| it["status"] == "DRAINING" && (it["steps"] -= 1).negative? }
  over.each(&stop)
  tasks - over
end

# As far as a deployment has come since it was last looked at.
go_on = lambda do
  newest, *old = shop["deployments"]
  limits = shop["deploymentConfiguration"] || {}
  is_own = ->(task) { task["deployment"] == newest["id"] && task["status"] != "DRAINING" }
  tasks = leave[state["tasks"], state["tasks"].select(&is_own), limits]
  tasks.each { |it| it["status"] = "RUNNING" if it["status"] == "PENDING" && is_healthy[it] }
  most = (shop["desiredCount"] * limits.fetch("maximumPercent", 200) / 100.0).floor
  room = most - tasks.count { |it| it["status"] != "DRAINING" }
  missing = shop["desiredCount"] - tasks.count(&is_own)
  begun = Array.new([[missing, room].min, 0].max) { start[newest] }
  newest["failedTasks"] += begun.count(nil)
  begun.count(nil).times do
    web = { "name" => "web", "exitCode" => 1, "reason" => "" }
    (state["stopped"] ||= []) << { "taskArn" => "arn:task/#{state["stopped"].to_a.size}",
      "taskDefinitionArn" => newest["taskDefinition"], "stoppedAt" => Time.now.to_f,
      "stoppedReason" => "Essential container in task exited", "containers" => [web] }
  end
  state["tasks"] = tasks += begun.compact
  [newest, *old].each do |it|
    of_it = tasks.select { |task| task["deployment"] == it["id"] }.map { |task| task["status"] }
    it.merge!("runningCount" => of_it.count("RUNNING"), "pendingCount" => of_it.count("PENDING"))
  end
  old.select! { |it| tasks.any? { |task| task["deployment"] == it["id"] } }
  shop["deployments"] = [newest, *old]
  is_whole = newest["runningCount"] == shop["desiredCount"] && old.empty?
  newest["rolloutState"] = "COMPLETED" if is_whole
  balance[tasks]
end

# CPU seconds that the processes of a task have used so far, and the bytes that they have now.
used = lambda do |task|
  of_it = Dir["/proc/[0-9]*"].filter_map do |process|
    fields = File.read("#{process}/stat")[/.*\) (.*)/m, 1].split rescue next
    next if fields[2].to_i != task["pid"]
    rollup = File.read("#{process}/smaps_rollup") rescue ""
    [(fields[11].to_i + fields[12].to_i) / 100.0, rollup[/^Pss:\s+(\d+)/, 1].to_i * 1024]
  end
  [of_it.sum(&:first), of_it.sum(&:last)]
end

# What each task that runs has used, with the time: each time that somebody asks for the service.
look = lambda do
  state["tasks"].select { |it| it["status"] == "RUNNING" }.each do |task|
    ((state["used"] ||= {})[task["pid"].to_s] ||= []) << [Time.now.to_f, *used[task]]
  end
end

# CPU seconds of a task up to this moment; nil where it was not looked at before and after it.
until_then = lambda do |looks, at|
  before, after = looks.reverse.find { |it| it[0] <= at }, looks.find { |it| it[0] > at }
  next unless before && after
  before[1] + (after[1] - before[1]) * (at - before[0]) / (after[0] - before[0])
end

# What CloudWatch keeps of a minute: a share of the core and the GiB that a task has, of all tasks
# that ran from its beginning to its end.
percent = lambda do |name, at|
  each = state["used"].to_h.values.filter_map do |looks|
    from, to = until_then[looks, at], until_then[looks, at + 60]
    next unless from && to
    case name
    when "CPUUtilization" then (to - from) / 60 * 100
    when "MemoryUtilization" then looks.find { |it| it[0] > at + 60 }[2] * 100.0 / (1 << 30)
    else fail_with("ValidationError", operation, "no metric #{name}")
    end
  end
  each.sum / each.size unless each.empty?
end

answer =
  case operation
  when "describe-services"
    fail_with("ClusterNotFoundException", operation, "none") if given["cluster"] != "prod"
    if given["services"] == "shop" && shop["status"] != "MISSING"
      others.call
      go_on.call
      look.call
      told = File.exist?(AT["stale"]) ? JSON.parse(File.read(AT["stale"])) : shop
      File.delete(AT["stale"]) unless told.equal?(shop)
      { services: [told], failures: [] }
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
    fail_with("ServiceNotActiveException", operation, "not ACTIVE") if shop["status"] != "ACTIVE"
    shop.merge!(given.slice("healthCheckGracePeriodSeconds", "deploymentConfiguration"))
    arn, tasks = shop.merge(given).values_at("taskDefinition", "desiredCount")
    deploy[arn, tasks, given["forceNewDeployment"]]
    { service: shop }
  when "list-tasks"
    of_it = "#{PREFIX}#{given["family"]}:"
    ended = given["desired-status"] == "STOPPED" ? state["stopped"].to_a : []
    ended = ended.select { |it| it["taskDefinitionArn"].start_with?(of_it) }
    { taskArns: ended.map { |it| it["taskArn"] } }
  when "describe-tasks"
    { tasks: state["stopped"].to_a.select { |it| given["tasks"].include?(it["taskArn"]) } }
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
  when "get-metric-data"
    look.call
    require "time"
    from, to = given.values_at("StartTime", "EndTime").map { |time| Time.iso8601(time).to_i }
    results = given["MetricDataQueries"].map do |query|
      metric, *how = query["MetricStat"].values_at("Metric", "Period", "Stat")
      of = metric["Dimensions"].to_h { |it| it.values_at("Name", "Value") }
      is_ours = how == [60, "Average"] && of == { "ClusterName" => "prod", "ServiceName" => "shop" }
      fail_with("ValidationError", operation, "odd #{query}") unless is_ours
      # Container Insights are not on.
      times = metric["Namespace"] == "AWS/ECS" ? (from...to).step(60).to_a : []
      times.select! { |at| at + 60 + LATE_S <= Time.now.to_i }
      kept = times.to_h { |at| [at, percent[metric["MetricName"], at]] }.compact
      stamps = kept.keys.map { |at| Time.at(at).utc.strftime("%Y-%m-%dT%H:%M:%S+00:00") }
      { Id: query["Id"], Timestamps: stamps, Values: kept.values, StatusCode: "Complete" }
    end
    { MetricDataResults: results, Messages: [] }
  end
File.open(AT["calls"], "a") { |file| file.puts "#{operation} #{ENV["AWS_RETRY_MODE"]}" }
put["state.json", JSON.generate(state)]
puts JSON.generate(answer) if answer
