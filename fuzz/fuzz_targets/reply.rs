//! Any bytes as a server's reply: however they are split, and whether bodies are read or passed
//! over, the outcome is the same, and not a byte more is taken than the reply has.
//!
//! The first byte of the input says whether the request was a `HEAD` (when it is odd) and how the
//! rest is split.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{Malformed, Progress, Reply};

/// What reading a connection to its end comes to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Complete { status: u16, taken: usize, is_open: bool },
    CompleteAtClose { status: u16 },
    ClosedEarly,
    Malformed,
}

/// How bodies are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bodies {
    Read,
    PassedOver,
}

/// Reads all bytes, in pieces of these lengths.
fn read(
    reply: &mut Reply,
    bytes: &[u8],
    bodies: Bodies,
    mut length: impl FnMut() -> usize,
) -> Outcome {
    let mut at = 0;
    while at < bytes.len() {
        let piece = &bytes[at..bytes.len().min(at + length())];
        at += piece.len();
        let is_body = reply.skippable() >= piece.len() as u64;
        let progress = match is_body && bodies == Bodies::PassedOver {
            true => Ok(reply.skip(piece.len() as u64)),
            false => reply.feed(piece),
        };
        match progress {
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

fuzz_target!(|data: &[u8]| {
    let [control, bytes @ ..] = data else { return };
    let is_for_head_request = control % 2 == 1;
    let mut reply = Reply::new(is_for_head_request);
    let in_one = read(&mut reply, bytes, Bodies::Read, || bytes.len());
    for bodies in [Bodies::Read, Bodies::PassedOver] {
        // The same reader again, as on a connection that is used again.
        reply.restart(is_for_head_request);
        assert_eq!(read(&mut reply, bytes, bodies, || 1), in_one, "a byte at a time, {bodies:?}");
        reply.restart(is_for_head_request);
        assert_eq!(read(&mut reply, bytes, bodies, lengths(*control)), in_one, "{bodies:?}");
    }
    if let Outcome::Complete { taken, .. } = in_one {
        let without_last = &bytes[..taken - 1];
        reply.restart(is_for_head_request);
        let shorter = read(&mut reply, without_last, Bodies::Read, || bytes.len());
        assert!(!matches!(shorter, Outcome::Complete { .. }), "the last byte was not needed");
    }
});
