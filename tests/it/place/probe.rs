//! The probe inside real app servers: it counts each request once, with the CPU and the garbage
//! collection that it cost, and the app does not notice it.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::time::UNIX_EPOCH;

use sweetspot::monitor::{Inside, cpu_clock_ns};
use sweetspot::report::Language;
use sweetspot::terms::{BlindSpot, InsideUse};

use super::*;

/// Each server with one process and with several, one thread and several.
const SERVERS: [(&str, u16, u16); 6] = [
    ("puma", 1, 3),
    ("puma", 2, 2),
    ("unicorn", 1, 1),
    ("unicorn", 2, 1),
    ("thin", 1, 2),
    ("thin", 2, 1),
];

/// An app in an app in an app. It computes, wastes memory, waits or raises, and says with which
/// options Ruby was started.
const APP: &str = r#"
burn = lambda do |seconds|
  clock = Process::CLOCK_THREAD_CPUTIME_ID
  end_s = Process.clock_gettime(clock) + seconds
  nil while Process.clock_gettime(clock) < end_s
end

inner = Rack::Builder.app do
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/burn" then burn.call(0.04)
    when "/waste" then Array.new(100_000) { "x" * 50 }
    when "/wait" then sleep 0.05
    when "/raise" then raise "boom in a page"
    end
    [200, {}, [ENV["RUBYOPT"].to_s]]
  end)
end

map("/") { run inner }
"#;

fn probed_app() -> TestApp {
    TestApp::new(&[("config.ru", APP)])
}

fn settings_with_probe(app: &TestApp, server: &str) -> LocalSettings {
    let mut settings = app.settings_on(server);
    settings.app.is_probed = true;
    settings
}

/// A server at work with the probe, and somebody who listens to it.
fn listened_to(app: &TestApp, server: &str, workers: u16, threads: u16) -> (Local, Listener) {
    let settings = settings_with_probe(app, server);
    let local = started(settings, workers, threads);
    let listener = Listener::new(&local);
    (local, listener)
}

/// Longer than a process waits between two tellings: the next request that ends is told at once.
const APART: Duration = Duration::from_millis(120);

/// Somebody who asks a probed server, and listens to what its processes tell.
struct Listener {
    address: SocketAddr,
    inside: Inside,
    asked: u64,
    told: Vec<InsideUse>,
}

impl Listener {
    fn new(local: &Local) -> Self {
        let inside = Inside::open(&local.probe_socket().unwrap()).unwrap();
        Self { address: local.address().unwrap(), inside, asked: 0, told: Vec::new() }
    }

    /// Several clients at once ask for this, each several times.
    fn ask(&mut self, path: &'static str, clients: u16, times: u64) {
        let address = self.address;
        let client = move || (0..times).for_each(|_| drop(reply(address, path).unwrap()));
        let clients: Vec<_> = (0..clients).map(|_| std::thread::spawn(client)).collect();
        self.asked += times * clients.len() as u64;
        clients.into_iter().for_each(|client| client.join().unwrap());
    }

    /// Goes on asking, as slow clients do, until each of the workers has told of its last
    /// request.
    fn hear_all(&mut self, workers: u16) {
        wait_until("all requests are told", || {
            std::thread::sleep(APART);
            self.ask("/wait", workers, 1);
            self.has_heard_all()
        });
    }

    /// A process tells after it has answered, and on a busy machine not at once.
    fn has_heard_all(&mut self) -> bool {
        let asked_at = Instant::now();
        while asked_at.elapsed() < APART {
            self.told.extend(self.inside.used());
            assert!(self.requests() <= self.asked, "{} of {}", self.requests(), self.asked);
            if self.requests() == self.asked {
                return true;
            }
            std::thread::sleep(APART / 20);
        }
        false
    }

    fn requests(&self) -> u64 {
        self.told.iter().map(|told| told.requests).sum()
    }

    fn sum(&self, of: fn(&InsideUse) -> f64) -> f64 {
        self.told.iter().map(of).sum()
    }
}

#[test]
fn every_request_is_counted_once_on_every_server() {
    for (server, workers, threads) in SERVERS {
        let app = probed_app();
        let before = app.listing();
        let (mut local, mut listener) = listened_to(&app, server, workers, threads);
        listener.ask("/", 4, 25);
        listener.ask("/raise", 2, 3);
        listener.hear_all(workers);
        let told: BTreeSet<u32> = listener.told.iter().map(|told| told.pid).collect();
        let serving: BTreeSet<u32> = local.workers().into_iter().collect();
        assert_eq!(told, serving, "{server} {workers}");
        let cost_s = listener.sum(|told| told.probe_s);
        assert!(cost_s > 0.0, "{server}: what the probe takes is measured");
        drop(listener);
        assert!(!local.probe_socket().unwrap().exists(), "its socket goes with the listener");
        app.end(&mut local);
        app.assert_is(&before);
    }
}

