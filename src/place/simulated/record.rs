//! What a simulated offer showed, in the form that real ones are recorded in.

use std::time::Duration;

use super::super::Offer;
use super::SimulatedApp;
use crate::model::simulator::{Ending, Outcome, Usage, WorkerUsage};
use crate::terms::{
    Configuration, GeneratorUse, HostUse, Latencies, LiveSecond, LoadRecord, LoadRun, LoadSecond,
    MonitorRecord, MonitorSecond, Phase, ProcessMemory, ProcessUse, Role, TargetSecond,
};

/// Threads of a worker beside those that serve requests: the main thread, acceptor and reactor.
const OTHER_THREADS: u32 = 3;
const REQUEST_BYTES: u64 = 100;
const REPLY_BYTES: u64 = 200;

fn count_for_target(target: &mut TargetSecond, outcome: &Outcome, latency: Duration) {
    target.latency.record(latency);
    match outcome.ending {
        Ending::Reply => *target.status.entry(200).or_default() += 1,
        Ending::Timeout => target.errors.timeout += 1,
        Ending::Reset => target.errors.reset += 1,
        Ending::Refused => target.errors.refused += 1,
    }
}

/// Second by second, what the generator and the monitor would have seen.
pub(super) struct Recorder<'a> {
    app: &'a SimulatedApp,
    configuration: Configuration,
    first_pid: u32,
    load: LoadRecord,
    monitor: MonitorRecord,
    /// When the second that is open began, since the load began; seconds.
    second_began_s: f64,
    /// Counters at that time.
    before: Option<Usage>,
    /// Requests that have ended, of all that were due.
    ended: u64,
    due_before: u64,
    replies: u64,
    errors: u64,
    latencies: Latencies,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        offer: &Offer,
        app: &'a SimulatedApp,
        configuration: Configuration,
        first_pid: u32,
    ) -> Self {
        Self {
            app,
            configuration,
            first_pid,
            load: LoadRecord {
                run: LoadRun {
                    offered: offer.offered,
                    warm_up: offer.warm_up,
                    duration: Duration::ZERO,
                    last_reply: Duration::ZERO,
                    is_cut_short: false,
                    tls_trouble: None,
                    rows_left_out: 0,
                    generator: GeneratorUse::default(),
                },
                seconds: Vec::new(),
            },
            monitor: MonitorRecord::default(),
            second_began_s: 0.0,
            before: None,
            ended: 0,
            due_before: 0,
            replies: 0,
            errors: 0,
            latencies: Latencies::default(),
        }
    }

    /// Counters when the load begins.
    pub(super) fn begin(&mut self, usage: Usage) {
        self.before = Some(usage);
    }

    /// A second begins in which requests are due.
    pub(super) fn open_second(&mut self) {
        self.load.seconds.push(LoadSecond::default());
    }

    /// A request has ended.
    pub(super) fn count(&mut self, outcome: Outcome, began_s: f64) {
        let latency = Duration::from_secs_f64((outcome.ended_s - outcome.due_s).max(0.0));
        let index = (outcome.due_s - began_s).max(0.0) as usize;
        let last = self.load.seconds.len() - 1;
        let second = &mut self.load.seconds[index.min(last)];
        second.due += 1;
        second.latency.record(latency);
        self.ended += 1;
        if !self.app.others.is_empty() {
            second.by_target.resize_with(1 + self.app.others.len(), TargetSecond::default);
            count_for_target(&mut second.by_target[usize::from(outcome.kind)], &outcome, latency);
        }
        if outcome.ending != Ending::Refused {
            second.sent += 1;
            second.bytes_out += REQUEST_BYTES;
            second.send_lag.record(Duration::ZERO);
        }
        match outcome.ending {
            Ending::Reply => {
                *second.status.entry(200).or_default() += 1;
                second.exchange_time.record(latency);
                second.bytes_in += REPLY_BYTES;
                self.replies += 1;
                self.latencies.record(latency);
                self.load.run.last_reply =
                    Duration::from_secs_f64((outcome.ended_s - began_s).max(0.0));
                return;
            }
            Ending::Timeout => second.errors.timeout += 1,
            Ending::Reset => second.errors.reset += 1,
            Ending::Refused => second.errors.refused += 1,
        }
        self.errors += 1;
    }

    /// The second that ends at `at_s` (since the load began) is over.
    pub(super) fn close_second(&mut self, usage: Usage, at_s: f64, phase: Phase) -> LiveSecond {
        let length_s = (at_s - self.second_began_s).max(1e-9);
        let before = self.before.replace(usage.clone()).unwrap_or_default();
        let in_flight_mean = (usage.in_flight_area_s - before.in_flight_area_s) / length_s;
        let due = self.ended + usage.in_flight - self.due_before;
        self.due_before += due;
        if phase != Phase::Drain
            && let Some(second) = self.load.seconds.last_mut()
        {
            second.replies = self.replies;
            second.in_flight = usage.in_flight;
            second.in_flight_mean = in_flight_mean;
        }
        let processes = self.processes(&before, &usage);
        let host = self.host(&processes, length_s);
        self.monitor.seconds.push(MonitorSecond {
            at_s: self.second_began_s,
            length_s,
            processes,
            host,
            listen_queue: Some(usage.backlog),
            ..MonitorSecond::default()
        });
        self.second_began_s = at_s;
        let live = LiveSecond {
            at: Duration::from_secs_f64(at_s),
            phase,
            due,
            sent: due,
            replies: self.replies,
            errors: self.errors,
            in_flight: usage.in_flight,
            in_flight_mean,
            p95: self.latencies.quantile(0.95),
            send_lag_p99: None,
        };
        (self.replies, self.errors) = (0, 0);
        self.latencies = Latencies::default();
        live
    }

    /// Nothing is due any more.
    pub(super) fn was_due_for(&mut self, length_s: f64) {
        self.load.run.duration = Duration::from_secs_f64(length_s);
    }

    /// `age_s`: how long the server has run.
    pub(super) fn finish(mut self, is_cut_short: bool, age_s: f64) -> (LoadRecord, MonitorRecord) {
        self.load.run.is_cut_short = is_cut_short;
        self.load.run.generator = GeneratorUse {
            cpu_user: Duration::from_secs_f64(0.4 * self.app.generator_s * self.ended as f64),
            cpu_system: Duration::from_secs_f64(0.6 * self.app.generator_s * self.ended as f64),
            rss_bytes_max: 16 << 20,
            // It has cores of its own and is never the limit.
            busiest_loop: 0.0,
        };
        self.monitor.memory = self.memory(age_s);
        (self.load, self.monitor)
    }

    fn has_master(&self) -> bool {
        self.configuration.workers.get() > 1
    }

    /// Process ids of the workers: the first process is the only worker, or the master.
    fn worker_pids(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first_pid + u32::from(self.has_master());
        first..first + u32::from(self.configuration.workers.get())
    }

    fn processes(&self, before: &Usage, after: &Usage) -> Vec<ProcessUse> {
        let master =
            self.has_master().then(|| self.process(self.first_pid, None, Default::default()));
        let workers = self.worker_pids().zip(&after.workers).enumerate().map(|(i, (pid, now))| {
            let then = before.workers.get(i).copied().unwrap_or_default();
            let used = WorkerUsage {
                cpu_s: now.cpu_s - then.cpu_s,
                run_delay_s: now.run_delay_s - then.run_delay_s,
                voluntary_switches: now.voluntary_switches - then.voluntary_switches,
                involuntary_switches: now.involuntary_switches - then.involuntary_switches,
                served: now.served - then.served,
                ..*now
            };
            self.process(pid, Some(i as u16), used)
        });
        master.into_iter().chain(workers).collect()
    }

    fn process(&self, pid: u32, index: Option<u16>, used: WorkerUsage) -> ProcessUse {
        let (role, name, pool) = match index {
            Some(_) => (Role::Worker, "simulated worker", self.configuration.threads.get()),
            None => (Role::Master, "simulated master", 0),
        };
        ProcessUse {
            pid,
            role,
            index,
            name: name.into(),
            cpu_s: used.cpu_s,
            user_s: 0.9 * used.cpu_s,
            system_s: 0.1 * used.cpu_s,
            run_delay_s: used.run_delay_s,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
            threads: u32::from(pool) + OTHER_THREADS,
            threads_runnable: f64::from(used.runnable),
            ..ProcessUse::default()
        }
    }

    /// The server is all that runs on its cores, evenly.
    fn host(&self, processes: &[ProcessUse], length_s: f64) -> HostUse {
        let cores = self.app.cores.ceil() as usize;
        let cpu_s: f64 = processes.iter().map(|process| process.cpu_s).sum();
        let busy = (cpu_s / length_s / cores as f64).min(1.0);
        HostUse { cores_busy: vec![busy; cores], ..HostUse::default() }
    }

    /// Shared pages are spread over all processes, as the kernel counts a proportional set size.
    fn memory(&self, age_s: f64) -> Vec<ProcessMemory> {
        let memory = &self.app.memory;
        let threads = u64::from(self.configuration.threads.get());
        let leaked = (memory.leak_bytes_s as f64 * age_s) as u64;
        let own = memory.worker_bytes + threads * memory.thread_bytes + leaked;
        let master = self.has_master().then_some((self.first_pid, Role::Master, 0));
        let workers = self.worker_pids().map(|pid| (pid, Role::Worker, own));
        let all: Vec<_> = master.into_iter().chain(workers).collect();
        let share = memory.shared_bytes / all.len() as u64;
        all.iter()
            .map(|&(pid, role, own)| ProcessMemory {
                pid,
                role,
                pss_bytes: own + share,
                uss_bytes: own,
                rss_bytes: own + memory.shared_bytes,
                ..ProcessMemory::default()
            })
            .collect()
    }
}
