use proptest::prelude::*;

use super::connection::Multiplexed;
use super::frame::{self, Cutter, FrameHead, Piece, Reason, flag, kind};
use super::outgoing::MOST_UNSENT;
use super::request::Http2Request;
use super::stream::{EndedStream, Resend};
use crate::load::cookies::Jar;
use crate::load::lifecycle::Pending;
use crate::load::request::Values;
use crate::load::shape::Nanos;
use crate::terms::{RequestError, Target};

/// `:status: 200`, `204` and `404` of the static table.
const OK: &[u8] = &[0x88];
const NO_CONTENT: &[u8] = &[0x89];
const NOT_FOUND: &[u8] = &[0x8d];

const END: u8 = flag::END_STREAM;
const WHOLE: u8 = flag::END_HEADERS;

/// A connection with its requests, and what came of it.
struct Client {
    http: Multiplexed,
    messages: Vec<Http2Request>,
    ended: Vec<EndedStream>,
    jars: Vec<Jar>,
    next: u64,
}

impl Client {
    fn new(targets: &[Target]) -> Self {
        let make = |target| Http2Request::new(target, "http", "app", &Values::default()).unwrap();
        let mut messages: Vec<Http2Request> = targets.iter().map(make).collect();
        let slots = Http2Request::share_table(&mut messages, &vec![1; targets.len()]);
        let http = Multiplexed::new(slots, true);
        Self { http, messages, ended: Vec::new(), jars: vec![Jar::default()], next: 0 }
    }

    /// With so many GET requests under way, on streams 1, 3, ..., and settings exchanged.
    fn with(requests: u64) -> Self {
        let mut client = Self::before_settings(requests);
        client.take(&settings(&[]));
        client.said();
        client
    }

    fn before_settings(requests: u64) -> Self {
        let mut client = Self::new(&[Target::get("/")]);
        (0..requests).for_each(|_| client.send(0));
        client.said();
        client
    }

    fn send(&mut self, target: u32) {
        let now = Nanos::default();
        let request = Pending { number: self.next, target, ..Pending::new(now, now) };
        self.next += 1;
        self.http.send(request, &self.messages[target as usize], &[]);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.http.receive(bytes, &mut self.jars, &mut self.ended);
    }

    /// Everything that it has to say, as frames, which the server takes.
    fn said(&mut self) -> Vec<(FrameHead, Vec<u8>)> {
        let bytes = self.http.unsent(&self.messages, |_, _| {}).to_vec();
        self.http.sent(bytes.len(), Nanos::default(), |_, _, _| {});
        let bytes = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(&bytes);
        let (mut cutter, mut bytes, mut found) = (Cutter::default(), bytes, Vec::new());
        while !bytes.is_empty() {
            let before = bytes;
            match cutter.next(&mut bytes).unwrap().expect("whole frames are sent") {
                Piece::Frame(head, payload) => found.push((head, payload.to_vec())),
                Piece::Data(data) => {
                    let head = FrameHead {
                        length: data.body,
                        kind: kind::DATA,
                        flags: if data.is_end { END } else { 0 },
                        stream: data.stream,
                    };
                    found.push((head, before[9..9 + data.body].to_vec()));
                }
            }
        }
        found
    }

    /// Of what it has to say: kinds, streams, and the last four bytes as a number.
    fn answers(&mut self) -> Vec<(u8, u32, u32)> {
        let number = |payload: &[u8]| payload.last_chunk().map_or(0, |n| u32::from_be_bytes(*n));
        let said = self.said().into_iter();
        said.map(|(head, payload)| (head.kind, head.stream, number(&payload))).collect()
    }

    /// Without bodies to be sent, how many bytes wait.
    fn unsent_bytes(&mut self) -> usize {
        self.http.unsent(&self.messages, |_, _| {}).len()
    }

