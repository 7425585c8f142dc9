//! Tests of the reply reader.

use proptest::prelude::*;

use super::*;

/// What reading `bytes` in the given pieces, and then the connection's end, comes to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Complete { status: u16, surplus: usize, is_open: bool },
    CompleteAtClose { status: u16 },
    ClosedEarly,
    Malformed,
}

fn read(pieces: &[&[u8]], is_for_head_request: bool) -> Outcome {
    read_by(Reply::feed, pieces, is_for_head_request)
}

fn read_by(
    mut take: impl FnMut(&mut Reply, &[u8]) -> Result<Progress, Malformed>,
    pieces: &[&[u8]],
    is_for_head_request: bool,
) -> Outcome {
    let mut reply = Reply::default();
    reply.restart(is_for_head_request);
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut given = 0;
    for piece in pieces {
        given += piece.len();
        match take(&mut reply, piece) {
            Err(Malformed) => return Outcome::Malformed,
            Ok(Progress::More) => {}
            Ok(Progress::Done { surplus }) => {
                assert!(surplus <= piece.len(), "nothing is left over that was not given");
                let is_open = reply.leaves_connection_open();
                let surplus = surplus + total - given;
                return Outcome::Complete { status: reply.status(), surplus, is_open };
            }
        }
    }
    match reply.is_complete_at_close() {
        true => Outcome::CompleteAtClose { status: reply.status() },
        false => Outcome::ClosedEarly,
    }
}

/// As [`read`] of one piece, after other replies whose heads were remembered.
fn read_after(others: &[&str], text: &str) -> Outcome {
    let mut cache = HeadCache::default();
    for other in others {
        // What becomes of it does not matter here.
        let _ = Reply::default().feed_with(other.as_bytes(), &mut cache);
    }
    let mut reply = Reply::default();
    match reply.feed_with(text.as_bytes(), &mut cache) {
        Err(Malformed) => Outcome::Malformed,
        Ok(Progress::Done { surplus }) => {
            let is_open = reply.leaves_connection_open();
            Outcome::Complete { status: reply.status(), surplus, is_open }
        }
        Ok(Progress::More) if reply.is_complete_at_close() => {
            Outcome::CompleteAtClose { status: reply.status() }
        }
        Ok(Progress::More) => Outcome::ClosedEarly,
    }
}

#[test]
fn a_head_that_was_remembered_means_what_it_says() {
    let texts = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh",
        "HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil it closes",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "no HTTP",
    ];
    for text in texts {
        for other in texts {
            assert_eq!(read_after(&[other, text], text), whole(text), "{text:?} after {other:?}");
            assert_eq!(read_after(&[text, other], text), whole(text), "{text:?} after {other:?}");
        }
    }
}

fn whole(text: &str) -> Outcome {
    read(&[text.as_bytes()], false)
}

fn open(status: u16) -> Outcome {
    Outcome::Complete { status, surplus: 0, is_open: true }
}

fn closing(status: u16) -> Outcome {
    Outcome::Complete { status, surplus: 0, is_open: false }
}

#[test]
fn every_way_to_say_where_a_reply_ends_is_understood() {
    for (what, text, expected) in [
        ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", open(200)),
        ("no reason phrase", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", open(200)),
        ("bare line feeds", "HTTP/1.1 404 No\ncontent-length:2\n\nhi", open(404)),
        (
            "any case and white space",
            "HTTP/1.1 200 OK\r\ncOnTeNt-LeNgTh \t: \t2 \r\n\r\nhi",
            open(200),
        ),
        (
            "the same length twice",
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi",
            open(200),
        ),
        (
            "chunks",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            open(200),
        ),
        (
            "chunks with extensions and trailers",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, CHUNKED\r\n\r\n\
             A;name=\"v\"\r\n0123456789\r\n00 ; x\r\nX-Sum: 1\r\n\r\n",
            open(200),
        ),
        (
            "no encoding",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Identity\r\nContent-Length: 2\r\n\r\nhi",
            open(200),
        ),
        ("no content", "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", open(204)),
        ("not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", open(304)),
        (
            "interim replies first",
            "HTTP/1.1 100 Continue\r\n\r\n\
             HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 7\r\n\r\n\
             HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
            open(201),
        ),
        (
            "closing",
            "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n",
            closing(200),
        ),
        ("version 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", closing(200)),
        (
            "version 1.0 kept open",
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi",
            open(200),
        ),
        (
            "until the connection's end",
            "HTTP/1.1 200 OK\r\n\r\nwhatever",
            Outcome::CompleteAtClose { status: 200 },
        ),
        (
            "not chunked last",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n2",
            Outcome::CompleteAtClose { status: 200 },
        ),
        (
            "length and chunks",
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            closing(200),
        ),
        (
            "a folded header of no concern",
            "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
            open(200),
        ),
    ] {
        assert_eq!(whole(text), expected, "{what}");
    }
}

#[test]
fn replies_to_head_have_no_body_whatever_their_headers_say() {
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert_eq!(read(&[text], true), open(200));
    let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(read(&[text], true), open(200));
}

#[test]
fn bytes_after_the_reply_are_not_taken_for_it() {
    let outcome = whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi, and more");
    assert_eq!(outcome, Outcome::Complete { status: 200, surplus: 10, is_open: true });
}

#[test]
fn what_is_not_http_is_told_apart_from_what_ended_early() {
    for text in [
        "SSH-2.0-OpenSSH_9.2",
        "\x15\x03\x01\x00\x02\x02\x46",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 No\r\n\r\n",
        "HTTP/1.x 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 x\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi!\r\n",
    ] {
        assert_eq!(whole(text), Outcome::Malformed, "{text:?}");
    }
    for text in [
        "",
        "HTTP/1",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        assert_eq!(whole(text), Outcome::ClosedEarly, "{text:?}");
    }
}

#[test]
fn endless_heads_lines_and_trailers_are_refused() {
    let endless_line = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_LIMIT));
    let endless_head = format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(HEAD_LIMIT / 6));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless_extension = format!("{chunked}2;{}", "x".repeat(CHUNK_LINE_LIMIT));
    let endless_trailers = format!("{chunked}0\r\n{}", "X: y\r\n".repeat(HEAD_LIMIT / 5));
    let endless_interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(HEAD_LIMIT / 25 + 1);
    for text in [endless_line, endless_head, endless_extension, endless_trailers, endless_interim] {
        assert_eq!(whole(&text), Outcome::Malformed, "{}", &text[..80]);
    }
}

