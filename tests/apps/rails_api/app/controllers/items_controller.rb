# A query, some computing, and a wait as for a service elsewhere.
class ItemsController < ActionController::API
  def index
    items = Item.where("stock > 0").order(:price).limit(10).to_a
    sleep 0.005
    etag = 50.times.inject("") { |text, n| Digest::SHA256.hexdigest("#{text}#{n}") }
    render json: { items: items.map(&:name), etag: etag }
  end
end