    /// What its requests have come to, by their numbers.
    fn results(&self) -> Vec<(u64, Result<u16, RequestError>)> {
        let result = |one: &EndedStream| (one.request.number, one.result);
        self.ended.iter().map(result).collect()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(kind, flags, stream, payload, &mut out);
    out
}

fn headers(flags: u8, stream: u32, block: &[u8]) -> Vec<u8> {
    frame(kind::HEADERS, flags, stream, block)
}

fn data(flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    frame(kind::DATA, flags, stream, body)
}

fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let one = |(name, value): &(u16, u32)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = settings.iter().flat_map(one).collect();
    frame(kind::SETTINGS, 0, 0, &payload)
}

fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

/// A field in full.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

#[test]
fn a_connection_begins_with_its_settings_and_names_fields_it_has_sent() {
    let mut client = Client::new(&[Target::get("/")]);
    client.send(0);
    let said = client.said();
    let kinds: Vec<u8> = said.iter().map(|(head, _)| head.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::WINDOW_UPDATE, kind::HEADERS]);
    assert_eq!(said[0].1, [0, 2, 0, 0, 0, 0, 0, 4, 0x40, 0, 0, 0], "no push, 1 GiB a stream");
    let (head, block) = &said[2];
    assert_eq!((head.stream, head.flags), (1, END | WHOLE));
    assert_eq!(block[..3], [0x82, 0x86, 0x41], "GET, http, :authority in full");
    client.send(0);
    let (head, block) = &client.said()[0];
    assert_eq!((head.stream, block.len()), (3, 6), "a byte a field: {block:?}");
}

#[test]
fn replies_may_come_in_many_forms() {
    let padded = flag::PADDED | flag::PRIORITY | WHOLE | END;
    let length = [OK, &literal("content-length", "3")].concat();
    for (what, bytes, status) in [
        ("a head alone", headers(WHOLE | END, 1, OK), 200),
        ("a body", [headers(WHOLE, 1, OK), data(END, 1, b"abc")].concat(), 200),
        ("a body of this length", [headers(WHOLE, 1, &length), data(END, 1, b"abc")].concat(), 200),
        (
            "a body in pieces",
            [headers(WHOLE, 1, OK), data(0, 1, b"a"), data(0, 1, b""), data(END, 1, b"")].concat(),
            200,
        ),
        (
            "trailers",
            [
                headers(WHOLE, 1, OK),
                data(0, 1, b"abc"),
                headers(WHOLE | END, 1, &literal("x", "y")),
            ]
            .concat(),
            200,
        ),
        (
            "interim replies",
            [
                headers(WHOLE, 1, &literal(":status", "103")),
                headers(WHOLE, 1, &literal(":status", "100")),
                headers(WHOLE | END, 1, NOT_FOUND),
            ]
            .concat(),
            404,
        ),
        ("padding and priority", headers(padded, 1, &[2, 0, 0, 0, 0, 9, 0x8d, 0, 0]), 404),
        (
            "a head in pieces",
            [
                headers(END, 1, &length[..2]),
                frame(kind::CONTINUATION, 0, 1, &[]),
                frame(kind::CONTINUATION, WHOLE, 1, &length[2..]),
            ]
            .concat(),
            // Three bytes are announced, none come.
            0,
        ),
        (
            "no content, whatever its length",
            headers(WHOLE | END, 1, &[NO_CONTENT, &literal("content-length", "3")].concat()),
            204,
        ),
        (
            "what we know nothing of",
            [
                frame(77, 0xff, 1, b"?"),
                frame(77, 0xff, 0, b""),
                frame(kind::PRIORITY, 0, 1, &[0; 5]),
                frame(kind::PRIORITY, 0, 7, &[0; 5]),
                settings(&[(0x99, 1)]),
                headers(0xd2 | WHOLE | END, 1, OK),
            ]
            .concat(),
            200,
        ),
    ] {
        let mut client = Client::with(1);
        client.take(&bytes);
        let expected = if status == 0 { Err(RequestError::Malformed) } else { Ok(status) };
        assert_eq!(client.results(), [(0, expected)], "{what}");
        let frames = bytes.len() as u64;
        assert!(client.ended[0].bytes_in <= frames && !client.http.is_over(), "{what}");
    }
}

