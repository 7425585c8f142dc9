//! What an offer at the zoo showed, in the form in which real ones are recorded.

use std::time::Duration;

use sweetspot::place::Offer;
use sweetspot::terms::{
    Configuration, GeneratorUse, HostUse, Latencies, LiveSecond, LoadRecord, LoadRun, LoadSecond,
    MonitorRecord, MonitorSecond, Phase, ProcessMemory, ProcessUse, Role,
};

use super::app::App;
use super::job::{Ending, Outcome, Usage, Worker};

/// Of a worker, beside those that serve.
const OTHER_THREADS: u32 = 2;
const REQUEST_BYTES: u64 = 120;
const REPLY_BYTES: u64 = 900;
/// What the generator takes for a request on cores of its own, seconds.
const GENERATOR_S: f64 = 60e-6;

/// Second by second, what the generator and the monitor see.
pub struct Recorder<'a> {
    app: &'a App,
    configuration: Configuration,
    first_pid: u32,
    began_s: f64,
    load: LoadRecord,
    monitor: MonitorRecord,
    /// When the second that is open began, since the load began; seconds.
    second_began_s: f64,
    before: Usage,
    ended: u64,
    due_before: u64,
    replies: u64,
    errors: u64,
    latencies: Latencies,
}

impl<'a> Recorder<'a> {
    pub fn new(
        offer: &Offer,
        app: &'a App,
        configuration: Configuration,
        first_pid: u32,
        began_s: f64,
    ) -> Self {
        let run = LoadRun {
            offered: offer.offered,
            warm_up: offer.warm_up,
            duration: Duration::ZERO,
            last_reply: Duration::ZERO,
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        Self {
            app,
            configuration,
            first_pid,
            began_s,
            load: LoadRecord { run, seconds: Vec::new() },
            monitor: MonitorRecord::default(),
            second_began_s: 0.0,
            before: Usage::default(),
            ended: 0,
            due_before: 0,
            replies: 0,
            errors: 0,
            latencies: Latencies::default(),
        }
    }

    pub fn begin(&mut self, usage: Usage) {
        self.before = usage;
    }

    /// A second begins in which requests are due.
    pub fn open_second(&mut self) {
        self.load.seconds.push(LoadSecond::default());
    }

    /// A request has ended.
    pub fn count(&mut self, outcome: Outcome) {
        let latency = Duration::from_secs_f64(outcome.latency_s());
        let at = (outcome.due_s - self.began_s).max(0.0) as usize;
        let last = self.load.seconds.len() - 1;
        let second = &mut self.load.seconds[at.min(last)];
        second.due += 1;
        second.latency.record(latency);
        self.ended += 1;
        let lag_s = (outcome.sent_s - outcome.due_s).max(0.0);
        if outcome.ending != Ending::Refused {
            second.sent += 1;
            second.bytes_out += REQUEST_BYTES;
            second.send_lag.record(Duration::from_secs_f64(lag_s));
        }
        let status = match outcome.ending {
            Ending::Reply => 200,
            Ending::Failed => 500,
            Ending::Timeout => {
                second.errors.timeout += 1;
                self.errors += 1;
                return;
            }
            Ending::Refused => {
                second.errors.refused += 1;
                self.errors += 1;
                return;
            }
        };
        *second.status.entry(status).or_default() += 1;
        second.exchange_time.record(latency.saturating_sub(Duration::from_secs_f64(lag_s)));
        second.bytes_in += REPLY_BYTES;
        self.replies += 1;
        self.errors += u64::from(status != 200);
        self.latencies.record(latency);
        let ended_s = (outcome.ended_s - self.began_s).max(0.0);
        self.load.run.last_reply = Duration::from_secs_f64(ended_s);
    }

    /// The second that ends at `at_s` (since the load began) is over.
    pub fn close_second(&mut self, usage: Usage, at_s: f64, phase: Phase) -> LiveSecond {
        let length_s = (at_s - self.second_began_s).max(1e-9);
        let before = std::mem::take(&mut self.before);
        let in_flight_mean = (usage.in_flight_area_s - before.in_flight_area_s) / length_s;
        let due = (self.ended + usage.in_flight).saturating_sub(self.due_before);
        self.due_before += due;
        if phase != Phase::Drain
            && let Some(second) = self.load.seconds.last_mut()
        {
            second.replies = self.replies;
            second.in_flight = usage.in_flight;
            second.in_flight_mean = in_flight_mean;
        }
        let processes = self.processes(&before, &usage);
        let host = self.host(&processes, &before, &usage, length_s);
        self.monitor.seconds.push(MonitorSecond {
            at_s: self.second_began_s,
            length_s,
            processes,
            host,
            listen_queue: Some(usage.backlog),
            ..MonitorSecond::default()
        });
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
        (self.second_began_s, self.before) = (at_s, usage);
        (self.replies, self.errors) = (0, 0);
        self.latencies = Latencies::default();
        live
    }

    /// Nothing is due any more.
    pub fn was_due_for(&mut self, length_s: f64) {
        self.load.run.duration = Duration::from_secs_f64(length_s);
    }

    pub fn finish(mut self, is_cut_short: bool) -> (LoadRecord, MonitorRecord) {
        self.load.run.is_cut_short = is_cut_short;
        let shared_s = self.app.hardware.generator_s;
        let each_s = if shared_s > 0.0 { shared_s } else { GENERATOR_S };
        let cpu_s = each_s * self.ended as f64;
        let length_s = self.load.run.duration.as_secs_f64().max(1e-9);
        self.load.run.generator = GeneratorUse {
            cpu_user: Duration::from_secs_f64(0.4 * cpu_s),
            cpu_system: Duration::from_secs_f64(0.6 * cpu_s),
            rss_bytes_max: 20 << 20,
            busiest_loop: (cpu_s / length_s).min(1.0),
        };
        self.monitor.memory = self.memory();
        (self.load, self.monitor)
    }

    fn has_master(&self) -> bool {
        self.configuration.workers.get() > 1
    }

    fn worker_pids(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first_pid + u32::from(self.has_master());
        first..first + u32::from(self.configuration.workers.get())
    }

    fn processes(&self, before: &Usage, after: &Usage) -> Vec<ProcessUse> {
        let master = self.has_master().then(|| ProcessUse {
            pid: self.first_pid,
            role: Role::Master,
            name: "zoo master".into(),
            threads: OTHER_THREADS,
            ..ProcessUse::default()
        });
        let unused = Worker::default();
        let workers = self.worker_pids().zip(&after.workers).enumerate().map(|(at, (pid, now))| {
            let then = before.workers.get(at).unwrap_or(&unused);
            let cpu_s = now.cpu_s - then.cpu_s;
            ProcessUse {
                pid,
                role: Role::Worker,
                index: Some(at as u16),
                name: "zoo worker".into(),
                cpu_s,
                user_s: 0.85 * cpu_s,
                system_s: 0.15 * cpu_s,
                run_delay_s: now.run_delay_s - then.run_delay_s,
                voluntary_switches: now.voluntary_switches - then.voluntary_switches,
                involuntary_switches: now.involuntary_switches - then.involuntary_switches,
                threads: u32::from(self.configuration.threads.get()) + OTHER_THREADS,
                threads_runnable: f64::from(u8::from(now.interpreter.free == 0)),
                ..ProcessUse::default()
            }
        });
        master.into_iter().chain(workers).collect()
    }

    fn host(
        &self,
        processes: &[ProcessUse],
        before: &Usage,
        after: &Usage,
        length_s: f64,
    ) -> HostUse {
        let cores = self.app.hardware.cores;
        let cpu_s: f64 = processes.iter().map(|process| process.cpu_s).sum();
        let cpu_s = cpu_s + self.app.hardware.generator_s * self.replies as f64;
        let busy = (cpu_s / length_s / cores as f64).min(1.0);
        HostUse {
            cores_busy: vec![busy; cores],
            throttled_s: after.throttled_s - before.throttled_s,
            throttled_periods: after.throttled_periods - before.throttled_periods,
            periods: after.periods - before.periods,
            ..HostUse::default()
        }
    }

    fn memory(&self) -> Vec<ProcessMemory> {
        let memory = &self.app.memory;
        let threads = u64::from(self.configuration.threads.get());
        let own = memory.worker_bytes + threads * memory.thread_bytes;
        let master = self.has_master().then_some((self.first_pid, Role::Master, 0));
        let workers = self.worker_pids().map(|pid| (pid, Role::Worker, own));
        let all: Vec<_> = master.into_iter().chain(workers).collect();
        let share = memory.shared_bytes / all.len() as u64;
        let one = |&(pid, role, own): &(u32, Role, u64)| ProcessMemory {
            pid,
            role,
            pss_bytes: own + share,
            uss_bytes: own,
            rss_bytes: own + memory.shared_bytes,
            ..ProcessMemory::default()
        };
        all.iter().map(one).collect()
    }
}
