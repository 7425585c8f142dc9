//! Two results of `load`, or two of `load --find-capacity`, side by side.
//!
//! In: two results. Out: each figure with the ratio and its interval, and why two loads cannot be
//! compared. Must not measure.

use super::sessions::Found;
use crate::search::{at_other_times, of_failures, start_variance};
use crate::stats::{Estimate, LogRatio};
use crate::summary::compared::Compared;
use crate::terms::{
    CapacityConclusion, CapacitySummary, CompareRefusal, FigureKind, FigureLeftOut, LoadOffered,
    LoadSummary, Side, Window,
};

/// Neighbouring seconds are alike, so as many as make ten stretches are taken together.
const STRETCHES: usize = 10;
/// From fewer nothing is known of their spread.
const STRETCHES_LEAST: usize = 4;

/// Why two loads are not the same load; empty when they are.
pub fn refusals(a: &LoadSummary, b: &LoadSummary) -> Vec<CompareRefusal> {
    let mut refused = Vec::new();
    let offered = |load: &LoadSummary| match load.offered_load_rps {
        Some(rate) => Some(LoadOffered::RateRps(rate)),
        None => load.clients.map(LoadOffered::Clients),
    };
    let is_same_rate = match (a.offered_load_rps, b.offered_load_rps) {
        (Some(a), Some(b)) => (a / b - 1.0).abs() <= 0.01,
        (None, None) => a.clients == b.clients,
        _ => false,
    };
    match (&a.shape, &b.shape) {
        _ if !is_same_rate => {
            refused.push(CompareRefusal::LoadsDiffer { a: offered(a), b: offered(b) });
        }
        (Some(a), Some(b)) if a != b => {
            refused.push(CompareRefusal::ShapesDiffer { a: a.clone(), b: b.clone() });
        }
        _ => {}
    }
    if a.arrivals.zip(b.arrivals).is_some_and(|(a, b)| a != b) {
        refused.push(CompareRefusal::ArrivalsDiffer);
    }
    for (side, is_valid) in [(Side::A, a.valid), (Side::B, b.valid)] {
        if !is_valid {
            refused.push(CompareRefusal::LoadNotValid { side });
        }
    }
    refused
}

/// What clients that wait get through, or how long those wait that don't: the figure that decides.
pub fn decisive(load: &LoadSummary) -> FigureKind {
    if load.clients.is_some() { FigureKind::Throughput } else { FigureKind::LatencyP95 }
}

/// Everything that both results say.
pub fn figures(a: &LoadSummary, b: &LoadSummary) -> Vec<Found> {
    let latency = |kind, of: fn(&LoadSummary) -> f64, in_window: fn(&Window) -> f64| {
        figure(kind, (a, b), of, in_window)
    };
    vec![
        figure(
            FigureKind::Throughput,
            (a, b),
            |load| load.throughput_rps,
            |window| window.completed as f64,
        ),
        latency(FigureKind::LatencyP50, |it| it.latency_s.p50, |it| it.latency_s.p50),
        latency(FigureKind::LatencyP95, |it| it.latency_s.p95, |it| it.latency_s.p95),
        latency(FigureKind::LatencyP99, |it| it.latency_s.p99, |it| it.latency_s.p99),
        Err(FigureLeftOut::ServerCpuNotInLoad),
    ]
}

fn figure(
    kind: FigureKind,
    (a, b): (&LoadSummary, &LoadSummary),
    of: fn(&LoadSummary) -> f64,
    in_window: fn(&Window) -> f64,
) -> Found {
    let (of_a, of_b) = (of(a), of(b));
    if of_a <= 0.0 || of_b <= 0.0 {
        return Err(FigureLeftOut::NothingAnswered { figure: kind });
    }
    let (parts_a, parts_b) = (stretches(a, in_window), stretches(b, in_window));
    let ratio = spread(&parts_a).zip(spread(&parts_b)).map(|(a, b)| {
        // One start each: what two starts differ by cannot be seen, and is allowed for.
        let starts = (2.0 * start_variance(), f64::INFINITY);
        let count = [parts_a.len() as u64, parts_b.len() as u64];
        at_other_times(LogRatio::of_parts((of_b / of_a).ln(), &[a, b, starts], count))
    });
    let observations = [parts_a.len() as u64, parts_b.len() as u64];
    Ok(Compared::apart(kind, [of_a, of_b], ratio, observations))
}

