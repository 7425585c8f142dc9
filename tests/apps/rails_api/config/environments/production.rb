Rails.application.configure do
  config.cache_classes = true
  config.eager_load = true
  config.active_record.dump_schema_after_migration = false

  # What a test asks for by a variable, an app has as a line.
  config.hosts << "shop.example" if ENV["ONLY_KNOWN_HOSTS"]
  config.force_ssl = ENV["FORCE_SSL"].present?

  if ENV["RAILS_LOG_TO_STDOUT"].present?
    config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new($stdout))
  end
end
