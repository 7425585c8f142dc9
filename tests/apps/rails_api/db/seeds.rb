60.times { |n| Item.create!(name: "Item #{n}", price: 100 + n, stock: n % 4) }
