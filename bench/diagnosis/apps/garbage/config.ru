require_relative "shelf"

# 150,000 things, about half a million objects; a request renews one in a hundred.
shelf = Shelf.new(1_500)

run lambda { |env|
  shelf.renew(15) if env["PATH_INFO"] == "/renew"
  [200, { "Content-Type" => "text/plain" }, ["#{GC.count} collections\n"]]
}
