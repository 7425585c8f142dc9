require "cgi"
require "securerandom"
require "sinatra/base"
require "time"
require_relative "connections"
require_relative "password"
require_relative "sessions"

# A board for images and talk about them, as it was on the day it went online: the newest posts on
# the top page, a query for every author, every count and every post's comments, and nothing cached.
#
# `/` is sized to the published 79 ms of a worker's time, some 33 of them the database's, on an AMD
# EPYC with Ruby 3.1. What sizes it: POSTS in seed.rb, as all are read for every page and counted by
# the day, and the two numbers below, which make it 121 queries.
class Board < Sinatra::Base
  POSTS_A_PAGE = 20
  COMMENTS_SHOWN = 3

  LONGEST_COMMENT = 2_000

  set :session_store, Sessions
  set :sessions, key: "board.session", same_site: :lax

  helpers do
    def h(text)
      CGI.escapeHTML(text)
    end

    # Whole links made into links, all other text made harmless.
    def with_links(text)
      h(text).gsub(%r{https?://[\w./-]+[\w/]}) { |link| %(<a href="#{link}">#{link}</a>) }
    end

    def token
      session[:token] ||= SecureRandom.hex(16)
    end

    def reader
      id = session[:user_id]
      @reader ||= id && query("SELECT * FROM users WHERE id = ?", id).first
    end
  end

  # What the database answers, row by row. Each query is prepared anew, as code does that takes its
  # values for a query's parameters and looks no further.
  def query(sql, *values)
    statement = Connections.database.prepare(sql)
    statement.execute(*values).to_a
  ensure
    statement&.close
  end

  def author(id)
    query("SELECT id, name, is_banned FROM users WHERE id = ?", id).first
  end

  # The posts as the page shows them, with what was said about them, the last `shown` of it.
  def fill(post, shown)
    count = "SELECT COUNT(*) AS count FROM comments WHERE post_id = ?"
    last = "SELECT * FROM comments WHERE post_id = ? ORDER BY id DESC LIMIT ?"
    comments = query(last, post[:id], shown).reverse
    comments.each { |comment| comment[:author] = author(comment[:user_id]) }
    post.merge(comments: comments, count: query(count, post[:id]).first[:count])
  end

  # Whole, because whether an author is banned stands in another table, and nobody knows beforehand
  # how far to read.
  def all_posts
    query("SELECT id, user_id, body, created_at FROM posts ORDER BY created_at DESC")
  end

  def top_page(posts)
    posts.each_with_object([]) do |post, page|
      by = author(post[:user_id])
      page << fill(post.merge(author: by), COMMENTS_SHOWN) unless by[:is_banned] == 1
      break page if page.size == POSTS_A_PAGE
    end
  end

  get "/" do
    posts = all_posts
    days = posts.map { |post| [post[:created_at].month, post[:created_at].day] }.tally
    erb :index, locals: { posts: top_page(posts), days: days }
  end

  get "/posts/:id" do |id|
    post = query("SELECT id, user_id, body, created_at FROM posts WHERE id = ?", id.to_i).first
    by = post && author(post[:user_id])
    halt 404, "no such post\n" if by.nil? || by[:is_banned] == 1

    erb :post, locals: { post: fill(post.merge(author: by), LONGEST_COMMENT) }
  end

  get "/images/:id.svg" do |id|
    row = query("SELECT image FROM posts WHERE id = ?", id.to_i).first
    halt 404, "no such image\n" if row.nil?

    content_type :svg
    row[:image]
  end

  get "/login" do
    erb :login, locals: { problem: nil }
  end

  post "/login" do
    user = query("SELECT * FROM users WHERE name = ? AND is_banned = 0", params[:name].to_s).first
    given = user && Password.digest(params[:password].to_s, user[:salt])
    unless given && Rack::Utils.secure_compare(given, user[:password_digest])
      halt 401, erb(:login, locals: { problem: "There is nobody with this name and password." })
    end

    # A new session for who has proved themselves: the old one's id may be known to others.
    session.options[:renew] = true
    session[:user_id] = user[:id]
    session[:token] = SecureRandom.hex(16)
    redirect "/", 303
  end

  post "/comments" do
    halt 401, "log in first\n" if reader.nil?
    halt 422, "the form is not ours\n" unless Rack::Utils.secure_compare(params[:token].to_s, token)
    text = params[:body].to_s.strip
    halt 400, "a comment has words\n" if text.empty? || text.length > LONGEST_COMMENT
    post = query("SELECT id FROM posts WHERE id = ?", params[:post_id].to_i).first
    halt 404, "no such post\n" if post.nil?

    insert = "INSERT INTO comments (post_id, user_id, body, created_at) VALUES (?, ?, ?, ?)"
    query(insert, post[:id], reader[:id], text, Time.now.utc)
    redirect "/posts/#{post[:id]}", 303
  end
end
