# Work for the processor, in Ruby alone, so that it holds the interpreter's lock: as much as asked for
# by the thread's own CPU clock, whatever the machine.
module Work
  WORDS = %w[
    lantern gravel orchard copper saddle meadow ribbon anvil thistle harbour pocket timber kettle
    ladder velvet quarry sparrow barrel cinder walnut
  ].freeze

  class << self
    # How many rounds it took.
    def for_ms(milliseconds)
      done_s = cpu_s + milliseconds / 1000.0
      rounds = 0
      round(rounds += 1) while cpu_s < done_s
      rounds
    end

    private

    def cpu_s
      Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    end

    def round(number)
      WORDS.rotate(number).each_slice(3).map { |words| words.join("-").capitalize }.sort.join(" ")
    end
  end
end
