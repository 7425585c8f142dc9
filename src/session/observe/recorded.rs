//! What a Prometheus recorded of both sides, in blocks.
//!
//! In: the question. Out: every figure that it has of both, and what there is to say of it.

use std::collections::BTreeSet;

use super::blocks::blocks;
use super::metrics::{Asked, ENDINGS, Metrics, Named, Shape, Times, counters, find, near};
use super::prometheus::Prometheus;
use super::question::{ObserveError, Question, Recorded};
use super::range::{Blocks, Range};
use crate::observe::Observed;
use crate::terms::{CompareNote, FigureKind, FigureLeftOut, MetricRead, Side};

/// Clocks may be apart by so much without its being said.
const CLOCKS_QUIET_S: f64 = 5.0;
/// A bucket whose bounds are further apart, as a ratio, hides small changes.
const BUCKET_WIDE: f64 = 1.25;

/// One side: its selector, and its blocks.
struct OneSide<'a> {
    side: Side,
    asked: Asked<'a>,
    blocks: Blocks,
}

impl<'a> OneSide<'a> {
    fn new(side: Side, selector: &'a str, blocks: Blocks) -> Self {
        let asked = Asked { selector: bare(selector), block_s: blocks.block_s };
        Self { side, asked, blocks }
    }

    fn range(&self) -> Range {
        self.blocks.range()
    }
}

/// Reads both sides.
///
/// # Errors
/// It does not answer, or has no series or no response times of a side.
pub fn of_prometheus(
    question: &Question,
    prometheus: &Prometheus,
    named: &[Named],
    our_now_s: i64,
) -> Result<([Blocks; 2], Recorded), ObserveError> {
    let now_s = prometheus.now_s()?;
    let (both, mut notes) = blocks(question, now_s as i64, None)?;
    notes.extend(clocks_apart(now_s - our_now_s as f64));
    let sides = [
        OneSide::new(Side::A, &question.a, both[0]),
        OneSide::new(Side::B, question.b.as_ref().unwrap_or(&question.a), both[1]),
    ];
    let names = common_names(prometheus, &sides, named)?;
    let metrics = find(&names, named).map_err(ObserveError::NoLatency)?;
    let mut recorded = Recorded { notes, ..Recorded::default() };
    let counter = counter(prometheus, &sides[0], &names, &metrics.latency)?;
    let read = read(&metrics, counter.as_ref());
    recorded.left_out = absent(&read, &names, named);
    recorded.notes.push(CompareNote::MetricsRead { metrics: read });
    recorded.a = observed(prometheus, &sides[0], &metrics, counter.as_ref())?;
    recorded.b = observed(prometheus, &sides[1], &metrics, counter.as_ref())?;
    if metrics.latency.shape == Shape::Classic {
        look_at_buckets(prometheus, &sides, &metrics.latency, &mut recorded)?;
    }
    for side in &sides {
        let length_s = side.blocks.end_s() - side.blocks.start_s;
        let resets = side.asked.resets(&metrics.latency, length_s);
        // All of the range at once may take longer than we wait, and it is for a note alone.
        let times = prometheus.at(&resets, side.blocks.end_s()).ok().flatten();
        let times = times.unwrap_or(0.0) as u64;
        if times > 0 {
            recorded.notes.push(CompareNote::CountersReset { side: side.side, times });
        }
    }
    let remarks = prometheus.remarks().into_iter();
    recorded.notes.extend(remarks.map(|text| CompareNote::SourceWarned { text }));
    Ok((both, recorded))
}

/// What there is to say of a clock that is ahead of ours by so much.
fn clocks_apart(ahead_s: f64) -> Option<CompareNote> {
    (ahead_s.abs() > CLOCKS_QUIET_S).then_some(CompareNote::ClocksApart { ahead_s })
}

/// A selector may stand in its braces.
fn bare(selector: &str) -> &str {
    let selector = selector.trim();
    let inner = selector.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.unwrap_or(selector).trim().trim_end_matches(',')
}