#[test]
fn a_head_request_has_no_body_whatever_its_reply_says() {
    let mut client = Client::new(&[Target { method: "HEAD".into(), ..Target::get("/") }]);
    client.send(0);
    client.said();
    let block = [OK, &literal("content-length", "3")].concat();
    client.take(&[settings(&[]), headers(WHOLE | END, 1, &block)].concat());
    assert_eq!(client.results(), [(0, Ok(200))]);
}

#[test]
fn a_server_that_breaks_the_connections_rules_is_told_and_not_believed() {
    let half = headers(0, 1, OK);
    let after_half = |next: Vec<u8>| [half.clone(), next].concat();
    let endless = after_half(frame(kind::CONTINUATION, 0, 1, &vec![0; 1 << 14]).repeat(5));
    let endless_empty = after_half(frame(kind::CONTINUATION, 0, 1, &[]).repeat(20_000));
    let (protocol, size) = (Reason::PROTOCOL_ERROR, Reason::FRAME_SIZE_ERROR);
    let (flow, calm) = (Reason::FLOW_CONTROL_ERROR, Reason::ENHANCE_YOUR_CALM);
    for (what, bytes, reason) in [
        ("a long frame", frame(77, 0, 0, &vec![0; (1 << 14) + 1]), size),
        ("a head on stream 0", headers(WHOLE | END, 0, OK), protocol),
        ("a head on a stream of the server's", headers(WHOLE | END, 2, OK), protocol),
        ("a head on a stream that never was", headers(WHOLE | END, 5, OK), protocol),
        ("a body on stream 0", data(END, 0, b"x"), protocol),
        ("a body on a stream that never was", data(END, 5, b"x"), protocol),
        ("more padding than body", data(flag::PADDED, 1, &[2, 0]), protocol),
        ("a padded head of nothing", headers(flag::PADDED | WHOLE, 1, &[]), size),
        ("a reset of stream 0", number(kind::RST_STREAM, 0, 8), protocol),
        ("a reset of a stream that never was", number(kind::RST_STREAM, 5, 8), protocol),
        ("a reset without a reason", frame(kind::RST_STREAM, 0, 1, &[0; 3]), size),
        ("settings of a stream", frame(kind::SETTINGS, 0, 1, &[]), protocol),
        ("settings in pieces", frame(kind::SETTINGS, 0, 0, &[0; 5]), size),
        ("settings acknowledged with more", frame(kind::SETTINGS, 1, 0, &[0; 6]), size),
        ("push for a server", settings(&[(2, 1)]), protocol),
        ("too large a window", settings(&[(4, 1 << 31)]), flow),
        ("too small a frame", settings(&[(5, (1 << 14) - 1)]), protocol),
        ("too large a frame", settings(&[(5, 1 << 24)]), protocol),
        ("a short ping", frame(kind::PING, 0, 0, &[0; 7]), size),
        ("a stream's ping", frame(kind::PING, 0, 1, &[0; 8]), protocol),
        ("a stream's goodbye", frame(kind::GOAWAY, 0, 1, &[0; 8]), protocol),
        ("a short goodbye", frame(kind::GOAWAY, 0, 0, &[0; 7]), size),
        ("a window of nothing", number(kind::WINDOW_UPDATE, 0, 0), protocol),
        ("a window beyond measure", number(kind::WINDOW_UPDATE, 0, i32::MAX as u32), flow),
        ("half a window", frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3]), size),
        ("a push", frame(kind::PUSH_PROMISE, WHOLE, 1, &[0, 0, 0, 2, 0x82]), protocol),
        ("a priority of nothing", frame(kind::PRIORITY, 0, 0, &[0; 5]), protocol),
        ("a short priority", frame(kind::PRIORITY, 0, 1, &[0; 4]), size),
        ("a piece of no head", frame(kind::CONTINUATION, WHOLE, 1, OK), protocol),
        ("a ping in a head", after_half(frame(kind::PING, 0, 0, &[0; 8])), protocol),
        ("a body in a head", after_half(data(END, 1, b"x")), protocol),
        ("another head in a head", after_half(headers(WHOLE, 3, OK)), protocol),
        ("another's piece", after_half(frame(kind::CONTINUATION, WHOLE, 3, OK)), protocol),
        ("something unknown in a head", after_half(frame(77, 0, 1, &[])), protocol),
        ("a head without end", endless, calm),
        ("a head of nothing without end", endless_empty, calm),
        ("no head at all", headers(WHOLE, 1, &[0x80]), Reason::COMPRESSION_ERROR),
    ] {
        let mut client = Client::with(2);
        client.take(&bytes);
        let lost = Err(RequestError::Malformed);
        assert_eq!(client.results(), [(0, lost), (1, lost)], "{what}");
        assert_eq!(client.answers(), [(kind::GOAWAY, 0, reason.0)], "{what}");
        client.take(&headers(WHOLE | END, 1, OK));
        assert!(client.http.is_over() && client.ended.len() == 2, "{what}: nothing follows");
    }
}

