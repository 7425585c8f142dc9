//! The engine against servers that behave well and badly: what happened is counted right.

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sweetspot::load::shape::{Part, Shape, Stages, Times};
use sweetspot::load::{self, Address, Closing, Length, LoadSpec, Placement, Protocol};
use sweetspot::terms::{
    Arrivals, ConnectionMode, ErrorCounts, LiveSecond, LoadRecord, LoadSecond, Phase, Rate,
    StopSignal, Target,
};

use super::server::{Connection, Server, ok};

pub const TIMEOUT: Duration = Duration::from_millis(400);

pub const ONE_CLIENT: Shape = Shape::Clients { clients: 1, think: Duration::ZERO };

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn at_rate(per_second: f64) -> Shape {
    let rate = Rate::per_second(per_second).unwrap();
    Shape::Constant { rate, arrivals: Arrivals::Uniform }
}

fn in_stages(text: &str) -> Shape {
    let Stages(stages) = text.parse().unwrap();
    Shape::Stages { stages, arrivals: Arrivals::Uniform }
}

pub fn spec(server: &Server, shape: Shape, requests: u64) -> LoadSpec {
    LoadSpec {
        address: Address::Tcp(vec![server.address]),
        host: server.address.to_string(),
        targets: vec![Target::get("/")],
        variables: None,
        keeps_cookies: false,
        shape,
        warm_up: Duration::ZERO,
        length: Length::Requests(requests),
        connection: ConnectionMode::KeepAlive,
        closing: Closing::Server,
        records_each_target: false,
        keeps_rows: false,
        protocol: Protocol::Http1,
        tls: None,
        timeout: TIMEOUT,
        max_in_flight: None,
        part: Part::WHOLE,
        loops: 1,
        seed: 1,
        placement: Placement::default(),
    }
}

/// Runs it to its end and checks what holds for every load.
pub fn run(spec: &LoadSpec) -> LoadRecord {
    let go_on = &mut |_: &LiveSecond| ControlFlow::Continue(());
    let record = load::run(spec, &StopSignal::default(), go_on).unwrap();
    assert_adds_up(&record, spec.timeout);
    record
}

/// Every due request ended in exactly one status or error class.
fn assert_adds_up(record: &LoadRecord, timeout: Duration) {
    for (at, second) in record.seconds.iter().enumerate() {
        let completed = second.completed();
        assert_eq!(second.due, completed + second.errors.total(), "second {at}: {second:?}");
        assert_eq!(second.latency.count(), second.due, "second {at}");
        assert_eq!(second.exchange_time.count(), completed, "second {at}");
        assert!(second.send_lag.count() <= second.sent && second.sent <= second.due);
        assert!(completed <= second.sent);
        let longest = second.latency.max().unwrap_or_default();
        assert!(longest <= timeout.mul_f64(1.002), "nobody waits longer: {longest:?}");
    }
    let whole = record.run.duration.as_nanos().div_ceil(1_000_000_000) as usize;
    assert!(record.seconds.len() >= whole);
}

pub fn total(record: &LoadRecord) -> LoadSecond {
    let mut all = LoadSecond::default();
    for second in &record.seconds {
        all.due += second.due;
        all.sent += second.sent;
        all.errors.add(&second.errors);
        all.latency.add(&second.latency);
        all.send_lag.add(&second.send_lag);
        all.bytes_in += second.bytes_in;
        all.bytes_out += second.bytes_out;
        all.replies += second.replies;
        all.cached += second.cached;
        all.retries += second.retries;
        for (status, count) in &second.status {
            *all.status.entry(*status).or_default() += count;
        }
    }
    all
}

pub fn errors_of(change: impl FnOnce(&mut ErrorCounts)) -> ErrorCounts {
    let mut errors = ErrorCounts::default();
    change(&mut errors);
    errors
}

/// Answers each request by bytes that come one at a time.
fn bytewise(connection: &mut Connection, reply: &str) {
    while connection.request().is_some() {
        for byte in reply.bytes() {
            connection.send([byte]);
        }
    }
}

