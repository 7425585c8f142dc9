//! A trial's record to the figures of a lab: of the whole run, and of its parts for intervals.
//!
//! In: a record. Out: figures. Only computes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lab::Course;
use crate::place::TargetSeen;
use crate::summary::load::{Rules, summarise};
use crate::summary::slo;
use crate::summary::used::used;
use crate::terms::{
    LabFigures, LabLatency, LabTargetFigures, Latencies, LoadSecond, MonitorSecond, Offered,
    TrialRecord, Warning,
};

/// A run is looked at in at most so many parts of equal length.
const PARTS: usize = 10;

/// What one run showed.
pub struct Measured {
    pub figures: LabFigures,
    /// By figure, the value of each part of the run.
    pub blocks: BTreeMap<String, Vec<f64>>,
    pub warnings: Vec<Warning>,
}

/// The figures of a run without its warm-up.
pub fn of(
    record: &TrialRecord,
    course: Course,
    targets: &[String],
    by_target: &[TargetSeen],
) -> Measured {
    let warm_up = Duration::from_secs(course.warm_up_s.into());
    let summary = summarise(&record.load, warm_up, None, &Rules::default());
    let (from_s, to_s) = span(course);
    let used = used(record, from_s, to_s);
    let seconds = measured(record, course);
    let (good, due) = good_of(seconds);
    let mut status = summary.status.clone();
    if summary.errors.total() > 0 {
        status.insert("0".to_string(), summary.errors.total());
    }
    let mut whole = LoadSecond::default();
    seconds.iter().for_each(|second| whole.add_requests(second));
    let figures = LabFigures {
        requests: Some(summary.due),
        throughput_rps: Some(match record.load.run.offered {
            Offered::Open { .. } => summary.throughput_rps,
            Offered::Closed { .. } => good_replies(seconds) / f64::from(course.duration_s),
        }),
        success: (due > 0).then(|| good as f64 / due as f64),
        latency_s: latency(&whole.latency),
        status,
        cpu_cores: (used.seen_s > 0.0).then(|| used.server_cores()),
        cpu_share: used.host_busy,
        memory_bytes: used.memory_bytes,
        by_target: targets.iter().zip(by_target).map(of_target).collect(),
        ..LabFigures::default()
    };
    let blocks = blocks(record, course, targets, by_target);
    Measured { figures, blocks, warnings: summary.warnings }
}

/// CPU of the server's processes for each request that was answered.
pub fn cpu_s_per_request(record: &TrialRecord, course: Course) -> Option<f64> {
    let (from_s, to_s) = span(course);
    let used = used(record, from_s, to_s);
    let (good, _) = good_of(measured(record, course));
    let cpu_s = used.server_cores() * f64::from(course.duration_s);
    (good > 0 && cpu_s > 0.0).then(|| cpu_s / good as f64)
}

/// The measured part, seconds from the beginning of the load.
fn span(course: Course) -> (f64, f64) {
    let from = f64::from(course.warm_up_s);
    (from, from + f64::from(course.duration_s))
}

fn measured(record: &TrialRecord, course: Course) -> &[LoadSecond] {
    let seconds = &record.load.seconds;
    let from = (course.warm_up_s as usize).min(seconds.len());
    let to = (from + course.duration_s as usize).min(seconds.len());
    &seconds[from..to]
}

fn good_of(seconds: &[LoadSecond]) -> (u64, u64) {
    let good = seconds.iter().map(slo::good).sum();
    (good, seconds.iter().map(|second| second.due).sum())
}

/// Replies that came in this time, by the share of those that are good. Of clients that wait for
/// their replies this is what wrk, ab and k6 count: a few that wait seconds after the end for their
/// last one, as some of a server's kept connections do, say nothing of how many were served before.
fn good_replies(seconds: &[LoadSecond]) -> f64 {
    let replies: u64 = seconds.iter().map(|second| second.replies).sum();
    let answered: u64 = seconds.iter().map(LoadSecond::completed).sum();
    let good: u64 = seconds.iter().map(slo::good).sum();
    if answered > 0 { replies as f64 * good as f64 / answered as f64 } else { 0.0 }
}

fn latency(latencies: &Latencies) -> LabLatency {
    let at = |q: f64| latencies.quantile(q).map(|time| time.as_secs_f64());
    LabLatency {
        mean: latencies.mean().map(|time| time.as_secs_f64()),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        max: at(1.0),
    }
}

fn of_target((target, seen): (&String, &TargetSeen)) -> LabTargetFigures {
    LabTargetFigures {
        target: without_weight(target),
        requests: seen.due,
        success: if seen.due > 0 { seen.good as f64 / seen.due as f64 } else { 0.0 },
        latency_s: latency(&together(&seen.seconds)),
    }
}

/// Such as `GET /products`.
fn without_weight(target: &str) -> String {
    target.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn together(seconds: &[Latencies]) -> Latencies {
    let mut all = Latencies::default();
    seconds.iter().for_each(|second| all.add(second));
    all
}

/// Parts of equal length, of whole seconds; what does not fill one is left out.
fn part_length(seconds: usize) -> usize {
    (seconds / PARTS).max(1)
}

fn blocks(
    record: &TrialRecord,
    course: Course,
    targets: &[String],
    by_target: &[TargetSeen],
) -> BTreeMap<String, Vec<f64>> {
    let seconds = measured(record, course);
    let mut blocks: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut add = |figure: &str, value: Option<f64>| {
        blocks.entry(figure.to_string()).or_default().extend(value);
    };
    let length = part_length(course.duration_s as usize);
    for (at, part) in seconds.chunks_exact(length).enumerate() {
        let (good, due) = good_of(part);
        let success = (due > 0).then(|| good as f64 / due as f64);
        add("throughput_rps", Some(good_replies(part) / length as f64));
        add("success", success);
        let mut whole = LoadSecond::default();
        part.iter().for_each(|second| whole.add_requests(second));
        let times = latency(&whole.latency);
        for (name, value) in [
            ("mean_s", times.mean),
            ("p50_s", times.p50),
            ("p95_s", times.p95),
            ("p99_s", times.p99),
        ] {
            add(name, value);
        }
        let from_s = f64::from(course.warm_up_s) + (at * length) as f64;
        let (cores, share) = cpu(&record.monitor.seconds, from_s, from_s + length as f64);
        add("cpu_cores", cores);
        add("cpu_share", share);
        for (target, seen) in targets.iter().zip(by_target) {
            let target = without_weight(target);
            let part = seen.seconds.iter().skip(at * length).take(length).cloned();
            let times = latency(&together(&part.collect::<Vec<_>>()));
            for (name, value) in [("p50_s", times.p50), ("p95_s", times.p95), ("p99_s", times.p99)]
            {
                add(&format!("{name} {target}"), value);
            }
        }
    }
    blocks
}

/// Cores that the server used, and the machine's busy share, in the intervals that begin here.
fn cpu(seconds: &[MonitorSecond], from_s: f64, to_s: f64) -> (Option<f64>, Option<f64>) {
    let part: Vec<&MonitorSecond> = seconds
        .iter()
        .filter(|second| second.at_s >= from_s - 0.5 && second.at_s < to_s - 0.5)
        .collect();
    let length_s: f64 = part.iter().map(|second| second.length_s).sum();
    if length_s <= 0.0 {
        return (None, None);
    }
    let processes = part.iter().flat_map(|second| &second.processes);
    let cpu_s: f64 = processes.map(|process| process.cpu_s).sum();
    let shares: Vec<f64> =
        part.iter().flat_map(|second| second.host.cores_busy.iter().copied()).collect();
    let share = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
    (Some(cpu_s / length_s), share)
}
