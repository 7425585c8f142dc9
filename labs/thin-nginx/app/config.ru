require_relative "load"

run Load