#[test]
fn every_way_of_answering_is_understood() {
    const N: u64 = 20;
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n";
    let large = ok(&"x".repeat(300_000));
    let large_chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n30d40\r\n{}\r\n0\r\n\r\n",
        "x".repeat(200_000)
    );
    let cases: Vec<(&str, Server, u16)> = vec![
        ("length", Server::answering(ok("hello")), 200),
        ("chunked, byte by byte", Server::start(move |c| bytewise(c, chunked)), 200),
        ("a body larger than any buffer", Server::answering(large), 200),
        ("the same in one chunk", Server::answering(large_chunked), 200),
        ("no content", Server::answering("HTTP/1.1 204 No Content\r\n\r\n"), 204),
        (
            "not modified",
            Server::answering("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
            304,
        ),
        (
            "an interim reply first",
            Server::answering(format!("HTTP/1.1 103 Hints\r\nA: b\r\n\r\n{}", ok(""))),
            200,
        ),
        (
            "an error of the app",
            Server::answering("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"),
            500,
        ),
        (
            "version 1.0 until the end of the connection",
            Server::start(|connection| {
                connection.request();
                connection.send("HTTP/1.0 200 OK\r\n\r\nas long as it takes");
            }),
            200,
        ),
    ];
    for (what, server, status) in cases {
        for connection in [ConnectionMode::KeepAlive, ConnectionMode::Fresh] {
            let record = run(&LoadSpec { connection, ..spec(&server, at_rate(200.0), N) });
            let all = total(&record);
            assert_eq!(all.status, [(status, N)].into(), "{what}, {connection}: {:?}", all.errors);
        }
    }
}

#[test]
fn a_reply_to_head_ends_with_its_head() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    let head = Target { method: "HEAD".into(), ..Target::get("/") };
    // One after the other: a late request of an open load would open another connection.
    let one_client = Shape::Clients { clients: 1, think: ms(1) };
    let spec = LoadSpec { targets: vec![head], ..spec(&server, one_client, 20) };
    assert_eq!(total(&run(&spec)).status, [(200, 20)].into());
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1, "the connection was used again");
}

#[test]
fn a_closed_port_refuses_and_clients_do_not_knock_without_a_pause() {
    let server = Server::answering(ok(""));
    let mut spec = spec(&server, Shape::Clients { clients: 2, think: Duration::ZERO }, 10);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spec.address = Address::Tcp(vec![listener.local_addr().unwrap()]);
    drop(listener);
    let began = Instant::now();
    let all = total(&run(&spec));
    assert_eq!((all.errors, all.sent), (errors_of(|e| e.refused = 10), 0));
    assert!(began.elapsed() >= ms(40), "each of two clients paused four times");
}

/// Answers the first request of each connection and hangs up on the second.
pub fn closing_between_requests() -> Server {
    Server::start(|connection| {
        connection.request();
        connection.send(ok("first"));
        connection.request();
    })
}

#[test]
fn a_connection_closed_between_two_requests_is_replaced_where_the_method_allows() {
    let server = closing_between_requests();
    let all = total(&run(&spec(&server, ONE_CLIENT, 20)));
    assert_eq!(all.status, [(200, 20)].into(), "{:?}", all.errors);
    assert_eq!(all.sent, 20, "counted once each");

    let server = closing_between_requests();
    let post = Target { method: "POST".into(), ..Target::get("/") };
    let spec = LoadSpec { targets: vec![post], ..spec(&server, ONE_CLIENT, 20) };
    let all = total(&run(&spec));
    assert_eq!(all.status, [(200, 10)].into());
    assert_eq!(all.errors, errors_of(|e| e.closed_early = 10), "nobody knows whether it was done");
}

#[test]
fn a_server_that_stalls_for_a_second_is_seen_as_arithmetic_says() {
    let stall: Mutex<(u32, Option<Instant>)> = Mutex::new((0, None));
    let server = Server::start(move |connection| {
        while connection.request().is_some() {
            let until = {
                let (count, until) = &mut *stall.lock().unwrap();
                *count += 1;
                if *count == 100 {
                    *until = Some(Instant::now() + Duration::from_secs(1));
                }
                *until
            };
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.unwrap_or_default());
            connection.send(ok("at last"));
        }
    });
    let timeout = Duration::from_secs(10);
    let all = total(&run(&LoadSpec { timeout, ..spec(&server, at_rate(100.0), 300) }));
    assert_eq!(all.status, [(200, 300)].into());
    // A hundred requests were due in that second, the k-th of them 10 k ms after it began.
    let slower_than = |n| all.latency.count_above(ms(n));
    assert!(slower_than(500) >= 48, "{}", slower_than(500));
    assert!(slower_than(100) >= 88, "{}", slower_than(100));
    assert!(all.latency.max().unwrap() >= ms(990));
    assert!(all.latency.quantile(0.99).unwrap() >= ms(950));
    assert!(all.latency.quantile(0.5).unwrap() < ms(500), "the other seconds are not touched");
}