/// The logarithm of the mean over each stretch of the measured part.
fn stretches(load: &LoadSummary, of: fn(&Window) -> f64) -> Vec<f64> {
    let end_s = load.warm_up_s + load.duration_s;
    let is_measured = |window: &&Window| {
        window.start_s >= load.warm_up_s - 1e-9 && window.start_s + 1.0 <= end_s + 1e-9
    };
    let values: Vec<f64> =
        load.windows.iter().filter(is_measured).map(of).filter(|it| *it > 0.0).collect();
    let length = values.len().div_ceil(STRETCHES).max(1);
    let whole = values.chunks_exact(length);
    whole.map(|part| (part.iter().sum::<f64>() / part.len() as f64).ln()).collect()
}

/// Squared error of their mean, with its degrees of freedom.
fn spread(logs: &[f64]) -> Option<(f64, f64)> {
    if logs.len() < STRETCHES_LEAST {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let squares: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (n - 1.0) / n, n - 1.0))
}

/// Share of the requests that failed, with whether that changed beyond doubt.
pub fn errors(a: &LoadSummary, b: &LoadSummary) -> Compared {
    let both = [a.failed_share(), b.failed_share()];
    Compared {
        change: Some(of_failures((a.due, a.failed()), (b.due, b.failed()))),
        ..Compared::apart(FigureKind::Errors, both, None, [a.due, b.due])
    }
}

/// Why two capacities found at a URL are not of the same kind; empty when they are.
pub fn capacity_refusals(a: &CapacitySummary, b: &CapacitySummary) -> Vec<CompareRefusal> {
    let mut refused = Vec::new();
    if a.slo != b.slo {
        let (a, b) = (a.slo.clone(), b.slo.clone());
        refused.push(CompareRefusal::GoalsDiffer { a, b, is_of_sessions: false });
    }
    if a.arrivals != b.arrivals {
        refused.push(CompareRefusal::ArrivalsDiffer);
    }
    for (side, found) in [(Side::A, a), (Side::B, b)] {
        if found.conclusion != CapacityConclusion::Found || !found.valid {
            refused.push(CompareRefusal::CapacityNotFound { side });
        }
    }
    refused
}

