class Product < ApplicationRecord
  belongs_to :brand
  has_many :reviews

  # What a list shows of it.
  def listed
    as_json(only: %i[id name price sold], methods: %i[teaser stars newest_review])
      .merge("brand" => brand.name)
  end

  def teaser
    description.truncate(60, separator: " ")
  end

  # On average; nil without reviews.
  def stars
    reviews.sum(&:stars).fdiv(reviews.size).round(1) if reviews.any?
  end

  def newest_review
    reviews.max_by(&:written_at)&.slice(:stars, :text)
  end
end
