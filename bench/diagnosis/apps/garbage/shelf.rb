# A cache in the process: boards of a hundred things, renewed one board after the other. What was just
# renewed is kept for a while, and so grows old before it is garbage.
class Shelf
  Thing = Struct.new(:name, :numbers, :cents)

  THINGS_A_BOARD = 100

  def initialize(boards)
    @boards = Array.new(boards) { |at| board(at) }
    @next = 0
    @lock = Mutex.new
  end

  def renew(count)
    count.times do
      at = @lock.synchronize { @next = (@next + 1) % @boards.size }
      @boards[at] = board(at)
    end
  end

  private

  def board(at)
    Array.new(THINGS_A_BOARD) do |n|
      number = at * THINGS_A_BOARD + n
      Thing.new("thing #{number}", [number, number + 1], number * 7 % 10_000)
    end
  end
end
