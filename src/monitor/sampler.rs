//! Looks at everything that is watched, and turns what happened between two moments into one
//! [`MonitorSecond`].
//!
//! In: what to watch, and calls at the times the caller chooses. Out: intervals. Has no thread and
//! no schedule of its own: the monitor's thread and `watch` both drive it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::cores::{Cores, Throttling};
use super::devices::Devices;
use super::group_use::GroupCounters;
use super::inside::Inside;
use super::neighbours::Neighbours;
use super::process::{Process, cpu_clock_ns};
use super::queue::ListenQueue;
use super::serving::Serving;
use super::stats::Stats;
use super::tree::Tree;
use super::watched::Watched;
use super::{groups, host, text};
use crate::terms::{
    BlindSpot, HostUse, InsideRequest, MonitorSecond, ProcessFacts, ProcessMemory, ProcessUse, Role,
};

/// Which cores are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreChoice {
    /// Those the watched process may run on.
    Allowed,
    /// All that are online.
    All,
}

/// How many connections waited at each look.
#[derive(Default)]
struct Depths {
    deepest: Option<u32>,
    sum: u64,
    looks: u32,
}

impl Depths {
    fn add(&mut self, depth: Option<u32>) {
        let Some(depth) = depth else { return };
        // `None` is less than any depth.
        self.deepest = self.deepest.max(Some(depth));
        self.sum += u64::from(depth);
        self.looks += 1;
    }

    fn mean(&self) -> Option<f64> {
        (self.looks > 0).then(|| self.sum as f64 / f64::from(self.looks))
    }
}

/// Looks when told to.
pub struct Sampler {
    watched: Watched,
    tree: Tree,
    serving: Serving,
    cores: Cores,
    core_choice: CoreChoice,
    /// Empty for all.
    chosen_cores: Vec<u16>,
    throttling: Throttling,
    group: Option<GroupCounters>,
    devices: Devices,
    neighbours: Neighbours,
    inside: Option<Inside>,
    /// What others than these processes tell is left out.
    hears_the_watched_alone: bool,
    stats: Option<Stats>,
    queue: Option<ListenQueue>,
    /// The listen queue in this interval.
    depths: Depths,
    interval_start: Instant,
    buffer: Vec<u8>,
    /// In the order in which they were found.
    blind_spots: Vec<BlindSpot>,
}

impl Sampler {
    /// Takes the first look; what was used before it is not counted.
    pub fn start(mut watched: Watched, cores: CoreChoice) -> Self {
        let stats = watched.stats.take().map(Stats::of);
        let root = watched.roots[0];
        let throttling = Throttling::start(throttling_groups(&watched));
        let queue = ListenQueue::open(watched.port, watched.socket.as_deref(), root);
        let mut sampler = Self {
            tree: Tree::new(&watched),
            serving: Serving::new(watched.port, watched.socket.clone()),
            cores: Cores::start(),
            core_choice: cores,
            chosen_cores: Vec::new(),
            throttling,
            group: GroupCounters::start(watched.group.clone()),
            devices: Devices::start(root),
            neighbours: Neighbours::default(),
            inside: None,
            hears_the_watched_alone: false,
            stats,
            queue,
            depths: Depths::default(),
            interval_start: Instant::now(),
            // Enough for any file that is read in one piece; command lines are cut there.
            buffer: vec![0; 16 * 1024],
            blind_spots: Vec::new(),
            watched,
        };
        sampler.listen_to_the_probe();
        sampler.note_blind_spots();
        sampler.look(true);
        sampler.note_root();
        sampler
    }

    fn listen_to_the_probe(&mut self) {
        let Some(path) = &self.watched.probe else { return };
        match Inside::open(path) {
            Ok(inside) => self.inside = Some(inside),
            Err(error) => self.blind(BlindSpot::ProbeUnheard { error: error.to_string() }),
        }
    }

    fn note_blind_spots(&mut self) {
        if !self.cores.is_seen() {
            self.blind(BlindSpot::CoresUnknown);
        }
        if !Path::new("/proc/self/schedstat").exists() {
            self.blind(BlindSpot::CoreWaitsUnknown);
        }
        let group = self.watched.cgroup.as_ref().filter(|group| !group.is_dir());
        if let Some(folder) = group.map(|group| group.display().to_string()) {
            self.blind(BlindSpot::GroupMissing { folder });
        }
    }