#[test]
fn a_long_header_of_no_concern_is_passed_over_and_one_that_matters_is_refused() {
    let long = "x".repeat(5000);
    let passed = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {long}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(whole(&passed), open(200));
    let refused = format!("HTTP/1.1 200 OK\r\nConnection: {long}, close\r\n\r\n");
    assert_eq!(whole(&refused), Outcome::Malformed);
}

fn marks(headers: &str) -> Marks {
    let mut reply = Reply::default();
    let text = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n");
    assert_eq!(reply.feed(text.as_bytes()), Ok(Progress::Done { surplus: 0 }), "{headers:?}");
    reply.marks()
}

#[test]
fn replies_of_caches_are_told_from_replies_of_the_app() {
    for headers in [
        "Age: 17\r\n",
        "age:007\r\n",
        "X-Cache: HIT\r\n",
        "x-cache: Hit from cloudfront\r\n",
        "X-Cache: RefreshHit from cloudfront\r\n",
        "X-Cache: MISS, HIT\r\n",
        "X-Cache-Status: hit\r\n",
        "X-Cache-Remote: TCP_MEM_HIT from a1\r\n",
        "CF-Cache-Status: HIT\r\n",
    ] {
        assert!(marks(headers).is_cached, "{headers:?}");
    }
    for headers in [
        "",
        "Age: 0\r\n",
        "Age: old\r\n",
        "Age:\r\n",
        "X-Cache: MISS from architect\r\n",
        "X-Cache: whitelisted\r\n",
        "X-Cache-Tags: white-papers, hit\r\n",
        "X-Cache-Key: /architects/hit\r\n",
        "X-Cache-Status: BYPASS\r\n",
        "CF-Cache-Status: DYNAMIC\r\n",
        "X-Hit: HIT\r\n",
        "Cache-Control: max-age=60\r\n",
    ] {
        assert!(!marks(headers).is_cached, "{headers:?}");
    }
}

#[test]
fn a_proxy_that_says_so_is_noticed_and_interim_replies_say_nothing() {
    assert!(marks("via: 1.1 varnish\r\n").has_via);
    assert!(!marks("X-Via: 1.1 varnish\r\n").has_via);
    let mut reply = Reply::default();
    let hints = b"HTTP/1.1 103 Hints\r\nVia: 1.1 a\r\nAge: 9\r\n\r\nHTTP/1.1 204 No\r\n\r\n";
    assert_eq!(reply.feed(hints), Ok(Progress::Done { surplus: 0 }));
    assert_eq!(reply.marks(), Marks::default());
}

#[test]
fn nothing_changed_is_as_good_as_a_cache() {
    let mut reply = Reply::default();
    assert_eq!(reply.feed(b"HTTP/1.1 304 No\r\n\r\n"), Ok(Progress::Done { surplus: 0 }));
    assert!(reply.marks().is_cached);
}

#[test]
fn bodies_can_be_passed_over_without_being_seen() {
    let mut reply = Reply::default();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n12345";
    assert_eq!(reply.feed(head), Ok(Progress::More));
    assert_eq!(reply.skippable(), 4_999_999_995);
    assert_eq!(reply.skip(4_999_999_000), Progress::More);
    assert_eq!(reply.skip(995), Progress::Done { surplus: 0 });
}

