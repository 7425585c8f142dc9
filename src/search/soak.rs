//! Does the choice last? After everything else it is sent its day-to-day rate for as long as the
//! user asked, in loads one after another on one start, so that memory, latency and workers are
//! seen over the time.
//!
//! In: what is run, the rate and how long, then each load's summary. Out: the next load, and at any
//! moment what was seen. Computes only; tells the ledger nothing: an older server is another one.

use std::collections::BTreeSet;
use std::time::Duration;

use super::ask::TrialRequest;
use super::constants::{SOAK_PART_LEAST_S, SOAK_PART_MOST_S, SOAK_PART_WARM_UP, SOAK_PARTS};
use super::hold::printable;
use crate::model::FULL;
use crate::stats;
use crate::terms::{
    Arrivals, Bytes, Configuration, OPERATING_SHARE, Obstacle, Soak, SoakPart, Stated, Trend,
    TrialPurpose, TrialSummary, Variant, WorkerMemory, WorkerTrend,
};

/// What is run, and what it is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lasting {
    pub configuration: Configuration,
    pub variant: Variant,
    /// The capacity that is printed, requests/s.
    pub capacity_rps: f64,
    pub arrivals: Arrivals,
    pub duration: Duration,
    /// What the server may use.
    pub memory: Option<Bytes>,
}

impl Lasting {
    fn rate_rps(&self) -> f64 {
        printable(self.capacity_rps * OPERATING_SHARE)
    }

    fn part_s(&self) -> f64 {
        let part_s = self.duration.as_secs_f64() / SOAK_PARTS;
        part_s.clamp(SOAK_PART_LEAST_S, SOAK_PART_MOST_S).floor()
    }
}

/// The loads so far.
#[derive(Debug, Clone)]
pub(super) struct LongRun {
    what: Lasting,
    /// Of one start of the server.
    parts: Vec<SoakPart>,
    start: u32,
    /// When the first load of that start began, seconds of the session.
    began_s: Option<f64>,
    ended: Option<Obstacle>,
}

impl LongRun {
    /// Nothing was sent yet.
    pub fn new(what: Lasting) -> Self {
        Self { what, parts: Vec::new(), start: 0, began_s: None, ended: None }
    }

    /// The next load; `None` when it has lasted as long as was asked, or cannot go on. `now_s`:
    /// seconds of the session.
    pub fn request(&self, now_s: f64) -> Option<TrialRequest> {
        let (part_s, left_s) = (self.what.part_s(), self.left_s(now_s));
        if left_s < 0.5 * part_s {
            return None;
        }
        let duration = Duration::from_secs_f64(part_s.min(left_s.ceil()));
        let (at, rate) = (self.what.configuration, (self.what.rate_rps(), self.what.arrivals));
        let first = TrialRequest::hold(at, TrialPurpose::Soak, rate, duration);
        let first = TrialRequest { variant: self.what.variant, ..first };
        Some(match self.parts.is_empty() {
            true => first,
            false => TrialRequest { fresh_start: false, warm_up: SOAK_PART_WARM_UP, ..first },
        })
    }

    /// Seconds that it will still last.
    pub fn left_s(&self, now_s: f64) -> f64 {
        if self.ended.is_some() {
            return 0.0;
        }
        let since_s = self.began_s.map_or(0.0, |began_s| now_s - began_s);
        (self.what.duration.as_secs_f64() - since_s).max(0.0)
    }

    /// Takes the result of a load. Another start of the server, as after a session was cut off,
    /// begins anew.
    pub fn take(&mut self, summary: &TrialSummary) {
        if summary.start != self.start {
            self.parts.clear();
            self.start = summary.start;
            self.began_s = Some(summary.ended_s - summary.load_s);
        }
        self.parts.push(part(summary, self.began_s.unwrap_or_default()));
        if !summary.valid || summary.failure.is_some() {
            self.end(Obstacle::NotMeasurable { why: summary.reason.clone() });
        }
    }

    /// It cannot go on.
    pub fn end(&mut self, why: Obstacle) {
        self.ended = Some(why);
    }

