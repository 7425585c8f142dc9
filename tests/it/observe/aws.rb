#!/usr/bin/env ruby
# Stands in for AWS's command with CloudWatch's figures of two target groups behind one load balancer:
# web-b answers a quarter slower than web-a, and both ten requests a second, of which one in a hundred
# fails. Takes what the real one takes and nothing else; what it is asked is appended to ASKED.
require "json"
require "time"

def refuse(status, text)
  warn "\n#{text}"
  exit status
end

service, operation, *rest = ARGV
given = {}
given[rest.shift] = rest.shift until rest.empty?
refuse 252, "aws: only json" unless given.delete("--output") == "json"
refuse 252, "aws: no service #{service}" unless service == "cloudwatch"
File.write(ENV.fetch("ASKED"), "#{operation}\n", mode: "a")
if ENV["DENIED"] == operation
  refuse 254, "An error occurred (AccessDenied) when calling the operation: not authorized"
end

NAMESPACE = "AWS/ApplicationELB"
BALANCER = { Name: "LoadBalancer", Value: "app/shop/50dc6c495c0c9188" }.freeze
GROUPS = %w[targetgroup/web-a/73e2d6bc24d8a067 targetgroup/web-b/98afd2a1c3d4e5f6].freeze

# Between 0.9 and 1.1, always the same for the same moment.
noise = ->(at, group) { 0.9 + 0.2 * (((at / 300 * 7919 + group.to_s.sum * 104_729) % 1000) / 1000.0) }

case operation
when "list-metrics"
  wanted = { "--namespace" => NAMESPACE, "--metric-name" => "TargetResponseTime" }
  refuse 252, "aws: odd #{given}" unless given == wanted
  sides = [[BALANCER]] + GROUPS.map { |group| [{ Name: "TargetGroup", Value: group }, BALANCER] }
  zone = sides.last + [{ Name: "AvailabilityZone", Value: "eu-west-1a" }]
  metrics = (sides + [zone]).map do |dimensions|
    { Namespace: NAMESPACE, MetricName: "TargetResponseTime", Dimensions: dimensions }
  end
  puts JSON.generate(Metrics: metrics)
when "get-metric-data"
  refuse 252, "aws: odd #{given}" unless given.keys == ["--cli-input-json"]
  asked = JSON.parse(File.read(given["--cli-input-json"].delete_prefix("file://")))
  from, to = asked.values_at("StartTime", "EndTime").map { |time| Time.iso8601(time).to_i }
  results = asked["MetricDataQueries"].map do |query|
    metric, period, statistic = query["MetricStat"].values_at("Metric", "Period", "Stat")
    refuse 254, "a period of #{period} s" unless (period % 60).zero?
    dimensions = metric["Dimensions"].to_h { |it| it.values_at("Name", "Value") }
    group = dimensions["TargetGroup"]
    # Of web-a nothing is kept of the time before 2026.
    times = (from...to).step(period).to_a.reject { |at| at < Time.utc(2026).to_i }
    value = lambda do |at|
      case [metric["MetricName"], statistic]
      when %w[TargetResponseTime p95] then 0.2 * (group == GROUPS[1] ? 1.25 : 1.0) * noise[at, group]
      when %w[RequestCount Sum] then 10.0 * period * noise[at, group]
      when %w[HTTPCode_Target_5XX_Count Sum] then 0.1 * period * noise[at, group]
      when %w[TargetConnectionErrorCount Sum] then 0.0
      else refuse 254, "no metric #{metric["MetricName"]}"
      end
    end
    stamps = times.map { |at| Time.at(at).utc.strftime("%Y-%m-%dT%H:%M:%S+00:00") }
    { Id: query["Id"], Label: query["Id"], Timestamps: stamps, Values: times.map(&value),
      StatusCode: "Complete" }
  end
  puts JSON.generate(MetricDataResults: results, Messages: [])
else
  refuse 252, "aws: cloudwatch has no #{operation}"
end
