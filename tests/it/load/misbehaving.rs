//! Servers that break every rule: each way of doing so ends in its class, and under any mixture of
//! them every request is counted once, the run ends in time, and nothing is left open.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::load::shape::Shape;
use sweetspot::load::{Address, Length, LoadSpec};
use sweetspot::terms::{ConnectionMode, ErrorCounts, Target};

use super::engine::{ONE_CLIENT, TIMEOUT, at_rate, errors_of, ms, run, spec, total};
use super::server::{Connection, Server, ok};
use crate::process::unused_address;

const MODES: [ConnectionMode; 2] = [ConnectionMode::KeepAlive, ConnectionMode::Fresh];

/// What a server does with a connection.
type Act = fn(&mut Connection);

/// Requests sent to each of the servers below.
const N: u64 = 10;

/// What goes wrong, a server that does it, and the class in which `N` requests then end.
type Failing = (&'static str, Act, fn(&mut ErrorCounts));

const FAILING: &[Failing] = &[
    (AT_ONCE, |c| c.reset(), |e| e.reset = N),
    ("a reset before a word", |c| say_then(c, "", Connection::reset), |e| e.reset = N),
    ("a reset within the head", |c| say_then(c, HALF_A_HEAD, Connection::reset), |e| e.reset = N),
    ("a reset within the body", |c| say_then(c, HALF_A_BODY, Connection::reset), |e| e.reset = N),
    (
        "a reset where the end of the connection would end the body",
        |c| say_then(c, "HTTP/1.0 200 OK\r\n\r\nas long as", Connection::reset),
        |e| e.reset = N,
    ),
    ("silence", Connection::hang, |e| e.timeout = N),
    ("silence within the head", |c| say_then(c, HALF_A_HEAD, Connection::hang), |e| e.timeout = N),
    (
        "silence after an interim reply",
        |c| say_then(c, "HTTP/1.1 102 Processing\r\n\r\n", Connection::hang),
        |e| e.timeout = N,
    ),
    ("a byte now and then", trickle, |e| e.timeout = N),
    ("the end before a word", |c| say_then(c, "", |_| {}), |e| e.closed_early = N),
    ("half an end before a word", |c| say_then(c, "", half_close), |e| e.closed_early = N),
    ("half an end in the head", |c| say_then(c, HALF_A_HEAD, half_close), |e| e.closed_early = N),
    ("a length too long", |c| say_then(c, HALF_A_BODY, |_| {}), |e| e.closed_early = N),
    ("the longest length there is", |c| say_then(c, LONGEST_BODY, |_| {}), |e| e.closed_early = N),
    (
        "the largest chunk there is",
        |c| say_then(c, [CHUNKED, "ffffffffffffffff\r\nhi"].concat(), |_| {}),
        |e| e.closed_early = N,
    ),
    (
        "two lengths",
        |c| say_then(c, "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nhi", Connection::hang),
        |e| e.malformed = N,
    ),
    (
        "a chunk without a size",
        |c| say_then(c, [CHUNKED, "hi\r\n"].concat(), Connection::hang),
        |e| e.malformed = N,
    ),
    (
        "another protocol from here on",
        |c| say_then(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n", Connection::hang),
        |e| e.malformed = N,
    ),
    ("garbage", |c| say_then(c, b"\0\xff\r\n\r\n\x80", Connection::hang), |e| e.malformed = N),
    ("TLS", |c| say_then(c, TLS_ALERT, Connection::hang), |e| e.malformed = N),
    ("HTTP/2", |c| say_then(c, HTTP_2_FRAMES, Connection::hang), |e| e.malformed = N),
    ("a client", |c| say_then(c, HTTP_2_PREFACE, Connection::hang), |e| e.malformed = N),
    ("endless headers", |c| flood(c, "HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), |e| e.malformed = N),
    (
        "too many headers",
        |c| say_then(c, ["HTTP/1.1 200 OK\r\n", &LINE.repeat(2000)].concat(), Connection::hang),
        |e| e.malformed = N,
    ),
    ("an endless line", |c| flood(c, "HTTP/1.1 200 ", "O"), |e| e.malformed = N),
    ("endless interim replies", |c| flood(c, "", "HTTP/1.1 100 \r\n\r\n"), |e| e.malformed = N),
];

/// What is unusual, and a server that does it; every request is answered with status 200.
const ANSWERING: &[(&str, Act)] = &[
    ("nothing", |c| answer_all(c, &ok("hello"))),
    ("more bytes than it said", |c| answer_all(c, &(ok("hello") + "and more"))),
    ("two replies for one", |c| answer_all(c, &ok("hello").repeat(2))),
    ("a reply before the request", |c| {
        c.send(ok("early"));
        answer_all(c, &ok("earlier still"));
    }),
    ("an end that is not announced", |c| say_then(c, ok("hello"), |_| {})),
    ("an end that is announced", |c| say_then(c, CLOSING, |_| {})),
    ("an end that is announced and does not come", |c| say_then(c, CLOSING, Connection::hang)),
    ("a byte at a time", |c| {
        while c.request().is_some() {
            ok("hello").bytes().for_each(|byte| c.send([byte]));
        }
    }),
];

/// One that may come before the request has left.
const AT_ONCE: &str = "a reset at once";
const LINE: &str = "X-More: and more, and more, and more\r\n";
const HALF_A_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Le";
const HALF_A_BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi";
const LONGEST_BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhi";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
const TOO_LARGE: &str = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
/// "Protocol version" (RFC 8446, section 6): what a TLS port says to plain HTTP.
const TLS_ALERT: &[u8] = &[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46];
/// Empty SETTINGS, then GOAWAY with PROTOCOL_ERROR (RFC 9113, sections 6.5 and 6.8).
const HTTP_2_FRAMES: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01";
const HTTP_2_PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads one request and says this, then that happens; the connection ends with it.
fn say_then(connection: &mut Connection, words: impl AsRef<[u8]>, then: Act) {
    connection.request();
    connection.send(words);
    then(connection);
}

fn answer_all(connection: &mut Connection, reply: &str) {
    while connection.request().is_some() {
        connection.send(reply);
    }
}

fn half_close(connection: &mut Connection) {
    drop(connection.stream.shutdown(Shutdown::Write));
    connection.hang();
}

/// Begins with these words and goes on until the peer has enough.
fn flood(connection: &mut Connection, begin: &str, on: &str) {
    connection.request();
    connection.send(begin);
    let block = on.repeat(65_536 / on.len());
    while connection.stream.write_all(block.as_bytes()).is_ok() {}
}

/// Sends a proper reply so slowly that nobody waits for its end.
fn trickle(connection: &mut Connection) {
    connection.request();
    for byte in ok(&"slow".repeat(100)).bytes() {
        connection.send([byte]);
        if has_gone(connection) {
            return;
        }
    }
}

/// Reads the beginning of a request and no more.
fn read_some(connection: &mut Connection) {
    let mut beginning = [0; 10];
    drop(connection.stream.read(&mut beginning));
}

/// Waits a moment for the peer to close.
fn has_gone(connection: &mut Connection) -> bool {
    connection.stream.set_read_timeout(Some(ms(20))).unwrap();
    let mut buffer = [0; 4096];
    match connection.stream.read(&mut buffer) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// A port that neither takes a connection nor refuses it: its queue is full, so that the kernel
/// drops whatever knocks.
struct BlackHole {
    address: SocketAddr,
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl BlackHole {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: only changes the length of the queue of a listener of ours.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let address = listener.local_addr().unwrap();
        let mut queued = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, ms(500)) {
            queued.push(stream);
            assert!(queued.len() < 100, "the queue never gets full");
        }
        Self { address, _listener: listener, _queued: queued }
    }
}

/// A `POST` that no socket's buffers hold.
fn large_post() -> Target {
    let body = vec![b'x'; 20_000_000];
    Target { method: "POST".into(), body, ..Target::get("/") }
}

#[test]
fn every_way_of_misbehaving_ends_in_its_class() {
    for (what, act, expected) in FAILING {
        let server = Server::start(*act);
        for connection in MODES {
            let all = total(&run(&LoadSpec { connection, ..spec(&server, at_rate(200.0), N) }));
            let counted = (all.due, all.errors);
            let expected = (N, errors_of(*expected));
            assert_eq!(counted, expected, "{what}, {connection}: {:?}", all.status);
            assert!(all.sent == N || *what == AT_ONCE, "{what}, {connection}: {}", all.sent);
            let has_waited = all.latency.min() >= Some(TIMEOUT.mul_f64(0.998));
            assert!(has_waited || all.errors.timeout == 0, "the time given up counts: {what}");
        }
    }
}

#[test]
fn unusual_answers_are_answers() {
    for (what, act) in ANSWERING {
        let server = Server::start(*act);
        for connection in MODES {
            let all = total(&run(&LoadSpec { connection, ..spec(&server, at_rate(200.0), N) }));
            assert_eq!(all.status, [(200, N)].into(), "{what}, {connection}: {:?}", all.errors);
        }
    }
}

#[test]
fn a_connection_that_cannot_be_trusted_or_ends_is_not_used_again() {
    for reply in [CLOSING.to_string(), ok("hello").repeat(2), ok("hello") + "and more"] {
        let server = Server::start(move |connection| answer_all(connection, &reply));
        let all = total(&run(&spec(&server, ONE_CLIENT, N)));
        assert_eq!(all.status, [(200, N)].into(), "{:?}", all.errors);
        assert_eq!(server.seen.connections.load(Ordering::SeqCst) as u64, N);
    }
}

#[test]
fn who_is_not_let_in_waits_until_the_timeout() {
    let hole = BlackHole::open();
    let elsewhere = Server::answering(ok(""));
    for connection in MODES {
        let mut spec = LoadSpec { connection, ..spec(&elsewhere, at_rate(200.0), N) };
        spec.address = Address::Tcp(vec![hole.address]);
        let all = total(&run(&spec));
        assert_eq!((all.errors, all.sent), (errors_of(|e| e.timeout = N), 0));
        assert!(all.latency.min().unwrap() >= TIMEOUT.mul_f64(0.998), "the time given up counts");
    }
}

#[test]
fn of_two_addresses_each_has_its_share_also_when_one_refuses() {
    let server = Server::answering(ok(""));
    let both = Address::Tcp(vec![server.address, unused_address()]);
    let open = LoadSpec {
        address: both.clone(),
        connection: ConnectionMode::Fresh,
        ..spec(&server, at_rate(200.0), 20)
    };
    let all = total(&run(&open));
    assert_eq!((all.errors, all.completed()), (errors_of(|e| e.refused = 10), 10));

    // Each loop takes turns on its own.
    let all = total(&run(&LoadSpec { loops: 3, ..open }));
    assert!((7..=13).contains(&all.errors.refused), "{:?}", all.errors);
    assert_eq!(all.errors.refused + all.completed(), 20);

    let all = total(&run(&LoadSpec { address: both, ..spec(&server, ONE_CLIENT, 20) }));
    assert!(all.errors.refused <= 1, "who found the one that listens stays with it");
}

/// Answers the first request of each connection and resets it within the second.
fn resetting_the_second() -> Server {
    Server::start(|connection| {
        connection.request();
        connection.send(ok("first"));
        read_some(connection);
        connection.reset();
    })
}

#[test]
fn a_get_is_tried_once_more_and_a_post_that_was_partly_sent_is_not() {
    let server = resetting_the_second();
    let all = total(&run(&spec(&server, ONE_CLIENT, 6)));
    assert_eq!(all.status, [(200, 6)].into(), "{:?}", all.errors);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 6);

    let server = resetting_the_second();
    let post = Target { body: vec![b'x'; 3_000_000], ..large_post() };
    let timeout = Duration::from_secs(20);
    let spec = LoadSpec { targets: vec![post], timeout, ..spec(&server, ONE_CLIENT, 6) };
    let all = total(&run(&spec));
    assert_eq!(all.status, [(200, 3)].into(), "{:?}", all.errors);
    assert_eq!(all.errors, errors_of(|e| e.reset = 3));
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 3, "no second try");
}

#[test]
fn a_request_that_is_answered_before_it_is_read_costs_no_time_afterwards() {
    // What still comes is read later, when the reply has been seen: then there is always room to
    // write more.
    let server = Server::start(|connection| {
        read_some(connection);
        connection.send(TOO_LARGE);
        std::thread::sleep(ms(50));
        connection.hang();
    });
    let spec = LoadSpec {
        targets: vec![large_post()],
        timeout: Duration::from_secs(20),
        length: Length::Duration(Duration::from_secs(1)),
        ..spec(&server, at_rate(5.0), 0)
    };
    let record = run(&spec);
    assert_eq!(total(&record).status, [(413, 5)].into(), "{:?}", total(&record).errors);
    let busy = record.run.generator.busiest_loop;
    assert!(busy < 0.2, "the loop had next to nothing to do, and was {busy} busy");
}

#[test]
fn a_reply_that_came_before_a_reset_counts() {
    let server = Server::start(|connection| {
        read_some(connection);
        connection.send(TOO_LARGE);
        connection.reset();
    });
    for connection in MODES {
        let targets = vec![large_post()];
        let timeout = Duration::from_secs(20);
        let spec = LoadSpec { connection, targets, timeout, ..spec(&server, ONE_CLIENT, 20) };
        let all = total(&run(&spec));
        assert_eq!(all.status, [(413, 20)].into(), "{connection}: {:?}", all.errors);
    }
}

#[test]
fn a_body_without_an_end_is_given_up_at_the_timeout() {
    let server = Server::start(|connection| flood(connection, "HTTP/1.1 200 OK\r\n\r\n", "x"));
    let all = total(&run(&spec(&server, ONE_CLIENT, 2)));
    assert_eq!(all.errors, errors_of(|e| e.timeout = 2), "{:?}", all.status);
    assert!(all.bytes_in > 0);
}

#[test]
fn what_comes_after_the_last_reply_is_not_awaited() {
    let server = Server::start(|connection| flood(connection, CLOSING, "x"));
    let all = total(&run(&spec(&server, ONE_CLIENT, 5)));
    assert_eq!(all.status, [(200, 5)].into(), "{:?}", all.errors);
}

#[test]
fn there_are_no_more_loops_than_requests_may_be_in_flight() {
    let server = Server::answering(ok(""));
    let limited = LoadSpec { max_in_flight: Some(3), ..spec(&server, at_rate(200.0), 20) };
    for spec in [limited, spec(&server, ONE_CLIENT, 20)] {
        let all = total(&run(&LoadSpec { loops: u16::MAX, ..spec }));
        assert_eq!(all.status, [(200, 20)].into(), "{:?}", all.errors);
    }
}

/// Does something else, good or bad, with each connection.
fn unpredictable(seed: u64) -> Server {
    let failing = FAILING.iter().map(|(_, act, _)| *act);
    let answering = ANSWERING.iter().map(|(_, act)| *act);
    let closing: Act = |_| {};
    let acts: Vec<Act> = failing.chain(answering).chain([closing]).collect();
    let random = Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed));
    Server::start(move |connection| {
        let drawn = random.lock().unwrap().random_range(0..acts.len());
        acts[drawn](connection);
    })
}

