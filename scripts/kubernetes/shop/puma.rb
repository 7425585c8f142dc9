count = Integer(ENV.fetch('RAILS_MAX_THREADS', 3))
threads count, count
workers Integer(ENV.fetch('WEB_CONCURRENCY', 0))
port ENV.fetch('PORT', 9292), '0.0.0.0'
