# Fills the database anew, always with the same rows: 20 shops with 100 orders each, 24,000 lines
# of orders. Without Rails and its models, whose start alone takes longer.
require "mysql2"

SHOPS = 20
ORDERS = 100
LINES = (8..16)
STATUSES = %w[open paid packed shipped returned].freeze
ADJECTIVES = %w[Oiled Brushed Riveted Folding Quiet Heavy Spare Long].freeze
THINGS = %w[wrench rasp vice plane awl square saw chisel clamp file].freeze
TAX_RATES = %w[0.000 0.080 0.100].freeze
NEWEST = Time.utc(2025, 3, 1, 12)

TABLES = {
  orders: <<~SQL,
    id INT PRIMARY KEY, shop_id INT NOT NULL, number VARCHAR(20) NOT NULL,
    status VARCHAR(20) NOT NULL, discount_rate DECIMAL(4,3) NOT NULL,
    shipping DECIMAL(10,2) NOT NULL, placed_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL, KEY (shop_id, placed_at)
  SQL
  lines: <<~SQL,
    id INT PRIMARY KEY, order_id INT NOT NULL, sku VARCHAR(20) NOT NULL,
    name VARCHAR(60) NOT NULL, quantity INT NOT NULL, unit_price DECIMAL(10,2) NOT NULL,
    tax_rate DECIMAL(4,3) NOT NULL, weight_g INT NOT NULL, KEY (order_id)
  SQL
}.freeze

RANDOM = Random.new(20_250_304)

def pick(from)
  from[RANDOM.rand(from.size)]
end

def time(minutes_before)
  (NEWEST - 60 * minutes_before).strftime("%F %T")
end

def order(id)
  minutes = RANDOM.rand(100_000)
  [id, id % SHOPS + 1, format("W-%07d", id), pick(STATUSES), RANDOM.rand(5) / 100.0,
   RANDOM.rand(5.0..40.0).round(2), time(minutes), time(minutes / 2)]
end

def line(id, order_id)
  [id, order_id, format("S%05d", RANDOM.rand(100_000)), "#{pick(ADJECTIVES)} #{pick(THINGS)}",
   RANDOM.rand(1..40), RANDOM.rand(2.0..90.0).round(2), pick(TAX_RATES), RANDOM.rand(50..4000)]
end

def fill(client, table, rows)
  rows.each_slice(2000) do |slice|
    values = slice.map { |row| "(#{row.map { |value| "'#{value}'" }.join(",")})" }
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

orders = (1..SHOPS * ORDERS).map { |id| order(id) }
line_id = 0
lines = orders.flat_map do |id, *|
  Array.new(RANDOM.rand(LINES)) { line(line_id += 1, id) }
end
client.query("SET autocommit = 0")
fill(client, :orders, orders)
fill(client, :lines, lines)
client.query("COMMIT")
puts "#{orders.size} orders, #{lines.size} lines"
