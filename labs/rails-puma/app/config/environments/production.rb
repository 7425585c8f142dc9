Rails.application.configure do
  config.cache_classes = true
  config.eager_load = true
  config.consider_all_requests_local = false
  config.public_file_server.enabled = false
  config.active_record.dump_schema_after_migration = false

  # To the standard output whatever is set: nothing may be written into this folder.
  config.log_level = :warn
  config.log_tags = [:request_id]
  config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new($stdout))
  config.cache_store = :null_store
end
