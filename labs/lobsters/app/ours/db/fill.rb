# Fills the database by the app's own seeds and its own generator of data.
require "faker"

Faker::Config.random = Random.new(20_261_128)
BCrypt::Engine.cost = BCrypt::Engine::MIN_COST
unless Story.exists?
  load Rails.root.join("db/seeds.rb")
  require "rake"
  Rails.application.load_tasks
  FakeDataGenerator.new.generate
end