/// The names that series of both sides have.
fn common_names(
    prometheus: &Prometheus,
    sides: &[OneSide<'_>; 2],
    named: &[Named],
) -> Result<BTreeSet<String>, ObserveError> {
    let mut each = Vec::new();
    for one in sides {
        let names = prometheus.names(one.asked.selector, one.range())?;
        if names.is_empty() {
            let selector = one.asked.selector.to_string();
            return Err(ObserveError::NoSeries { side: one.side, selector, range: one.range() });
        }
        each.push(names);
    }
    let common: BTreeSet<String> = each[0].intersection(&each[1]).cloned().collect();
    if find(&common, named).is_err() {
        let found =
            [(Side::A, 0, 1), (Side::B, 1, 0)].into_iter().find_map(|(there, has, lacks)| {
                let name = find(&each[has], named).ok()?.latency.name;
                Some(ObserveError::OneSided { near: near(&each[lacks], Some(&name)), name, there })
            });
        return found.map_or(Ok(common), Err);
    }
    Ok(common)
}

/// Which metric says each figure.
fn read(metrics: &Metrics, counter: Option<&Counter>) -> Vec<MetricRead> {
    let latency = match metrics.latency.shape {
        Shape::Summary => FigureKind::LatencyMean,
        _ => FigureKind::LatencyP95,
    };
    let all = [
        (latency, Some(&metrics.latency.name)),
        (FigureKind::QueueTime, metrics.queue.as_ref().map(|it| &it.name)),
        (FigureKind::Memory, metrics.memory.as_ref()),
        (FigureKind::CpuPerRequest, metrics.cpu.as_ref()),
        (FigureKind::Errors, counter.map(|(name, _)| name)),
    ];
    let one = |(figure, name): (FigureKind, Option<&String>)| {
        Some(MetricRead { figure, metric: name?.clone() })
    };
    all.into_iter().filter_map(one).collect()
}

/// What no metric says.
fn absent(read: &[MetricRead], names: &BTreeSet<String>, named: &[Named]) -> Vec<FigureLeftOut> {
    let of = |figure: FigureKind| read.iter().find(|it| it.figure == figure);
    let optional =
        [FigureKind::QueueTime, FigureKind::Memory, FigureKind::CpuPerRequest, FigureKind::Errors];
    let missing = optional.into_iter().filter(|figure| of(*figure).is_none()).map(|figure| {
        let wanted = named.iter().find(|it| it.figure == figure);
        let near = wanted.map_or_else(Vec::new, |it| near(names, Some(&it.name)));
        FigureLeftOut::MetricAbsent { figure, near }
    });
    let summary = of(FigureKind::LatencyMean).map(|it| FigureLeftOut::OnlySummary {
        figure: FigureKind::LatencyP95,
        metric: it.metric.clone(),
    });
    summary.into_iter().chain(missing).collect()
}

type Counter = (String, (&'static str, &'static str));

/// The counter that says how requests ended, with its label.
fn counter(
    prometheus: &Prometheus,
    one: &OneSide<'_>,
    names: &BTreeSet<String>,
    latency: &Times,
) -> Result<Option<Counter>, ObserveError> {
    for counter in counters(names, latency) {
        let labels = prometheus.labels(&one.asked.series(&counter), one.range())?;
        if let Some(ending) = ENDINGS.into_iter().find(|(label, _)| labels.contains(*label)) {
            return Ok(Some((counter, ending)));
        }
    }
    Ok(None)
}

fn observed(
    prometheus: &Prometheus,
    one: &OneSide<'_>,
    metrics: &Metrics,
    counter: Option<&Counter>,
) -> Result<Observed, ObserveError> {
    let (asked, latency) = (one.asked, &metrics.latency);
    let p95 = asked.p95(latency).map(|query| (FigureKind::LatencyP95, query, latency.unit_s()));
    let mean = (latency.shape == Shape::Summary)
        .then(|| (FigureKind::LatencyMean, asked.mean(latency), latency.unit_s()));
    let queue = metrics.queue.as_ref();
    let queue = queue.map(|it| (FigureKind::QueueTime, asked.mean(it), it.unit_s()));
    let memory = metrics.memory.as_ref().map(|it| (FigureKind::Memory, asked.memory(it), 1.0));
    let cpu = metrics.cpu.as_ref();
    let cpu = cpu.map(|it| (FigureKind::CpuPerRequest, asked.cpu_per_request(it, latency), 1.0));
    let errors =
        counter.map(|(name, ending)| (FigureKind::Errors, asked.errors(name, *ending), 1.0));
    let requests = (FigureKind::Throughput, asked.requests(latency), 1.0);
    let all = [p95, mean, queue, Some(requests), memory, cpu, errors];
    let mut observed = Observed {
        start_s: one.blocks.start_s,
        block_s: one.blocks.block_s as u32,
        ..Observed::default()
    };
    for (kind, query, unit) in all.into_iter().flatten() {
        let values = prometheus.blocks(&query, one.blocks)?;
        let values = values.into_iter().map(|value| value.map(|it| it * unit)).collect();
        observed.figures.insert(kind, values);
    }
    Ok(observed)
}

/// A histogram tells a quantile no better than its bounds lie.
fn look_at_buckets(
    prometheus: &Prometheus,
    sides: &[OneSide<'_>; 2],
    latency: &Times,
    recorded: &mut Recorded,
) -> Result<(), ObserveError> {
    let figure = FigureKind::LatencyP95;
    let series = sides[0].asked.series(&format!("{}_bucket", latency.name));
    let bounds = prometheus.bounds(&series, sides[0].range())?;
    let Some(last) = bounds.last().map(|bound| bound * latency.unit_s()) else { return Ok(()) };
    let values = |side: &Observed| {
        side.figures.get(&figure).into_iter().flatten().flatten().copied().collect::<Vec<f64>>()
    };
    let all = [values(&recorded.a), values(&recorded.b)].concat();
    let Some(middle) = crate::stats::median(&all) else { return Ok(()) };
    if middle >= last * (1.0 - 1e-9) {
        for side in [&mut recorded.a, &mut recorded.b] {
            side.figures.remove(&figure);
        }
        recorded.left_out.insert(0, FigureLeftOut::BeyondBuckets { figure, bound_s: last });
        return Ok(());
    }
    let bounds = bounds.iter().map(|bound| bound * latency.unit_s());
    let (below, above): (Vec<f64>, Vec<f64>) = bounds.partition(|bound| *bound < middle);
    let (low_s, high_s) = (below.last().copied().unwrap_or(0.0), above[0]);
    if high_s > BUCKET_WIDE * low_s {
        recorded.notes.push(CompareNote::BucketWide { figure, low_s, high_s });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_are_read_are_named_and_failures_that_nothing_counts_are_left_out() {
        let there = ["http_request_duration_seconds_bucket", "ruby_rss"];
        let names: BTreeSet<String> = there.map(String::from).into();
        let metrics = find(&names, &[]).unwrap();
        let counter = ("http_requests_total".to_string(), ENDINGS[0]);
        for counter in [None, Some(&counter)] {
            let read = read(&metrics, counter);
            let left_out = absent(&read, &names, &[]);
            let is_errors = |it: &FigureLeftOut| {
                matches!(it, FigureLeftOut::MetricAbsent { figure: FigureKind::Errors, .. })
            };
            let has_errors = read.iter().any(|it| it.figure == FigureKind::Errors);
            assert_eq!(left_out.iter().any(is_errors), counter.is_none());
            assert_eq!(has_errors, counter.is_some());
            let latency = MetricRead {
                figure: FigureKind::LatencyP95,
                metric: "http_request_duration_seconds".into(),
            };
            assert_eq!((&read[0], read[1].metric.as_str()), (&latency, "ruby_rss"));
        }
    }

    #[test]
    fn clocks_that_are_apart_are_said_whichever_is_ahead() {
        for (ahead_s, is_said) in [(0.0, false), (4.9, false), (5.1, true), (-600.0, true)] {
            let expected = is_said.then_some(CompareNote::ClocksApart { ahead_s });
            assert_eq!(clocks_apart(ahead_s), expected, "{ahead_s}");
        }
    }
}