#[test]
fn what_has_not_been_asked_cannot_be_answered() {
    let mut client = Client::with(0);
    client.send(0);
    client.take(&headers(WHOLE | END, 1, OK));
    assert_eq!(client.results(), [(0, Err(RequestError::Malformed))]);
    assert_eq!(client.ended[0].bytes_out, 0);
}

#[test]
fn a_server_speaks_of_its_settings_first() {
    let acknowledged = frame(kind::SETTINGS, flag::ACK, 0, &[]);
    // An alert of TLS, shorter than a frame's head.
    let alert = vec![0x15, 3, 1, 0, 2, 2, 0x46];
    let http1 = b"HTTP/1.1 400".to_vec();
    for first in [headers(WHOLE | END, 1, OK), data(END, 1, b"x"), acknowledged, http1, alert] {
        let mut client = Client::before_settings(1);
        client.take(&first);
        assert_eq!(client.results(), [(0, Err(RequestError::Malformed))], "{first:?}");
        assert_eq!(client.http.allowed(), None, "it has not said anything");
    }
}

#[test]
fn a_reply_that_breaks_the_rules_ends_its_stream_alone() {
    let head = headers(WHOLE, 1, OK);
    let with_head = |next: Vec<u8>| [head.clone(), next].concat();
    let length = headers(WHOLE, 1, &[OK, &literal("content-length", "3")].concat());
    let interim = literal(":status", "103");
    for (what, bytes) in [
        ("a body without a head", data(END, 1, b"x")),
        ("no status", headers(WHOLE | END, 1, &literal("x", "y"))),
        ("an empty head", headers(WHOLE | END, 1, &[])),
        ("a capital letter", headers(WHOLE | END, 1, &[OK, &literal("X", "y")].concat())),
        ("an interim reply and no other", headers(WHOLE | END, 1, &interim)),
        ("trailers that don't end it", with_head(headers(WHOLE, 1, &literal("x", "y")))),
        ("two heads", with_head(headers(WHOLE | END, 1, OK))),
        ("an interim reply behind the head", with_head(headers(WHOLE, 1, &interim))),
        ("less than announced", [length.clone(), data(END, 1, b"ab")].concat()),
        ("more than announced", [length, data(END, 1, b"abcd")].concat()),
        ("a window of nothing", number(kind::WINDOW_UPDATE, 1, 0)),
        ("a window beyond measure", number(kind::WINDOW_UPDATE, 1, i32::MAX as u32)),
    ] {
        let mut client = Client::with(2);
        client.take(&bytes);
        assert_eq!(client.results(), [(0, Err(RequestError::Malformed))], "{what}");
        let reset = (kind::RST_STREAM, 1, Reason::PROTOCOL_ERROR.0);
        assert_eq!(client.answers(), [reset], "{what}");
        // What else comes on the stream is of no interest, as it may have been on its way.
        client.take(&[data(0, 1, b"x"), headers(WHOLE | END, 1, OK)].concat());
        client.take(&[number(kind::RST_STREAM, 1, 0), number(kind::WINDOW_UPDATE, 1, 0)].concat());
        client.take(&headers(WHOLE | END, 3, OK));
        assert_eq!(client.results()[1..], [(1, Ok(200))], "{what}: the other goes on");
    }
}

