//! How the next bytes of a reply are read: copied, to be looked at, or dropped in the kernel.
//!
//! In: how far the reply has come, and the head of the one before. Out: how many bytes to ask for,
//! and what is to become of them. It knows no socket.

use crate::load::reply::{HeadCache, Reply};
use crate::load::socket::READ_BUFFER;

/// With more of a body than this to come it is dropped. To copy less costs no more than the call
/// that would drop it, and mostly brings what has to be looked at as well.
const LEAST_DISCARD: u64 = 4 * 1024;

/// Dropped in one call; only bounds how long the call may take.
const LARGEST_DISCARD: u64 = 1 << 24;

/// One read, with the most bytes to ask for, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Into the loop's buffer, for [`Reply::feed_with`].
    Copied(usize),
    /// Nowhere, for [`Reply::skip`].
    Dropped(usize),
}

impl Reading {
    /// As much as there is room for.
    pub const ALL: Self = Self::Copied(READ_BUFFER);

    /// The next read of a reply whose body can be dropped.
    #[inline]
    pub fn of(reply: &Reply, head_cache: &HeadCache) -> Self {
        if reply.skippable() > LEAST_DISCARD {
            return Self::Dropped(reply.droppable().min(LARGEST_DISCARD) as usize);
        }
        // Once only: when that was too little for the head, nobody knows how long it is.
        let head = head_cache.first_read().filter(|_| !reply.has_begun());
        head.map_or(Self::ALL, Self::Copied)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::reply::Progress;

    /// What reading a reply to its end came to.
    #[derive(Debug, PartialEq, Eq)]
    struct Outcome {
        /// Bytes of the reply.
        length: usize,
        has_surplus: bool,
        /// Bytes that were copied, surplus ones included.
        copied: usize,
    }

    /// Reads from a connection on which more bytes arrive each time all have been read: up to
    /// these places, in ascending order, and then the rest. `None`: the reply did not end.
    fn read(bytes: &[u8], arrivals: &[usize], cache: &mut HeadCache) -> Option<Outcome> {
        let mut reply = Reply::default();
        let (mut at, mut copied) = (0, 0);
        for there in arrivals.iter().copied().chain([bytes.len()]) {
            loop {
                let reading = Reading::of(&reply, cache);
                let (Reading::Copied(most) | Reading::Dropped(most)) = reading;
                let count = most.min(there - at);
                assert!(most > 0, "that would be taken for the end");
                if count == 0 {
                    break;
                }
                let piece = &bytes[at..at + count];
                at += count;
                let progress = match reading {
                    Reading::Copied(_) => {
                        copied += count;
                        reply.feed_with(piece, cache).unwrap()
                    }
                    Reading::Dropped(_) => reply.skip(count as u64),
                };
                if let Progress::Done { surplus } = progress {
                    let has_surplus = surplus > 0;
                    return Some(Outcome { length: at - surplus, has_surplus, copied });
                }
                if count < most {
                    break;
                }
            }
        }
        None
    }

    fn with_length(body: usize) -> Vec<u8> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\n\r\n");
        [head.into_bytes(), vec![b'x'; body]].concat()
    }

    fn in_chunks(body: usize, longest: usize) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in vec![b'x'; body].chunks(longest) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    #[test]
    fn of_large_bodies_next_to_nothing_is_copied_once_a_head_like_theirs_was_seen() {
        let bytes = with_length(100_000);
        let head = bytes.len() - 100_000;
        let mut cache = HeadCache::default();
        assert_eq!(read(&bytes, &[], &mut cache).unwrap().copied, READ_BUFFER, "the first");
        let ways: [&[usize]; 4] = [&[], &[head], &[head + 100, 50_000], &[1000, 99_000]];
        for arrivals in ways {
            let outcome = read(&bytes, arrivals, &mut cache).unwrap();
            let most = head + 256 + LEAST_DISCARD as usize;
            assert!(outcome.copied <= most, "{arrivals:?}: {outcome:?}");
            assert_eq!((outcome.length, outcome.has_surplus), (bytes.len(), false));
        }
    }

    #[test]
    fn bytes_behind_a_body_that_is_dropped_are_noticed() {
        let bytes = [with_length(100_000), b"and more".to_vec()].concat();
        let mut cache = HeadCache::default();
        for _ in 0..2 {
            let outcome = read(&bytes, &[], &mut cache).unwrap();
            assert_eq!((outcome.length, outcome.has_surplus), (bytes.len() - 8, true));
        }
    }

    #[test]
    fn a_head_that_is_longer_than_the_last_is_read_with_all_there_is_room_for() {
        let mut cache = HeadCache::default();
        read(&with_length(20_000), &[], &mut cache).unwrap();
        let long = "y".repeat(500);
        let long = format!("HTTP/1.1 200 OK\r\nX: {long}\r\nContent-Length: 2\r\n\r\nhi");
        let mut reply = Reply::default();
        let Reading::Copied(most) = Reading::of(&reply, &cache) else { panic!("a head") };
        assert!(most < long.len(), "{most}");
        assert_eq!(reply.feed_with(&long.as_bytes()[..most], &mut cache), Ok(Progress::More));
        assert_eq!(Reading::of(&reply, &cache), Reading::ALL);
        let rest = reply.feed_with(&long.as_bytes()[most..], &mut cache);
        assert_eq!(rest, Ok(Progress::Done { surplus: 0 }));
        assert_eq!(Reading::of(&Reply::default(), &cache), Reading::ALL, "for the next as well");
    }

    #[test]
    fn a_body_without_an_end_is_dropped_piece_by_piece() {
        let mut reply = Reply::default();
        let head = b"HTTP/1.1 200 OK\r\n\r\nfor";
        assert_eq!(reply.feed(head), Ok(Progress::More));
        let dropped = Reading::Dropped(LARGEST_DISCARD as usize);
        assert_eq!(Reading::of(&reply, &HeadCache::default()), dropped);
    }

    proptest! {
        #[test]
        fn whatever_is_copied_or_dropped_every_byte_of_a_reply_is_counted_once(
            body in prop_oneof![0usize..200, 4_000usize..5_000, 15_000usize..200_000],
            longest in prop::option::of(prop_oneof![1usize..200, 4_000usize..100_000]),
            surplus in 0usize..10,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let reply = longest.map_or_else(|| with_length(body), |most| in_chunks(body, most));
            let bytes = [reply.clone(), vec![b'y'; surplus]].concat();
            let mut arrivals: Vec<usize> =
                cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            arrivals.sort_unstable();
            let mut cache = HeadCache::default();
            let ways: [&[usize]; 3] = [&arrivals, &[], &arrivals];
            for arrivals in ways {
                let outcome = read(&bytes, arrivals, &mut cache);
                prop_assert_eq!(outcome.map(|outcome| outcome.length), Some(reply.len()));
            }
        }
    }
}
