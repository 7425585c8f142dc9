require "net/http"

# The service elsewhere that knows what is in stock, and takes its time (external.rb).
module Supplier
  class Failed < StandardError
  end

  # Asks anew each time; `wait_s` is for how long the supplier is to think, if not as usual.
  def self.stock(product_id, wait_s: nil)
    url = URI.join(Rails.configuration.x.external_url, "/stock")
    url.query = { product: product_id, wait: wait_s }.compact.to_query
    response = connection(url).request_get(url)
    raise Failed, "the supplier answers #{response.code}" unless response.is_a?(Net::HTTPOK)

    JSON.parse(response.body).fetch("stock")
  rescue SystemCallError, EOFError, Timeout::Error => error
    raise Failed, "the supplier can't be asked: #{error.class}"
  end

  def self.connection(url)
    # The nil: never by way of a proxy that the environment may name.
    Net::HTTP.new(url.host, url.port, nil).tap do |http|
      http.open_timeout = 5
      http.read_timeout = 30
      # A request that timed out is not sent again: it would only add to the queue.
      http.max_retries = 0
    end
  end
  private_class_method :connection
end