#[test]
fn the_cpu_time_of_requests_is_nearly_all_that_the_workers_use_where_requests_compute() {
    for (server, workers, threads) in SERVERS {
        let app = probed_app();
        let (mut local, mut listener) = listened_to(&app, server, workers, threads);
        let clocks_s = |local: &Local| {
            let clocks: u64 = local.workers().into_iter().filter_map(cpu_clock_ns).sum();
            clocks as f64 / 1e9
        };
        let before_s = clocks_s(&local);
        listener.ask("/burn", 2, 12);
        let used_s = clocks_s(&local) - before_s;
        listener.hear_all(workers);
        let told_s = listener.sum(|told| told.cpu_s);
        assert!(
            (told_s / used_s - 1.0).abs() < 0.2,
            "{server} {workers}: told {told_s} s, the clocks say {used_s} s"
        );
        let app_s = listener.sum(|told| told.app_s);
        assert!(app_s > told_s, "{server} {workers}: {told_s} s of CPU in {app_s} s");
        app.end(&mut local);
    }
}

#[test]
fn garbage_collection_is_told_and_what_this_ruby_cannot_tell_is_said() {
    let app = probed_app();
    let (mut local, mut listener) = listened_to(&app, "puma", 1, 1);
    listener.ask("/waste", 1, 20);
    listener.hear_all(1);
    let collected_s = listener.sum(|told| told.gc_s.unwrap());
    let cpu_s = listener.sum(|told| told.cpu_s);
    assert!(collected_s > 0.0 && collected_s < cpu_s, "{collected_s} s of {cpu_s} s");
    assert!(listener.told.iter().all(|told| told.gvl_wait_s.is_none() && told.queue_s.is_none()));
    let blind = listener.inside.blind_spots();
    assert!(blind.len() == 1, "{blind:?}");
    assert!(Language::DATA.say_fact(&blind[0]).contains("3.2"), "{blind:?}");
    app.end(&mut local);
}

#[test]
fn the_wait_since_the_time_stamp_is_told_whatever_its_unit() {
    let app = probed_app();
    let (mut local, mut listener) = listened_to(&app, "puma", 1, 1);
    let mut ask = |stamp: String| {
        std::thread::sleep(APART);
        let mut stream = TcpStream::connect(listener.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "GET / HTTP/1.0\r\nX-Request-Start: {stamp}\r\n\r\n").unwrap();
        stream.read_to_string(&mut String::new()).unwrap();
        let told = listener.inside.used();
        assert_eq!(told.len(), 1, "{stamp}: {told:?}");
        told[0].queue_s
    };
    for units_a_second in [1.0, 1e3, 1e6] {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let waited_s = ask(format!("t={:.3}", (now_s - 0.5) * units_a_second)).unwrap();
        assert!((0.5..20.0).contains(&waited_s), "{units_a_second}: {waited_s} s");
    }
    for senseless in ["", "t=", "soon", "t=-5", "t=9e99", "t=17"] {
        assert_eq!(ask(senseless.to_string()), None, "{senseless}");
    }
    // By a clock that is ahead.
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert_eq!(ask(format!("t={:.3}", now_s + 60.0)), None);
    let blind = listener.inside.blind_spots();
    assert!(blind.contains(&BlindSpot::StampsOdd { requests: 7 }), "{blind:?}");
    app.end(&mut local);
}

#[test]
fn who_listens_later_hears_only_of_what_came_later() {
    let _turn = crate::turn::share();
    let app = probed_app();
    let (mut local, mut first) = listened_to(&app, "puma", 1, 2);
    first.ask("/", 2, 10);
    first.hear_all(1);
    assert_eq!(first.inside.threads(), Some(2), "what Puma may have");
    // The next one listens at once, and later one listens after a time in which nobody did.
    drop(first);
    let mut second = Listener::new(&local);
    second.ask("/", 2, 10);
    second.hear_all(1);
    drop(second);
    std::thread::sleep(APART);
    (0..5).for_each(|_| drop(get(local.address().unwrap(), "/")));
    let mut third = Listener::new(&local);
    third.ask("/", 2, 10);
    third.hear_all(1);
    app.end(&mut local);
}

#[test]
fn an_app_that_raises_fails_as_it_does_without_the_probe() {
    for server in ["puma", "unicorn", "thin"] {
        let [with, without] = [true, false].map(|is_probed| {
            let app = probed_app();
            let mut settings = settings_with_probe(&app, server);
            settings.app.is_probed = is_probed;
            let mut local = started(settings, 1, 1);
            let reply = reply(local.address().unwrap(), "/raise").unwrap();
            wait_until("the server says why", || {
                local.last_lines().join("\n").contains("boom in a page")
            });
            app.end(&mut local);
            let (head, body) = reply.split_once("\r\n\r\n").unwrap();
            (head.lines().next().unwrap().to_string(), body.to_string())
        });
        assert!(with.0.contains(" 500 "), "{server}: {with:?}");
        assert_eq!(with, without, "{server}");
    }
}

