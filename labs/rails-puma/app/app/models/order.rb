class Order < ApplicationRecord
  has_many :lines

  scope :newest, ->(count) { order(placed_at: :desc).limit(count) }

  def net
    lines.sum(&:net) * (1 - discount_rate)
  end

  def tax
    lines.sum(&:tax) * (1 - discount_rate)
  end

  def total
    net + tax + shipping
  end

  def weight_kg
    lines.sum(&:weight_g) / 1000.0
  end

  def dearest_line
    lines.max_by(&:net)
  end
end
