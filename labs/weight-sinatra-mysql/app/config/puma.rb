worker_count = Integer(ENV.fetch("WEB_CONCURRENCY", 1))
# One worker needs no master. Said even then, as Puma reads the variable for itself.
workers worker_count > 1 ? worker_count : 0

threads_count = Integer(ENV.fetch("RAILS_MAX_THREADS", 1))
threads threads_count, threads_count

preload_app!

bind "tcp://127.0.0.1:#{ENV.fetch("PORT", 9292)}"
environment ENV.fetch("RACK_ENV", "production")
