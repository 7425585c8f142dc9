//! HTTP/2: several requests on a connection, and servers that misbehave in its own ways.

use std::collections::{BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sweetspot::load::shape::Shape;
use sweetspot::load::{Address, LoadSpec, Protocol};
use sweetspot::terms::{ConnectionMode, ErrorCounts, Target, TlsTrouble};

use super::engine::{at_rate, errors_of, ms, run, spec, total};
use super::server::{Connection, Seen, Server};

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

/// As over HTTP/1: only on a connection that had brought a reply, and if twice does no harm.
#[test]
fn a_request_that_meets_a_connection_closed_without_a_goodbye_is_sent_once_more() {
    let closing_after_one = || {
        Server::start(|connection| {
            let Some(mut requests) = Requests::of(connection) else { return };
            if let Some(stream) = requests.next() {
                requests.send(done(stream));
            }
            requests.next();
        })
    };
    for (method, lost) in [("GET", 0), ("POST", 5)] {
        let server = closing_after_one();
        let targets = vec![Target { method: method.into(), ..Target::get("/") }];
        let one_client = Shape::Clients { clients: 1, think: ms(1) };
        let all = total(&run(&LoadSpec { targets, ..http2(&server, one_client, 10) }));
        let errors = all.errors.closed_early + all.errors.reset;
        assert_eq!((errors, all.errors.total()), (lost, lost), "{method}");
        assert_eq!(all.completed(), 10 - lost, "{method}");
        assert_eq!(all.retries, if lost == 0 { 9 } else { 0 }, "{method}");
    }
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
fn a_port_that_speaks_another_protocol_is_recognised() {
    let saying = |words: Vec<u8>| {
        Server::start(move |connection| {
            drop(connection.stream.read(&mut [0; 8192]));
            connection.send(&words);
            connection.hang();
        })
    };
    let recognises = |spec: LoadSpec, expected: TlsTrouble| {
        let record = run(&spec);
        assert_eq!(total(&record).errors, errors_of(|e| e.malformed = 10), "{expected:?}");
        assert_eq!(record.run.tls_trouble, Some(expected));
    };
    let http1 = saying(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    recognises(http2(&http1, at_rate(200.0), 10), TlsTrouble::NoHttp2);
    let tls = saying(vec![0x15, 3, 1, 0, 2, 2, 0x46]);
    recognises(http2(&tls, at_rate(200.0), 10), TlsTrouble::Unasked);
    let only_http2 = saying([frame(SETTINGS, 0, 0, &[]), frame(GOAWAY, 0, 0, &[0; 8])].concat());
    recognises(spec(&only_http2, at_rate(200.0), 10), TlsTrouble::OnlyHttp2);
}

/// A server of other people's making. It answers with a body and trailers, sets a cookie of its own
/// for whoever has none, and notes what it was asked in this form: the method and path, a line a
/// field, an empty line and the body.
fn by_others() -> Server {
    allowing(1000)
}

/// It refuses what is more than so many requests at once on a connection.
fn allowing(streams: u32) -> Server {
    let cookies = Arc::new(AtomicUsize::new(0));
    Server::start(move |connection| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let stream = connection.stream.try_clone().unwrap();
        stream.set_nonblocking(true).unwrap();
        runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let mut builder = h2::server::Builder::new();
            builder.max_concurrent_streams(streams);
            let handshake = builder.handshake::<_, bytes::Bytes>(stream);
            let Ok(mut http) = handshake.await else { return };
            while let Some(Ok((request, respond))) = http.accept().await {
                let (seen, cookies) = (connection.seen.clone(), cookies.clone());
                tokio::spawn(async move {
                    // The test is over when it is not answered.
                    drop(answer(request, respond, &seen, &cookies).await);
                });
            }
        });
    })
}

