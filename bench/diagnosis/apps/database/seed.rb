# Makes the table that is searched: the same rows every time.
require "mysql2"
require_relative "../work"

ROWS = 30_000
ROWS_AN_INSERT = 1_000
WORDS_A_NOTE = 12

random = Random.new(1)
name = ENV.fetch("DATABASE_NAME")
client = Mysql2::Client.new(
  socket: ENV.fetch("DATABASE_SOCKET"),
  username: ENV.fetch("DATABASE_USER", "root")
)
client.query("CREATE DATABASE IF NOT EXISTS `#{name}`")
client.select_db(name)
client.query(<<~TABLE)
  CREATE TABLE orders (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    cents INT NOT NULL,
    note VARCHAR(255) NOT NULL
  ) ENGINE=InnoDB
TABLE
(ROWS / ROWS_AN_INSERT).times do
  rows = Array.new(ROWS_AN_INSERT) do
    note = Array.new(WORDS_A_NOTE) { Work::WORDS.sample(random: random) }.join(" ")
    "(#{random.rand(100_000)}, '#{note}')"
  end
  client.query("INSERT INTO orders (cents, note) VALUES #{rows.join(", ")}")
end
