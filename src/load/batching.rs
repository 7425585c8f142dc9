//! The loop sleeps through replies, and handles what has arrived when the next request is due; of a
//! dense load also through due times, which it handles in batches.
//!
//! To fall asleep and to be woken, or to wake a server that has just fallen asleep, costs as much
//! as a request or several, and asking for events that come one by one costs a good part of one
//! (figures in docs/evidence/load-engine.md). Slept through, a reply would seem late, so the kernel
//! notes when it arrived (`SO_TIMESTAMPNS`). The kernel is asked for that only in the turn after a
//! sleep: what is read awake has just arrived. What a batch delays is send lag, and counted as
//! such; what is slept through until the next request is due delays nothing.
//!
//! Only from 200 requests a second in one loop on (batches: 10,000), over TCP with kept
//! connections, while every reply is small and there as a whole when it is read: otherwise the loop
//! acts on each event as it comes. Outside batches it also does so while it waits for more than
//! single replies: a connection, a handshake or a request that goes on then would begin late.

use super::clock::Clock;
use super::shape::{Nanos, Span};

/// The longest that a request waits for its batch.
const LONGEST_WAIT: Span = Span::micros(160);

/// So long after it was due it is to leave at the latest, the time that waking takes included.
const LATEST: Span = Span::micros(185);

/// Below this a batch gathers too little to be worth its sleep.
const SHORTEST_WAIT: Span = Span::micros(40);

/// Mean distance of due times, in nanoseconds, up to which batches are worth it.
const DENSE: u64 = 100_000;

/// The longest that a reply lies unread until the next request is due. Servers don't mind: it lies
/// in a buffer of the kernel.
const LONGEST_UNREAD: Span = Span::millis(5);

/// What it takes to read the replies of such a sleep, before the next request is due.
const READING: Span = Span::micros(10);

/// Falling asleep for less takes longer than that.
const LONGEST_SPIN: Span = Span::micros(30);

/// Longer gaps count as this in the mean, so that a pause soon has no effect.
const LONGEST_GAP: u64 = 100 * DENSE;

/// Due times that the mean looks back over, as a power of two.
const MEMORY_BITS: u32 = 6;

/// Fewer requests in flight don't keep a server busy while a batch gathers.
const FEWEST_IN_FLIGHT: usize = 16;

/// This many ready at once are not few, however many clients there are.
const MOST_FEW: usize = 32;

/// While clients wait for replies, one reply in this many gathers before the loop wakes.
const GATHERED: u64 = 2;

/// Decides for one loop whether to sleep through events now, and for how long.
#[derive(Debug)]
pub struct Batching {
    last_due: Nanos,
    /// Of due times, smoothed; nanoseconds times two to the power of `MEMORY_BITS`.
    mean_gap: u64,
    /// The latest reply whose time of arrival was asked for carried it.
    are_stamped: bool,
    /// The load was dense enough for a batch, whether or not there could be one.
    is_wanted: bool,
    has_partial_reply: bool,
    /// Events are awaited that are more than single replies; the loop says so before it may sleep.
    /// Batches delay them by little.
    pub needs_each_event: bool,
    /// From the load's time to the wall clock, nanoseconds; known after a sleep only.
    to_wall: Option<u64>,
    /// When the sleep that is under way should end.
    wakes_at: Option<Nanos>,
    waking: Waking,
}

/// A sleep, whatever arrives meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sleep {
    pub span: Span,
    /// What is due has waited for it, and is sent before replies are read.
    pub is_batch: bool,
}

/// How late this machine wakes a loop that sleeps, nanoseconds: the mean and the mean deviation
/// from it, smoothed as a round trip's are (RFC 6298).
#[derive(Debug, Default)]
struct Waking {
    mean: u64,
    deviation: u64,
}

impl Waking {
    /// It has woken so late; more than a batch may take counts as that.
    fn woke(&mut self, late: Span) {
        let late = late.get().min(LATEST.get());
        self.deviation = (3 * self.deviation + self.mean.abs_diff(late)) / 4;
        self.mean = (7 * self.mean + late) / 8;
    }

    /// Hardly ever later.
    fn most(&self) -> u64 {
        self.mean + 2 * self.deviation
    }
}

