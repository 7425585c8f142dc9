# Fills the database anew, always with the same rows: 50 brands, 10,000 products, 40,000 reviews.
require "mysql2"

BRANDS = 50
PRODUCTS = 10_000
REVIEWS = 40_000
ADJECTIVES = %w[Oiled Brushed Riveted Folding Quiet Heavy Spare Long Short Forged].freeze
THINGS = %w[wrench rasp vice plane awl square saw chisel clamp file].freeze
WORDS = %w[made for wood brass leather stone pipes boats clocks gardens roofs and people who
           measure twice before they cut once].freeze
NEWEST = Time.utc(2025, 3, 1, 12)

TABLES = {
  brands: "id INT PRIMARY KEY, name VARCHAR(40) NOT NULL",
  products: <<~SQL,
    id INT PRIMARY KEY, brand_id INT NOT NULL, name VARCHAR(60) NOT NULL,
    description VARCHAR(255) NOT NULL, price DECIMAL(10,2) NOT NULL, sold INT NOT NULL,
    stock INT, stock_checked_at DATETIME(6), KEY (sold), KEY (brand_id)
  SQL
  reviews: <<~SQL,
    id INT PRIMARY KEY, product_id INT NOT NULL, stars INT NOT NULL, text VARCHAR(255) NOT NULL,
    written_at DATETIME(6) NOT NULL, KEY (product_id, written_at)
  SQL
}.freeze

RANDOM = Random.new(20_250_304)

def pick(from)
  from[RANDOM.rand(from.size)]
end

def sentence
  Array.new(RANDOM.rand(8..16)) { pick(WORDS) }.join(" ").capitalize
end

def product(id)
  name = "#{pick(ADJECTIVES)} #{pick(THINGS)} #{id}"
  [id, RANDOM.rand(1..BRANDS), name, sentence, RANDOM.rand(2.0..90.0).round(2),
   RANDOM.rand(100_000), nil, nil]
end

def review(id)
  written_at = NEWEST - 60 * RANDOM.rand(500_000)
  [id, RANDOM.rand(1..PRODUCTS), RANDOM.rand(1..5), sentence, written_at.strftime("%F %T")]
end

def sql(value)
  value.nil? ? "NULL" : "'#{value}'"
end

def fill(client, table, rows)
  rows.each_slice(2000) do |slice|
    values = slice.map { |row| "(#{row.map { |value| sql(value) }.join(",")})" }
    client.query("INSERT INTO `#{table}` VALUES #{values.join(",")}")
  end
end

name = ENV.fetch("DATABASE_NAME", "lab")
client = Mysql2::Client.new(
  socket: ENV.fetch("DATABASE_SOCKET"), username: ENV.fetch("DATABASE_USER", "root")
)
client.query("CREATE DATABASE IF NOT EXISTS `#{name}` CHARACTER SET utf8mb4")
client.select_db(name)
TABLES.each do |table, columns|
  client.query("DROP TABLE IF EXISTS `#{table}`")
  client.query("CREATE TABLE `#{table}` (#{columns})")
end

client.query("SET autocommit = 0")
fill(client, :brands, (1..BRANDS).map { |id| [id, "#{pick(ADJECTIVES)} & sons #{id}"] })
fill(client, :products, (1..PRODUCTS).map { |id| product(id) })
fill(client, :reviews, (1..REVIEWS).map { |id| review(id) })
client.query("COMMIT")
puts "#{BRANDS} brands, #{PRODUCTS} products, #{REVIEWS} reviews"
