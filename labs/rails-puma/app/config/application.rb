require_relative "boot"

require "rails"
require "active_record/railtie"
require "action_controller/railtie"

Bundler.require(*Rails.groups)

module Wholesale
  class Application < Rails::Application
    config.load_defaults 6.1
    config.api_only = true

    # There is nothing to sign or to encrypt here, so this secret is none.
    config.secret_key_base = "wholesale" * 8
  end
end
