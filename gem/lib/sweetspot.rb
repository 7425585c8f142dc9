# frozen_string_literal: true

require_relative "sweetspot/version"
require_relative "sweetspot/executable"
require_relative "sweetspot/railtie" if defined?(Rails::Railtie)
