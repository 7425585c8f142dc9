# frozen_string_literal: true

module Sweetspot
  # The Rake tasks of an app that has this gem.
  class Railtie < Rails::Railtie
    rake_tasks { load File.expand_path("tasks.rake", __dir__) }
  end
end