async fn answer(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<bytes::Bytes>,
    seen: &Seen,
    cookies: &AtomicUsize,
) -> Result<(), h2::Error> {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    let mut text = format!("{} {}\n", head.method, head.uri.path());
    for (name, value) in &head.headers {
        text += &format!("{name}: {}\n", value.to_str().unwrap());
    }
    seen.requests.lock().unwrap().push(text + "\n" + std::str::from_utf8(&body).unwrap());
    let mut reply = http::Response::builder().header("x-cache", "HIT").header("x-any", "thing");
    if !head.headers.contains_key("cookie") {
        let id = cookies.fetch_add(1, Ordering::SeqCst);
        reply = reply.header("set-cookie", format!("id={id}; Path=/"));
    }
    let mut stream = respond.send_response(reply.body(()).unwrap(), false)?;
    stream.send_data("hello".into(), false)?;
    let trailers = [("x-sum", "5")].map(|(name, value)| {
        (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
    });
    stream.send_trailers(trailers.into_iter().collect())
}

fn patient(spec: LoadSpec) -> LoadSpec {
    LoadSpec { timeout: ms(20_000), ..spec }
}

#[test]
fn bodies_and_variables_arrive_as_they_were_meant() {
    let server = by_others();
    let large = "x".repeat(200_000);
    let target = |body: String| Target {
        method: "POST".into(),
        headers: vec![("X-Id".into(), "{{uuid}}".into()), ("X-Same".into(), "same".into())],
        body: body.into_bytes(),
        ..Target::get("/orders/{{seq}}")
    };
    let targets = vec![target(large.clone()), target(format!("{{{{seq}}}}{large}"))];
    let spec = patient(http2(&server, at_rate(200.0), 20));
    let all = total(&run(&LoadSpec { targets, ..spec }));
    assert_eq!(all.status, [(200, 20)].into(), "{:?}", all.errors);
    assert!(all.bytes_out > 20 * 200_000 && all.cached == 20, "{all:?}");
    let requests = server.seen.requests.lock().unwrap();
    let mut ids = BTreeSet::new();
    for request in requests.iter() {
        let (head, body) = request.split_once("\n\n").unwrap();
        let number = head.lines().next().unwrap().strip_prefix("POST /orders/").unwrap();
        let has = |line: &str| head.lines().any(|one| one == line);
        assert!(has("x-same: same") && has(&format!("content-length: {}", body.len())), "{head}");
        let is_meant = body == large || body == format!("{number}{large}");
        assert!(is_meant, "{head}: {} bytes", body.len());
        ids.extend(head.lines().find_map(|line| line.strip_prefix("x-id: ")).map(String::from));
    }
    assert_eq!((requests.len(), ids.len()), (20, 20));
}

#[test]
fn each_client_sends_the_cookies_that_it_was_given() {
    let server = by_others();
    let three_clients = Shape::Clients { clients: 3, think: ms(1) };
    let headers = vec![("Cookie".into(), "own=1".into())];
    let spec = patient(http2(&server, three_clients, 60));
    for targets in [vec![Target::get("/")], vec![Target { headers, ..Target::get("/") }]] {
        let spec = LoadSpec { targets, keeps_cookies: true, ..spec.clone() };
        let all = total(&run(&spec));
        assert_eq!(all.status, [(200, 60)].into(), "{:?}", all.errors);
    }
    let requests = server.seen.requests.lock().unwrap();
    let with = |cookies: &str| {
        let line = format!("\ncookie: {cookies}\n");
        requests.iter().filter(|request| request.contains(&line)).count()
    };
    let counts = [with("id=0"), with("id=1"), with("id=2")];
    assert_eq!(counts.iter().sum::<usize>(), 60 - 3, "each lacked it once: {counts:?}");
    assert_eq!(with("own=1"), 60, "who has one is given none");
}

#[test]
fn requests_that_are_due_together_leave_together() {
    let server = by_others();
    let clients = Shape::Clients { clients: 4, think: ms(0) };
    let all = total(&run(&patient(http2(&server, clients, 400))));
    assert_eq!(all.status, [(200, 400)].into(), "{:?}", all.errors);
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1);
}

/// All are sent before it has said how many it allows.
#[test]
fn requests_that_a_server_refuses_as_too_many_are_sent_again_as_it_allows() {
    let server = allowing(4);
    let clients = Shape::Clients { clients: 64, think: ms(0) };
    let spec = patient(http2(&server, clients, 128));
    let all = total(&run(&LoadSpec { protocol: Protocol::Http2 { streams: 100 }, ..spec }));
    assert_eq!(all.status, [(200, 128)].into(), "{:?}", all.errors);
}

#[test]
fn over_a_unix_socket_all_is_the_same_and_a_full_queue_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let answering = std::thread::spawn(move || {
        for stream in listener.incoming().take(50) {
            let mut stream = stream.unwrap();
            let mut preface = [0; 24];
            stream.read_exact(&mut preface).unwrap();
            let reply = [frame(SETTINGS, 0, 0, &[]), done(1)].concat();
            drop(stream.write_all(&reply));
            drop(stream.read_to_end(&mut Vec::new()));
        }
    });
    let server = Server::answering("");
    let spec = http2(&server, at_rate(2000.0), 50);
    let address = Address::Unix(path);
    let spec = LoadSpec { address, connection: ConnectionMode::Fresh, ..patient(spec) };
    let all = total(&run(&spec));
    assert_eq!(all.status, [(200, 50)].into(), "{:?}", all.errors);
    answering.join().unwrap();
}
