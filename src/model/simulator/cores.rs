//! Cores shared equally by all that runs (processor sharing).
//!
//! With n jobs on C cores each runs at the rate min(1, C/n). Instead of updating every job, a
//! virtual clock runs at that rate: a job of work w begun at virtual time v ends at v + w, however
//! the rate changes in between.

use super::calendar::Calendar;
use super::quota::{Allowance, Quota};

/// Work that is left when a job ends by its own time, seconds: rounding, and no more.
const ROUNDING_S: f64 = 1e-9;

/// A piece of CPU work being done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) request: u32,
    pub(super) worker: u32,
    /// CPU seconds in all.
    work_s: f64,
    /// Real time at which it began.
    started_s: f64,
}

/// What a job has used so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) worker: u32,
    pub(super) cpu_s: f64,
    /// Time on the cores in excess of the CPU time: its waiting for a core.
    pub(super) run_delay_s: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Cores {
    cores: f64,
    allowance: Option<Allowance>,
    /// What runs, by the virtual time at which it ends.
    jobs: Calendar<Job>,
    virtual_now: f64,
    /// Real time up to which the virtual clock has been advanced.
    now: f64,
}

impl Cores {
    pub(super) fn new(cores: f64, quota: Option<Quota>) -> Self {
        let allowance = quota.map(Allowance::new);
        Self { cores, allowance, jobs: Calendar::new(), virtual_now: 0.0, now: 0.0 }
    }

    /// How many jobs run.
    fn running(&self) -> usize {
        self.jobs.iter().len()
    }

    /// CPU seconds that each job gets in a second.
    fn rate(&self) -> f64 {
        match &self.allowance {
            Some(allowance) if allowance.is_used_up() => 0.0,
            _ => (self.cores / self.running() as f64).min(1.0),
        }
    }

    fn advance(&mut self, now: f64) {
        let running = self.running();
        let each_s = if running == 0 { 0.0 } else { (now - self.now) * self.rate() };
        // Starting anew keeps the virtual clock small and so exact.
        self.virtual_now = if running == 0 { 0.0 } else { self.virtual_now + each_s };
        if let Some(allowance) = &mut self.allowance {
            allowance.use_up(each_s * running as f64, now);
        }
        self.now = now;
    }

    pub(super) fn start(&mut self, now: f64, request: u32, worker: u32, work_s: f64) {
        self.advance(now);
        let job = Job { request, worker, work_s, started_s: now };
        self.jobs.add(self.virtual_now + work_s, job);
    }

    /// When the next job ends, or the quota stops or lets go on what runs; infinity when nothing
    /// runs.
    pub(super) fn next_time(&self) -> f64 {
        let running = self.running();
        if running == 0 {
            return f64::INFINITY;
        }
        let rate = self.rate();
        let ends = match rate > 0.0 {
            true => self.now + (self.jobs.next_time() - self.virtual_now).max(0.0) / rate,
            false => f64::INFINITY,
        };
        match &self.allowance {
            None => ends,
            Some(allowance) => {
                let used = rate * running as f64;
                ends.min(allowance.next_time(self.now, used))
            }
        }
    }

    /// Ends the job that [`next_time`](Self::next_time) spoke of; `None` when it spoke of the
    /// quota.
    pub(super) fn finish_next(&mut self, now: f64) -> Option<(Job, Progress)> {
        self.advance(now);
        let left_s = self.jobs.next_time() - self.virtual_now;
        if self.allowance.is_some() && left_s > ROUNDING_S {
            return None;
        }
        let job = self.jobs.pop()?;
        let run_delay_s = (now - job.started_s - job.work_s).max(0.0);
        Some((job, Progress { worker: job.worker, cpu_s: job.work_s, run_delay_s }))
    }

    /// Takes a request's job off the cores; returns the work left, and what was used.
    pub(super) fn interrupt(&mut self, now: f64, request: u32) -> Option<(f64, Progress)> {
        self.advance(now);
        let (finish, &job) = self.jobs.iter().find(|(_, job)| job.request == request)?;
        let progress = self.progress_of(finish, &job);
        // Rare (a lock's quantum ran out) and the heap is short, so rebuilding it is cheap enough.
        self.jobs.retain(|other| other.request != request);
        Some(((job.work_s - progress.cpu_s).max(0.0), progress))
    }

    /// What the jobs that run have used so far.
    pub(super) fn progress(&mut self, now: f64) -> impl Iterator<Item = Progress> + '_ {
        self.advance(now);
        self.jobs.iter().map(|(finish, job)| self.progress_of(finish, job))
    }

    /// Of a job that ends at this virtual time.
    fn progress_of(&self, finish: f64, job: &Job) -> Progress {
        let cpu_s = (job.work_s - (finish - self.virtual_now).max(0.0)).max(0.0);
        let run_delay_s = (self.now - job.started_s - cpu_s).max(0.0);
        Progress { worker: job.worker, cpu_s, run_delay_s }
    }

    pub(super) fn clear(&mut self) {
        self.jobs.retain(|_| false);
    }
}
