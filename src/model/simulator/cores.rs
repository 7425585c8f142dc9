//! Cores shared equally by all that runs (processor sharing).
//!
//! With n jobs on C cores each runs at the rate min(1, C/n). Instead of updating every job, a
//! virtual clock runs at that rate: a job of work w begun at virtual time v ends at v + w, however
//! the rate changes in between.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::quota::{Allowance, Quota};

/// Work that is left when a job ends by its own time, seconds: rounding, and no more.
const ROUNDING_S: f64 = 1e-9;

/// A piece of CPU work being done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    /// Virtual time at which it ends.
    finish: f64,
    sequence: u64,
    pub(super) request: u32,
    pub(super) worker: u32,
    /// CPU seconds in all.
    work_s: f64,
    /// Real time at which it began.
    started_s: f64,
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Job {
    /// Reversed: the heap's largest ends first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.finish.total_cmp(&self.finish).then(other.sequence.cmp(&self.sequence))
    }
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
    jobs: BinaryHeap<Job>,
    made: u64,
    virtual_now: f64,
    /// Real time up to which the virtual clock has been advanced.
    now: f64,
}

impl Cores {
    pub(super) fn new(cores: f64, quota: Option<Quota>) -> Self {
        let allowance = quota.map(Allowance::new);
        Self { cores, allowance, jobs: BinaryHeap::new(), made: 0, virtual_now: 0.0, now: 0.0 }
    }

    /// CPU seconds that each job gets in a second.
    fn rate(&self) -> f64 {
        match &self.allowance {
            Some(allowance) if allowance.is_used_up() => 0.0,
            _ => (self.cores / self.jobs.len() as f64).min(1.0),
        }
    }

    fn advance(&mut self, now: f64) {
        let each_s = if self.jobs.is_empty() { 0.0 } else { (now - self.now) * self.rate() };
        // Starting anew keeps the virtual clock small and so exact.
        self.virtual_now = if self.jobs.is_empty() { 0.0 } else { self.virtual_now + each_s };
        if let Some(allowance) = &mut self.allowance {
            allowance.use_up(each_s * self.jobs.len() as f64, now);
        }
        self.now = now;
    }

    pub(super) fn start(&mut self, now: f64, request: u32, worker: u32, work_s: f64) {
        self.advance(now);
        self.made += 1;
        self.jobs.push(Job {
            finish: self.virtual_now + work_s,
            sequence: self.made,
            request,
            worker,
            work_s,
            started_s: now,
        });
    }

    /// When the next job ends, or the quota stops or lets go on what runs; infinity when nothing
    /// runs.
    pub(super) fn next_time(&self) -> f64 {
        let Some(job) = self.jobs.peek() else { return f64::INFINITY };
        let rate = self.rate();
        let ends = match rate > 0.0 {
            true => self.now + (job.finish - self.virtual_now).max(0.0) / rate,
            false => f64::INFINITY,
        };
        match &self.allowance {
            None => ends,
            Some(allowance) => {
                let used = rate * self.jobs.len() as f64;
                ends.min(allowance.next_time(self.now, used))
            }
        }
    }

    /// Ends the job that [`next_time`](Self::next_time) spoke of; `None` when it spoke of the
    /// quota.
    pub(super) fn finish_next(&mut self, now: f64) -> Option<(Job, Progress)> {
        self.advance(now);
        let first = self.jobs.peek()?;
        if self.allowance.is_some() && first.finish - self.virtual_now > ROUNDING_S {
            return None;
        }
        let job = self.jobs.pop()?;
        let run_delay_s = (now - job.started_s - job.work_s).max(0.0);
        Some((job, Progress { worker: job.worker, cpu_s: job.work_s, run_delay_s }))
    }

    /// Takes a request's job off the cores; returns the work left, and what was used.
    pub(super) fn interrupt(&mut self, now: f64, request: u32) -> Option<(f64, Progress)> {
        self.advance(now);
        let job = *self.jobs.iter().find(|job| job.request == request)?;
        let progress = self.progress_of(&job);
        // Rare (a lock's quantum ran out) and the heap is short, so rebuilding it is cheap enough.
        self.jobs.retain(|other| other.request != request);
        Some(((job.work_s - progress.cpu_s).max(0.0), progress))
    }

    /// What the jobs that run have used so far.
    pub(super) fn progress(&mut self, now: f64) -> impl Iterator<Item = Progress> + '_ {
        self.advance(now);
        self.jobs.iter().map(|job| self.progress_of(job))
    }

    fn progress_of(&self, job: &Job) -> Progress {
        let cpu_s = (job.work_s - (job.finish - self.virtual_now).max(0.0)).max(0.0);
        let run_delay_s = (self.now - job.started_s - cpu_s).max(0.0);
        Progress { worker: job.worker, cpu_s, run_delay_s }
    }

    pub(super) fn clear(&mut self) {
        self.jobs.clear();
    }
}
