# The slow endpoint: two seconds of waiting, hardly any work.
class StockController < ApplicationController
  rescue_from Supplier::Failed do |failure|
    render json: { error: failure.message }, status: :bad_gateway
  end

  # The supplier is asked before the database, so that no connection to it is held meanwhile.
  # Then a product is read, changed and saved: a SELECT, and in a transaction another, of its brand
  # (which has to exist), and an UPDATE.
  def show
    id = params.fetch(:product, 1)
    stock = Supplier.stock(id, wait_s: params[:wait])
    product = Product.find(id)
    product.update!(stock: stock, stock_checked_at: Time.current)
    render json: product.as_json(only: %i[id name stock stock_checked_at])
  end
end
