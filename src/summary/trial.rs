//! One trial's record to its summary: the load's figures, the verdict with its reason and
//! resolution, who used what, and the limit.

use std::time::Duration;

use super::limit::{self, Figures};
use super::load;
use super::used::{self, Used};
use super::verdict::{self, Judgement};
use super::warm_up::warm_up;
use crate::terms::{
    BlindSpot, Goals, InsideSummary, InsideUse, Limit, LoadDoubt, LoadSummary, Reason, Stated,
    TrialPurpose, TrialRecord, TrialSummary, Variant, Verdict, WaitingEvidence,
};

/// What has to be known beside the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub id: u32,
    pub purpose: TrialPurpose,
    /// As far as they are settled.
    pub goals: &'a Goals,
    /// Cores the server may use.
    pub cores: f64,
    /// Mean latency of one client alone, seconds; `None` before it was measured.
    pub unloaded_s: Option<f64>,
    /// A proxy stands in front of the server.
    pub has_proxy: bool,
    /// The server has threads to choose.
    pub has_threads: bool,
    /// Seconds of the session at the trial's end.
    pub ended_s: f64,
}

/// What one trial means, of the app as it is: whoever had it changed notes that in the summary.
pub fn summarise(record: &TrialRecord, context: &Context<'_>) -> TrialSummary {
    let warm_up = warm_up(record, !is_as_planned(context.purpose));
    let cut = Duration::from_secs_f64(warm_up.left_out_s);
    let mut summary = load::summarise(&record.load, cut, context.goals);
    let load_s = record.load.run.duration.max(record.load.run.last_reply).as_secs_f64();
    let used = used::used(record, cut.as_secs_f64(), record.load.run.duration.as_secs_f64());
    let not_seen = |what: &Stated<BlindSpot>| LoadDoubt::NotSeen { what: what.clone() }.into();
    summary.warnings.extend(record.monitor.blind_spots.iter().map(not_seen));
    let judgement = judge(record, context, &summary, cut);
    // Of a trial that is not valid the generator is the limit, whatever was asked.
    // What is left without a pod is neither the setting nor the machine that limits are told by.
    let has_missed = judgement.verdict == Verdict::No && context.purpose != TrialPurpose::LostPod;
    let is_pushed = is_burst(record, context) || has_missed || !summary.valid;
    let limit = if is_pushed {
        summary.warnings.extend(used::doubt_balance(&used));
        name_limit(record, context, &used, &summary, cut)
    } else {
        Limit::unknown(WaitingEvidence::NotSaturated)
    };
    TrialSummary {
        id: context.id,
        purpose: context.purpose,
        configuration: record.configuration,
        variant: Variant::AS_IT_IS,
        start: record.start,
        offered: record.load.run.offered,
        verdict: judgement.verdict,
        leaning: judgement.leaning,
        reason: judgement.reason.into(),
        resolution: judgement.resolution,
        edge: judgement.edge,
        by_latency: judgement.by_latency,
        valid: summary.valid,
        warm_up,
        cpu_s: used.cpu_s,
        workers: used.workers,
        memory_bytes: used.memory_bytes,
        memory_growth_bytes_s: used.memory_growth.map(|growth| growth.value),
        memory_growth_bytes_s_interval: used.memory_growth.map(|it| it.interval()),
        summary,
        inside: used.inside.as_ref().and_then(a_request),
        limit,
        failure: record.failure.clone(),
        load_s,
        ended_s: context.ended_s,
    }
}

/// What is printed as held is so from the planned beginning on, what lasts is so throughout, and
/// what a lost pod does is seen for as long of every way.
fn is_as_planned(purpose: TrialPurpose) -> bool {
    use TrialPurpose::{Check, Hold, LostPod, Soak};
    matches!(purpose, Hold | Check | LostPod | Soak)
}

/// Means of one request; `None` when there was none.
fn a_request(all: &InsideUse) -> Option<InsideSummary> {
    let mean = |seconds: f64| seconds / all.requests as f64;
    (all.requests > 0).then(|| InsideSummary {
        requests: all.requests,
        app_s: mean(all.app_s),
        cpu_s: mean(all.cpu_s),
        gc_s: all.gc_s.map(mean),
        gvl_wait_s: all.gvl_wait_s.map(mean),
        queue_s: all.queue_s.map(mean),
        probe_s: mean(all.probe_s),
    })
}

fn judge(
    record: &TrialRecord,
    context: &Context<'_>,
    summary: &LoadSummary,
    cut: Duration,
) -> Judgement {
    let judgement = verdict::judge(&record.load, context.goals, summary, cut);
    let sure = |verdict, reason| Judgement::sure(verdict, reason, judgement.resolution);
    if record.failure.is_some() {
        return sure(Verdict::No, Reason::ServerDied);
    }
    if summary.valid && is_burst(record, context) {
        return sure(Verdict::Undecided, Reason::ClosedLoad);
    }
    judgement
}

/// A closed load that saturates.
fn is_burst(record: &TrialRecord, context: &Context<'_>) -> bool {
    let is_closed = record.load.run.offered.rate().is_none();
    context.purpose == TrialPurpose::Saturate
        || (context.purpose == TrialPurpose::Screen && is_closed)
}

fn name_limit(
    record: &TrialRecord,
    context: &Context<'_>,
    used: &Used,
    load: &LoadSummary,
    cut: Duration,
) -> Limit {
    let measured = record.load.seconds.get(cut.as_secs() as usize..).unwrap_or_default();
    let in_flight_mean = measured.iter().map(|second| second.in_flight_mean).sum::<f64>()
        / measured.len().max(1) as f64;
    limit::limit(&Figures {
        configuration: record.configuration,
        cores: context.cores,
        used,
        load,
        in_flight_mean,
        unloaded_s: context.unloaded_s,
        has_proxy: context.has_proxy,
        has_threads: context.has_threads,
    })
}
