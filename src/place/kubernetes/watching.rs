//! What an app's container uses while it runs, looked at every second from inside it.
//!
//! In: a pod. Out: a [`MonitorRecord`] of each load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::api::{Api, ApiError};
use super::paths;
use super::usage::{self, Look, Looks};
use crate::terms::{BlindSpot, Configuration, MonitorRecord};

/// A watch ends by itself after this long, where nobody is left to end it.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// A load's record begins with the look before it, and ends with the one after it: this much apart
/// from what was measured.
const AROUND: Duration = Duration::from_millis(500);

type Seen = Arc<Mutex<Vec<(Instant, Look)>>>;

/// A container that is looked at.
pub struct Watching {
    seen: Seen,
    /// The shell in the container has ended, or cannot be reached any more.
    is_over: Arc<AtomicBool>,
    configuration: Configuration,
    /// What it may use.
    cores: f64,
}

impl Watching {
    /// Begins to look.
    ///
    /// # Errors
    /// Nothing may be run in the container, or there is no shell in it.
    pub fn begin(
        api: &dyn Api,
        (pod, container): (&str, &str),
        configuration: Configuration,
        cores: f64,
    ) -> Result<Self, ApiError> {
        let script = usage::script(LONGEST.as_secs());
        let path = paths::command(pod, Some(container), &["sh", "-c", &script]);
        let lines = api.run(&path)?;
        let seen = Seen::default();
        let seeing = Arc::downgrade(&seen);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            let mut looks = Looks::default();
            // It ends with the container, or when nobody is interested any more.
            for line in lines.map_while(Result::ok) {
                let Some(look) = looks.line(&line) else { continue };
                let Some(seen) = seeing.upgrade() else { return };
                seen.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), look));
            }
            over.store(true, Ordering::Relaxed);
        });
        Ok(Self { seen, is_over, configuration, cores })
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
        let mut record = MonitorRecord { blind_spots: usage::blind_spots(), ..Default::default() };
        for pair in seen.windows(2) {
            let [(began, before), (_, after)] = pair else { continue };
            let at_s = began.saturating_duration_since(origin).as_secs_f64();
            let second = usage::second(before, after, self.configuration, self.cores, at_s);
            record.seconds.push(second);
        }
        match (record.seconds.is_empty(), seen.last()) {
            (false, Some((_, last))) => record.memory = usage::memory(last, self.configuration),
            // What was seen is of an earlier load.
            _ => record.blind_spots.push(BlindSpot::NothingWatched.into()),
        }
        record
    }
}

/// What is said where nothing can be looked at.
pub fn nothing() -> MonitorRecord {
    MonitorRecord { blind_spots: vec![BlindSpot::NothingWatched.into()], ..Default::default() }
}
