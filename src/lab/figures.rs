//! A trial's record to the figures of a lab: of the whole run, and of its parts for intervals.
//!
//! In: a record. Out: figures. Only computes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::conclusion::{is_time, measured};
use super::definition::{Course, FIGURES, FIGURES_OF_TARGETS, NamedTarget};
use crate::summary::load::summarise;
use crate::summary::slo;
use crate::summary::used::used;
use crate::terms::{
    Goals, LabFigures, LabLatency, LabRun, LabTargetFigures, Latencies, LoadSecond, Offered,
    TargetSecond, TrialRecord, Warning,
};

/// A run is looked at in this many parts of equal length or more, but fewer than twice as many; one
/// of fewer seconds second by second.
const PARTS: usize = 10;

/// The measured part of a run.
struct Span {
    /// From the beginning of the load.
    from_s: f64,
    length_s: f64,
}

impl Span {
    /// As long as was planned, or until the last of a fixed number of requests was answered.
    fn of(record: &TrialRecord, course: Course) -> Self {
        let (from_s, planned_s) = (f64::from(course.warm_up_s), f64::from(course.duration_s));
        let answered_s = record.load.run.last_reply.as_secs_f64() - from_s;
        let is_sooner = course.requests.is_some() && answered_s > 0.0 && answered_s < planned_s;
        Self { from_s, length_s: if is_sooner { answered_s } else { planned_s } }
    }

    fn end_s(&self) -> f64 {
        self.from_s + self.length_s
    }

    /// The seconds that begin in it.
    fn seconds<'a>(&self, record: &'a TrialRecord) -> &'a [LoadSecond] {
        let seconds = &record.load.seconds;
        let from = (self.from_s as usize).min(seconds.len());
        let to = (self.end_s().ceil() as usize).min(seconds.len());
        &seconds[from..to]
    }
}

/// What one run showed.
pub struct Measured {
    pub figures: LabFigures,
    /// By figure, the value of each part of the run.
    pub blocks: BTreeMap<String, Vec<f64>>,
    pub warnings: Vec<Warning>,
}

impl Measured {
    /// The way between clients and server is part of the article's latencies; here clients wait as
    /// long.
    pub fn add_outside(&mut self, outside_s: f64) {
        let times = self.blocks.iter_mut().filter(|(name, _)| is_time(name));
        times.flat_map(|(_, values)| values).for_each(|time| *time += outside_s);
        let of_targets = self.figures.by_target.iter_mut().map(|one| &mut one.latency_s);
        for latency in of_targets.chain([&mut self.figures.latency_s]) {
            let LabLatency { mean, p50, p90, p95, p99, max } = latency;
            let times = [mean, p50, p90, p95, p99, max].into_iter().flatten();
            times.for_each(|time| *time += outside_s);
        }
    }
}

/// The figures of a run without its warm-up.
pub fn of(record: &TrialRecord, course: Course, targets: &[NamedTarget]) -> Measured {
    let warm_up = Duration::from_secs(course.warm_up_s.into());
    let summary = summarise(&record.load, warm_up, &Goals::default());
    let span = Span::of(record, course);
    let used = used(record, span.from_s, span.end_s());
    let seconds = span.seconds(record);
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
            // All of them were waited for.
            Offered::Closed { .. } if course.requests.is_some() => {
                good(seconds) as f64 / span.length_s
            }
            Offered::Closed { .. } => good_replies(seconds) / span.length_s,
        }),
        success: success(seconds),
        latency_s: latency(&whole.latency),
        status,
        cpu_cores: (used.seen_s > 0.0).then(|| used.server_cores()),
        cpu_share: used.host_busy,
        memory_bytes: used.memory_bytes,
        by_target: by_target(targets, &whole.by_target),
        ..LabFigures::default()
    };
    let blocks = blocks(record, &span, targets);
    Measured { figures, blocks, warnings: summary.warnings }
}