#[test]
fn one_byte_behind_a_body_with_a_length_may_be_dropped_with_it_and_shows() {
    let mut reply = Reply::default();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n";
    assert_eq!(reply.feed(head), Ok(Progress::More));
    assert_eq!((reply.skippable(), reply.droppable()), (9000, 9001));
    assert_eq!(reply.skip(8999), Progress::More);
    assert_eq!(reply.skip(2), Progress::Done { surplus: 1 });
    assert_eq!((reply.skippable(), reply.droppable()), (0, 0));

    reply.restart(false);
    let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2328\r\n";
    assert_eq!(reply.feed(chunk), Ok(Progress::More));
    assert_eq!((reply.skippable(), reply.droppable()), (9000, 9000), "its end must be read");
    assert_eq!(reply.skip(9000), Progress::More);
    assert_eq!(reply.feed(b"\r\n0\r\n\r\n"), Ok(Progress::Done { surplus: 0 }));

    reply.restart(false);
    let longest = b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n";
    assert_eq!(reply.feed(longest), Ok(Progress::More));
    assert_eq!(reply.droppable(), u64::MAX);
}

#[test]
fn how_much_to_read_first_is_known_while_the_last_head_announced_a_large_body() {
    let large = "HTTP/1.1 200 OK\r\nContent-Length: 16384\r\n\r\n";
    let first_read = |text: &str| {
        let mut cache = HeadCache::default();
        for text in [large, text] {
            // What becomes of it does not matter here.
            let _ = Reply::default().feed_with(text.as_bytes(), &mut cache);
        }
        cache.first_read()
    };
    assert_eq!(HeadCache::default().first_read(), None);
    assert_eq!(first_read(large), Some(large.len() + 256));
    assert_eq!(first_read(&large.replace("OK", "All right")), Some(large.len() + 7 + 256));
    let long = format!("X: {}\r\nContent-L", "y".repeat(3000));
    for other in [
        large.replace("16384", "16383"),
        large.replace("200 OK", "204 No"),
        large.replace("Content-Length: 16384", "Transfer-Encoding: chunked"),
        large.replace("\r\n\r\n", "\r\n"),
        large.replace("Content-L", &long),
    ] {
        assert_eq!(first_read(&other), None, "{other:?}");
    }
}

/// Passes over a piece of which at most the last byte is no body, as the engine does with large
/// ones.
fn pass_over_or_feed(reply: &mut Reply, piece: &[u8]) -> Result<Progress, Malformed> {
    let is_body = !piece.is_empty() && reply.droppable() >= piece.len() as u64;
    if is_body { Ok(reply.skip(piece.len() as u64)) } else { reply.feed(piece) }
}

/// Lines and bytes from which good and bad replies can be put together.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(
            [
                "HTTP/1.1 200 OK\r\n",
                "HTTP/1.0 404 Not Found\r\n",
                "HTTP/1.1 100 Continue\r\n\r\n",
                "HTTP/1.1 204 No Content\n",
                "Content-Length: 3\r\n",
                "Content-Length: 12\r\n",
                "Transfer-Encoding: chunked\r\n",
                "Connection: close\r\n",
                "Connection: keep-alive\r\n",
                "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                " folded\r\n",
                "\r\n",
                "3\r\nabc\r\n",
                "0\r\n\r\n",
                "abc",
            ]
            .map(|text| text.as_bytes().to_vec())
            .to_vec()
        ),
        prop::collection::vec(any::<u8>(), 0..300),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_splitting_of_the_same_bytes_gives_the_same_result(
        fragments in prop::collection::vec(fragment(), 1..10),
        well_formed: bool,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        is_for_head_request: bool,
    ) {
        let start: &[u8] = if well_formed { b"HTTP/1.1 200 OK\r\n" } else { b"" };
        let bytes = [start.to_vec(), fragments.concat()].concat();
        let in_one = read(&[&bytes], is_for_head_request);

        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(&read(&pieces, is_for_head_request), &in_one);

        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(&single, is_for_head_request), &in_one);

        for pieces in [&pieces, &single] {
            let passed_over = read_by(pass_over_or_feed, pieces, is_for_head_request);
            prop_assert_eq!(&passed_over, &in_one, "a body that is passed over");
        }

        let mut cache = HeadCache::default();
        for pieces in [&pieces, &vec![&bytes[..]], &vec![&bytes[..]], &pieces] {
            let take = |reply: &mut Reply, piece: &[u8]| reply.feed_with(piece, &mut cache);
            let remembered = read_by(take, pieces, is_for_head_request);
            prop_assert_eq!(&remembered, &in_one, "a head that may be remembered");
        }
    }
}