    /// What was seen; `None` before anything was.
    pub fn seen(&self) -> Option<Soak> {
        if self.parts.is_empty() && self.ended.is_none() {
            return None;
        }
        let memory_bytes = self.memory();
        let full = memory_bytes.zip(self.what.memory);
        Some(Soak {
            workers: self.what.configuration.workers.get(),
            threads: self.what.configuration.threads.get(),
            rate_rps: self.what.rate_rps(),
            asked_s: self.what.duration.as_secs_f64(),
            memory_bytes,
            workers_memory: self.workers(),
            latency_s_p95: self.trend(|part| part.latency_s_p95),
            memory_full_in_s: full.and_then(|(memory, most)| full_in_s(&memory, most)),
            workers_replaced: self.replaced(),
            ended: self.ended.clone().map(Stated::Fact),
            parts: self.parts.clone(),
        })
    }

    /// Of the parts that have the figure; one alone shows nothing over the time.
    fn trend(&self, figure: impl Fn(&SoakPart) -> Option<f64>) -> Option<Trend> {
        let points = self.points(figure);
        trend(&points).filter(|_| points.len() > 1)
    }

    /// Of all processes; `None` also where a part between others lacks it, as a platform tells it
    /// late or not at all: a line takes its points for equally far from each other.
    fn memory(&self) -> Option<Trend> {
        let is_known = self.parts.iter().map(|part| part.memory_bytes.is_some());
        let mut after_gap = is_known.skip_while(|known| !known).skip_while(|known| *known);
        let is_whole = !after_gap.any(|known| known);
        self.trend(|part| part.memory_bytes.map(|bytes| bytes as f64)).filter(|_| is_whole)
    }

    fn points(&self, figure: impl Fn(&SoakPart) -> Option<f64>) -> Vec<(f64, f64)> {
        self.parts.iter().filter_map(|part| Some((part.ended_s, figure(part)?))).collect()
    }

    fn workers(&self) -> Vec<WorkerTrend> {
        let of_worker = |worker: &WorkerMemory| {
            let pid = worker.pid;
            let bytes = |part: &SoakPart| {
                part.workers_memory.iter().find(|it| it.pid == pid)?.bytes.map(|it| it as f64)
            };
            // One that has just come is there too.
            Some(WorkerTrend { pid, memory_bytes: trend(&self.points(bytes))? })
        };
        self.parts.last().iter().flat_map(|it| &it.workers_memory).filter_map(of_worker).collect()
    }

    /// Workers that no part had seen before, those of the first apart.
    fn replaced(&self) -> u64 {
        let pids = |part: &SoakPart| part.workers_memory.iter().map(|it| it.pid).collect();
        let mut known: BTreeSet<u32> = self.parts.first().map(pids).unwrap_or_default();
        let all = self.parts.iter().flat_map(|part| &part.workers_memory);
        all.filter(|worker| known.insert(worker.pid)).count() as u64
    }
}

fn part(summary: &TrialSummary, began_s: f64) -> SoakPart {
    let load = &summary.summary;
    let answered = (load.completed > 0).then_some(&load.latency_s);
    SoakPart {
        trial: summary.id,
        ended_s: summary.ended_s - began_s,
        requests: load.due,
        failed: load.failed(),
        met: summary.verdict.met(),
        latency_s_p50: answered.map(|latency| latency.p50),
        latency_s_p95: answered.map(|latency| latency.p95),
        memory_bytes: summary.memory_bytes,
        workers_memory: summary
            .workers
            .iter()
            .map(|worker| WorkerMemory { pid: worker.pid, bytes: worker.memory_bytes })
            .collect(),
    }
}

