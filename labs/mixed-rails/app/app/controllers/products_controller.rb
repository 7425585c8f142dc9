# The light endpoints: three queries each, some milliseconds.
class ProductsController < ApplicationController
  # Sized so that the list takes about 8 ms, nearly all of them Ruby's.
  def index
    render json: { products: listed(Product.order(sold: :desc, id: :asc), 40) }
  end

  # About 2 ms.
  def show
    product = Product.find(params[:id])
    similar = Product.where(brand_id: product.brand_id).order(:id).limit(30)
    render json: product.as_json(except: :brand_id, include: :reviews)
                        .merge(similar: similar.as_json(only: %i[id name price]))
  end

  # About 7 ms, some of them the database's: for want of an index it looks at every name.
  def search
    text = Product.sanitize_sql_like(params.require(:q))
    found = Product.where("name LIKE ?", "%#{text}%").order(:price, :id)
    render json: { products: listed(found, 30) }
  end

  private

  def listed(products, count)
    products.limit(count).preload(:brand, :reviews).map(&:listed)
  end
end
