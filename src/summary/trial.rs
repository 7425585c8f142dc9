//! One trial's record to its summary: the load's figures, the verdict with its reason and
//! resolution, who used what, and the limit.

use std::time::Duration;

use super::flow::{self, Flow};
use super::limit::{self, Figures};
use super::load;
use super::slo;
use super::used::{self, Used};
use super::warm_up::warm_up;
use crate::terms::{
    Arrivals, Limit, LoadSecond, LoadSummary, Offered, Slo, TrialPurpose, TrialRecord,
    TrialSummary, Verdict,
};

/// What has to be known beside the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub id: u32,
    pub purpose: TrialPurpose,
    /// `None` before it is settled.
    pub slo: Option<&'a Slo>,
    /// Cores the server may use.
    pub cores: f64,
    /// Seconds of the session at the trial's end.
    pub ended_s: f64,
}

/// What one trial means.
pub fn summarise(record: &TrialRecord, context: &Context<'_>) -> TrialSummary {
    let warm_up = warm_up(record);
    let cut = Duration::from_secs_f64(warm_up.left_out_s);
    let summary = load::summarise(&record.load, cut, context.slo, &load::Rules::default());
    let load_s = record.load.run.duration.max(record.load.run.last_reply).as_secs_f64();
    let used = used::used(record, cut.as_secs_f64(), record.load.run.duration.as_secs_f64());
    let resolution = resolution(record.load.run.offered, summary.due);
    let judgement = judge(record, context, &summary, cut, resolution);
    let is_pushed = context.purpose == TrialPurpose::Saturate || judgement.verdict == Verdict::No;
    let limit = if is_pushed {
        name_limit(record, context, &used, cut)
    } else {
        Limit::unknown("it was not pushed to its limit")
    };
    TrialSummary {
        id: context.id,
        purpose: context.purpose,
        configuration: record.configuration,
        start: record.start,
        offered: record.load.run.offered,
        verdict: judgement.verdict,
        leaning: judgement.leaning,
        reason: judgement.reason,
        resolution,
        valid: summary.valid,
        warm_up,
        cpu_s: used.cpu_s,
        workers: used.workers,
        memory_bytes: used.memory_bytes,
        summary,
        limit,
        failure: record.failure.clone(),
        load_s,
        ended_s: context.ended_s,
    }
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

struct Judgement {
    verdict: Verdict,
    leaning: Verdict,
    reason: String,
}

impl Judgement {
    fn sure(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, leaning: verdict, reason: reason.into() }
    }
}

fn judge(
    record: &TrialRecord,
    context: &Context<'_>,
    summary: &LoadSummary,
    cut: Duration,
    resolution: f64,
) -> Judgement {
    if record.failure.is_some() {
        return Judgement::sure(Verdict::No, "the server died under this load");
    }
    if !summary.valid {
        let doubts: Vec<String> = summary.warnings.iter().map(ToString::to_string).collect();
        return Judgement::sure(Verdict::Undecided, doubts.join("; "));
    }
    if context.purpose == TrialPurpose::Saturate {
        let reason = "a closed load shows how much goes through, not what can be sustained";
        return Judgement::sure(Verdict::Undecided, reason);
    }
    let Some(goal) = &summary.slo else {
        return Judgement::sure(Verdict::Yes, "no goal was set yet");
    };
    let is_open = record.load.run.offered.rate().is_some();
    if is_open && record.load.run.is_cut_short {
        let reason = format!(
            "stopped early: requests in flight kept growing, {} at the end",
            record.load.seconds.last().map_or(0, |second| second.in_flight)
        );
        return Judgement::sure(Verdict::No, reason);
    }
    let measured = record.load.seconds.get(cut.as_secs() as usize..).unwrap_or_default();
    if let Flow::Growing(reason) = flow::flow(measured)
        && is_open
    {
        return Judgement::sure(Verdict::No, reason);
    }
    match goal.met {
        Some(true) => Judgement::sure(Verdict::Yes, goal.reason.clone()),
        Some(false) => Judgement::sure(Verdict::No, goal.reason.clone()),
        None => fast_enough(context.slo, measured).unwrap_or_else(|| Judgement {
            verdict: Verdict::Undecided,
            leaning: leaning(context.slo, summary),
            reason: format!(
                "{}; {} requests cannot tell {:.0} % apart",
                goal.reason,
                summary.due,
                resolution * 100.0
            ),
        }),
    }
}

/// A goal of 0.1 % errors takes 3,000 requests to be certain of, which no window of a search has.
/// The rate holds all the same when its quantiles are certain and it shows no more errors than
/// allowed; the reason says what was not certified.
fn fast_enough(slo: Option<&Slo>, measured: &[LoadSecond]) -> Option<Judgement> {
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
        Judgement::sure(Verdict::Yes, format!("{}; {errors}", quantiles.reason))
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

fn name_limit(record: &TrialRecord, context: &Context<'_>, used: &Used, cut: Duration) -> Limit {
    let measured = record.load.seconds.get(cut.as_secs() as usize..).unwrap_or_default();
    let in_flight_mean = measured.iter().map(|second| second.in_flight_mean).sum::<f64>()
        / measured.len().max(1) as f64;
    limit::limit(&Figures {
        configuration: record.configuration,
        cores: context.cores,
        used,
        in_flight_mean,
    })
}
