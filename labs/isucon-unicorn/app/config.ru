require_relative "board"

run Board
