# frozen_string_literal: true

# In a Gemfile: gem "sweetspot", require: "sweetspot/probe". The app's requests are counted while
# `sweetspot advise --listen :3000 --probe tmp/sweetspot` listens; nothing is told otherwise.
# Outside Rails the app is what a rackup file runs: in a folder with a config.ru, or anywhere where
# SWEETSPOT_PROBE says where to tell.

require "fileutils"
require_relative "../sweetspot"

module Sweetspot
  # In front of all other middleware.
  module Probe
    def self.new(app)
      SweetspotProbe.around(app)
    end

    # Where it tells by default, in a folder that is made where it is not there; nil without an app.
    def self.socket
      root = Rails.root if defined?(Rails.root)
      root ||= Dir.pwd if File.file?("config.ru")
      return unless root

      folder = File.join(root.to_s, "tmp/sweetspot")
      FileUtils.mkdir_p(folder)
      File.join(folder, "sweetspot_probe.sock")
    end

    # Sets where it tells, and loads what counts; nil where nothing is counted. An app whose tmp
    # cannot be written starts without it.
    def self.load_script
      return unless ENV["SWEETSPOT_PROBE"] ||= socket

      ENV["SWEETSPOT_PROBE_EACH"] ||= "1"
      require_relative "probe_script" unless defined?(SweetspotProbe)
      defined?(SweetspotProbe)
    rescue SystemCallError => error
      warn "sweetspot: requests are not counted: #{error.message}; " \
        "SWEETSPOT_PROBE=/folder/sweetspot_probe.sock leads to another folder"
    end

    if defined?(Rails::Railtie)
      # Puts it in.
      class Railtie < Rails::Railtie
        initializer "sweetspot.probe" do |app|
          app.middleware.insert_before(0, Probe) if Probe.load_script
        end
      end
    elsif load_script
      # Builders that come later, as where RUBYOPT has this loaded first, the script awaits itself.
      ::Rack::Builder.prepend(SweetspotProbe::Built) if defined?(::Rack::Builder)
      ::Puma::Rack::Builder.prepend(SweetspotProbe::Built) if defined?(::Puma::Rack::Builder)
    end
  end
end