impl Default for Batching {
    fn default() -> Self {
        Self {
            last_due: Nanos::START,
            // A load does not begin with batches.
            mean_gap: LONGEST_GAP << MEMORY_BITS,
            are_stamped: false,
            is_wanted: false,
            has_partial_reply: false,
            needs_each_event: false,
            to_wall: None,
            wakes_at: None,
            waking: Waking::default(),
        }
    }
}

impl Batching {
    /// A request is due.
    #[inline]
    pub fn due(&mut self, at: Nanos) {
        let gap = (at - self.last_due).get().min(LONGEST_GAP);
        self.mean_gap = self.mean_gap - (self.mean_gap >> MEMORY_BITS) + gap;
        self.last_due = at;
    }

    /// A reply has begun, and its rest has not come yet or is long: that must be read as it comes.
    #[inline]
    pub fn reply_is_partial(&mut self) {
        self.has_partial_reply = true;
    }

    /// Whether connections should have the kernel note when bytes arrive.
    #[inline]
    pub fn want_stamps(&self) -> bool {
        self.is_wanted
    }

    /// Whether to ask with each read when the bytes arrived: after a sleep, and where there would
    /// be one if replies carried that time.
    #[inline]
    pub fn uses_stamps(&self) -> bool {
        self.to_wall.is_some() || (self.is_wanted && !self.are_stamped)
    }

    /// How to sleep now when the next request is due at `next_due`; `None` when the loop should act
    /// on events as they come.
    #[inline]
    pub fn sleep_until_due(&mut self, next_due: Nanos, now: Nanos) -> Option<Sleep> {
        if self.mean_gap() <= DENSE {
            let wakes_at = next_due + self.longest_wait();
            let may_sleep = self.may_sleep(next_due <= now + LONGEST_WAIT);
            return may_sleep.then(|| self.sleep(wakes_at, now, true));
        }
        // Times of arrival are wanted all the same, for the sleep that comes after.
        let may_sleep = self.may_sleep(next_due <= now + LONGEST_UNREAD) && !self.needs_each_event;
        // So that it is awake, and has read what there is, when the request is due.
        let early = Span::new(self.waking.mean + READING.get());
        let is_long = next_due > now + early + SHORTEST_WAIT;
        (may_sleep && is_long).then(|| self.sleep(next_due.before(early), now, false))
    }

    /// How long to wait for events where the next thing to be done is so far away: where falling
    /// asleep takes longer, not at all.
    #[inline]
    pub fn wait(&self, span: Span) -> Span {
        let is_short = span.get() < self.waking.mean.min(LONGEST_SPIN.get());
        if is_short { Span::ZERO } else { span }
    }

    /// By what waking takes on this machine.
    fn longest_wait(&self) -> Span {
        let left = LATEST.get().saturating_sub(self.waking.most());
        Span::new(left).min(LONGEST_WAIT).max(SHORTEST_WAIT)
    }

    fn sleep(&mut self, wakes_at: Nanos, now: Nanos, is_batch: bool) -> Sleep {
        self.wakes_at = Some(wakes_at);
        Sleep { span: wakes_at - now, is_batch }
    }

    /// How to sleep now while clients wait for replies, when `found` sockets were ready the
    /// last time, with so many `replies`. With few ready at a time the server is the slower side: a
    /// part of the replies (see `GATHERED`) gathers while it still has enough to do. With most
    /// replies there, on however few connections, it was waiting for us.
    #[inline]
    pub fn sleep_for_replies(
        &mut self,
        in_flight: usize,
        found: usize,
        replies: usize,
    ) -> Option<Sleep> {
        let few = (in_flight / 8).min(MOST_FEW);
        let are_few = found < few && replies < in_flight / 4 * 3;
        let are_few = are_few && in_flight >= FEWEST_IN_FLIGHT;
        let gathering = in_flight as u64 / GATHERED * self.mean_gap();
        let is_time = are_few && self.mean_gap() <= DENSE;
        let span = Span::new(gathering).min(LONGEST_WAIT);
        self.may_sleep(is_time).then_some(Sleep { span, is_batch: true })
    }

    /// A sleep is over; returns what time it is. The wall clock may have been set meanwhile.
    #[inline]
    pub fn woke(&mut self, clock: Clock) -> Nanos {
        let (now, to_wall) = clock.now_and_to_wall();
        self.to_wall = Some(to_wall);
        if let Some(should) = self.wakes_at.take() {
            self.waking.woke(now - should);
        }
        now
    }

