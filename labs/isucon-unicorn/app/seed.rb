# Fills the board: the same users, posts and comments every time, whatever was there before.
require "mysql2"
require_relative "password"

USERS = 1_000
POSTS = 28_000
COMMENTS = 140_000

# Everybody's, for who wants to try the forms: reader0001 to reader1000.
PASSWORD = "open sesame"
BANNED_IN = 50

FIRST_POST = Time.utc(2024, 1, 1)
SECONDS_BETWEEN_POSTS = 60
ROWS_AN_INSERT = 1_000

WORDS = %w[
  anybody seen this before my grandmother kept one in the garden shed until winter came look at
  colour of water behind that old bridge nobody believes me but train was late again so there we
  stood with soup and nine umbrellas best picture all year what camera did you use please tell more
  <b>bold</b> & brave https://example.org/pictures/9 honestly wonderful morning fog over harbour
].freeze

TABLES = [<<~USERS, <<~POSTS, <<~COMMENTS].freeze
  CREATE TABLE users (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(64) NOT NULL UNIQUE,
    salt CHAR(16) NOT NULL,
    password_digest CHAR(64) NOT NULL,
    is_banned TINYINT NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
USERS
  CREATE TABLE posts (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id INT NOT NULL,
    body TEXT NOT NULL,
    image TEXT NOT NULL,
    created_at DATETIME NOT NULL
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
POSTS
  CREATE TABLE comments (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    post_id INT NOT NULL,
    user_id INT NOT NULL,
    body TEXT NOT NULL,
    created_at DATETIME NOT NULL,
    KEY of_post (post_id)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
COMMENTS

CHANCE = Random.new(20_240_312)

def words(count)
  Array.new(CHANCE.rand(count)) { WORDS.sample(random: CHANCE) }.join(" ")
end

# Five by five squares, mirrored, in a colour of its own.
def image
  squares = Array.new(5) { Array.new(3) { CHANCE.rand(2) } }.flat_map.with_index do |half, y|
    (half + half.first(2).reverse).each_with_index.map { |on, x| "M#{x} #{y}h1v1h-1z" if on == 1 }
  end
  %(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 5 5">) +
    %(<path fill="##{format("%06x", CHANCE.rand(0x1000000))}" d="#{squares.join}"/></svg>)
end

def users
  Array.new(USERS) do |i|
    salt = format("%016x", CHANCE.rand(1 << 64))
    banned = CHANCE.rand(BANNED_IN).zero? ? 1 : 0
    [i + 1, format("reader%04d", i + 1), salt, Password.digest(PASSWORD, salt), banned, FIRST_POST]
  end
end

def posts
  Array.new(POSTS) do |i|
    at = FIRST_POST + i * SECONDS_BETWEEN_POSTS
    [i + 1, 1 + CHANCE.rand(USERS), words(8..40), image, at]
  end
end

# Some posts are talked about more than others; a talk begins when its post is there.
def comments
  after = FIRST_POST + POSTS * SECONDS_BETWEEN_POSTS
  Array.new(COMMENTS) do |i|
    post = 1 + [CHANCE.rand(POSTS), CHANCE.rand(POSTS)].send(CHANCE.rand(4).zero? ? :min : :max)
    [i + 1, post, 1 + CHANCE.rand(USERS), words(3..20), after + i]
  end
end

def literal(client, value)
  case value
  when Integer then value.to_s
  when Time then "'#{value.strftime("%F %T")}'"
  else "'#{client.escape(value)}'"
  end
end

def insert(client, table, rows)
  rows.each_slice(ROWS_AN_INSERT) do |slice|
    values = slice.map { |row| "(#{row.map { |value| literal(client, value) }.join(",")})" }
    client.query("INSERT INTO #{table} VALUES #{values.join(",")}")
  end
end

name = ENV.fetch("DATABASE_NAME", "lab")
client = Mysql2::Client.new(
  socket: ENV.fetch("DATABASE_SOCKET"),
  username: ENV.fetch("DATABASE_USER", "root"),
  encoding: "utf8mb4"
)
client.query("CREATE DATABASE IF NOT EXISTS `#{name}`")
client.select_db(name)
client.query("DROP TABLE IF EXISTS comments, posts, users")
TABLES.each { |table| client.query(table) }

client.query("BEGIN")
insert(client, "users", users)
insert(client, "posts", posts)
insert(client, "comments", comments)
client.query("COMMIT")
# Else the optimizer's statistics are made some time later, in the middle of a measurement.
client.query("ANALYZE TABLE users, posts, comments")