#[test]
fn clients_wait_for_their_reply_and_each_has_a_connection_of_its_own() {
    let server = Server::start(|connection| {
        while connection.request().is_some() {
            connection.busy(|connection| connection.send(ok("hello")));
        }
    });
    let shape = Shape::Clients { clients: 3, think: ms(5) };
    let record = run(&LoadSpec { loops: 2, ..spec(&server, shape, 60) });
    let all = total(&record);
    assert_eq!((all.due, all.status.clone()), (60, [(200, 60)].into()));
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 3);
    assert!(server.seen.busy_max.load(Ordering::SeqCst) <= 3);
    // Twenty rounds with nineteen pauses.
    assert!(record.run.duration >= ms(19 * 5), "{:?}", record.run.duration);
}

#[test]
fn a_duration_cuts_the_load_into_seconds_with_the_warm_up_first() {
    let server = Server::answering(ok("hello"));
    let spec = LoadSpec {
        warm_up: Duration::from_secs(1),
        length: Length::Duration(Duration::from_secs(2)),
        loops: 2,
        ..spec(&server, at_rate(50.0), 0)
    };
    let mut seen = Vec::new();
    let mut watch = |second: &LiveSecond| {
        seen.push(*second);
        ControlFlow::Continue(())
    };
    let record = load::run(&spec, &StopSignal::default(), &mut watch).unwrap();
    assert_adds_up(&record, spec.timeout);
    let due: Vec<u64> = record.seconds.iter().map(|second| second.due).collect();
    assert_eq!(due, [50, 50, 50]);
    assert_eq!((record.run.warm_up, record.run.duration), (spec.warm_up, Duration::from_secs(3)));
    assert!(!record.run.is_cut_short);
    let phases: Vec<Phase> = seen.iter().map(|second| second.phase).collect();
    assert_eq!(phases[..2], [Phase::WarmUp, Phase::Measure]);
    // Bytes are counted as they pass: 66 more than the path and the address in each request.
    let all = total(&record);
    assert_eq!(all.bytes_in, 150 * ok("hello").len() as u64);
    let sent: usize = server.seen.requests.lock().unwrap().iter().map(String::len).sum();
    assert_eq!(all.bytes_out, sent as u64);
}

#[test]
fn steps_ramps_and_silence_are_due_second_by_second_after_a_warm_up_at_the_first_rate() {
    let server = Server::answering(ok("hello"));
    let shape = in_stages("20/s:1s,0:1s,60/s:1s,60..0/s:1s");
    let warm_up = Duration::from_secs(1);
    let record = run(&LoadSpec { warm_up, loops: 2, ..spec(&server, shape, 1) });
    let due: Vec<u64> = record.seconds.iter().map(|second| second.due).collect();
    assert_eq!(due, [20, 20, 0, 60, 30]);
    assert_eq!((record.run.duration, record.run.is_cut_short), (Duration::from_secs(5), false));
    assert_eq!(record.run.offered.rate().unwrap().as_per_second(), 27.5);
    assert_eq!(total(&record).status, [(200, 130)].into());
}

#[test]
fn a_replay_sends_each_recorded_request_when_it_is_due_and_ends_with_the_last() {
    let server = Server::answering(ok("hello"));
    let targets = vec![Target::get("/a"), Target::get("/b")];
    let due = vec![(ms(1200), 1), (ms(0), 0), (ms(300), 1), (ms(310), 1)];
    let shape = Shape::Times(Arc::new(Times::new(due).unwrap()));
    let record = run(&LoadSpec { targets, loops: 3, ..spec(&server, shape, 1) });
    let due: Vec<u64> = record.seconds.iter().map(|second| second.due).collect();
    assert_eq!(due, [3, 1]);
    assert_eq!(record.run.duration, ms(1600), "the last one stands for the mean distance");
    assert_eq!(total(&record).status, [(200, 4)].into());
    let requests = server.seen.requests.lock().unwrap();
    let count = |path: &str| requests.iter().filter(|request| request.contains(path)).count();
    assert_eq!([count("GET /a "), count("GET /b ")], [1, 3]);
    assert!(requests[0].contains("GET /a "));
}

