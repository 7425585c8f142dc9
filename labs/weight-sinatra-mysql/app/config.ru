require_relative "weights"

run Weights