/// CPU of the server's processes for each request that was answered.
pub fn cpu_s_per_request(record: &TrialRecord, course: Course) -> Option<f64> {
    let span = Span::of(record, course);
    let used = used(record, span.from_s, span.end_s());
    let good = good(span.seconds(record));
    let cpu_s = used.server_cores() * span.length_s;
    (good > 0 && cpu_s > 0.0).then(|| cpu_s / good as f64)
}

/// Each run's throughput in relation to its series' first.
pub fn relate(runs: &mut [LabRun]) {
    let throughput = |figures: &Option<LabFigures>| {
        figures.as_ref().and_then(|figures| figures.throughput_rps).filter(|rate| *rate > 0.0)
    };
    for at in 0..runs.len() {
        let first = runs.iter().find(|run| run.setting.series == runs[at].setting.series);
        let Some(first) = first else { continue };
        let (measured, published) = (throughput(&first.measured), throughput(&first.published));
        let ratio = |own: Option<f64>, first: Option<f64>| Some(own? / first?);
        runs[at].relative_measured = ratio(throughput(&runs[at].measured), measured);
        runs[at].relative_published = ratio(throughput(&runs[at].published), published);
    }
}

fn good(seconds: &[LoadSecond]) -> u64 {
    seconds.iter().map(slo::good).sum()
}

/// Of the requests that were due.
fn success(seconds: &[LoadSecond]) -> Option<f64> {
    let due: u64 = seconds.iter().map(|second| second.due).sum();
    (due > 0).then(|| good(seconds) as f64 / due as f64)
}

