//! HTTP/2: several requests on a connection, and servers that misbehave in its own ways.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use sweetspot::load::shape::Shape;
use sweetspot::load::{LoadSpec, Protocol};
use sweetspot::terms::{ConnectionMode, ErrorCounts, Target};

use super::engine::{at_rate, errors_of, ms, run, spec, total};
use super::server::{Connection, Server};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
const INTERNAL_ERROR: [u8; 4] = [0, 0, 0, 2];

/// RFC 9113, section 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head.as_slice(), payload].concat()
}

/// `:status: 200` and the end of the stream, from the static table (RFC 7541, appendix A).
fn done(stream: u32) -> Vec<u8> {
    frame(HEADERS, 0x5, stream, &[0x88])
}

/// After the client's first words and our settings: the streams on which requests come.
struct Requests<'a> {
    connection: &'a mut Connection,
}

impl<'a> Requests<'a> {
    fn of(connection: &'a mut Connection) -> Option<Self> {
        let mut preface = [0; 24];
        connection.stream.read_exact(&mut preface).ok()?;
        assert!(preface.starts_with(b"PRI * HTTP/2.0"));
        connection.send(frame(SETTINGS, 0, 0, &[]));
        Some(Self { connection })
    }

    /// The stream of the next request; `None` at the connection's end.
    fn next(&mut self) -> Option<u32> {
        loop {
            let mut head = [0; 9];
            self.connection.stream.read_exact(&mut head).ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.connection.stream.read_exact(&mut payload).ok()?;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            match head[3] {
                SETTINGS if head[4] == 0 => self.send(frame(SETTINGS, 1, 0, &[])),
                HEADERS => return Some(stream),
                _ => {}
            }
        }
    }

    fn send(&mut self, bytes: Vec<u8>) {
        drop(self.connection.stream.write_all(&bytes));
    }
}

/// Answers each request with what `answer` makes of its stream.
fn answering(answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |connection| {
        let Some(mut requests) = Requests::of(connection) else { return };
        while let Some(stream) = requests.next() {
            requests.send(answer(stream));
        }
    })
}

fn http2(server: &Server, shape: Shape, requests: u64) -> LoadSpec {
    LoadSpec { protocol: Protocol::Http2 { streams: 4 }, ..spec(server, shape, requests) }
}

fn errors_against(server: &Server) -> (ErrorCounts, u64) {
    let all = total(&run(&http2(server, at_rate(200.0), 10)));
    (all.errors, all.completed())
}

#[test]
fn requests_share_connections_as_far_as_streams_allow() {
    // Each connection answers only when four requests are under way on it.
    let server = Server::start(|connection| {
        let Some(mut requests) = Requests::of(connection) else { return };
        let mut open = VecDeque::new();
        while let Some(stream) = requests.next() {
            open.push_back(stream);
            if open.len() == 4 {
                let answers: Vec<u8> = open.drain(..).flat_map(done).collect();
                requests.send(answers);
            }
        }
    });
    let clients = Shape::Clients { clients: 8, think: ms(0) };
    let all = total(&run(&http2(&server, clients, 80)));
    // The last ones of a connection may wait in vain for company.
    assert!(all.completed() >= 72, "{:?}", all.errors);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 2);
}

#[test]
fn fresh_connections_carry_one_request_each() {
    let server = answering(done);
    let spec = http2(&server, at_rate(200.0), 10);
    let all = total(&run(&LoadSpec { connection: ConnectionMode::Fresh, ..spec }));
    assert_eq!(all.status, [(200, 10)].into(), "{:?}", all.errors);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 10);
}

#[test]
fn a_stream_that_is_reset_is_one_failure_and_the_others_go_on() {
    let server = answering(|stream| match stream % 4 {
        1 => frame(RST_STREAM, 0, stream, &INTERNAL_ERROR),
        _ => done(stream),
    });
    let two_clients = Shape::Clients { clients: 2, think: ms(1) };
    let all = total(&run(&http2(&server, two_clients, 10)));
    assert_eq!((all.errors, all.completed()), (errors_of(|e| e.reset = 5), 5));
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_stream_that_the_server_has_not_begun_with_is_asked_for_once_more() {
    let refused = AtomicUsize::new(0);
    let server = answering(move |stream| match refused.fetch_add(1, Ordering::SeqCst) {
        0 => frame(RST_STREAM, 0, stream, &REFUSED_STREAM),
        _ => done(stream),
    });
    assert_eq!(errors_against(&server), (ErrorCounts::default(), 10));

    let server = answering(|stream| frame(RST_STREAM, 0, stream, &REFUSED_STREAM));
    assert_eq!(errors_against(&server), (errors_of(|e| e.reset = 10), 0), "once, not for ever");
}

#[test]
fn a_server_that_says_goodbye_ends_what_was_under_way() {
    // The last stream that it will answer is 0: none.
    let goodbye = |_| frame(GOAWAY, 0, 0, &[0; 8]);
    let (errors, completed) = errors_against(&answering(goodbye));
    assert_eq!((errors.total(), completed), (10, 0), "{errors:?}");
    assert_eq!(errors.closed_early + errors.reset, 10, "{errors:?}");
}

#[test]
fn what_is_no_http2_or_no_answer_has_its_class() {
    for (what, answer, expected) in [
        ("HTTP/1", b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), errors_of(|e| e.malformed = 10)),
        ("silence", Vec::new(), errors_of(|e| e.timeout = 10)),
        ("a frame that is too long", vec![0xff; 64], errors_of(|e| e.malformed = 10)),
    ] {
        let server = answering(move |_| answer.clone());
        assert_eq!(errors_against(&server), (expected, 0), "{what}");
    }
    let closing = Server::start(|connection| {
        if let Some(mut requests) = Requests::of(connection) {
            requests.next();
        }
    });
    let (errors, completed) = errors_against(&closing);
    assert_eq!((errors.total(), completed), (10, 0), "{errors:?}");
}

#[test]
fn bodies_are_sent_and_what_only_http1_can_say_is_refused() {
    let server = answering(done);
    let post = |body: Vec<u8>| Target { method: "POST".into(), body, ..Target::get("/a") };
    let spec = http2(&server, at_rate(200.0), 5);
    let targets = vec![post(b"hello".to_vec())];
    let all = total(&run(&LoadSpec { targets, ..spec.clone() }));
    assert_eq!(all.status, [(200, 5)].into(), "{:?}", all.errors);

    let targets = vec![post(b"{{seq}}".to_vec())];
    let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
    let spec = LoadSpec { targets, ..spec };
    let refused = sweetspot::load::run(&spec, &Default::default(), go_on).unwrap_err();
    assert!(refused.to_string().contains("HTTP/1.1 only"), "{refused}");
}
