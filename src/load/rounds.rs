//! A dense load is handled in rounds: the loop sleeps for a moment, through replies and due times,
//! and then takes what has gathered.
//!
//! To fall asleep and to wake a server that has just fallen asleep costs several times as much as a
//! request, and asking for events that come one by one costs a good part of one (figures in
//! docs/evidence/load-engine.md). Slept through, a reply would seem late, so the kernel notes when
//! it arrived (`SO_TIMESTAMPNS`). What a round delays is send lag, and counted as such.
//!
//! Only from 10,000 requests a second in one loop on, over TCP, with HTTP/1, while every reply is
//! small enough to be read in one piece: otherwise the loop acts on each event as it comes.

use super::clock::Clock;

/// The longest that a request waits for its round, nanoseconds.
const LONGEST_WAIT: u64 = 160_000;

/// Mean distance of due times, nanoseconds, from which on rounds are worth it.
const DENSE: u64 = 100_000;

/// Longer gaps count as this in the mean, so that a pause is soon forgotten.
const LONGEST_GAP: u64 = 100 * DENSE;

/// Due times that the mean looks back over, as a power of two.
const MEMORY_BITS: u32 = 6;

/// Fewer requests in flight don't keep a server busy through a round.
const FEWEST_IN_FLIGHT: usize = 16;

/// So many ready at once are not few, however many clients there are.
const MOST_FEW: usize = 32;

/// See the head of this file.
#[derive(Debug)]
pub struct Rounds {
    last_due: u64,
    /// Of due times, smoothed; nanoseconds times two to the power of `MEMORY_BITS`.
    mean_gap: u64,
    /// The latest reply carried the time of its arrival.
    are_stamped: bool,
    /// It was time for a round, whether or not that could be.
    is_wanted: bool,
    has_partial_reply: bool,
    /// From the load's time to the wall clock, nanoseconds; known after a nap only.
    to_wall: Option<u64>,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            last_due: 0,
            // A load does not begin with rounds.
            mean_gap: LONGEST_GAP << MEMORY_BITS,
            are_stamped: false,
            is_wanted: false,
            has_partial_reply: false,
            to_wall: None,
        }
    }
}

impl Rounds {
    /// A request is due.
    #[inline]
    pub fn due(&mut self, at: u64) {
        let gap = at.saturating_sub(self.last_due).min(LONGEST_GAP);
        self.mean_gap = self.mean_gap - (self.mean_gap >> MEMORY_BITS) + gap;
        self.last_due = at;
    }

    /// A reply has begun and is not complete: what follows must be read as it comes.
    #[inline]
    pub fn reply_is_partial(&mut self) {
        self.has_partial_reply = true;
    }

    /// Whether connections should have the kernel note when bytes arrive.
    #[inline]
    pub fn want_stamps(&self) -> bool {
        self.is_wanted
    }

    /// How long to sleep now, whatever arrives meanwhile, when the next request is due at
    /// `next_due`; `None` when the loop should stay alert.
    pub fn nap_until_due(&mut self, next_due: u64, now: u64) -> Option<u64> {
        let is_near = next_due <= now + LONGEST_WAIT;
        self.may_nap(is_near).then(|| (next_due + LONGEST_WAIT).saturating_sub(now))
    }

    /// The same while clients wait for replies, when `found` sockets were ready the last time. With
    /// few ready at a time the server is the slower side: a quarter of the replies gather while it
    /// still has enough to do.
    pub fn nap_for_replies(&mut self, in_flight: usize, found: usize) -> Option<u64> {
        let few = (in_flight / 8).min(MOST_FEW);
        let are_few = in_flight >= FEWEST_IN_FLIGHT && found < few;
        let quarter = in_flight as u64 / 4 * self.mean_gap();
        self.may_nap(are_few).then(|| quarter.min(LONGEST_WAIT))
    }

    /// A nap is over. The wall clock may have been set meanwhile.
    pub fn woke(&mut self, clock: Clock) {
        self.to_wall = Some(clock.to_wall());
    }

