//! What an app's platform itself recorded of it, asked for after a load that no shell looked at and
//! that is long enough to have a whole minute.
//!
//! In: how it is asked, and when the load was measured. Out: that load's record with it, or why it
//! cannot be read. A minute is recorded some time after its end, and is waited for once a start.
//! All of that takes time in which nothing is measured, and which is told apart.

use std::thread;
use std::time::{Duration, Instant};

use crate::monitor::host::wall_clock_s;
use crate::place::minutes::{self, MINUTE_S, Measured, Minute};
use crate::terms::{MonitorRecord, StopSignal};

/// Asks for the whole minutes of a range, seconds since 1970, that are recorded by now; oldest
/// first. Given up where the user wants to end.
pub type AskMinutes =
    Box<dyn Fn((i64, i64), &StopSignal) -> Result<Vec<Minute>, Unread> + Send + Sync>;

/// Why what was recorded could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// In the platform's words.
    pub said: String,
    /// It will be the same in some minutes.
    pub is_lasting: bool,
}

/// A minute is waited for until this long after its end, seconds. Judgement: platforms mostly have
/// one after a minute or two.
const LATE_S: f64 = 150.0;

/// Between two questions for it.
const AGAIN: Duration = Duration::from_secs(10);

/// Between two looks whether the user wants to end.
const LOOK: Duration = Duration::from_millis(100);

/// The records of one session's app.
pub struct Records {
    ask: AskMinutes,
    /// Why the last question had no answer. Where that lasts, no other is asked.
    unread: Option<Unread>,
    /// A minute of the next load is waited for.
    waits: bool,
    /// By all of this, so far.
    taken: Duration,
}

impl Records {
    pub fn new(ask: AskMinutes) -> Self {
        Self { ask, unread: None, waits: true, taken: Duration::ZERO }
    }

    /// The app has been started afresh.
    pub fn start(&mut self) {
        self.waits = true;
    }

    /// Why they could not be read when they were asked for last; `None`: they could.
    pub fn unread(&self) -> Option<&str> {
        self.unread.as_ref().map(|unread| &*unread.said)
    }

    /// The time that asking and waiting took so far.
    pub fn taken(&self) -> Duration {
        self.taken
    }

    /// Adds to a load's record. `limit_cores`: what the app may use; `tell`: what people are told.
    pub fn add(
        &mut self,
        record: &mut MonitorRecord,
        (measured, limit_cores): (Measured, f64),
        stop: &StopSignal,
        tell: &dyn Fn(&str),
    ) {
        let Some(range) = measured.whole_minutes() else { return };
        let began = Instant::now();
        let wait = || {
            let began = Instant::now();
            while began.elapsed() < AGAIN && !stop.is_raised() {
                thread::sleep(LOOK);
            }
        };
        let minutes = self.minutes(range, (&wall_clock_s, &wait), stop, tell);
        minutes::add(record, &minutes, measured, limit_cores);
        self.taken += began.elapsed();
    }

    /// `clock`: the time in seconds since 1970; `wait`: until it is asked again.
    fn minutes(
        &mut self,
        range: (i64, i64),
        (clock, wait): (&dyn Fn() -> f64, &dyn Fn()),
        stop: &StopSignal,
        tell: &dyn Fn(&str),
    ) -> Vec<Minute> {
        let late_s = (range.0 + MINUTE_S) as f64 + LATE_S;
        let waits = std::mem::take(&mut self.waits);
        let mut minutes = Vec::new();
        let mut is_told = false;
        while !self.is_over(stop) {
            match (self.ask)(range, stop) {
                Ok(found) => (minutes, self.unread) = (found, None),
                // Ctrl-C ends the question too.
                Err(unread) => self.unread = Some(unread).filter(|_| !stop.is_raised()),
            }
            let left_s = late_s - clock();
            let may_come = waits && left_s > 0.0 && !self.is_over(stop);
            if !minutes.is_empty() || !may_come {
                break;
            }
            if !std::mem::replace(&mut is_told, true) {
                tell(&waiting(left_s));
            }
            wait();
        }
        minutes
    }

    /// Nothing more is asked.
    fn is_over(&self, stop: &StopSignal) -> bool {
        stop.is_raised() || self.unread.as_ref().is_some_and(|unread| unread.is_lasting)
    }
}

