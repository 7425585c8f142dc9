//! Is the rate that was offered sustainable? From a load's own record, whatever it ran against.
//!
//! In: a record and its summary. Out: yes, no or undecided, with the reason and the resolution.
//! Computes only.

use std::time::Duration;

use super::flow::{self, Flow};
use super::slo;
use crate::terms::{Arrivals, LoadRecord, LoadSecond, LoadSummary, Offered, Slo, Verdict};

/// What one load says of its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// What the plain figures say where the verdict is undecided; else the verdict.
    pub leaning: Verdict,
    pub reason: String,
    /// Smallest relative difference in rate that this load can tell apart.
    pub resolution: f64,
}

/// Judges a load whose first `cut` is left out, by the summary of the rest.
pub fn judge(
    load: &LoadRecord,
    slo: Option<&Slo>,
    summary: &LoadSummary,
    cut: Duration,
) -> Judgement {
    let resolution = resolution(load.run.offered, summary.due);
    let sure =
        |verdict, reason: String| Judgement { verdict, leaning: verdict, reason, resolution };
    if !summary.valid {
        let doubts: Vec<String> = summary.warnings.iter().map(ToString::to_string).collect();
        return sure(Verdict::Undecided, doubts.join("; "));
    }
    let Some(goal) = &summary.slo else {
        return sure(Verdict::Yes, "no goal was set yet".to_string());
    };
    let is_open = load.run.offered.rate().is_some();
    if is_open && load.run.is_cut_short {
        let reason = format!(
            "stopped early: requests in flight kept growing, {} at the end",
            load.seconds.last().map_or(0, |second| second.in_flight)
        );
        return sure(Verdict::No, reason);
    }
    let measured = load.seconds.get(cut.as_secs() as usize..).unwrap_or_default();
    if let Flow::Growing(reason) = flow::flow(measured)
        && is_open
    {
        return sure(Verdict::No, reason);
    }
    match goal.met {
        Some(true) => sure(Verdict::Yes, goal.reason.clone()),
        Some(false) => sure(Verdict::No, goal.reason.clone()),
        None => match fast_enough(slo, measured) {
            Some(reason) => sure(Verdict::Yes, reason),
            None => Judgement {
                leaning: leaning(slo, summary),
                ..sure(Verdict::Undecided, undecided(&goal.reason, summary.due, resolution))
            },
        },
    }
}

fn undecided(reason: &str, due: u64, resolution: f64) -> String {
    format!("{reason}; {due} requests cannot tell {:.0} % apart", resolution * 100.0)
}

/// Smallest relative overload that so many requests can show: `2 sqrt((ca2 + cs2) / N)` with the
/// squared coefficients of variation of arrivals (1 for Poisson, 0 for uniform) and service (taken
/// as 1). At most 1.
fn resolution(offered: Offered, due: u64) -> f64 {
    let arrivals = match offered {
        Offered::Open { arrivals: Arrivals::Poisson, .. } => 1.0,
        _ => 0.0,
    };
    (2.0 * ((arrivals + 1.0) / due.max(1) as f64).sqrt()).min(1.0)
}

/// A goal of 0.1 % errors takes 3,000 requests to be certain of, which no window of a search has.
/// The rate holds all the same when its quantiles are certain and it shows no more errors than
/// allowed; the reason says what was not certified.
fn fast_enough(slo: Option<&Slo>, measured: &[LoadSecond]) -> Option<String> {
    let slo = slo.filter(|slo| !slo.quantiles.is_empty())?;
    let allowed = slo.errors?;
    let quantiles = slo::judge(&Slo { errors: None, ..slo.clone() }, measured);
    let (mut failed, mut of) = (0, 0);
    for second in measured.iter().map(slo::failed) {
        failed += second.count;
        of += second.of;
    }
    let is_right = failed as f64 <= allowed.get() * of as f64;
    (quantiles.met == Some(true) && is_right).then(|| {
        let errors =
            format!("{failed} of {of} failed, too few requests to certify the error ratio");
        format!("{}; {errors}", quantiles.reason)
    })
}

/// What the plain quantiles and the plain error ratio say, without any test.
fn leaning(slo: Option<&Slo>, summary: &LoadSummary) -> Verdict {
    let Some(slo) = slo.filter(|_| summary.due > 0) else { return Verdict::Undecided };
    let is_fast = slo.quantiles.iter().all(|q| {
        let seen_s = match (q.quantile.get() * 1000.0).round() as u32 {
            0..=500 => summary.latency_s.p50,
            501..=750 => summary.latency_s.p75,
            751..=900 => summary.latency_s.p90,
            901..=950 => summary.latency_s.p95,
            951..=990 => summary.latency_s.p99,
            _ => summary.latency_s.p999,
        };
        seen_s < q.limit.as_secs_f64()
    });
    let good: u64 = summary
        .status
        .iter()
        .filter(|(status, _)| status.starts_with('2') || status.starts_with('3'))
        .map(|(_, count)| count)
        .sum();
    let failed = (summary.due - good.min(summary.due)) as f64 / summary.due as f64;
    let is_right = slo.errors.is_none_or(|errors| failed <= errors.get());
    if is_fast && is_right { Verdict::Yes } else { Verdict::No }
}
