//! Bodies of replies, which are dropped unseen where that can be: of any length and in any pieces
//! they are counted to the byte, and end when their last byte is there.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sweetspot::load::shape::Shape;
use sweetspot::load::{Address, LoadSpec};
use sweetspot::terms::Target;

use super::engine::{ONE_CLIENT, at_rate, ms, run, spec, total};
use super::server::{Connection, Server, ok, read_request};

const N: u64 = 4;

/// Time enough on a machine that has other things to do.
const LONG: Duration = Duration::from_secs(20);

/// Around what is copied at most, what is worth a read of its own, and what is read at once.
const LENGTHS: [usize; 10] =
    [0, 1, 4_096, 4_097, 16_383, 16_384, 65_000, 65_536, 100_000, 1_000_000];

fn in_chunks(length: usize, longest: usize) -> String {
    let body = vec![b'x'; length];
    let chunk = |it: &[u8]| format!("{:x}\r\n{}\r\n", it.len(), "x".repeat(it.len()));
    let chunks: String = body.chunks(longest).map(chunk).collect();
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
}

/// Answers each request, with a moment between the first bytes of the reply and the others.
fn answer_in_two(connection: &mut Connection, reply: &str, first: usize, moment: Duration) {
    connection.stream.set_nodelay(true).unwrap();
    while connection.request().is_some() {
        let (begin, end) = reply.split_at(first);
        connection.send(begin);
        std::thread::sleep(moment);
        connection.send(end);
    }
}

#[test]
fn bodies_of_any_length_are_counted_to_the_byte_in_whatever_pieces_they_come() {
    for length in LENGTHS {
        let chunked = [length.max(1), 5_000].map(|longest| in_chunks(length, longest));
        let replies = [ok(&"x".repeat(length))].into_iter().chain(chunked);
        for reply in replies {
            let head = reply.find("\r\n\r\n").unwrap() + 4;
            for first in [head / 2, head, (head + reply.len()) / 2, reply.len() - 1, reply.len()] {
                let sent = reply.clone();
                let server = Server::start(move |it| answer_in_two(it, &sent, first, ms(1)));
                let spec = spec(&server, ONE_CLIENT, N);
                let all = total(&run(&LoadSpec { timeout: LONG, ..spec }));
                let what = format!("{length}, {first} of {} bytes first", reply.len());
                assert_eq!(all.status, [(200, N)].into(), "{what}: {:?}", all.errors);
                assert_eq!(all.bytes_in, N * reply.len() as u64, "{what}");
                assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1, "{what}");
            }
        }
    }
}

#[test]
fn a_connection_with_more_behind_a_large_body_than_was_announced_is_not_used_again() {
    let server = Server::answering(ok(&"x".repeat(100_000)) + "and more");
    // Time enough for what comes behind a reply.
    let spec = spec(&server, Shape::Clients { clients: 1, think: ms(5) }, N);
    let all = total(&run(&LoadSpec { timeout: LONG, ..spec }));
    assert_eq!(all.status, [(200, N)].into(), "{:?}", all.errors);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst) as u64, N);
}

#[test]
fn large_and_small_replies_with_short_and_long_heads_follow_each_other_on_one_connection() {
    const EACH: u64 = 25;
    let long_head = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n", "y".repeat(600));
    let replies = [
        ("/small", ok("hello")),
        ("/medium", ok(&"x".repeat(10_000))),
        ("/large", ok(&"x".repeat(100_000))),
        ("/chunked", in_chunks(50_000, 5_000)),
        ("/empty", "HTTP/1.1 304 Not Modified\r\nContent-Length: 100000\r\n\r\n".into()),
        ("/long", ok(&"x".repeat(40_000)).replace("HTTP/1.1 200 OK\r\n", &long_head)),
    ];
    let targets = replies.iter().map(|(path, _)| Target::get(*path)).collect();
    let bytes: usize = replies.iter().map(|(_, reply)| reply.len()).sum();
    let count = EACH * replies.len() as u64;
    let server = Server::start(move |connection| {
        while let Some(request) = connection.request() {
            let is_asked = |path: &str| request.starts_with(&format!("GET {path} "));
            let (_, reply) = replies.iter().find(|(path, _)| is_asked(path)).unwrap();
            connection.send(reply);
        }
    });
    let spec = spec(&server, ONE_CLIENT, count);
    let all = total(&run(&LoadSpec { targets, timeout: LONG, ..spec }));
    assert_eq!(all.status, [(200, count - EACH), (304, EACH)].into(), "{:?}", all.errors);
    assert_eq!(all.bytes_in, EACH * bytes as u64);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reply_is_over_with_its_last_byte_also_where_the_loop_sleeps_and_drops_its_body() {
    let reply = ok(&"x".repeat(20_000));
    for first in [100, 10_000] {
        let sent = reply.clone();
        let server = Server::start(move |it| answer_in_two(it, &sent, first, ms(3)));
        let spec = spec(&server, at_rate(400.0), 200);
        let all = total(&run(&LoadSpec { timeout: LONG, ..spec }));
        assert_eq!(all.status, [(200, 200)].into(), "{:?}", all.errors);
        assert_eq!(all.bytes_in, 200 * reply.len() as u64);
        let shortest = all.latency.min().unwrap();
        assert!(shortest >= ms(3).mul_f64(0.998), "{first} bytes first: {shortest:?}");
    }
}

#[test]
fn over_a_unix_socket_bodies_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let reply = ok(&"x".repeat(100_000));
    let length = reply.len() as u64;
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        while read_request(&mut stream).is_some() {
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    let elsewhere = Server::answering(ok(""));
    let address = Address::Unix(path);
    let spec = spec(&elsewhere, ONE_CLIENT, N);
    let all = total(&run(&LoadSpec { address, timeout: LONG, ..spec }));
    assert_eq!(all.status, [(200, N)].into(), "{:?}", all.errors);
    assert_eq!(all.bytes_in, N * length);
    serving.join().unwrap();
}