/// Of points (seconds, figure), about as far from each other; `None` without any.
fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    let (_, first) = *points.first()?;
    let (ended_s, last) = *points.last()?;
    let later = &points[points.len() / 2..];
    let step_s = (ended_s - later[0].0) / (later.len() as f64 - 1.0);
    let an_hour = |per_step: f64| per_step * 3600.0 / step_s;
    let slope = stats::slope(&later.iter().map(|(_, figure)| *figure).collect::<Vec<_>>());
    Some(Trend {
        first,
        last,
        per_hour: slope.map(|slope| an_hour(slope.value)),
        per_hour_interval: slope.map(|slope| slope.interval().map(an_hour)),
    })
}

/// Where it grows for certain: how long until it fills what it may.
fn full_in_s(memory: &Trend, most: Bytes) -> Option<f64> {
    let (per_hour, _) = memory.certain().filter(|(per_hour, _)| *per_hour > 0.0)?;
    let left = (most.0 as f64 * FULL - memory.last).max(0.0);
    Some(left / per_hour * 3600.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_while_it_warms_has_no_trend() {
        let warming = |it: u32| (f64::from(it) * 60.0, 100.0 + 50.0 * f64::from(it.min(3)));
        let seen = trend(&(0..12).map(warming).collect::<Vec<_>>()).unwrap();
        assert_eq!((seen.first, seen.last, seen.certain()), (100.0, 250.0, None));
    }

    #[test]
    fn what_grows_on_is_told_by_the_hour() {
        let growing = |it: u32| (f64::from(it) * 60.0, 100.0 + 2.0 * f64::from(it));
        let seen = trend(&(0..12).map(growing).collect::<Vec<_>>()).unwrap();
        let (per_hour, _) = seen.certain().unwrap();
        assert!((per_hour - 120.0).abs() < 1e-6, "{per_hour}");
        let full_s = full_in_s(&seen, Bytes(1000)).unwrap();
        let expected_s = (950.0 - 122.0) / 120.0 * 3600.0;
        assert!((full_s - expected_s).abs() < 1e-3, "{full_s}");
    }

    /// What is seen of a long run whose parts have this memory, and all the same p95.
    fn with_memory(memory_bytes: &[Option<u64>]) -> Soak {
        let part = |(trial, memory_bytes): (u32, &Option<u64>)| SoakPart {
            trial,
            ended_s: f64::from(trial) * 300.0,
            requests: 1000,
            failed: 0,
            met: Some(true),
            latency_s_p50: Some(0.01),
            latency_s_p95: Some(0.02),
            memory_bytes: *memory_bytes,
            workers_memory: Vec::new(),
        };
        let what = Lasting {
            configuration: Configuration::new(1, 5).unwrap(),
            variant: Variant::AS_IT_IS,
            capacity_rps: 100.0,
            arrivals: Arrivals::Poisson,
            duration: Duration::from_secs(3600),
            memory: Some(Bytes(1000)),
        };
        let parts = (1..).zip(memory_bytes).map(part).collect();
        LongRun { parts, ..LongRun::new(what) }.seen().unwrap()
    }

    #[test]
    fn one_part_is_no_trend_and_memory_has_none_where_parts_between_lack_it() {
        let one = with_memory(&[Some(400)]);
        assert_eq!((one.memory_bytes, one.latency_s_p95), (None, None));
        let first_alone = with_memory(&[Some(400), None, None]);
        assert_eq!(first_alone.memory_bytes, None);
        assert!(first_alone.latency_s_p95.is_some());
        // A server that has died has none at the end, and what came before stands.
        let whole = with_memory(&[None, Some(400), Some(410), None]).memory_bytes.unwrap();
        assert_eq!((whole.first, whole.last), (400.0, 410.0));
        let growing: Vec<_> = (0..12).map(|it| (it % 5 != 1).then_some(400 + 10 * it)).collect();
        let seen = with_memory(&growing);
        assert_eq!((seen.memory_bytes, seen.memory_full_in_s), (None, None));
    }

    #[test]
    fn a_few_parts_have_no_slope() {
        let seen = trend(&[(1.0, 5.0), (2.0, 6.0)]).unwrap();
        assert_eq!((seen.first, seen.last, seen.per_hour), (5.0, 6.0, None));
        assert_eq!(trend(&[]), None);
    }
}
