//! Is the rate that was offered sustainable? From a load's own record, whatever it ran against.
//!
//! In: a record and its summary. Out: yes, no or undecided, with the reason and the resolution.
//! Computes only.

use std::time::Duration;

use super::flow;
use super::goals::{self, JudgedGoal};
use crate::terms::{
    Arrivals, Edge, Goals, LatencyVerdict, LoadRecord, LoadSummary, Offered, Reason, Verdict,
};

/// What one load says of its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// What the plain figures say where the verdict is undecided; else the verdict.
    pub leaning: Verdict,
    pub reason: Reason,
    /// Smallest relative difference in rate that this load can tell apart.
    pub resolution: f64,
    /// See [`Edge`].
    pub edge: Option<Edge>,
    /// What the latencies alone say; `None` where failed requests made no difference.
    pub by_latency: Option<LatencyVerdict>,
}

impl Judgement {
    /// For a reason that leaves no edge, and beside which the latencies alone say nothing.
    pub fn sure(verdict: Verdict, reason: Reason, resolution: f64) -> Self {
        Self { verdict, leaning: verdict, reason, resolution, edge: None, by_latency: None }
    }
}

/// Judges a load whose first `cut` is left out, by the summary of the rest.
pub fn judge(load: &LoadRecord, goals: &Goals, summary: &LoadSummary, cut: Duration) -> Judgement {
    let resolution = resolution(load.run.offered, summary.due);
    let sure = |verdict, reason| Judgement::sure(verdict, reason, resolution);
    if !summary.valid {
        return sure(Verdict::Undecided, Reason::Doubted { doubts: summary.warnings.clone() });
    }
    if goals.are_none() {
        return sure(Verdict::Yes, Reason::NoGoalYet);
    }
    let is_open = load.run.offered.rate().is_some();
    if is_open && load.run.is_cut_short {
        let in_flight = load.seconds.last().map_or(0, |second| second.in_flight);
        return sure(Verdict::No, Reason::StoppedEarly { in_flight });
    }
    let measured = load.seconds.get(cut.as_secs() as usize..).unwrap_or_default();
    if let Some(reason) = flow::flow(measured)
        && is_open
    {
        return sure(Verdict::No, reason);
    }
    let judged = goals::judge(goals, measured);
    let judgement = by_goals(&judged, summary.due, resolution);
    let by_latency = goals::latencies_of(&judged).map(|latencies| {
        let Judgement { verdict, leaning, edge, .. } =
            by_goals(&latencies, summary.due, resolution);
        LatencyVerdict { verdict, leaning, edge }
    });
    let differs = |it: &LatencyVerdict| {
        let Judgement { verdict, leaning, edge, .. } = judgement;
        *it != LatencyVerdict { verdict, leaning, edge }
    };
    Judgement { by_latency: by_latency.filter(differs), ..judgement }
}

/// What the counts of each part of each goal say of a load of `due` requests.
fn by_goals(judged: &[JudgedGoal], due: u64, resolution: f64) -> Judgement {
    let (verdict, goals) = goals::together(judged);
    let (verdict, reason) = match (verdict, goals::bearable(judged)) {
        (Verdict::Undecided, Some(reason)) => (Verdict::Yes, reason),
        (Verdict::Undecided, None) => {
            (verdict, Reason::NotToldApart { goals, due, resolution_ratio: resolution })
        }
        _ => (verdict, Reason::Counted { goals }),
    };
    let leaning = match verdict {
        Verdict::Undecided => leaning(judged),
        sure => sure,
    };
    Judgement { verdict, leaning, reason, resolution, edge: edge(judged), by_latency: None }
}

/// Of the goal that is nearest to being missed; `None` where errors decide, or one goal is missed
/// by far: a part without an edge that is missed is one of these.
fn edge(judged: &[JudgedGoal]) -> Option<Edge> {
    let parts = || judged.iter().flat_map(|goal| &goal.parts);
    if parts().any(|part| part.edge.is_none() && !part.leans) {
        return None;
    }
    parts().filter_map(|part| part.edge).max_by(|a, b| a.excess_log.total_cmp(&b.excess_log))
}

