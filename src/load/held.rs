//! What came of the latest requests of one loop, held until several are recorded in a row.
//!
//! In: each request as it ends. Out: what is recorded of it, once there is no room for more, or the
//! record is asked for anything. A request ends right after the kernel has read its reply, and by
//! then little of the loop's memory is left in the nearest cache. To record it there and then would
//! fetch some fifteen cache lines of counts and as much code; to hold it takes the next line of a
//! small buffer.

use super::lifecycle::Ended;
use super::reply::Marks;
use super::shape::Nanos;
use crate::terms::RequestError;

/// Most outcomes that are held.
const MOST: usize = 64;

/// What is recorded of a request that has ended. It has 48 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    pub due: Nanos,
    /// When it was sent, or else when the loop acted on it.
    pub exchange_start: Nanos,
    /// When its reply was complete, or it was given up.
    pub at: Nanos,
    /// Bytes of its reply.
    pub bytes_in: u64,
    pub target: u32,
    pub result: Result<u16, RequestError>,
    /// Of its reply.
    pub marks: Marks,
    /// It was sent before, on a connection that the server had closed meanwhile.
    pub is_retry: bool,
}

impl Outcome {
    #[inline]
    fn of(ended: &Ended) -> Self {
        Self {
            due: ended.request.due,
            exchange_start: ended.request.exchange_start(),
            at: ended.at,
            bytes_in: ended.bytes_in,
            target: ended.request.target,
            result: ended.result,
            marks: ended.marks,
            is_retry: ended.request.is_retry,
        }
    }
}

/// The outcomes that have not been recorded yet.
#[derive(Debug)]
pub struct Held {
    /// The first `count` are held, the others are left over from before.
    outcomes: Box<[Outcome; MOST]>,
    count: usize,
}

impl Default for Held {
    fn default() -> Self {
        let unused = Outcome {
            due: Nanos::START,
            exchange_start: Nanos::START,
            at: Nanos::START,
            bytes_in: 0,
            target: 0,
            result: Ok(0),
            marks: Marks::default(),
            is_retry: false,
        };
        Self { outcomes: Box::new([unused; MOST]), count: 0 }
    }
}

impl Held {
    /// Takes the outcome of a request. It must not be [full](Self::is_full).
    #[inline]
    pub fn push(&mut self, ended: &Ended) {
        self.outcomes[self.count] = Outcome::of(ended);
        self.count += 1;
    }

    /// Whether there is no room for another.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count == MOST
    }

    /// Gives the outcome that came last. What is recorded of outcomes are sums and maxima, for
    /// which their order makes no difference.
    #[inline]
    pub fn pop(&mut self) -> Option<Outcome> {
        self.count = self.count.checked_sub(1)?;
        Some(self.outcomes[self.count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::lifecycle::Pending;

    #[test]
    fn an_outcome_is_small_enough_for_one_or_two_cache_lines() {
        assert_eq!(size_of::<Outcome>(), 48);
    }

    #[test]
    fn as_many_as_there_is_room_for_are_held_and_each_comes_out_once() {
        let mut held = Held::default();
        assert!(held.pop().is_none());
        for _ in 0..2 {
            for number in 0..MOST as u64 {
                assert!(!held.is_full());
                let at = Nanos::new(number);
                let request = Pending { is_retry: true, ..Pending::new(at, at) };
                held.push(&Ended { bytes_in: number, ..request.failed(RequestError::Reset, at) });
            }
            assert!(held.is_full());
            let outcomes: Vec<Outcome> = std::iter::from_fn(|| held.pop()).collect();
            let numbers = outcomes.iter().rev().map(|outcome| outcome.bytes_in);
            assert_eq!(numbers.collect::<Vec<_>>(), (0..MOST as u64).collect::<Vec<_>>());
            let is_whole = |it: &Outcome| it.is_retry && it.result == Err(RequestError::Reset);
            assert!(outcomes.iter().all(is_whole));
        }
    }
}