    fn note_root(&mut self) {
        let root = self.watched.roots[0];
        if self.tree.processes.iter().any(|process| process.pid == root) {
            return;
        }
        if cpu_clock_ns(root).is_some() && !Path::new(&format!("/proc/{root}")).exists() {
            self.blind(BlindSpot::ProcessHidden { pid: root });
        } else {
            self.blind(BlindSpot::ProcessGone { pid: root });
        }
    }

    fn blind(&mut self, spot: BlindSpot) {
        if !self.blind_spots.contains(&spot) {
            self.blind_spots.push(spot);
        }
    }

    /// Brings all counters up to date. `thorough` searches for new processes even when the kernel
    /// says that there are none; once a second is enough.
    pub fn look(&mut self, thorough: bool) {
        self.tree.look(thorough, &mut self.buffer);
        if let Some(queue) = &mut self.queue {
            self.depths.add(queue.waiting());
        }
        self.hear();
        if let Some(stats) = &mut self.stats {
            stats.look();
        }
    }

    /// Reads what the probe has told: its queue is short where requests are told one by one.
    pub fn hear(&mut self) {
        if let Some(inside) = &mut self.inside {
            inside.look();
        }
    }

    /// From now on, what the probe tells in processes that are not watched is left out: the socket
    /// may be theirs too. A process that ended within an interval may be left out of it.
    pub fn hear_the_watched_alone(&mut self) {
        self.hears_the_watched_alone = true;
    }

    /// The requests that were told one by one since the last call.
    pub fn requests(&mut self) -> Vec<InsideRequest> {
        self.inside.as_mut().map(Inside::requests).unwrap_or_default()
    }

    /// How many threads the server may have at most in each process, as one of these told last;
    /// `None` where none says so.
    pub fn threads_told(&self) -> Option<u64> {
        self.inside.as_ref().and_then(Inside::threads)
    }

    /// A process that is not watched and told something through the probe's socket all the same,
    /// where only what the watched ones tell is heard; by the id that it has for itself.
    pub fn other_told(&self) -> Option<u32> {
        self.inside.as_ref().and_then(Inside::other)
    }

    /// True when no process is left.
    pub fn is_over(&self) -> bool {
        self.tree.processes.iter().all(|process| process.is_gone)
    }

    /// When the current interval began.
    pub fn interval_start(&self) -> Instant {
        self.interval_start
    }

    /// Takes a last look and ends the interval; the next one begins. Times count from `origin`.
    pub fn close(&mut self, origin: Instant) -> MonitorSecond {
        self.look(true);
        let now = Instant::now();
        let started = std::mem::replace(&mut self.interval_start, now);
        self.choose_cores();
        let length_s = (now - started).as_secs_f64();
        let processes = self.close_processes();
        if let Some(inside) = self.inside.as_mut().filter(|_| self.hears_the_watched_alone) {
            inside.hear_only(processes.iter().map(|process| own_pid(process.pid)).collect());
        }
        let host = self.close_host(&processes, length_s);
        let group = self.group.as_mut().map(GroupCounters::used);
        let depths = std::mem::take(&mut self.depths);
        if self.queue.is_some() && depths.deepest.is_none() {
            self.blind(BlindSpot::ListenQueueUnseen { port: self.watched.port });
        }
        MonitorSecond {
            at_s: seconds_between(origin, started),
            length_s,
            processes,
            host,
            listen_queue: depths.deepest,
            listen_queue_mean: depths.mean(),
            listen_backlog: self.queue.as_mut().and_then(ListenQueue::backlog),
            listen_overflows: self.queue.as_mut().and_then(ListenQueue::overflows),
            group,
            inside: self.inside.as_mut().map(Inside::used).unwrap_or_default(),
            worker_stats: self.stats.as_mut().map(Stats::newest).unwrap_or_default(),
        }
    }

    fn close_host(&mut self, processes: &[ProcessUse], length_s: f64) -> HostUse {
        let mut host = self.cores.used(&self.chosen_cores);
        let throttled = self.throttling.used();
        host.periods = throttled.periods;
        host.throttled_periods = throttled.throttled;
        host.throttled_s = throttled.ns as f64 / 1e9;
        (host.networks, host.disks) = self.devices.used();
        let busy_s = host.cores_busy.iter().sum::<f64>() * length_s;
        let server_s: f64 = processes.iter().map(|process| process.cpu_s).sum();
        let pids: Vec<u32> = processes.iter().map(|process| process.pid).collect();
        let cores = &self.chosen_cores;
        host.neighbours = self.neighbours.used(&pids, busy_s - server_s, length_s, cores);
        host
    }

