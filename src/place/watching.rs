//! What an app uses where it runs, looked at every second by a shell there.
//!
//! In: the lines that the shell prints. Out: a [`MonitorRecord`] of each load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::usage::{self, Look, Looks};
use crate::terms::{BlindSpot, Configuration, MonitorRecord};

/// A watch ends by itself after this long, where nobody is left to end it.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// A load's record begins with the look before it, and ends with the one after it: this much apart
/// from what was measured.
const AROUND: Duration = Duration::from_millis(500);

type Seen = Arc<Mutex<Vec<(Instant, Look)>>>;

/// An app that is looked at.
pub struct Watching {
    seen: Seen,
    /// The shell there has ended, or cannot be reached any more.
    is_over: Arc<AtomicBool>,
    configuration: Configuration,
    /// What it may use.
    cores: f64,
}

/// What the shell is to run, as `sh -c` or at its standard input.
pub fn script() -> String {
    usage::script(LONGEST.as_secs())
}

impl Watching {
    /// Looks by what a shell prints that runs [`script`].
    pub fn of(
        lines: impl Iterator<Item = String> + Send + 'static,
        configuration: Configuration,
        cores: f64,
    ) -> Self {
        let seen = Seen::default();
        let seeing = Arc::downgrade(&seen);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            let mut looks = Looks::default();
            // It ends with the shell, or when nobody is interested any more.
            for line in lines {
                let Some(look) = looks.line(&line) else { continue };
                let Some(seen) = seeing.upgrade() else { return };
                seen.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), look));
            }
            over.store(true, Ordering::Relaxed);
        });
        Self { seen, is_over, configuration, cores }
    }

    /// Nothing more is seen.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// What was seen of a load that began at `origin` and is over now. Looks before it are
    /// forgotten.
    pub fn record(&self, origin: Instant) -> MonitorRecord {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let first = seen.iter().rposition(|(at, _)| *at <= origin + AROUND).unwrap_or(0);
        seen.drain(..first);
        let times: Vec<Instant> = seen.iter().map(|(at, _)| *at).collect();
        let looks = usage::of_app(seen.iter().map(|(_, look)| look.clone()).collect());
        let mut record = MonitorRecord { blind_spots: usage::blind_spots(), ..Default::default() };
        for (pair, began) in looks.windows(2).zip(times) {
            let [before, after] = pair else { continue };
            let at_s = began.saturating_duration_since(origin).as_secs_f64();
            let second = usage::second(before, after, self.configuration, self.cores, at_s);
            record.seconds.push(second);
        }
        match (record.seconds.is_empty(), looks.last()) {
            (false, Some(last)) => record.memory = usage::memory(last, self.configuration),
            // What was seen is of an earlier load.
            _ => record.blind_spots.push(BlindSpot::NothingWatched.into()),
        }
        record
    }
}

/// What is said where nothing can be looked at, and why.
pub fn nothing(why: BlindSpot) -> MonitorRecord {
    MonitorRecord { blind_spots: vec![why.into()], ..Default::default() }
}