/// The two capacities; one start each at its own time, so what starts and times differ by is
/// allowed for.
pub fn capacity(a: &CapacitySummary, b: &CapacitySummary) -> Found {
    let estimate = |found: &CapacitySummary| {
        let (value, [low, high]) = (found.capacity_rps?, found.capacity_rps_interval?);
        let count = found.windows.iter().filter(|window| window.valid).count() as u64;
        Some(Estimate { value, low, high, count })
    };
    let (Some(a), Some(b)) = (estimate(a), estimate(b)) else {
        return Err(FigureLeftOut::MissingOnOneSide { figure: FigureKind::Capacity });
    };
    let ratio = LogRatio::of_estimates(&a, &b).map(|apart| {
        let error = apart.error.hypot((2.0 * start_variance()).sqrt());
        at_other_times(LogRatio { error, ..apart })
    });
    Ok(Compared::apart(FigureKind::Capacity, [a.value, b.value], ratio, [a.count, b.count]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Language;
    use crate::stats::Beside;
    use crate::summary::compared::KnownRatio;
    use crate::terms::{
        Arrivals, LatencySummary, ShapeSummary, StageSummary, Standing, WindowLatency,
    };

    /// Thirty seconds at 100/s after five of warm-up, with this p95, give or take a few percent.
    fn load(p95: f64, failed: u64) -> LoadSummary {
        let window = |second: u32| Window {
            start_s: f64::from(second),
            due: 100,
            sent: 100,
            completed: 100,
            errors: 0,
            failed: 0,
            latency_s: WindowLatency {
                p50: p95 / 2.0,
                p95: p95 * (1.0 + 0.03 * f64::from(second * 7 % 5) - 0.06),
                p99: p95 * 1.5,
                max: p95 * 2.0,
            },
            in_flight: 1,
        };
        let status = [("200".to_string(), 3000 - failed), ("500".to_string(), failed)];
        LoadSummary {
            offered_load_rps: Some(100.0),
            duration_s: 30.0,
            warm_up_s: 5.0,
            due: 3000,
            completed: 3000,
            throughput_rps: 100.0,
            latency_s: LatencySummary { p50: p95 / 2.0, p95, p99: p95 * 1.5, ..Default::default() },
            status: status.into(),
            windows: (0..35).map(window).collect(),
            valid: true,
            ..LoadSummary::default()
        }
    }

    fn p95(a: &LoadSummary, b: &LoadSummary) -> KnownRatio {
        let found = figures(a, b).into_iter().flatten();
        let mut of_p95 = found.filter(|pair| pair.kind == FigureKind::LatencyP95);
        of_p95.next().unwrap().ratio.unwrap()
    }

    #[test]
    fn a_latency_half_as_long_again_is_above_and_the_same_one_is_not() {
        let ratio = p95(&load(0.1, 0), &load(0.15, 0));
        assert_eq!(ratio.beside, Beside::Above, "{ratio:?}");
        let same = p95(&load(0.1, 0), &load(0.1, 0)).interval;
        assert!(same.low < 1.0 && 1.0 < same.high, "{same:?}");
        assert!(same.relative_half_width() > 0.05, "what starts differ by is in it: {same:?}");
    }

    #[test]
    fn errors_that_came_are_worse_and_few_of_them_are_not_yet() {
        let (clean, few, many) = (load(0.1, 0), load(0.1, 2), load(0.1, 60));
        assert_eq!(errors(&clean, &many).change, Some(Standing::Worse));
        assert_eq!(errors(&many, &clean).change, Some(Standing::Better));
        assert_eq!(errors(&clean, &few).change, Some(Standing::Undecided));
        assert_eq!(errors(&clean, &clean).change, Some(Standing::Equivalent));
    }

    #[test]
    fn loads_that_are_not_the_same_load_are_refused() {
        let faster = LoadSummary { offered_load_rps: Some(120.0), ..load(0.1, 0) };
        let said = |b| Language::DATA.say_fact(&refusals(&load(0.1, 0), b)[0]);
        assert!(said(&faster).contains("the loads differ"));
        let invalid = LoadSummary { valid: false, ..load(0.1, 0) };
        assert!(said(&invalid).contains("B is invalid"));
        assert!(refusals(&load(0.1, 0), &load(0.2, 0)).is_empty());
    }

    #[test]
    fn loads_of_one_mean_rate_that_went_on_otherwise_are_refused() {
        let of = |shape| LoadSummary { shape: Some(shape), ..load(0.1, 0) };
        let stage = |rps| StageSummary { from_rps: rps, to_rps: rps, duration_s: 10.0 };
        let steps = || ShapeSummary::Stages { stages: vec![stage(50.0), stage(150.0)] };
        let constant = of(ShapeSummary::Constant);
        let refused = refusals(&of(steps()), &constant);
        let expected = "the loads differ: A is 50.0/s for 10 s, then 150/s for 10 s, B one rate \
                        all the time; offer both the same";
        assert_eq!(Language::DATA.say_fact(&refused[0]), expected);
        assert_eq!(refused.len(), 1);
        let recorded = |requests| of(ShapeSummary::Recorded { requests });
        for other in [recorded(3000), of(ShapeSummary::Stages { stages: vec![stage(100.0)] })] {
            assert_eq!(refusals(&constant, &other).len(), 1);
        }
        assert_eq!(refusals(&recorded(3000), &recorded(3001)).len(), 1);
        assert!(refusals(&of(steps()), &of(steps())).is_empty());
        // Results from before it was noted say nothing of it.
        assert!(refusals(&of(steps()), &load(0.1, 0)).is_empty());
    }

    #[test]
    fn loads_of_one_rate_whose_arrivals_were_spaced_otherwise_are_refused() {
        let of = |arrivals| LoadSummary { arrivals, ..load(0.1, 0) };
        let [even, random] = [Arrivals::Uniform, Arrivals::Poisson].map(|it| of(Some(it)));
        assert_eq!(refusals(&even, &random), [CompareRefusal::ArrivalsDiffer]);
        // Results from before it was noted say nothing of it.
        for other in [&random, &of(None)] {
            assert!(refusals(&random, other).is_empty());
        }
    }

    #[test]
    fn a_result_from_before_shapes_were_noted_is_read_and_one_with_a_shape_comes_back() {
        let old = serde_json::to_value(load(0.1, 0)).unwrap();
        assert!(old.get("shape").is_none());
        assert_eq!(serde_json::from_value::<LoadSummary>(old).unwrap().shape, None);
        let shape = Some(ShapeSummary::Clients { think_s: 0.1 });
        let new = LoadSummary { shape, ..load(0.1, 0) };
        let text = serde_json::to_string(&new).unwrap();
        assert!(text.contains(r#""shape":{"kind":"clients","think_s":0.1}"#), "{text}");
        assert_eq!(serde_json::from_str::<LoadSummary>(&text).unwrap(), new);
    }

    #[test]
    fn a_load_of_a_few_seconds_has_no_interval() {
        let short = LoadSummary { duration_s: 2.0, ..load(0.1, 0) };
        let found = figures(&short, &load(0.1, 0));
        assert!(found[0].as_ref().is_ok_and(|pair| pair.ratio.is_none()), "{found:?}");
    }
}
