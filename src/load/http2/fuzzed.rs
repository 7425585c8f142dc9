//! What requests that are under way come to, whatever bytes a server sends. Only fuzzing has it,
//! and the tests, so that it compiles.

use super::connection::Multiplexed;
use super::request::Http2Request;
use super::stream::EndedStream;
use crate::load::lifecycle::Pending;
use crate::load::request::Values;
use crate::load::shape::Nanos;
use crate::terms::{RequestError, Target};

/// How a connection on which this many requests were sent ended.
#[derive(Debug)]
pub struct FuzzedConnection {
    /// Of each request that ended its status, and the bytes of its frames.
    pub ended: Vec<(Result<u16, RequestError>, u64)>,
    /// Requests that have not ended with the connection.
    pub left: usize,
    /// The most bytes that waited to be sent.
    pub most_unsent: usize,
}

/// Sends requests, gives the connection all bytes in pieces of these lengths, and then ends it. A
/// server that doesn't read takes nothing of what it is sent.
pub fn fuzzed(
    requests: u64,
    server_reads: bool,
    bytes: &[u8],
    mut length: impl FnMut() -> usize,
) -> FuzzedConnection {
    let target = Target { method: "POST".into(), body: vec![b'x'; 100_000], ..Target::get("/") };
    let targets = [Target::get("/"), target];
    let make = |target| Http2Request::new(target, "http", "app.test", &Values::default());
    let mut messages = targets.each_ref().map(|target| make(target).expect("it has no variables"));
    let slots = Http2Request::share_table(&mut messages, &[1, 1]);
    let mut connection = Multiplexed::new(slots, false);
    let (mut ended, mut most_unsent, mut at) = (Vec::new(), 0, 0);
    for number in 0..requests {
        let target = (number % 2) as u32;
        let request =
            Pending { number, target, ..Pending::new(Nanos::default(), Nanos::default()) };
        connection.send(request, &messages[target as usize], &[]);
    }
    let first = connection.unsent(&messages, |_, _| {}).len();
    connection.sent(first, Nanos::default(), |_, _, _| {});
    loop {
        let unsent = connection.unsent(&messages, |_, _| {}).len();
        most_unsent = most_unsent.max(unsent);
        if server_reads {
            connection.sent(unsent, Nanos::default(), |_, _, _| {});
        }
        if at == bytes.len() {
            break;
        }
        let piece = &bytes[at..bytes.len().min(at + length())];
        connection.receive(piece, &mut [], &mut ended);
        at += piece.len();
    }
    connection.end(RequestError::ClosedEarly, &mut ended);
    let ended = ended.into_iter().map(|EndedStream { result, bytes_in, .. }| (result, bytes_in));
    FuzzedConnection { ended: ended.collect(), left: connection.busy(), most_unsent }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::fuzzed;

    /// An empty SETTINGS frame, with which each server begins.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

    #[test]
    fn what_fuzzing_begins_with_ends_each_request_once_however_it_is_split() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus-seeds/http2");
        let seeds = fs::read_dir(seeds).expect("the seeds are there");
        let mut replies = 0;
        for seed in seeds.map(|entry| entry.unwrap().path()) {
            let seed = fs::read(seed).unwrap();
            // The first byte tells the fuzzer how many requests, and how to split the others.
            let bytes = [&SETTINGS, &seed[1..]].concat();
            let ended = |length: usize| {
                let connection = fuzzed(5, true, &bytes, || length);
                assert_eq!((connection.ended.len(), connection.left), (5, 0), "{seed:?}");
                // Two requests have bodies of 100,000 bytes.
                assert!(connection.most_unsent < 300_000, "{seed:?}");
                connection.ended.into_iter().map(|(result, _)| result).collect::<Vec<_>>()
            };
            let in_one = ended(bytes.len());
            assert_eq!(ended(1), in_one, "{seed:?}, a byte at a time");
            replies += in_one.iter().filter(|result| result.is_ok()).count();
        }
        assert!(replies > 0, "a seed holds a whole reply");
    }
}