#[test]
fn options_that_ruby_was_given_are_kept_and_without_the_probe_nothing_is_added() {
    for server in ["puma", "unicorn", "thin"] {
        let app = probed_app();
        let mut settings = settings_with_probe(&app, server);
        settings.app.env.insert("RUBYOPT".into(), "-W0".into());
        let mut local = started(settings, 1, 1);
        let options = get(local.address().unwrap(), "/");
        assert!(options.starts_with("-r/") && options.ends_with("/probe.rb -W0"), "{options}");
        app.end(&mut local);
    }
    let app = probed_app();
    let mut local = app.local();
    assert_eq!(local.probe_socket(), None);
    start(&mut local, 1, 1);
    let options = get(local.address().unwrap(), "/");
    assert!(!options.contains("probe.rb"), "{options}");
}

/// Stands for what Rack gives a server: something that makes an app of a rackup file.
const BUILDER: &str = r#"
module Rack
  class Builder
    def initialize(app)
      @app = app
    end

    def to_app
      @app
    end
  end
end
"#;

/// Runs a program with the probe loaded, which tells this socket.
fn ruby(socket: Option<&Path>, program: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/rack/probe.rb");
    let mut command = Command::new("ruby");
    command.arg("-r").arg(script).args(["-e", BUILDER, "-e", program]);
    command.env_remove("SWEETSPOT_PROBE").envs(socket.map(|path| ("SWEETSPOT_PROBE", path)));
    command.output().unwrap()
}

/// What it printed; nothing went wrong.
fn printed(output: &Output) -> String {
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

const FORKING: &str = r#"
app = Rack::Builder.new(->(env) { [200, {}, []] }).to_app
3.times { app.call({}) }
child = fork do
  2.times { app.call({}) }
  sleep 0.12
  app.call({})
end
Process.wait(child)
sleep 0.12
app.call({})
puts child
"#;

#[test]
fn a_forked_process_begins_at_zero() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("probe.sock");
    let mut inside = Inside::open(&socket).unwrap();
    let child: u32 = printed(&ruby(Some(&socket), FORKING)).parse().unwrap();
    let told = inside.used();
    assert_eq!(told.len(), 2, "{told:?}");
    for told in told {
        assert_eq!(told.requests, if told.pid == child { 3 } else { 4 }, "{told:?}");
    }
}

/// An app in an app that throws, raises, answers, and is asked other things than requests.
const BEHAVING: &str = r#"
bare = Class.new do
  def call(env)
    throw :done, "thrown" if env == :throw
    raise IOError, "the app itself" if env == :raise
    [200, {}, [env.to_s]]
  end

  def deferred?(env, of: 0)
    [env, of, yield].join(" ")
  end
end.new
app = Rack::Builder.new(bare).to_app
outer = Rack::Builder.new(->(env) { app.call(env) }).to_app
puts app.class.name.include?("Probe")
puts catch(:done) { outer.call(:throw) }
begin
  outer.call(:raise)
rescue IOError => error
  puts error.message
end
puts outer.call({}).inspect
puts app.respond_to?(:deferred?), app.respond_to?(:other)
puts app.deferred?(1, of: 2) { 3 }
begin
  app.other
rescue NoMethodError
  puts "no such method"
end
"#;

#[test]
fn an_app_with_the_probe_around_it_behaves_as_without() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("probe.sock");
    let mut inside = Inside::open(&socket).unwrap();
    let shown = printed(&ruby(Some(&socket), BEHAVING));
    let expected = [
        "true",
        "thrown",
        "the app itself",
        "[200, {}, [\"{}\"]]",
        "true",
        "false",
        "1 2 3",
        "no such method",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    let told: u64 = inside.used().iter().map(|told| told.requests).sum();
    assert!((1..=3).contains(&told), "at least the first is told: {told}");
}

#[test]
fn a_probe_that_fails_is_over_and_the_app_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = folder.path().join("probe.sock");
    let nowhere = folder.path().join("x".repeat(200));
    let calls = "app = Rack::Builder.new(->(env) { env.inspect }).to_app\n\
        puts app.call({}), app.call(nil), app.call({})\n";
    for socket in [&nobody, &nowhere] {
        assert_eq!(printed(&ruby(Some(socket), calls)), "{}\nnil\n{}", "{}", socket.display());
    }
    // Somebody listened once, and was killed.
    drop(std::os::unix::net::UnixDatagram::bind(&nobody).unwrap());
    assert_eq!(printed(&ruby(Some(&nobody), calls)), "{}\nnil\n{}");
    // Somebody listens and does not read: the kernel's queue is full after a few lines.
    let _deaf = Inside::open(&nobody).unwrap();
    let many = "app = Rack::Builder.new(->(env) { 1 }).to_app\n\
        SweetspotProbe::Sums.send(:remove_const, :PAUSE_NS)\n\
        SweetspotProbe::Sums.const_set(:PAUSE_NS, 0)\n\
        puts Array.new(5000) { app.call({}) }.sum\n";
    assert_eq!(printed(&ruby(Some(&nobody), many)), "5000");
}

#[test]
fn without_its_variable_the_script_does_nothing() {
    let program = "app = Rack::Builder.new(:bare).to_app\n\
        puts app.inspect, defined?(SweetspotProbe).inspect, Rack::Builder.ancestors.first\n";
    assert_eq!(printed(&ruby(None, program)), ":bare\nnil\nRack::Builder");
}
