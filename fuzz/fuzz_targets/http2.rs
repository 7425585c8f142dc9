//! Any bytes as an HTTP/2 server's: each request under way ends once, at the latest with the
//! connection; and where the server says the same again and again and doesn't read, what waits to
//! be sent stays bounded.
//!
//! The first byte of the input says how many requests are under way, whether the server reads, and
//! how the rest is split. An input that doesn't begin with a server's settings gets some.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sweetspot::fuzzing::{FuzzedConnection, fuzzed};

/// An empty SETTINGS frame: without one as its first a client takes nothing of a server.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A connection's own limit of 1 MiB, and the last that was written before it was reached.
const MOST_UNSENT: usize = (1 << 20) + (1 << 15);

/// How often a server that doesn't read says all of it.
const AGAIN: usize = 300;

/// Lengths from 1 to 300.
fn lengths(seed: u8) -> impl FnMut() -> usize {
    let mut state = u32::from(seed);
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 16) as usize % 300
    }
}

fuzz_target!(|data: &[u8]| {
    let [control, bytes @ ..] = data else { return };
    let is_whole = bytes.len() >= SETTINGS.len() && bytes[3] == 4;
    let bytes = if is_whole { bytes.to_vec() } else { [&SETTINGS[..], bytes].concat() };
    let (requests, server_reads) = (u64::from(control % 8), control & 8 == 0);
    if !server_reads {
        let flood = [bytes.clone(), bytes[SETTINGS.len()..].repeat(AGAIN)].concat();
        let unsent = fuzzed(requests, false, &flood, || 1 << 14).most_unsent;
        assert!(unsent <= MOST_UNSENT, "{unsent} bytes wait to be sent");
        return;
    }
    for seed in [*control, control.wrapping_add(1)] {
        let FuzzedConnection { ended, left, .. } = fuzzed(requests, true, &bytes, lengths(seed));
        assert_eq!((ended.len() as u64, left), (requests, 0), "each ends once");
        for (result, received) in ended {
            assert!(received <= bytes.len() as u64, "{received} bytes of frames");
            assert!(result.is_err() || (100..1000).contains(&result.unwrap()), "{result:?}");
        }
    }
});
