//! What the machine's cores did between two moments, and how long a quota held the server back.
//!
//! In: `/proc/stat` and the `cpu.stat` of control groups. Out: a [`HostUse`].

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::PathBuf;

use super::process::tick_ns;
use super::text::{self, CoreTicks, Throttled};
use crate::terms::{CoreUse, HostUse};

/// Counts from one call to the next.
pub struct Cores {
    file: Option<File>,
    before: Vec<CoreTicks>,
    now: Vec<CoreTicks>,
    buffer: Vec<u8>,
}

impl Cores {
    /// Begins to count.
    pub fn start() -> Self {
        let file = File::open("/proc/stat").ok();
        let mut cores = Self { file, before: Vec::new(), now: Vec::new(), buffer: Vec::new() };
        cores.read();
        std::mem::swap(&mut cores.before, &mut cores.now);
        cores
    }

    /// False where `/proc/stat` cannot be read.
    pub fn is_seen(&self) -> bool {
        !self.before.is_empty()
    }

    fn read(&mut self) {
        self.now.clear();
        let Some(file) = &mut self.file else { return };
        self.buffer.clear();
        // The file is opened once: a failing read leaves no cores, which `is_seen` tells.
        if file.rewind().and_then(|()| file.read_to_end(&mut self.buffer)).is_err() {
            return;
        }
        text::cores(&self.buffer, &mut self.now);
    }

    /// What the cores with these numbers did since the last call; all that are online when `chosen`
    /// is empty.
    pub fn used(&mut self, chosen: &[u16]) -> HostUse {
        self.read();
        let used = between(&self.before, &self.now, chosen);
        std::mem::swap(&mut self.before, &mut self.now);
        used
    }
}

/// Use between two readings. A core that came online in between is left out; a counter that ran
/// backwards, as idle and iowait do on some kernels, counts as nothing.
fn between(before: &[CoreTicks], now: &[CoreTicks], chosen: &[u16]) -> HostUse {
    let seconds = tick_ns() as f64 / 1e9;
    let mut used = HostUse::default();
    let is_chosen = |core: &&CoreTicks| chosen.is_empty() || chosen.contains(&core.core);
    for now in now.iter().filter(is_chosen) {
        let Some(before) = before.iter().find(|core| core.core == now.core) else { continue };
        let user = now.user.saturating_sub(before.user);
        let system = now.system.saturating_sub(before.system);
        let idle = now.idle.saturating_sub(before.idle);
        let iowait = now.iowait.saturating_sub(before.iowait);
        let steal = now.steal.saturating_sub(before.steal);
        let total = (user + system + idle + iowait + steal).max(1) as f64;
        used.cores_busy.push((user + system) as f64 / total);
        used.steal_s += steal as f64 * seconds;
        used.iowait_s += iowait as f64 * seconds;
        let share = |ticks: u64| ticks as f64 / total;
        used.cores.push(CoreUse {
            core: now.core,
            user: share(user),
            system: share(system),
            idle: share(idle),
            iowait: share(iowait),
            steal: share(steal),
        });
    }
    used
}

/// How often and how long quotas held a group back: its own and those of the groups around it.
pub(super) struct Throttling {
    files: Vec<PathBuf>,
    /// By file; `None` where there is none.
    before: Vec<Option<Throttled>>,
}

impl Throttling {
    /// `folders` are control groups with a `cpu.stat`.
    pub fn start(folders: Vec<PathBuf>) -> Self {
        let files = folders.into_iter().map(|folder| folder.join("cpu.stat")).collect();
        let mut throttling = Self { files, before: Vec::new() };
        throttling.before = throttling.read();
        throttling
    }

    fn read(&self) -> Vec<Option<Throttled>> {
        let read = |file: &PathBuf| text::throttled(&fs::read(file).ok()?);
        self.files.iter().map(read).collect()
    }

    /// Since the last call. Of several groups, one inside the other, each can stop the server: the
    /// times add up, and the periods are those of the one with the most.
    pub fn used(&mut self) -> Throttled {
        let now = self.read();
        let before = std::mem::replace(&mut self.before, now);
        let both = self.before.iter().zip(before).filter_map(|(now, before)| now.zip(before));
        both.fold(Throttled::default(), |sum, (now, before)| Throttled {
            periods: sum.periods.max(now.periods.saturating_sub(before.periods)),
            throttled: sum.throttled + now.throttled.saturating_sub(before.throttled),
            ns: sum.ns + now.ns.saturating_sub(before.ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(core: u16, user: u64, idle: u64, iowait: u64, steal: u64) -> CoreTicks {
        CoreTicks { core, user, system: 0, idle, iowait, steal }
    }

    #[test]
    fn busy_is_a_share_and_steal_and_iowait_are_sums() {
        let before = [core(0, 100, 100, 0, 0), core(1, 0, 0, 0, 0)];
        let now = [core(0, 150, 130, 10, 10), core(1, 0, 90, 0, 10)];
        let used = between(&before, &now, &[]);
        assert_eq!(used.cores_busy, [0.5, 0.0]);
        let tick = tick_ns() as f64 / 1e9;
        assert!((used.steal_s - 20.0 * tick).abs() < 1e-12);
        assert!((used.iowait_s - 10.0 * tick).abs() < 1e-12);
        let first = &used.cores[0];
        let shares = [first.user, first.system, first.idle, first.iowait, first.steal];
        assert_eq!(shares, [0.5, 0.0, 0.3, 0.1, 0.1]);
        let second = between(&before, &now, &[1]);
        assert_eq!((second.cores_busy, second.iowait_s), (vec![0.0], 0.0));
    }

    #[test]
    fn counters_that_run_backwards_and_new_cores_do_no_harm() {
        let before = [core(0, 100, 100, 50, 0)];
        let now = [core(0, 110, 90, 40, 0), core(1, 5, 5, 5, 5)];
        assert_eq!(between(&before, &now, &[]).cores_busy, [1.0]);
        assert_eq!(between(&before, &before, &[]).cores_busy, [0.0]);
    }

    #[test]
    fn throttling_sums_the_groups_and_counts_from_the_last_call() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let write = |group: usize, text: &str| {
            fs::write(folders[group].path().join("cpu.stat"), text).unwrap();
        };
        write(0, "nr_periods 9\nnr_throttled 5\nthrottled_usec 1000\n");
        write(1, "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
        let mut paths: Vec<PathBuf> =
            folders.iter().map(|folder| folder.path().to_path_buf()).collect();
        paths.push(folders[0].path().join("missing"));
        let mut throttling = Throttling::start(paths);
        write(0, "nr_periods 19\nnr_throttled 8\nthrottled_usec 501000\n");
        write(1, "nr_periods 12\nnr_throttled 1\nthrottled_usec 500000\n");
        assert_eq!(throttling.used(), Throttled { periods: 12, throttled: 4, ns: 1_000_000_000 });
        assert_eq!(throttling.used(), Throttled::default());
    }
}
