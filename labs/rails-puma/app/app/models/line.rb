class Line < ApplicationRecord
  belongs_to :order

  def net
    unit_price * quantity
  end

  def tax
    net * tax_rate
  end
end
