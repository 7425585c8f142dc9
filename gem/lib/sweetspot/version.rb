# frozen_string_literal: true

module Sweetspot
  # That of the program, as Cargo.toml has it.
  VERSION = "0.1.0"
end
