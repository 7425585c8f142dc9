# What a new Rails app comes with, its lines for workers and preloading switched on.
threads_most = ENV.fetch("RAILS_MAX_THREADS", 5)
threads ENV.fetch("RAILS_MIN_THREADS", threads_most), threads_most

workers ENV.fetch("WEB_CONCURRENCY", 1)
# Rails itself sees to it that no worker uses a connection of the process it was forked from.
preload_app!

port ENV.fetch("PORT", 3000)
environment ENV.fetch("RAILS_ENV", "production")
# A new app writes one into tmp/ always; this folder may be read-only.
pidfile ENV["PIDFILE"] if ENV["PIDFILE"]

plugin :tmp_restart
