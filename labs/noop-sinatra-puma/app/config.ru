require_relative "noop"

run Noop
