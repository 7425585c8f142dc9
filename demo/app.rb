# A small shop, made to be tuned: its one page costs about 3 ms of CPU (under Ruby's global lock) and
# waits about 25 ms for a warehouse. The warehouse is not real: it is a `sleep`, so that the demo needs
# no second service, and the wait is as a slow database or HTTP call would be.

require "sinatra/base"

class Shop < Sinatra::Base
  # 25 ms on average, spread evenly between 20 and 30 ms.
  WAREHOUSE_SECONDS = (0.020..0.030)

  ADJECTIVES = %w[Oiled Brushed Riveted Folding Quiet Heavy Spare Left-handed].freeze
  THINGS = ["wrench", "file & rasp", "bench vice", "plane", "<hex> key", "awl", "square",
            "saw"].freeze

  USES = %w[wood brass leather stone pipes boats clocks bicycles gardens roofs].freeze

  Product = Struct.new(:number, :name, :cents, :rating, :uses, keyword_init: true) do
    def description
      "#{name}, made for #{uses[..-2].join(", ")} and #{uses.last}, by people who measure twice."
    end

    def words
      @words ||= description.downcase.scan(/[[:alpha:]]{4,}/).uniq
    end
  end

  PRODUCTS = Array.new(40) do |i|
    thing = THINGS[i % THINGS.size]
    Product.new(
      number: format("S%04d", 1000 + i * 37),
      name: "#{ADJECTIVES[i / 5]} #{thing}",
      cents: 1_990 + i * i * 31,
      rating: 1 + i * 7 % 5,
      uses: USES.rotate(i * 3).first(2 + i % 4)
    )
  end.freeze

  helpers do
    def h(text)
      Rack::Utils.escape_html(text)
    end

    def price(cents)
      whole = (cents / 100).to_s.reverse.scan(/\d{1,3}/).join(",").reverse
      format("€ %s.%02d", whole, cents % 100)
    end

    def teaser(text, length)
      return text if text.length <= length

      text.split(/\s+/).each_with_object(+"") do |word, line|
        break line << "…" if line.length + word.length > length

        line << " " unless line.empty?
        line << word
      end
    end

    def stars(rating)
      "★" * rating + "☆" * (5 - rating)
    end

    # Found anew for every page, as in an app that nobody has profiled yet.
    def similar(product, count)
      (PRODUCTS - [product]).max_by(count) { |other| (product.words & other.words).size }
    end
  end

  # The stock of each product, as the warehouse would answer it.
  def ask_warehouse
    sleep rand(WAREHOUSE_SECONDS)
    PRODUCTS.to_h { |product| [product.number, product.cents % 7] }
  end

  get "/" do
    stock = ask_warehouse
    in_stock, sold_out = PRODUCTS.sort_by(&:cents).partition { |product| stock[product.number] > 0 }
    erb :index, locals: { products: in_stock + sold_out, stock: stock }
  end

  # For whoever only wants to know that it runs: no work, no waiting.
  get "/health" do
    content_type :text
    "ok\n"
  end
end