    /// When a reply arrived whose request was sent at `sent`, and that has been read by
    /// `now`. `stamp`: by the wall clock, nanoseconds; counts only where
    /// [`uses_stamps`](Self::uses_stamps) had it asked for.
    #[inline]
    pub fn arrival(&mut self, stamp: Option<u64>, sent: Nanos, now: Nanos) -> Nanos {
        if self.uses_stamps() {
            self.are_stamped = stamp.is_some();
        }
        // Awake, it was read as soon as it was there.
        let (Some(stamp), Some(to_wall)) = (stamp, self.to_wall) else { return now };
        Nanos::new(stamp.saturating_sub(to_wall)).clamp(sent, now)
    }

    #[inline]
    fn may_sleep(&mut self, is_time: bool) -> bool {
        self.to_wall = None;
        let has_partial_reply = std::mem::take(&mut self.has_partial_reply);
        self.is_wanted = is_time && !has_partial_reply;
        self.is_wanted && self.are_stamped
    }

    #[inline]
    fn mean_gap(&self) -> u64 {
        self.mean_gap >> MEMORY_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After many requests this far apart, the last due at the time returned.
    fn batching(gap: Span, are_stamped: bool) -> (Batching, Nanos) {
        let mut batching = Batching::default();
        let at = |n: u64| Nanos::new(n * gap.get());
        (1..=1000).for_each(|n| batching.due(at(n)));
        batching.are_stamped = are_stamped;
        (batching, at(1000))
    }

    #[test]
    fn a_dense_schedule_sleeps_until_the_oldest_due_has_waited_long_enough() {
        let (mut batching, now) = batching(Span::micros(50), true);
        let slept = batching.sleep_until_due(now + Span::micros(50), now);
        assert_eq!(slept, Some(Sleep { span: Span::micros(210), is_batch: true }));
        let next = now + Span::micros(161);
        assert_eq!(batching.sleep_until_due(next, now), None, "that is long to go");
    }

    #[test]
    fn where_waking_takes_long_a_batch_waits_for_less() {
        let (mut batching, now) = batching(Span::micros(50), true);
        let mut wait = || {
            let slept = batching.sleep_until_due(now, now).unwrap().span;
            let should = batching.wakes_at.take().unwrap();
            assert_eq!(should, now + slept);
            batching.waking.woke(Span::micros(60));
            slept.get() / 1000
        };
        let waits: Vec<u64> = (0..60).map(|_| wait()).collect();
        assert_eq!((waits[0], waits[59]), (160, 124), "{waits:?}");
        (0..60).for_each(|_| batching.waking.woke(Span::micros(100_000)));
        let slept = batching.sleep_until_due(now, now).unwrap();
        assert_eq!(slept.span, SHORTEST_WAIT);
    }

    #[test]
    fn a_sparser_schedule_sleeps_until_the_next_is_due_and_no_longer() {
        let (mut batching, now) = batching(Span::micros(900), true);
        let slept = batching.sleep_until_due(now + Span::micros(700), now);
        assert_eq!(slept, Some(Sleep { span: Span::micros(690), is_batch: false }));
        assert_eq!(batching.wait(Span::micros(10)), Span::micros(10), "what waking takes?");
        (0..60).for_each(|_| batching.waking.woke(Span::micros(40)));
        let slept = batching.sleep_until_due(now + Span::micros(700), now).unwrap().span;
        assert!(slept.get().abs_diff(650_000) < 1_000, "awake when it is due: {slept:?}");
        assert_eq!(batching.sleep_until_due(now + Span::micros(85), now), None, "that is near");
        assert!(batching.want_stamps());
        assert_eq!(batching.wait(Span::micros(20)), Span::ZERO, "shorter than waking takes");
        assert_eq!(batching.wait(Span::micros(60)), Span::micros(60));
        assert_eq!(batching.sleep_until_due(now + Span::millis(6), now), None, "that is long");
        assert!(!batching.want_stamps());
    }

    #[test]
    fn without_times_of_arrival_the_loop_stays_awake_and_asks_for_them() {
        let (mut batching, now) = batching(Span::micros(50), false);
        assert_eq!(batching.sleep_until_due(now + Span::micros(50), now), None);
        assert!(batching.want_stamps());
    }

    #[test]
    fn times_of_arrival_are_asked_for_until_one_comes_and_then_after_each_sleep() {
        let (mut batching, now) = batching(Span::micros(50), false);
        assert!(!batching.uses_stamps(), "no sleep is wanted yet");
        let sleep = |batching: &mut Batching| batching.sleep_until_due(now, now).is_some();
        assert!(!sleep(&mut batching) && batching.uses_stamps());
        // Several replies of one read, as with HTTP/2.
        (0..2).for_each(|_| assert_eq!(batching.arrival(Some(1), now, now), now));
        assert!(batching.are_stamped && !batching.uses_stamps());
        batching.arrival(None, now, now);
        assert!(batching.are_stamped, "it was not asked for");

        assert!(sleep(&mut batching) && !batching.uses_stamps(), "awake until it sleeps");
        batching.woke(Clock::start());
        assert!(batching.uses_stamps());
        batching.arrival(None, now, now);
        assert!(!batching.are_stamped && batching.uses_stamps(), "one came without");
        assert!(!sleep(&mut batching));
        batching.arrival(Some(1), now, now);
        assert!(sleep(&mut batching));
    }

    #[test]
    fn a_load_that_never_sleeps_asks_for_no_times_of_arrival() {
        let (mut batching, now) = batching(Span::millis(50), false);
        assert_eq!(batching.sleep_until_due(now + Span::millis(50), now), None);
        assert!(!batching.uses_stamps());
        batching.arrival(Some(1), now, now);
        assert!(!batching.are_stamped);
    }

    #[test]
    fn a_reply_in_pieces_keeps_the_loop_awake_once() {
        let (mut batching, now) = batching(Span::micros(50), true);
        batching.reply_is_partial();
        assert_eq!(batching.sleep_until_due(now + Span::micros(50), now), None);
        assert!(batching.sleep_until_due(now + Span::micros(50), now).is_some());
    }

    #[test]
    fn where_each_event_is_needed_the_loop_sleeps_for_batches_alone() {
        let (mut sparse, now) = batching(Span::micros(900), true);
        sparse.needs_each_event = true;
        assert_eq!(sparse.sleep_until_due(now + Span::micros(700), now), None);
        sparse.needs_each_event = false;
        assert!(sparse.sleep_until_due(now + Span::micros(700), now).is_some());
        let (mut dense, now) = batching(Span::micros(50), true);
        dense.needs_each_event = true;
        assert!(dense.sleep_until_due(now + Span::micros(50), now).is_some());
    }

    #[test]
    fn clients_replies_gather_only_while_the_server_is_the_slower_side() {
        let (mut batching, _) = batching(Span::micros(3), true);
        let slept = batching.sleep_for_replies(64, 2, 2).unwrap().span.get();
        let gathering = 64 / GATHERED * 3_000;
        assert!(slept.abs_diff(gathering) < 1_000, "the time of these replies: {slept}");
        assert_eq!(batching.sleep_for_replies(64, 8, 8), None, "the loop is behind");
        assert_eq!(batching.sleep_for_replies(64, 2, 48), None, "most, on two connections");
        assert_eq!(batching.sleep_for_replies(8, 0, 0), None, "the server would run dry");
        let longest = Sleep { span: LONGEST_WAIT, is_batch: true };
        assert_eq!(batching.sleep_for_replies(10_000, 2, 2), Some(longest));
        let found = batching.sleep_for_replies(10_000, 256, 256);
        assert_eq!(found, None, "as many as are asked for at once");
    }

    #[test]
    fn a_reply_slept_through_arrived_when_the_kernel_says() {
        let (mut batching, _) = batching(Span::micros(50), true);
        let [sent, now] = [10, 90].map(Nanos::new);
        assert_eq!(batching.arrival(Some(7), sent, now), now, "nothing was slept through");
        let clock = Clock::start();
        let woke = batching.woke(clock);
        assert!(woke <= clock.now());
        let to_wall = batching.to_wall.unwrap();
        assert_eq!(batching.arrival(Some(to_wall + 40), sent, now), Nanos::new(40));
        assert_eq!(batching.arrival(Some(to_wall - 5), sent, now), sent, "the wall clock was set");
        assert_eq!(batching.arrival(Some(to_wall + 500), sent, now), now);
        assert_eq!(batching.arrival(None, sent, now), now);
    }
}