    /// A server may be pinned after it was started, so this is asked anew; when it has ended, the
    /// last answer stands.
    fn choose_cores(&mut self) {
        if self.core_choice == CoreChoice::Allowed {
            let allowed = host::allowed_cores(self.watched.roots[0]);
            if !allowed.is_empty() {
                self.chosen_cores = allowed;
            }
        }
    }

    fn close_processes(&mut self) -> Vec<ProcessUse> {
        let mut uses = Vec::with_capacity(self.tree.processes.len());
        let serving = self.serving();
        for process in &mut self.tree.processes {
            let mut used = process.close(&mut self.tree.resources, &mut self.buffer);
            used.role = (self.watched.role)(seen(process, &serving));
            uses.push(used);
        }
        self.tree.forget_ended();
        uses.sort_unstable_by_key(|used| used.pid);
        number_workers(&mut uses);
        uses
    }

    /// The processes that serve, as far as their sockets show.
    fn serving(&mut self) -> HashSet<u32> {
        // Those that have ended too: what they used last is still to be told.
        let pids: Vec<u32> = self.tree.processes.iter().map(|process| process.pid).collect();
        self.serving.among(&pids)
    }

    /// Walks the memory of every process; costs milliseconds, so call it seldom.
    pub fn memory(&mut self) -> Vec<ProcessMemory> {
        let mut found = Vec::with_capacity(self.tree.processes.len());
        let serving = self.serving();
        let mut refused = Vec::new();
        let mut buffer = Vec::with_capacity(1024);
        for process in self.tree.processes.iter().filter(|process| !process.is_gone) {
            match process.memory(&mut buffer) {
                Ok(mut memory) => {
                    memory.role = (self.watched.role)(seen(process, &serving));
                    found.push(memory);
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    refused.push(process.pid);
                }
                // It ended just now, and a process without memory has none to show.
                Err(_) => {}
            }
        }
        for pid in refused {
            self.blind(BlindSpot::MemoryRefused { pid });
        }
        found.sort_unstable_by_key(|memory| memory.pid);
        found
    }

    /// What could not be seen so far.
    pub fn blind_spots(&self) -> Vec<BlindSpot> {
        let of_the_probe = self.inside.iter().flat_map(Inside::blind_spots);
        self.blind_spots.iter().cloned().chain(of_the_probe).collect()
    }
}

fn seen<'a>(process: &'a Process, serving: &HashSet<u32>) -> ProcessFacts<'a> {
    let serves = serving.contains(&process.pid);
    ProcessFacts { is_root: process.is_root, title: &process.title, serves }
}

/// The id that a process has for itself, which is another one in a container.
fn own_pid(pid: u32) -> u32 {
    let status = std::fs::read(format!("/proc/{pid}/status"));
    status.ok().and_then(|status| text::own_pid(&status)).unwrap_or(pid)
}

/// The groups whose quota can hold the server back: the one it has, or is in, and those around it.
fn throttling_groups(watched: &Watched) -> Vec<PathBuf> {
    match &watched.cgroup {
        Some(folder) => folder
            .ancestors()
            .take_while(|folder| folder.join("cpu.stat").is_file())
            .filter(|one| *one == folder || groups::quota_in(one).is_some())
            .map(|folder| folder.to_path_buf())
            .collect(),
        None => {
            let group = groups::of(watched.roots[0]).cpu;
            let folders = group.iter().flat_map(groups::Group::way_up);
            folders
                .filter(|folder| groups::quota_in(folder).is_some())
                .map(|folder| folder.to_path_buf())
                .collect()
        }
    }
}

/// Numbers the workers from 0 in the order of their ids.
fn number_workers(uses: &mut [ProcessUse]) {
    let workers = uses.iter_mut().filter(|used| used.role == Role::Worker);
    for (index, worker) in workers.enumerate() {
        worker.index = u16::try_from(index).ok();
    }
}

/// Seconds from `origin`, negative before it.
fn seconds_between(origin: Instant, moment: Instant) -> f64 {
    match moment.checked_duration_since(origin) {
        Some(after) => after.as_secs_f64(),
        None => -(origin - moment).as_secs_f64(),
    }
}