#[test]
fn no_more_are_in_flight_than_allowed_and_the_others_wait() {
    let server = Server::slow(20);
    let timeout = Duration::from_secs(20);
    let spec = LoadSpec { max_in_flight: Some(2), timeout, ..spec(&server, at_rate(500.0), 50) };
    let all = total(&run(&spec));
    assert_eq!(all.status, [(200, 50)].into(), "{:?}", all.errors);
    assert!(server.seen.busy_max.load(Ordering::SeqCst) <= 2);
    assert!(all.sent > all.send_lag.count(), "those who waited are known");
    // 25 rounds of 20 ms for what was due within 0.1 s: the waiting counts.
    assert!(all.latency.max().unwrap() >= ms(350));
}

#[test]
fn those_who_wait_longer_than_the_timeout_are_dropped() {
    let server = Server::start(|connection| {
        connection.request();
        connection.hang();
    });
    let spec = LoadSpec { max_in_flight: Some(2), ..spec(&server, at_rate(1000.0), 100) };
    let all = total(&run(&spec));
    let ErrorCounts { timeout, dropped, .. } = all.errors;
    assert_eq!((all.due, timeout + dropped, all.sent), (100, 100, timeout));
    assert!(dropped > 0 && timeout >= 2, "{:?}", all.errors);
}

#[test]
fn a_unix_socket_whose_queue_is_full_makes_requests_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    // SAFETY: only changes the length of the queue of a listener of ours.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 1) }, 0);
    let elsewhere = Server::answering(ok(""));
    let mut spec = spec(&elsewhere, at_rate(1000.0), 100);
    spec.address = Address::Unix(path);
    let all = total(&run(&spec));
    let ErrorCounts { timeout, dropped, .. } = all.errors;
    assert_eq!((timeout + dropped, timeout), (100, all.sent), "{:?}", all.errors);
    assert!(timeout > 0 && dropped > 0, "nobody accepts: {:?}", all.errors);
}

#[test]
fn more_are_in_flight_at_once_than_replies_allow_when_nothing_forbids_it() {
    let server = Server::slow(200);
    let all = total(&run(&spec(&server, at_rate(100.0), 50)));
    assert_eq!(all.status, [(200, 50)].into());
    // About twenty by Little's law; a loaded machine may have somewhat fewer at once.
    assert!(server.seen.busy_max.load(Ordering::SeqCst) >= 10);
}

#[test]
fn the_mix_is_what_its_weights_say() {
    let server = Server::answering(ok(""));
    let target = |path: &str, weight| Target { weight, ..Target::get(path) };
    let targets = vec![target("/a", 1), target("/b", 3), target("/c", 6)];
    run(&LoadSpec { targets, ..spec(&server, at_rate(500.0), 200) });
    let requests = server.seen.requests.lock().unwrap();
    let count = |path: &str| requests.iter().filter(|request| request.contains(path)).count();
    assert_eq!([count("GET /a "), count("GET /b "), count("GET /c ")], [20, 60, 120]);
}

#[test]
fn a_fresh_connection_is_opened_for_every_request_and_says_so() {
    let server = Server::answering(ok("hello"));
    let connection = ConnectionMode::Fresh;
    let all = total(&run(&LoadSpec { connection, ..spec(&server, at_rate(200.0), 50) }));
    assert_eq!(all.status, [(200, 50)].into());
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 50);
    let requests = server.seen.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.contains("\r\nConnection: close\r\n")));
}