#[test]
fn pings_and_settings_are_answered() {
    let mut client = Client::with(0);
    let pings = [flag::ACK, 0].map(|flags| frame(kind::PING, flags, 0, &[7; 8])).concat();
    client.take(&[pings, settings(&[])].concat());
    let [(ping, payload), (settings, _)] = client.said().try_into().unwrap();
    assert_eq!((ping.kind, ping.flags, payload), (kind::PING, flag::ACK, vec![7; 8]));
    assert_eq!((settings.kind, settings.flags, settings.length), (kind::SETTINGS, flag::ACK, 0));
}

#[test]
fn what_a_server_makes_us_say_is_bounded_if_it_reads_nothing() {
    for flood in [frame(kind::PING, 0, 0, &[0; 8]), settings(&[])] {
        let mut client = Client::with(1);
        let bytes = flood.repeat(1000);
        (0..200).for_each(|_| client.take(&bytes));
        assert_eq!(client.results(), [(0, Err(RequestError::Malformed))]);
        assert!(client.unsent_bytes() < MOST_UNSENT + 100);
    }
}

#[test]
fn a_reset_is_a_failure_or_says_that_it_may_be_asked_again() {
    for (reason, error, resend) in [
        (Reason::NO_ERROR, RequestError::ClosedEarly, Resend::Never),
        (Reason::CANCEL, RequestError::Reset, Resend::Never),
        (Reason::REFUSED_STREAM, RequestError::Reset, Resend::Always),
    ] {
        let mut client = Client::with(2);
        client.take(&number(kind::RST_STREAM, 3, reason.0));
        assert_eq!(client.results(), [(1, Err(error))]);
        assert_eq!(client.ended[0].resend, resend);
        assert!(client.answers().is_empty());
    }
}

#[test]
fn a_goodbye_leaves_the_requests_that_the_server_has_begun_with() {
    for (reason, error) in
        [(Reason::NO_ERROR, RequestError::ClosedEarly), (Reason(11), RequestError::Reset)]
    {
        let mut client = Client::with(3);
        let goodbye = [&3u32.to_be_bytes()[..], &reason.0.to_be_bytes(), b"why"].concat();
        client.take(&frame(kind::GOAWAY, 0, 0, &goodbye));
        assert_eq!(client.results(), [(2, Err(error))]);
        assert!(client.ended[0].resend == Resend::Always && !client.http.has_room(99));
        assert!(!client.http.is_over());
        client.take(&[headers(WHOLE | END, 3, OK), headers(WHOLE | END, 1, OK)].concat());
        assert_eq!(client.results()[1..], [(1, Ok(200)), (0, Ok(200))]);
        assert!(client.http.is_over());
    }
}

#[test]
fn the_connections_end_is_that_of_all_requests() {
    let mut client = Client::with(2);
    client.take(&headers(WHOLE, 1, OK));
    client.http.end(RequestError::ClosedEarly, &mut client.ended);
    let lost = Err(RequestError::ClosedEarly);
    assert_eq!(client.results(), [(0, lost), (1, lost)]);
    assert!(client.http.is_over() && !client.http.has_room(9));
}

/// As an HTTP/1 connection that was kept, and closed by the server before the request reached it.
#[test]
fn a_request_without_a_byte_of_a_reply_may_be_sent_again_where_others_were_answered_before() {
    let whole = headers(WHOLE | END, 1, OK);
    let half = headers(WHOLE, 3, OK);
    let (harmless, never) = (Resend::IfHarmless, Resend::Never);
    let (closed, reset) = (RequestError::ClosedEarly, RequestError::Reset);
    for (what, bytes, error, expected) in [
        ("closed", whole.clone(), closed, vec![harmless, harmless]),
        ("reset", whole.clone(), reset, vec![harmless, harmless]),
        ("a reply has begun", [&whole[..], &half].concat(), closed, vec![never, harmless]),
        ("any reply may have", [&whole[..], &half[..9]].concat(), closed, vec![never; 2]),
        ("not by the server", whole.clone(), RequestError::Timeout, vec![never; 2]),
        ("nothing was answered before", Vec::new(), closed, vec![never; 3]),
    ] {
        let mut client = Client::with(3);
        client.take(&bytes);
        let answered = client.ended.len();
        client.http.end(error, &mut client.ended);
        let lost: Vec<Resend> = client.ended[answered..].iter().map(|one| one.resend).collect();
        assert_eq!(lost, expected, "{what}");
    }
}

