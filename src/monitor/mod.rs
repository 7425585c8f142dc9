//! What the server's processes, its control group and the host used, over time.
//!
//! In: root processes and how to name what is below it. Out: a [`MonitorRecord`]. Reads the
//! operating system, and what a probe inside these processes tells; must not send signals or judge.

mod connections;
mod cores;
mod devices;
mod group_use;
pub mod groups;
pub mod host;
mod inside;
mod neighbours;
mod netlink;
mod open_files;
mod process;
mod queue;
mod sampler;
mod serving;
mod sock_diag;
pub(crate) mod sockets;
mod stats;
mod task_stats;
mod text;
mod tree;
mod watched;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::terms::{BlindSpot, MonitorRecord, Stated};

pub use cores::Cores;
pub use group_use::GroupFolders;
pub use inside::{Inside, LONGEST_PATH as LONGEST_SOCKET_PATH};
pub use process::{cpu_clock_ns, thread_names, title};
pub use sampler::{CoreChoice, Sampler};
pub use serving::Serving;
pub use stats::StatsSource;
pub(crate) use text::stat;
pub use tree::{age, all_pids, below, group_processes, parent};
pub use watched::{RoleOf, Watched};

/// Time between two looks. CPU clocks are exact whenever they are read; this bounds how long a
/// process can live unseen, how much of its end is missed, and how finely thread states are
/// averaged.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A first interval that would be shorter than this runs on into the next second: reading takes
/// about a millisecond, which would make the rates of a splinter meaningless.
const SHORTEST: Duration = Duration::from_millis(100);

/// A watcher thread at work. Dropping it ends the thread.
pub struct Monitor {
    /// Nothing is ever sent: dropping it tells the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<MonitorRecord>>,
}

impl Monitor {
    /// Begins to watch; times in the record count from `origin`, and its intervals end at whole
    /// seconds from there. The deepest listen queue of an interval's looks is what it says.
    pub fn start(watched: Watched, origin: Instant) -> Self {
        Self::start_settled(watched, origin, || {})
    }

    /// Begins to watch after `settle` has run on the thread that watches: where the server has all
    /// cores, that thread must be ahead of it or sees it late.
    pub fn start_settled(
        watched: Watched,
        origin: Instant,
        settle: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let builder = thread::Builder::new().name("monitor".to_string());
        let watch = move || {
            settle();
            watch(watched, origin, &stopped)
        };
        let thread = builder.spawn(watch).ok();
        Self { stop: Some(stop), thread }
    }

    /// Ends watching and returns what was seen. Memory is read now, so the processes should still
    /// live.
    pub fn stop(mut self) -> MonitorRecord {
        self.end().unwrap_or_else(|| MonitorRecord {
            blind_spots: vec![BlindSpot::NothingWatched.into()],
            ..MonitorRecord::default()
        })
    }

    fn end(&mut self) -> Option<MonitorRecord> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(watched: Watched, origin: Instant, stopped: &Receiver<()>) -> MonitorRecord {
    let mut sampler = Sampler::start(watched, CoreChoice::Allowed);
    let mut record = MonitorRecord::default();
    let mut interval_end = next_after(origin, sampler.interval_start() + SHORTEST, SECOND);
    loop {
        let now = Instant::now();
        // After a late look the one that is almost due is left out.
        let next_look = next_after(origin, now + LOOK_EVERY / 10, LOOK_EVERY);
        match stopped.recv_timeout(next_look.saturating_duration_since(now)) {
            Err(RecvTimeoutError::Timeout) if next_look >= interval_end => {
                record.seconds.push(sampler.close(origin));
                interval_end = next_after(origin, sampler.interval_start() + SHORTEST, SECOND);
            }
            Err(RecvTimeoutError::Timeout) => sampler.look(false),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    record.seconds.push(sampler.close(origin));
    record.memory = sampler.memory();
    record.blind_spots = sampler.blind_spots().into_iter().map(Stated::Fact).collect();
    record
}

const SECOND: Duration = Duration::from_secs(1);

/// The first moment at or after `moment` that is a whole number of `step`s away from `origin`.
fn next_after(origin: Instant, moment: Instant, step: Duration) -> Instant {
    match moment.checked_duration_since(origin) {
        Some(since) => {
            let steps = since.as_nanos().div_ceil(step.as_nanos()) as u64;
            origin + Duration::from_nanos(steps * step.as_nanos() as u64)
        }
        None => {
            let steps = ((origin - moment).as_nanos() / step.as_nanos()) as u64;
            origin - Duration::from_nanos(steps * step.as_nanos() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::terms::{ProcessFacts, Role};

    #[test]
    fn looks_fall_on_whole_steps_from_the_origin_also_before_it() {
        let base = Instant::now() + Duration::from_secs(100);
        let at = |ms: i64| {
            let distance = Duration::from_millis(ms.unsigned_abs());
            if ms < 0 { base - distance } else { base + distance }
        };
        for (moment, expected) in
            [(0, 0), (1, 100), (100, 100), (999, 1000), (-1, 0), (-100, -100), (-450, -400)]
        {
            assert_eq!(next_after(base, at(moment), LOOK_EVERY), at(expected), "{moment}");
        }
    }

    #[test]
    fn a_dropped_monitor_has_ended_its_thread() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let role = Box::new(move |_: ProcessFacts<'_>| {
            let _in_use = &held;
            Role::Other
        });
        let roots = vec![std::process::id()];
        let watched = Watched::processes(roots, role);
        let monitor = Monitor::start(watched, Instant::now());
        drop(monitor);
        assert_eq!(Arc::strong_count(&alive), 1, "the thread still holds what it watched with");
    }
}