#[test]
fn a_large_request_arrives_whole() {
    let server = Server::answering(ok(""));
    let body = vec![b'x'; 3_000_000];
    let post = Target { method: "POST".into(), body, ..Target::get("/") };
    let timeout = Duration::from_secs(20);
    let spec = LoadSpec { targets: vec![post], timeout, ..spec(&server, ONE_CLIENT, 3) };
    assert_eq!(total(&run(&spec)).status, [(200, 3)].into());
    let requests = server.seen.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.ends_with(&"x".repeat(1000))));
}

/// Runs against a server that never answers; the stop is raised this often in the first second.
fn stopped(raises: u32, breaks: bool) -> (LoadRecord, Duration) {
    let server = Server::start(|connection| {
        connection.request();
        connection.hang();
    });
    let spec = LoadSpec {
        timeout: Duration::from_secs(4),
        length: Length::Duration(Duration::from_secs(60)),
        ..spec(&server, at_rate(20.0), 0)
    };
    let stop = StopSignal::default();
    let mut watch = |second: &LiveSecond| {
        if second.at == Duration::from_secs(1) {
            (0..raises).for_each(|_| stop.raise());
            if breaks {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let began = Instant::now();
    let record = load::run(&spec, &stop, &mut watch).unwrap();
    assert_adds_up(&record, spec.timeout);
    assert!(record.run.is_cut_short);
    assert!(record.run.duration < Duration::from_secs(3), "{:?}", record.run.duration);
    assert_eq!(total(&record).errors.total(), total(&record).due);
    (record, began.elapsed())
}

#[test]
fn a_first_stop_awaits_replies_and_a_second_ends_at_once() {
    let (record, took) = stopped(1, false);
    assert!(took >= Duration::from_secs(4), "awaited up to the timeout: {took:?}");
    assert!(total(&record).latency.min().unwrap() >= ms(3990));

    let (record, took) = stopped(2, false);
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(total(&record).errors.timeout >= 20);
}

#[test]
fn a_watcher_that_breaks_waits_for_a_moment_only() {
    let (_, took) = stopped(0, true);
    assert!(took >= Duration::from_secs(3) && took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn an_impossible_load_is_refused_with_the_way_out() {
    let server = Server::answering(ok(""));
    let usual = spec(&server, at_rate(10.0), 1);
    let with = |change: &dyn Fn(&mut LoadSpec)| {
        let mut spec = usual.clone();
        change(&mut spec);
        let go_on = &mut |_: &LiveSecond| ControlFlow::Continue(());
        load::run(&spec, &StopSignal::default(), go_on).unwrap_err().to_string()
    };
    assert!(with(&|spec| spec.targets.clear()).contains("target"));
    assert!(with(&|spec| spec.shape = at_rate(0.0)).contains("above zero"));
    assert!(with(&|spec| spec.shape = at_rate(1e9)).contains("1000000/s"));
    assert!(with(&|spec| spec.warm_up = ms(1500)).contains("whole seconds"));
    assert!(with(&|spec| spec.max_in_flight = Some(0)).contains("at least 1"));
    assert!(with(&|spec| spec.timeout = Duration::ZERO).contains("timeout"));
    assert!(with(&|spec| spec.address = Address::Unix("x".repeat(200).into())).contains("shorter"));
    let many = Shape::Clients { clients: u32::MAX, think: Duration::ZERO };
    assert!(with(&|spec| spec.shape = many.clone()).contains("ulimit -n"));
    assert!(with(&|spec| spec.shape = in_stages("1/s:1s,0..9e9/s:1s")).contains("1000000/s"));
    let nothing = Shape::Stages { stages: Arc::default(), arrivals: Arrivals::Uniform };
    assert!(with(&|spec| spec.shape = nothing.clone()).contains("over before"));
    let replay = |ms_due, target| {
        let times = Times::new(vec![(ms(ms_due), target)]).unwrap();
        Shape::Times(Arc::new(times))
    };
    assert!(with(&|spec| spec.shape = replay(0, 1)).contains("not in the list of targets"));
    let too_short = |spec: &mut LoadSpec| {
        (spec.shape, spec.warm_up) = (replay(999, 0), Duration::from_secs(1));
    };
    assert!(with(&too_short).contains("over before"));
    assert!(with(&|spec| spec.targets[0].path = "/a b".into()).contains("%20"));
    assert!(with(&|spec| spec.placement.cpus = vec![1000]).contains("a loop"));
}
