threads_most = ENV.fetch("RAILS_MAX_THREADS", 5)
threads ENV.fetch("RAILS_MIN_THREADS", threads_most), threads_most
environment ENV.fetch("RAILS_ENV", "development")
pidfile ENV.fetch("PIDFILE", "tmp/pids/server.pid")
plugin :tmp_restart
