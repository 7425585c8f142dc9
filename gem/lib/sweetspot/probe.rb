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

    # Sets where it tells, and puts it in.
    class Railtie < Rails::Railtie
      initializer "sweetspot.probe" do |app|
        folder = Rails.root.join("tmp/sweetspot").to_s
        FileUtils.mkdir_p(folder)
        ENV["SWEETSPOT_PROBE"] ||= File.join(folder, "sweetspot_probe.sock")
        ENV["SWEETSPOT_PROBE_EACH"] ||= "1"
        require_relative "probe_script" unless defined?(SweetspotProbe)
        app.middleware.insert_before(0, Probe) if defined?(SweetspotProbe)
      end
    end
  end
end
