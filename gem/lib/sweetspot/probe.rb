# frozen_string_literal: true

# In a Gemfile: gem "sweetspot", require: "sweetspot/probe". The app's requests are counted while
# `sweetspot advise --listen :3000 --probe tmp/sweetspot` listens; nothing is told otherwise.

require "fileutils"
require_relative "../sweetspot"

module Sweetspot
  # In front of all other middleware.
  module Probe
    def self.new(app)
      SweetspotProbe.around(app)
    end

    # Where it tells by default, in a folder that is made where it is not there.
    def self.socket
      folder = Rails.root.join("tmp/sweetspot").to_s
      FileUtils.mkdir_p(folder)
      File.join(folder, "sweetspot_probe.sock")
    end

    # Sets where it tells, and puts it in. An app whose tmp cannot be written starts without it.
    class Railtie < Rails::Railtie
      initializer "sweetspot.probe" do |app|
        ENV["SWEETSPOT_PROBE"] ||= Probe.socket
        ENV["SWEETSPOT_PROBE_EACH"] ||= "1"
        require_relative "probe_script" unless defined?(SweetspotProbe)
        app.middleware.insert_before(0, Probe) if defined?(SweetspotProbe)
      rescue SystemCallError => error
        warn "sweetspot: requests are not counted: #{error.message}; " \
          "SWEETSPOT_PROBE=/folder/sweetspot_probe.sock leads to another folder"
      end
    end
  end
end