#[derive(Debug, Clone)]
struct Mixture {
    seed: u64,
    shape: Shape,
    connection: ConnectionMode,
    loops: u16,
}

fn mixtures() -> Vec<Mixture> {
    let mut mixtures = Vec::new();
    for shape in [at_rate(200.0), Shape::Clients { clients: 8, think: ms(1) }] {
        for connection in MODES {
            for loops in [1, 3] {
                let with = |seed| Mixture { seed, shape: shape.clone(), connection, loops };
                mixtures.extend([1, 2].map(with));
            }
        }
    }
    mixtures
}

const LENGTH: Duration = Duration::from_millis(300);
const SHORT_TIMEOUT: Duration = Duration::from_millis(250);
/// How much longer a run may take on a machine that has other things to do.
const MARGIN: Duration = Duration::from_secs(10);

/// Loads a server like that, one where nobody listens and one that takes nobody in, all at once.
fn meet(mixture: Mixture, hole: &BlackHole) {
    let server = unpredictable(mixture.seed);
    let Mixture { seed, shape, connection, loops } = mixture.clone();
    // The server twice, so that most requests get that far.
    let addresses = vec![server.address, unused_address(), server.address, hole.address];
    let spec = LoadSpec {
        address: Address::Tcp(addresses),
        length: Length::Duration(LENGTH),
        timeout: SHORT_TIMEOUT,
        max_in_flight: Some(40),
        connection,
        loops,
        seed,
        ..spec(&server, shape.clone(), 0)
    };
    let began = Instant::now();
    let all = total(&run(&spec));
    let took = began.elapsed();
    assert!(took <= LENGTH + SHORT_TIMEOUT + MARGIN, "{mixture:?} took {took:?}");
    assert_eq!(all.due, all.completed() + all.errors.total(), "{mixture:?}");
    match shape {
        Shape::Constant { .. } => assert_eq!(all.due, 60, "{mixture:?}"),
        _ => assert!(all.due >= 8, "{mixture:?}"),
    }
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

const ALONE: &str = "SWEETSPOT_TEST_ALONE_WITH_MISBEHAVING_SERVERS";

#[test]
fn under_any_mixture_of_them_all_is_counted_and_nothing_stays_open() {
    if std::env::var_os(ALONE).is_some() {
        let hole = BlackHole::open();
        let before = open_descriptors();
        for mixture in mixtures() {
            meet(mixture.clone(), &hole);
            assert_eq!(open_descriptors(), before, "{mixture:?} left something open");
        }
        return;
    }
    // In a process of its own, where nobody else opens anything.
    let name = "load::misbehaving::under_any_mixture_of_them_all_is_counted_and_nothing_stays_open";
    let mut again = Command::new(std::env::current_exe().unwrap());
    let output = again.args(["--exact", name]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
