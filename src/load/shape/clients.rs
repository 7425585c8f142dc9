//! When the clients of the closed model are ready to send: at first, and after each reply.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::due::{Due, Part};
use super::nanos::{Nanos, Span};

/// A client that has got no proper reply waits at least this long, so that a server that refuses
/// everything is not asked in a busy loop.
const PAUSE_AFTER_ERROR: Span = Span::millis(10);

/// Clients that don't think begin one by one, this far apart, over at most `LONGEST_START`: a
/// server just started would otherwise see all connections in the same instant.
const START_DISTANCE: Span = Span::micros(100);
const LONGEST_START: Span = Span::millis(100);

/// The clients of one loop that are thinking. Its size is bounded by the number of clients.
#[derive(Debug)]
pub struct LoopClients {
    /// After a proper reply; the earliest first, as all of them think equally long.
    thinking: VecDeque<Due>,
    /// The others: those that have not begun, or wait after a failure.
    waiting: BinaryHeap<Reverse<Due>>,
    pub think: Span,
    /// How many clients this loop has.
    pub count: u32,
}

impl LoopClients {
    /// This loop's share of `clients`; their first times are spread over one think time (over a
    /// moment when there is none), interleaved with the other loops'.
    pub fn new(clients: u32, think: Duration, part: Part) -> Self {
        let think = Span::from(think);
        let all = u64::from(clients.max(1));
        let spread = match think.get() {
            0 => (all * START_DISTANCE.get()).min(LONGEST_START.get()),
            think => think,
        };
        let count = part.share(clients.into()) as u32;
        let first = |client: u32| {
            let place = u64::from(client) * u64::from(part.of) + u64::from(part.index);
            let at = u128::from(spread) * u128::from(place) / u128::from(all);
            Reverse(Due { at: Nanos::new(at as u64), client, target: None })
        };
        Self { thinking: VecDeque::new(), waiting: (0..count).map(first).collect(), think, count }
    }

    /// When the next client is ready; `None` while all of them wait for a reply.
    #[inline]
    pub fn peek(&self) -> Option<Nanos> {
        let thinking = self.thinking.front().map(|ready| ready.at);
        let waiting = self.waiting.peek().map(|Reverse(ready)| ready.at);
        match (thinking, waiting) {
            (Some(thinking), Some(waiting)) => Some(thinking.min(waiting)),
            (one, None) | (None, one) => one,
        }
    }

    /// Takes the next client that is ready by `now`.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> Option<Due> {
        let at = self.peek().filter(|at| *at <= now)?;
        match self.thinking.front() {
            Some(ready) if ready.at == at => self.thinking.pop_front(),
            _ => self.waiting.pop().map(|Reverse(ready)| ready),
        }
    }

    /// The client's request ended at `now`; it is ready again after thinking.
    #[inline]
    pub fn answered(&mut self, client: u32, now: Nanos) {
        self.thinking.push_back(Due { at: now + self.think, client, target: None });
    }

    /// The client's request failed at `now`.
    pub fn failed(&mut self, client: u32, now: Nanos) {
        let pause = self.think.max(PAUSE_AFTER_ERROR);
        self.waiting.push(Reverse(Due { at: now + pause, client, target: None }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Nanos {
        Nanos::START + Span::millis(count)
    }

    fn drain(clients: &mut LoopClients, now: Nanos) -> Vec<Nanos> {
        std::iter::from_fn(|| clients.take(now)).map(|ready| ready.at).collect()
    }

    #[test]
    fn clients_begin_spread_over_one_think_time_across_all_loops() {
        let think = Duration::from_millis(100);
        let mut starts: Vec<Nanos> = (0..2)
            .flat_map(|index| {
                let mut clients = LoopClients::new(5, think, Part { index, of: 2 });
                drain(&mut clients, Nanos::MAX)
            })
            .collect();
        starts.sort_unstable();
        assert_eq!(starts, [0, 20, 40, 60, 80].map(ms));
    }

    #[test]
    fn ten_thousand_clients_without_think_time_begin_within_a_tenth_of_a_second() {
        let mut clients = LoopClients::new(10_000, Duration::ZERO, Part::WHOLE);
        assert_eq!(drain(&mut clients, ms(100)).len(), 10_000);
    }

    #[test]
    fn a_client_thinks_after_a_reply_and_pauses_after_an_error() {
        let mut clients = LoopClients::new(1, Duration::ZERO, Part::WHOLE);
        let ready = clients.take(Nanos::START).unwrap();
        assert_eq!(clients.peek(), None, "it waits for its reply");
        clients.answered(ready.client, ms(5));
        assert_eq!(clients.take(ms(5)).unwrap().at, ms(5));
        clients.failed(ready.client, ms(6));
        assert_eq!(clients.take(ms(15)), None);
        assert_eq!(clients.take(ms(16)).unwrap().at, ms(16));
    }
}