    /// When a reply arrived that was asked for at `sent` and has been read by `now`. `stamp`: by
    /// the wall clock, nanoseconds.
    #[inline]
    pub fn arrival(&mut self, stamp: Option<u64>, sent: u64, now: u64) -> u64 {
        self.are_stamped = stamp.is_some();
        // Awake, it was read as soon as it was there.
        let (Some(stamp), Some(to_wall)) = (stamp, self.to_wall) else { return now };
        stamp.saturating_sub(to_wall).clamp(sent, now)
    }

    fn may_nap(&mut self, is_time: bool) -> bool {
        self.to_wall = None;
        let has_partial_reply = std::mem::take(&mut self.has_partial_reply);
        self.is_wanted = is_time && !has_partial_reply && self.mean_gap() <= DENSE;
        self.is_wanted && self.are_stamped
    }

    fn mean_gap(&self) -> u64 {
        self.mean_gap >> MEMORY_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// After many requests so far apart, the last due at the time returned.
    fn rounds(gap: u64, are_stamped: bool) -> (Rounds, u64) {
        let mut rounds = Rounds::default();
        let last = 1000 * gap;
        (1..=1000).for_each(|n| rounds.due(n * gap));
        rounds.arrival(are_stamped.then_some(0), last, last);
        (rounds, last)
    }

    #[test]
    fn a_dense_schedule_naps_until_the_oldest_due_has_waited_long_enough() {
        let (mut rounds, now) = rounds(50 * US, true);
        assert_eq!(rounds.nap_until_due(now + 50 * US, now), Some(210 * US));
        assert_eq!(rounds.nap_until_due(now + 161 * US, now), None, "that is long to go");
    }

    #[test]
    fn a_sparse_schedule_never_naps() {
        let (mut rounds, now) = rounds(200 * US, true);
        assert_eq!(rounds.nap_until_due(now + 50 * US, now), None);
        assert!(!rounds.want_stamps());
    }

    #[test]
    fn without_times_of_arrival_the_loop_stays_alert_and_asks_for_them() {
        let (mut rounds, now) = rounds(50 * US, false);
        assert_eq!(rounds.nap_until_due(now + 50 * US, now), None);
        assert!(rounds.want_stamps());
    }

    #[test]
    fn a_reply_in_pieces_keeps_the_loop_alert_once() {
        let (mut rounds, now) = rounds(50 * US, true);
        rounds.reply_is_partial();
        assert_eq!(rounds.nap_until_due(now + 50 * US, now), None);
        assert!(rounds.nap_until_due(now + 50 * US, now).is_some());
    }

    #[test]
    fn clients_replies_gather_only_while_the_server_is_the_slower_side() {
        let (mut rounds, _) = rounds(6 * US, true);
        let nap = rounds.nap_for_replies(64, 2).unwrap();
        assert!(nap.abs_diff(16 * 6 * US) < US, "sixteen replies' time: {nap}");
        assert_eq!(rounds.nap_for_replies(64, 8), None, "the loop is behind");
        assert_eq!(rounds.nap_for_replies(8, 0), None, "the server would run dry");
        assert_eq!(rounds.nap_for_replies(10_000, 2), Some(LONGEST_WAIT));
        assert_eq!(rounds.nap_for_replies(10_000, 256), None, "as many as are asked for at once");
    }

    #[test]
    fn a_reply_slept_through_arrived_when_the_kernel_says() {
        let (mut rounds, _) = rounds(50 * US, true);
        let clock = Clock::start();
        assert_eq!(rounds.arrival(Some(7), 10, 90), 90, "nothing was slept through");
        rounds.woke(clock);
        let to_wall = rounds.to_wall.unwrap();
        assert_eq!(rounds.arrival(Some(to_wall + 40), 10, 90), 40);
        assert_eq!(rounds.arrival(Some(to_wall - 5), 10, 90), 10, "the wall clock was set");
        assert_eq!(rounds.arrival(Some(to_wall + 500), 10, 90), 90);
        assert_eq!(rounds.arrival(None, 10, 90), 90);
    }
}