/// What people are told once a minute is waited for.
fn waiting(left_s: f64) -> String {
    format!(
        "waiting up to {:.0} s, which do not count, for what the platform records of this load",
        left_s.ceil()
    )
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Two minutes of a load that was measured from second 1005 to 1145.
    const RANGE: (i64, i64) = (1020, 1140);

    const NOTHING: [String; 0] = [];

    /// What came of a question.
    struct Asked {
        minutes: Vec<Minute>,
        waited_s: f64,
        told: Vec<String>,
    }

    /// Asked at the end of this load, and again every ten seconds.
    fn asked(records: &mut Records, stop: &StopSignal) -> Asked {
        let ended_s = 1145.0;
        let (clock, told) = (Cell::new(ended_s), RefCell::new(Vec::new()));
        let wait = || clock.set(clock.get() + 10.0);
        let tell = |line: &str| told.borrow_mut().push(line.to_string());
        let minutes = records.minutes(RANGE, (&|| clock.get(), &wait), stop, &tell);
        Asked { minutes, waited_s: clock.get() - ended_s, told: told.into_inner() }
    }

    fn unread(is_lasting: bool) -> Unread {
        Unread { said: "no answer".to_string(), is_lasting }
    }

    /// Answered by the number of the question, from 1 on; and how many were asked.
    fn records(
        answer: impl Fn(u32) -> Result<Vec<Minute>, Unread> + Send + Sync + 'static,
    ) -> (Records, Arc<AtomicU32>) {
        let count = Arc::new(AtomicU32::new(0));
        let counting = Arc::clone(&count);
        let ask = move |range: (i64, i64), _: &StopSignal| {
            assert_eq!(range, RANGE);
            answer(counting.fetch_add(1, Ordering::Relaxed) + 1)
        };
        (Records::new(Box::new(ask)), count)
    }

    fn one() -> Vec<Minute> {
        vec![Minute { start_s: RANGE.0, ..Minute::default() }]
    }

    #[test]
    fn a_minute_that_is_recorded_late_is_waited_for_once_a_start_and_no_longer_than_it_may_take() {
        let stop = StopSignal::default();
        // Also where a question in between has no answer.
        let (mut late, count) = records(|number| match number {
            1 => Ok(Vec::new()),
            2 => Err(unread(false)),
            3 => Ok(one()),
            _ => Ok(Vec::new()),
        });
        let first = asked(&mut late, &stop);
        assert_eq!((first.minutes, first.waited_s), (one(), 20.0));
        // Of the 150 s after its first minute, 65 are over.
        let [told] = &first.told[..] else { panic!("{:?}", first.told) };
        assert!(told.contains("up to 85 s,"), "{told}");
        assert_eq!((late.unread(), count.load(Ordering::Relaxed)), (None, 3));
        let second = asked(&mut late, &stop);
        assert_eq!((second.minutes, second.waited_s), (Vec::new(), 0.0));
        assert_eq!(second.told, NOTHING);
        late.start();
        // Its first minute ended 65 s before it did.
        assert_eq!(asked(&mut late, &stop).waited_s, 90.0);
    }

    #[test]
    fn what_could_not_be_read_is_asked_for_again_with_the_next_load_unless_that_lasts() {
        let stop = StopSignal::default();
        let (mut failing, count) = records(|number| match number {
            1 => Ok(one()),
            2 => Err(unread(false)),
            _ => Ok(one()),
        });
        asked(&mut failing, &stop);
        assert!(asked(&mut failing, &stop).minutes.is_empty());
        assert_eq!(failing.unread(), Some("no answer"));
        assert_eq!(asked(&mut failing, &stop).minutes, one());
        assert_eq!((failing.unread(), count.load(Ordering::Relaxed)), (None, 3));

        let (mut denied, count) = records(|_| Err(unread(true)));
        for _ in 0..2 {
            let of = asked(&mut denied, &stop);
            assert_eq!((of.minutes, of.waited_s), (Vec::new(), 0.0));
            assert_eq!(of.told, NOTHING);
            assert_eq!(denied.unread(), Some("no answer"));
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_question_that_the_user_ends_is_no_trouble_of_the_platforms() {
        let stop = StopSignal::default();
        let ends = stop.clone();
        let (mut ended, count) = records(move |_| {
            ends.raise();
            Err(unread(true))
        });
        for _ in 0..2 {
            let of = asked(&mut ended, &stop);
            assert_eq!((of.minutes, of.waited_s, ended.unread()), (Vec::new(), 0.0, None));
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
