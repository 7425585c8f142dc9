//! Any bytes as a server's reply: however they are split, and whether bodies are read or passed
//! over, the outcome is the same, and not a byte more is taken than the reply has.
//!
//! The first byte of the input says whether the request was a `HEAD` (when it is odd) and how the
//! rest is split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{HeadCache, Malformed, Progress, Reply};

/// What reading a connection to its end comes to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Complete { status: u16, taken: usize, is_open: bool },
    CompleteAtClose { status: u16 },
    ClosedEarly,
    Malformed,
}

/// Reads all bytes, in pieces of these lengths, each taken in this way.
fn read(
    reply: &mut Reply,
    bytes: &[u8],
    mut length: impl FnMut() -> usize,
    mut take: impl FnMut(&mut Reply, &[u8]) -> Result<Progress, Malformed>,
) -> Outcome {
    let mut at = 0;
    while at < bytes.len() {
        let piece = &bytes[at..bytes.len().min(at + length())];
        at += piece.len();
        match take(reply, piece) {
            Err(Malformed) => return Outcome::Malformed,
            Ok(Progress::More) => {}
            Ok(Progress::Done { surplus }) => {
                assert!(surplus <= piece.len(), "more is left over than was given");
                let (status, is_open) = (reply.status(), reply.leaves_connection_open());
                assert!((200..1000).contains(&status), "{status}");
                return Outcome::Complete { status, taken: at - surplus, is_open };
            }
        }
    }
    match reply.is_complete_at_close() {
        true => Outcome::CompleteAtClose { status: reply.status() },
        false => Outcome::ClosedEarly,
    }
}

/// Lengths from 1 to 300, so that lines longer than what is kept of them are cut anywhere.
fn lengths(seed: u8) -> impl FnMut() -> usize {
    let mut state = u32::from(seed);
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 16) as usize % 300
    }
}

/// Passes over a piece that is nothing but body, as the engine does with large ones.
fn pass_over_or_feed(reply: &mut Reply, piece: &[u8]) -> Result<Progress, Malformed> {
    let is_body = reply.skippable() >= piece.len() as u64;
    if is_body { Ok(reply.skip(piece.len() as u64)) } else { reply.feed(piece) }
}

fuzz_target!(|data: &[u8]| {
    let [control, bytes @ ..] = data else { return };
    let is_for_head_request = control % 2 == 1;
    // One reader for all, as on a connection that is used again and again.
    let mut reply = Reply::default();
    reply.restart(is_for_head_request);
    let reply = &mut reply;
    let in_one = read(reply, bytes, || bytes.len(), Reply::feed);
    for take in [Reply::feed, pass_over_or_feed] {
        reply.restart(is_for_head_request);
        assert_eq!(read(reply, bytes, || 1, take), in_one, "a byte at a time");
        reply.restart(is_for_head_request);
        assert_eq!(read(reply, bytes, lengths(*control), take), in_one, "in pieces");
    }
    // What is remembered of a head changes nothing, for the same reply nor for one that differs.
    let mut cache = HeadCache::default();
    let half = &bytes[..bytes.len() / 2];
    for bytes in [bytes, bytes, half, half] {
        reply.restart(is_for_head_request);
        let expected = read(reply, bytes, || bytes.len(), Reply::feed);
        for seed in [*control, control.wrapping_add(1)] {
            reply.restart(is_for_head_request);
            let take = |reply: &mut Reply, piece: &[u8]| reply.feed_with(piece, &mut cache);
            assert_eq!(read(reply, bytes, lengths(seed), take), expected, "with a head cache");
        }
    }
    if let Outcome::Complete { taken, .. } = in_one {
        let without_last = &bytes[..taken - 1];
        reply.restart(is_for_head_request);
        let shorter = read(reply, without_last, || bytes.len(), Reply::feed);
        assert!(!matches!(shorter, Outcome::Complete { .. }), "the last byte was not needed");
    }
});
