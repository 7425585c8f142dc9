# An order as the API shows it: the sums over its lines, and one of them in full.
class OrderSerializer
  def initialize(order)
    @order = order
  end

  def as_json(options = nil)
    @order.as_json(only: %i[number status placed_at]).merge(sums).merge(dearest).as_json(options)
  end

  private

  def sums
    {
      lines: @order.lines.size,
      net: money(@order.net),
      total: money(@order.total),
      weight_kg: @order.weight_kg.round(1),
    }
  end

  def dearest
    line = @order.dearest_line
    { dearest: line.as_json(only: %i[sku name quantity]).merge(net: money(line.net)) }
  end

  def money(amount)
    amount.round(2).to_s("F")
  end
end
