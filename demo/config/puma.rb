# A puma.rb as many apps have it: two environment variables, and defaults that nobody measured.
worker_count = ENV.fetch("WEB_CONCURRENCY", 1).to_i
workers worker_count if worker_count > 1

threads_count = ENV.fetch("RAILS_MAX_THREADS", 5).to_i
threads threads_count, threads_count

preload_app!

port ENV.fetch("PORT", 9292)
environment ENV.fetch("RACK_ENV", "production")