/// Smallest relative overload that `due` requests can show: `2 sqrt((ca2 + cs2) / N)` with the
/// squared coefficients of variation of arrivals (1 for Poisson, 0 for uniform) and service (taken
/// as 1). At most 1.
fn resolution(offered: Offered, due: u64) -> f64 {
    let arrivals = match offered {
        Offered::Open { arrivals: Arrivals::Poisson, .. } => 1.0,
        _ => 0.0,
    };
    (2.0 * ((arrivals + 1.0) / due.max(1) as f64).sqrt()).min(1.0)
}

/// What the plain quantiles and the plain error ratios say, without any test. A goal that no
/// request was about says nothing.
fn leaning(judged: &[JudgedGoal]) -> Verdict {
    let parts =
        || judged.iter().flat_map(|goal| &goal.parts).filter(|part| part.count.requests > 0);
    match parts().next() {
        None => Verdict::Undecided,
        Some(_) if parts().all(|part| part.leans) => Verdict::Yes,
        Some(_) => Verdict::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::load::summarise;
    use crate::terms::{GeneratorUse, LoadRun, LoadSecond, Rate};

    /// Seconds in which of 100 requests so many took 300 ms and the others 10 ms.
    fn load(slow: &[u64]) -> LoadRecord {
        let second = |slow: &u64| {
            let mut second = LoadSecond { due: 100, sent: 100, ..LoadSecond::default() };
            second.status.insert(200, 100);
            second.latency.record_n(Duration::from_millis(10), 100 - slow);
            second.latency.record_n(Duration::from_millis(300), *slow);
            second.in_flight_mean = second.latency.mean().unwrap().as_secs_f64() * 100.0;
            second
        };
        let rate = Rate::per_second(100.0).unwrap();
        let duration = Duration::from_secs(slow.len() as u64);
        let run = LoadRun {
            offered: Offered::Open { rate, arrivals: Arrivals::Poisson },
            warm_up: Duration::ZERO,
            duration,
            last_reply: duration,
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        LoadRecord { run, seconds: slow.iter().map(second).collect() }
    }

    fn judged(load: &LoadRecord, slo: &str) -> Judgement {
        let goals = Goals::one(slo.parse().unwrap());
        let summary = summarise(load, Duration::ZERO, &goals);
        judge(load, &goals, &summary, Duration::ZERO)
    }

    #[test]
    fn what_can_be_told_apart_follows_from_the_number_of_arrivals_and_how_they_vary() {
        let mut poisson = load(&[5; 8]);
        let told = judged(&poisson, "p95<200ms").resolution;
        assert!((told - 2.0 * (2.0 / 800.0_f64).sqrt()).abs() < 1e-9, "{told}");
        let rate = Rate::per_second(100.0).unwrap();
        poisson.run.offered = Offered::Open { rate, arrivals: Arrivals::Uniform };
        let told = judged(&poisson, "p95<200ms").resolution;
        assert!((told - 2.0 * (1.0 / 800.0_f64).sqrt()).abs() < 1e-9, "{told}");
    }

    #[test]
    fn the_edge_is_that_of_the_part_that_is_nearest_to_being_missed() {
        let near = judged(&load(&[4; 10]), "p50<200ms,p95<200ms");
        let edge = near.edge.expect("a twenty-fifth of a twentieth");
        assert!((edge.excess_log - (40.5_f64 / 50.5).ln()).abs() < 1e-9, "{edge:?}");
        // A second part that is missed by far has no edge, and leaves none.
        assert!(judged(&load(&[20; 10]), "p70<200ms").edge.is_some());
        assert_eq!(judged(&load(&[20; 10]), "p70<200ms,p99<200ms").edge, None);
    }

    #[test]
    fn a_load_that_had_to_be_stopped_was_too_much_and_a_doubted_one_says_nothing() {
        let mut stopped = load(&[0; 10]);
        assert_eq!(judged(&stopped, "p95<200ms").verdict, Verdict::Yes);
        stopped.run.is_cut_short = true;
        let judgement = judged(&stopped, "p95<200ms");
        assert_eq!((judgement.verdict, judgement.leaning), (Verdict::No, Verdict::No));
        stopped.run.generator.busiest_loop = 1.0;
        assert_eq!(judged(&stopped, "p95<200ms").verdict, Verdict::Undecided);
    }
}