#[test]
fn as_many_requests_as_the_server_allows_are_under_way() {
    let mut client = Client::before_settings(99);
    assert!(client.http.has_room(1000) && !client.http.has_room(99));
    client.send(0);
    client.said();
    assert!(!client.http.has_room(1000), "more than 100 only once the server has spoken");
    assert_eq!(client.http.allowed(), None);
    client.take(&settings(&[]));
    assert!(client.http.has_room(1000));
    client.take(&settings(&[(3, 100)]));
    assert!(!client.http.has_room(1000));
    assert_eq!(client.http.allowed(), Some(100));
    client.take(&settings(&[(3, 0)]));
    assert!(!client.http.is_over(), "some are under way");
    (0..100).for_each(|n| client.take(&headers(WHOLE | END, 2 * n + 1, OK)));
    assert_eq!(client.ended.len(), 100);
    assert!(client.http.is_over(), "of no use");
}

#[test]
fn requests_that_are_given_up_are_reset_and_their_replies_passed_over() {
    let mut client = Client::with(3);
    let inserted = [&[0x48, 3][..], b"418"].concat();
    client.http.give_up(RequestError::Timeout, |request| request.number < 2, &mut client.ended);
    let lost = Err(RequestError::Timeout);
    assert_eq!(client.results(), [(0, lost), (1, lost)]);
    let reset = |stream| (kind::RST_STREAM, stream, Reason::CANCEL.0);
    assert_eq!(client.answers(), [reset(1), reset(3)]);
    client.take(&[headers(WHOLE, 1, &inserted), data(END, 1, b"late")].concat());
    client.take(&headers(WHOLE | END, 5, &[0xbe]));
    assert_eq!(client.results()[2..], [(2, Ok(418))], "the late head's entry is known");
}

#[test]
fn a_connection_on_which_nobody_spoke_is_not_used_again_after_a_timeout() {
    let mut client = Client::before_settings(2);
    client.http.give_up(RequestError::Timeout, |request| request.number > 9, &mut client.ended);
    assert!(client.http.has_room(9));
    client.http.give_up(RequestError::Timeout, |request| request.number == 0, &mut client.ended);
    assert!(!client.http.has_room(9) && !client.http.is_over(), "the other still waits");
}

/// A server that is gone without a word, or a route that drops what goes over it.
#[test]
fn a_connection_that_has_gone_silent_is_not_used_again_after_a_timeout() {
    for is_heard in [true, false] {
        let mut client = Client::with(1);
        client.take(&headers(WHOLE | END, 1, OK));
        (0..2).for_each(|_| client.send(0));
        client.said();
        if is_heard {
            client.take(&headers(WHOLE | END, 5, OK));
        }
        client.http.give_up(
            RequestError::Timeout,
            |request| request.number == 1,
            &mut client.ended,
        );
        assert_eq!(client.http.has_room(9), is_heard);
    }
}

fn post(bytes: usize) -> Target {
    Target { method: "POST".into(), body: vec![b'x'; bytes], ..Target::get("/") }
}

/// Of each stream the bytes of bodies, and whether the last frame ends it.
fn bodies(client: &mut Client) -> Vec<(u32, usize, bool)> {
    let mut found: Vec<(u32, usize, bool)> = Vec::new();
    for (head, _) in client.said().iter().filter(|(head, _)| head.kind == kind::DATA) {
        assert!(head.length <= frame::LONGEST_PAYLOAD);
        match found.iter_mut().find(|(stream, ..)| *stream == head.stream) {
            Some(one) => *one = (one.0, one.1 + head.length, head.has(END)),
            None => found.push((head.stream, head.length, head.has(END))),
        }
    }
    found
}

