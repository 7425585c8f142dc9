worker_processes Integer(ENV["UNICORN_WORKERS"] || ENV["WEB_CONCURRENCY"] || 1)
preload_app true
timeout 30
listen "127.0.0.1:#{ENV.fetch("PORT", 8080)}"

# The master may have asked something while it loaded the app. Its workers open connections of their
# own when they first need them.
before_fork do |_server, _worker|
  Connections.close
end