/// Replies that came in this time, by the share of those that are good. Of clients that wait for
/// their replies this is what wrk, ab and k6 count: a few that wait seconds after the end for their
/// last one, as some of a server's kept connections do, say nothing of how many were served before.
fn good_replies(seconds: &[LoadSecond]) -> f64 {
    let replies: u64 = seconds.iter().map(|second| second.replies).sum();
    let answered: u64 = seconds.iter().map(LoadSecond::completed).sum();
    if answered > 0 { replies as f64 * good(seconds) as f64 / answered as f64 } else { 0.0 }
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

/// Of mixed requests, each target by itself.
fn by_target(targets: &[NamedTarget], seen: &[TargetSecond]) -> Vec<LabTargetFigures> {
    let of_target = |(target, seen): (&NamedTarget, &TargetSecond)| {
        let (due, failed) = (seen.due(), slo::failed(seen.into()).count);
        LabTargetFigures {
            target: target.name.clone(),
            requests: due,
            success: if due > 0 { (due - failed) as f64 / due as f64 } else { 0.0 },
            latency_s: latency(&seen.latency),
        }
    };
    targets.iter().zip(seen).map(of_target).collect()
}

/// Parts of equal length, of whole seconds; what does not fill one is left out.
fn part_length(seconds: usize) -> usize {
    (seconds / PARTS).max(1)
}

fn blocks(
    record: &TrialRecord,
    span: &Span,
    targets: &[NamedTarget],
) -> BTreeMap<String, Vec<f64>> {
    let mut blocks: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    // A second that was not whole is no measure of a rate.
    let whole = (span.length_s as usize).min(span.seconds(record).len());
    let length = part_length(whole);
    for (at, part) in span.seconds(record)[..whole].chunks_exact(length).enumerate() {
        let mut whole = LoadSecond::default();
        part.iter().for_each(|second| whole.add_requests(second));
        let from_s = span.from_s + (at * length) as f64;
        let used = used(record, from_s, from_s + length as f64);
        let figures = LabFigures {
            throughput_rps: Some(good_replies(part) / length as f64),
            success: success(part),
            latency_s: latency(&whole.latency),
            cpu_cores: (used.seen_s > 0.0).then(|| used.server_cores()),
            cpu_share: used.host_busy,
            by_target: by_target(targets, &whole.by_target),
            ..LabFigures::default()
        };
        let named = figures.by_target.iter().map(|one| &one.target);
        let more = named.flat_map(|it| FIGURES_OF_TARGETS.map(|name| format!("{name} {it}")));
        for name in FIGURES.map(String::from).into_iter().chain(more) {
            let value = measured(&name, &figures);
            blocks.entry(name).or_default().extend(value);
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Configuration, GeneratorUse, LoadRecord, LoadRun, MonitorRecord};

    /// Ten requests a second, all good, after two seconds of warm-up; the last is answered a
    /// quarter of a second after the last second began.
    fn record(seconds: usize) -> TrialRecord {
        let second = LoadSecond {
            due: 10,
            sent: 10,
            status: [(200, 10)].into(),
            replies: 10,
            ..LoadSecond::default()
        };
        let last_reply = Duration::from_millis(seconds as u64 * 1000 - 750);
        let run = LoadRun {
            offered: Offered::Closed { clients: 5, think: Duration::ZERO },
            warm_up: Duration::from_secs(2),
            duration: last_reply,
            last_reply,
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        TrialRecord {
            configuration: Configuration::new(1, 1).unwrap(),
            start: 1,
            load: LoadRecord { run, seconds: vec![second; seconds] },
            monitor: MonitorRecord::default(),
            boot: Duration::ZERO,
            failure: None,
        }
    }

    #[test]
    fn a_run_of_a_number_of_requests_lasts_until_the_last_is_answered() {
        let course = Course { duration_s: 60, warm_up_s: 2, repeats: 1, requests: Some(40) };
        let measured = of(&record(6), course, &[]);
        let throughput = measured.figures.throughput_rps.unwrap();
        assert!((throughput - 40.0 / 3.25).abs() < 1e-9, "{throughput}");
        assert_eq!(measured.figures.requests, Some(40));
        assert_eq!(measured.blocks["throughput_rps"], [10.0; 3], "whole seconds");
    }

    #[test]
    fn a_run_has_at_least_ten_parts_and_fewer_than_twenty_or_a_part_for_each_second() {
        let parts = |seconds: usize| seconds / part_length(seconds);
        assert_eq!([4, 10, 19, 20, 25, 30, 60].map(parts), [4, 10, 19, 10, 12, 10, 10]);
        assert!((10..600).all(|seconds| (PARTS..2 * PARTS).contains(&parts(seconds))));
    }

    #[test]
    fn the_time_outside_is_added_to_each_targets_times_too_and_to_nothing_else() {
        let latency_s = LabLatency { p95: Some(0.25), max: Some(0.5), ..LabLatency::default() };
        let of_target = LabTargetFigures { latency_s, ..LabTargetFigures::default() };
        let blocks = [("p95_s", 0.25), ("p95_s GET /x", 0.5), ("throughput_rps", 8.0)];
        let mut measured = Measured {
            figures: LabFigures {
                latency_s,
                by_target: vec![of_target],
                throughput_rps: Some(8.0),
                ..LabFigures::default()
            },
            blocks: blocks.map(|(name, value)| (name.to_string(), vec![value])).into(),
            warnings: Vec::new(),
        };
        measured.add_outside(0.125);
        let with_it = LabLatency { p95: Some(0.375), max: Some(0.625), ..latency_s };
        let LabFigures { latency_s, by_target, throughput_rps, .. } = measured.figures;
        assert_eq!((latency_s, by_target[0].latency_s), (with_it, with_it));
        assert_eq!(throughput_rps, Some(8.0));
        let values: Vec<f64> = measured.blocks.into_values().flatten().collect();
        assert_eq!(values, [0.375, 0.625, 8.0]);
    }

    #[test]
    fn a_run_of_a_time_lasts_as_long() {
        let course = Course { duration_s: 4, warm_up_s: 2, repeats: 1, requests: None };
        let measured = of(&record(6), course, &[]);
        assert_eq!(measured.figures.throughput_rps, Some(10.0));
        assert_eq!(measured.blocks["throughput_rps"], [10.0; 4]);
    }
}