#[test]
fn bodies_are_sent_as_far_as_both_windows_reach() {
    let mut client = Client::new(&[post(60_000)]);
    client.take(&settings(&[]));
    (0..2).for_each(|_| client.send(0));
    assert_eq!(bodies(&mut client), [(1, 60_000, true), (3, 5_535, false)], "the connection's");
    client.take(&number(kind::WINDOW_UPDATE, 0, 1 << 20));
    assert_eq!(bodies(&mut client), [(3, 54_465, true)]);

    client.take(&settings(&[(4, 1_000)]));
    (0..2).for_each(|_| client.send(0));
    assert_eq!(bodies(&mut client), [(5, 1_000, false), (7, 1_000, false)], "the streams'");
    client.take(&settings(&[(4, 10)]));
    client.take(&number(kind::WINDOW_UPDATE, 5, 990));
    assert_eq!(bodies(&mut client), [], "the window was below zero");
    client.take(&number(kind::WINDOW_UPDATE, 5, 1));
    assert_eq!(bodies(&mut client), [(5, 1, false)]);
    client.take(&settings(&[(4, 100_000)]));
    assert_eq!(bodies(&mut client), [(5, 58_999, true), (7, 59_000, true)]);
    assert_eq!(client.ended.len(), 0);
    let out = 4 * (60_000 + 9);
    client.take(&[1, 3, 5, 7].map(|stream| headers(WHOLE | END, stream, OK)).concat());
    let sent: u64 = client.ended.iter().map(|one| one.bytes_out).sum();
    assert!((out..out + 500).contains(&sent), "{sent}");
}

#[test]
fn windows_that_settings_widen_beyond_measure_are_refused() {
    let mut client = Client::with(1);
    client.take(&number(kind::WINDOW_UPDATE, 1, (1 << 31) - 65_536));
    client.take(&settings(&[(4, 65_536)]));
    assert_eq!(client.answers(), [(kind::GOAWAY, 0, Reason::FLOW_CONTROL_ERROR.0)]);
}

#[test]
fn a_reply_before_the_end_of_the_request_ends_it() {
    let mut client = Client::new(&[post(100_000)]);
    client.take(&settings(&[]));
    client.send(0);
    client.said();
    client.take(&headers(WHOLE | END, 1, NOT_FOUND));
    assert_eq!(client.results(), [(0, Ok(404))]);
    client.take(&number(kind::WINDOW_UPDATE, 0, 1 << 20));
    assert_eq!(client.answers(), [(kind::RST_STREAM, 1, Reason::CANCEL.0)]);
}

#[test]
fn room_for_replies_is_given_back_in_large_steps() {
    let mut client = Client::with(1);
    client.take(&headers(WHOLE, 1, OK));
    let piece = data(0, 1, &[0; 1 << 14]);
    let half = (1u32 << 29) / (1 << 14);
    (1..half).for_each(|_| client.take(&piece));
    assert_eq!(client.answers(), []);
    client.take(&piece);
    let given_back = |stream| (kind::WINDOW_UPDATE, stream, 1 << 29);
    assert_eq!(client.answers(), [given_back(0), given_back(1)]);
}

#[test]
fn a_request_with_much_to_say_comes_in_pieces() {
    let headers = (0..9).map(|n| (format!("x-{n}"), "v".repeat(4000))).collect();
    let mut client = Client::new(&[Target { headers, ..Target::get("/") }]);
    client.send(0);
    let said: Vec<FrameHead> = client.said().into_iter().map(|(head, _)| head).skip(2).collect();
    let kinds: Vec<(u8, u8)> = said.iter().map(|head| (head.kind, head.flags)).collect();
    let [continuation, last] = [0, WHOLE].map(|flags| (kind::CONTINUATION, flags));
    assert_eq!(kinds, [(kind::HEADERS, END), continuation, last]);
}

