class Review < ApplicationRecord
  belongs_to :product
end
