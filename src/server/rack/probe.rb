# Loaded by Ruby before the app server, through RUBYOPT: counts what the app's requests cost, as
# seen from inside, and tells the sums to the socket that SWEETSPOT_PROBE names. Without that
# variable it does nothing. What goes wrong in here ends the probe, and never reaches the app.
#
# With SWEETSPOT_PROBE_EACH=1 requests are told one by one too, as far as they are few enough.
#
# It needs no thread of its own, and no library before the app has loaded its own ones.
return unless ENV["SWEETSPOT_PROBE"] && defined?(Process::CLOCK_THREAD_CPUTIME_ID)

module SweetspotProbe
  SOCKET = ENV["SWEETSPOT_PROBE"]
  TELLS_EACH = ENV["SWEETSPOT_PROBE_EACH"] == "1"

  # What this file can raise. An error of another kind was raised into the thread from outside, such
  # as the time limit of a request, and is the app's wherever it strikes.
  FAILURES = [
    ArgumentError, EncodingError, IndexError, IOError, LoadError, NameError, RangeError,
    SystemCallError, ThreadError, TypeError, ZeroDivisionError,
  ].freeze

  # A request under way in a thread. One at a time: an app inside the app has none of its own.
  class Visit
    attr_accessor :is_inside, :sums, :env, :wall_ns, :cpu_ns, :gvl_ns, :queue_ns
    # The CPU time that the probe took in this thread, and that no sum holds yet.
    attr_accessor :own_ns

    def initialize
      @is_inside = false
      @own_ns = 0
    end
  end

  # Stands for an app, and calls it.
  class App
    def initialize(app)
      @app = app
    end

    def call(env)
      visit = SweetspotProbe.enter(env)
      return @app.call(env) unless visit

      begin
        visit.is_inside = true
        @app.call(env)
      ensure
        visit.is_inside = false
        SweetspotProbe.leave(visit)
      end
    end

    # What else an app is asked, it answers itself.
    def respond_to_missing?(name, include_all = false)
      @app.respond_to?(name, include_all)
    end

    def method_missing(name, *arguments, &block)
      return super unless @app.respond_to?(name)

      @app.public_send(name, *arguments, &block)
    end
    # Before Ruby 2.7 there is neither the method nor the need.
    ruby2_keywords(:method_missing) if respond_to?(:ruby2_keywords, true)
  end

  # Goes in front of the method by which a rackup file becomes an app.
  module Built
    def to_app
      SweetspotProbe.around(super)
    end
  end

  class << self
    # The app as it is called from now on.
    def around(app)
      return app if @is_off

      look_for_gvl unless @has_looked
      App.new(app)
    rescue *FAILURES
      turn_off
      app
    end

    # A request begins; nil where it is not to be counted. The last clock that is read is the one
    # that the app's own CPU time counts from.
    def enter(env)
      return if @is_off

      thread = Thread.current
      visit = thread[:sweetspot_probe]
      visit = thread[:sweetspot_probe] = Visit.new unless visit
      return if visit.is_inside

      began_ns = cpu_ns
      visit.sums = sums
      visit.env = env if TELLS_EACH
      visit.queue_ns = queue_ns(env)
      visit.gvl_ns = gvl_ns
      visit.wall_ns = wall_ns
      visit.cpu_ns = cpu_ns
      visit.own_ns += visit.cpu_ns - began_ns
      visit
    rescue *FAILURES
      turn_off
    end

    # It has ended, however it did.
    def leave(visit)
      return if @is_off

      ended_ns = cpu_ns
      visit.sums.add(visit, wall_ns, ended_ns, gvl_ns)
      visit.env = nil
      # A part of two readings of the clock lies outside what they measure. The next request of
      # this thread brings it to the sums.
      visit.own_ns = cpu_ns - ended_ns + 2 * READING_NS
    rescue *FAILURES
      turn_off
    end

    # Takes the classes that make apps in hand as soon as they are there.
    def await_builders
      name_of = Module.instance_method(:name)
      @trace = TracePoint.new(:end) do |point|
        case name_of.bind_call(point.self)
        when "Puma::Rack::Builder"
          point.self.prepend(Built)
        when "Rack::Builder"
          point.self.prepend(Built)
          @trace.disable
        end
      rescue *FAILURES
        @trace.disable
        turn_off
      end
      @trace.enable
    end

    def cpu_ns
      Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    end

    def wall_ns
      Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end

    # The part of the app that a request was for: by the framework's own name, or its path without
    # what names single things.
    def route(env)
      at = env["action_dispatch.request.path_parameters"]
      name = "#{at[:controller]}##{at[:action]}" if at && at[:controller]
      name ||= env["sinatra.route"] || "#{env["REQUEST_METHOD"]} #{shape(env["PATH_INFO"].to_s)}"
      name.scrub("?").gsub(/[[:cntrl:]]/, " ")[0, 80]
    end

    # For how long this thread has waited for the interpreter's lock; nil where that is not counted.
    def gvl_ns
      @gvl&.monotonic_time
    end

    # How many threads this one's server may have at most; nil where it doesn't say.
    def threads
      return unless defined?(::Puma::Server) && ::Puma::Server.respond_to?(:current)

      server = ::Puma::Server.current
      server.max_threads if server.respond_to?(:max_threads)
    end

    # For how long garbage has been collected in this process; nil where that is not counted.
    def gc_ns
      GC.total_time if GC.respond_to?(:total_time) && GC.measure_total_time
    end

    private

    def turn_off
      @is_off = true
      nil
    end

    # Numbers, and what is too long for a word, are names of single things.
    def shape(path)
      path = path.dup.force_encoding(Encoding::UTF_8).scrub("?")
      parts = path.split("/").map { |part| part.match?(/\d|.{25}/) ? ":id" : part }
      parts.empty? ? "/" : parts.join("/")
    end

    # A process that was forked begins anew.
    def sums
      return @sums if @sums && @sums.pid == Process.pid

      LOCK.synchronize do
        unless @sums && @sums.pid == Process.pid
          # The app is built by now; not every server has the class that this waits for.
          @trace.disable if @trace&.enabled?
          @sums = Sums.new
        end
        @sums
      end
    end

    # Only the app's own bundle knows whether the gem is there, so not before the app is built.
    def look_for_gvl
      @has_looked = true
      require "gvltools"
      GVLTools::LocalTimer.enable
      @gvl = GVLTools::LocalTimer if GVLTools::LocalTimer.enabled?
    rescue *FAILURES
      @gvl = nil
    end

    # From the time stamp of whoever took the request in first to now; nil without one, false where
    # it makes no sense, as when it was set by a clock that is ahead of ours. It is in seconds,
    # milliseconds, or still smaller units, since 1970.
    def queue_ns(env)
      stamp = env["HTTP_X_REQUEST_START"]
      return unless stamp

      at_s = stamp.delete_prefix("t=").to_f
      return false unless at_s.between?(1e8, 1e20)

      at_s /= 1000 while at_s > 1e11
      waited_s = Process.clock_gettime(Process::CLOCK_REALTIME) - at_s
      # A stamp in milliseconds may be rounded up.
      return false unless waited_s.between?(-0.01, 3600)

      ([waited_s, 0.0].max * 1e9).to_i
    end
  end

  # What one process has counted, in nanoseconds but for the numbers of requests.
  class Sums
    # As they are named when they are told.
    NAMES = %w[requests app_ns cpu_ns probe_ns stamped queue_ns odd_stamps gvl_ns gc_ns].freeze

    # Between two tellings: of those that tell much, longer, as the queue of whoever listens is
    # short.
    PAUSE_NS = TELLS_EACH ? 500_000_000 : 100_000_000

    # Requests told one by one between two tellings.
    EACH_MOST = 500

    attr_reader :pid

    def initialize
      @pid = Process.pid
      @lock = Mutex.new
      @requests = @app_ns = @cpu_ns = @probe_ns = @stamped = @queue_ns = @odd_stamps = 0
      @gvl_ns = SweetspotProbe.gvl_ns && 0
      @tell_at_ns = 0
      forget_each
      # Who listens hears what was added to this. What was told last is the next listener's.
      @from = @told = now
    end

    # Adds a request that ends at these times. Does nothing in a process that was forked in it.
    def add(visit, wall_ns, cpu_ns, gvl_ns)
      return unless @pid == Process.pid

      app_ns = wall_ns - visit.wall_ns
      cpu_ns = [cpu_ns - visit.cpu_ns - READING_NS, 0].max
      gvl_ns = gvl_ns && visit.gvl_ns && gvl_ns - visit.gvl_ns
      @lock.synchronize do
        @requests += 1
        @app_ns += app_ns
        @cpu_ns += cpu_ns
        @probe_ns += visit.own_ns
        @gvl_ns += gvl_ns if @gvl_ns && gvl_ns
        if visit.queue_ns
          @stamped += 1
          @queue_ns += visit.queue_ns
        elsif visit.queue_ns == false
          @odd_stamps += 1
        end
        note(visit, app_ns, cpu_ns, gvl_ns) if visit.env && @socket
        tell(wall_ns) if wall_ns >= @tell_at_ns
      end
    end

    private

    # One line for a request: its times, "-" for what is not known, and which part of the app it was
    # for.
    def note(visit, app_ns, cpu_ns, gvl_ns)
      return if @each_count >= EACH_MOST

      @each_count += 1
      route = SweetspotProbe.route(visit.env)
      @each << "\n#{app_ns} #{cpu_ns} #{gvl_ns || "-"} #{visit.queue_ns || "-"} #{route}"
    end

    def forget_each
      @each = +""
      @each_count = 0
    end

    def now
      gc_ns = SweetspotProbe.gc_ns
      [
        @requests, @app_ns, @cpu_ns, @probe_ns, @stamped, @queue_ns, @odd_stamps, @gvl_ns, gc_ns,
      ].freeze
    end

    # Never waits. A line that is lost does no harm: the next one holds the same sums, and more.
    def tell(wall_ns)
      sums = now
      @tell_at_ns = wall_ns + PAUSE_NS
      return if @socket && say(sums)
      return if connect && say(sums)

      # Nobody wants to know; whoever listens later wants to know what happens from then on.
      @from = @told = sums
      @tell_at_ns = 0
      forget_each
    end

    # False when whoever listened has gone: the next one begins where that one ended.
    def say(sums)
      is_full = @socket.write_nonblock(line(sums), exception: false) == :wait_writable
      unless is_full
        @told = sums
        forget_each
      end
      true
    rescue SystemCallError, IOError
      @socket = nil
      @from = @told
      false
    end

    def connect
      # Asked first, as it costs little where nobody listens.
      return false unless File.socket?(SOCKET)

      # Every server has loaded it by now.
      require "socket"
      socket = ::Socket.new(:UNIX, :DGRAM)
      socket.connect(::Socket.sockaddr_un(SOCKET))
      @socket = socket
      true
    rescue SystemCallError
      socket&.close
      false
    end

    def line(sums)
      text = +"sweetspot-probe 1 #{@pid}"
      NAMES.each_with_index do |name, index|
        sum, from = sums[index], @from[index]
        text << " #{name}=#{sum - from}" if sum && from
      end
      threads = SweetspotProbe.threads
      text << " threads=#{threads}" if threads
      text << @each
    end
  end

  LOCK = Mutex.new

  begin
    from_ns = cpu_ns
    100.times { cpu_ns }
    # What it costs to read the clock that says what everything else costs.
    READING_NS = (cpu_ns - from_ns) / 101
    await_builders
  rescue *FAILURES
    turn_off
  end
end