#[test]
fn cookies_reach_the_jar_of_their_client() {
    let mut client = Client::with(2);
    let block = [OK, &literal("set-cookie", "a=1; Path=/")].concat();
    client.take(&headers(WHOLE | END, 1, &block));
    assert_eq!(client.jars[0].text(), b"a=1");
    client.take(&headers(WHOLE | END, 3, &[OK, &literal("set-cookie", "a=2")].concat()));
    assert_eq!(client.jars[0].text(), b"a=2");
}

#[test]
fn a_request_has_begun_when_sending_was_tried_and_was_sent_when_it_left() {
    let mut client = Client::new(&[Target::get("/")]);
    client.send(0);
    let first = client.unsent_bytes();
    client.send(0);
    let mut left = Vec::new();
    let now = Nanos::new(7);
    client.http.begin(now);
    client.http.sent(first, now, |request, bytes, _| left.push((request.number, bytes)));
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((left[0].0, first > left[0].1), (0, true), "without the preface");
    let rest = client.unsent_bytes();
    let later = Nanos::new(9);
    client.http.begin(later);
    client.http.sent(rest, later, |request, bytes, _| left.push((request.number, bytes)));
    assert_eq!(left[1..], [(1, rest)]);
    client.http.end(RequestError::ClosedEarly, &mut client.ended);
    let times = client.ended.iter().map(|one| (one.request.begun, one.request.sent));
    assert_eq!(times.collect::<Vec<_>>(), [(now, Some(now)), (now, Some(later))]);
}

/// Frames that a server may send on streams 1, 3 and 5, and some that it must not.
fn any_frames() -> impl Strategy<Value = Vec<u8>> {
    let stream = || prop_oneof![Just(1u32), Just(3), Just(5), Just(7), 0u32..3];
    let block = prop_oneof![
        Just(OK.to_vec()),
        Just(NOT_FOUND.to_vec()),
        Just(vec![0xbe]),
        Just([&[0x48, 3][..], b"418"].concat()),
        Just(literal("x", "y")),
        Just(literal(":status", "103")),
        Just([OK, &literal("content-length", "2")].concat()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    let flags = prop_oneof![Just(WHOLE | END), Just(WHOLE), Just(END), any::<u8>()];
    let head = (flags, stream(), block).prop_map(|(flags, at, block)| headers(flags, at, &block));
    let body = (0u8..10, stream(), prop::collection::vec(0u8..3, 0..5))
        .prop_map(|(flags, at, body)| data(flags, at, &body));
    let other = (3u8..12, any::<u8>(), stream(), prop::collection::vec(any::<u8>(), 0..10))
        .prop_map(|(kind, flags, at, payload)| frame(kind, flags, at, &payload));
    let some = Just(settings(&[(1, 100), (3, 8)]));
    prop::collection::vec(prop_oneof![4 => head, 3 => body, 1 => other, 1 => some], 0..12)
        .prop_map(|frames| frames.concat())
}

/// What comes of bytes in pieces of this length, and what was answered.
type Outcome = (Vec<(u64, Result<u16, RequestError>, u64)>, Vec<u8>, bool);

fn outcome(bytes: &[u8], length: usize) -> Outcome {
    let mut client = Client::with(3);
    bytes.chunks(length.max(1)).for_each(|piece| client.take(piece));
    let said = client.http.unsent(&client.messages, |_, _| {}).to_vec();
    let is_over = client.http.is_over();
    client.http.end(RequestError::ClosedEarly, &mut client.ended);
    let ended = client.ended.iter().map(|one| (one.request.number, one.result, one.bytes_in));
    (ended.collect(), said, is_over)
}

proptest! {
    #[test]
    fn any_split_comes_to_the_same_and_every_request_ends_once(
        bytes in any_frames(), length in 1usize..40
    ) {
        let whole = outcome(&bytes, bytes.len());
        let mut numbers: Vec<u64> = whole.0.iter().map(|(number, ..)| *number).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, [0, 1, 2]);
        let received: u64 = whole.0.iter().map(|(_, _, bytes)| bytes).sum();
        prop_assert!(received <= bytes.len() as u64);
        prop_assert_eq!(&outcome(&bytes, 1), &whole);
        prop_assert_eq!(&outcome(&bytes, length), &whole);
    }
}
