//! What a session's trials show, beyond what its search concluded.
//!
//! In: a [`Story`]. Out: values for sentences. Computes only.

use schemars::JsonSchema;
use serde::Serialize;

use super::Story;
use crate::stats;
use crate::terms::{
    GoalSummary, InsideSummary, LimitKind, LoadSummary, PredictionScore, QuantileLimit, Reason,
    Stated, TrialFailure, TrialPurpose, TrialSummary, Verdict,
};

/// What became of a trial. Nothing is asked of `Unloaded` and `Saturate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    DidNotStart,
    OutOfMemory,
    ServerEnded,
    NotValid,
    Measured,
    Held,
    DidNotHold,
    Undecided,
}

impl Outcome {
    /// Of this trial.
    pub fn of(trial: &TrialSummary) -> Self {
        match (&trial.failure, trial.valid, trial.purpose, trial.verdict) {
            (Some(TrialFailure::Boot(_)), ..) => Self::DidNotStart,
            (Some(TrialFailure::Died { .. }), ..) if trial.limit.kind == LimitKind::Memory => {
                Self::OutOfMemory
            }
            (Some(TrialFailure::Died { .. }), ..) => Self::ServerEnded,
            (None, false, ..) => Self::NotValid,
            (None, true, TrialPurpose::Unloaded | TrialPurpose::Saturate, _) => Self::Measured,
            (None, true, TrialPurpose::Screen, _) if trial.offered.rate().is_none() => {
                Self::Measured
            }
            (None, true, _, Verdict::Yes) => Self::Held,
            (None, true, _, Verdict::No) => Self::DidNotHold,
            (None, true, _, Verdict::Undecided) => Self::Undecided,
        }
    }
}

/// Why there is no figure for what runs today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFigure {
    DoesNotStart,
    HoldsNothing,
    EndedUnderLoad,
    NotFarEnough,
}

/// A latency of the requests that a goal is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalLatency {
    /// `p95`.
    pub quantile: &'static str,
    pub quantile_ratio: f64,
    pub latency_s: f64,
}

/// What a request cost inside the server, in seconds: means over all requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsideMeans {
    pub app_s: f64,
    pub cpu_s: f64,
    /// `None` where some trial could not tell; so `gvl_wait_s`.
    pub gc_s: Option<f64>,
    pub gvl_wait_s: Option<f64>,
    /// Of the probe itself.
    pub probe_s: f64,
}

impl Story {
    /// Was today's setting measured alone, although others were to be?
    pub fn has_only_todays(&self) -> bool {
        let Some(current) = self.current_configuration() else { return false };
        let today = (current.workers.get(), current.threads.get());
        let has_others = self.predicted.iter().any(|one| (one.workers, one.threads) != today);
        let is_measured = |trial: &TrialSummary| trial.valid && trial.configuration != current;
        has_others && !self.trials.iter().any(is_measured)
    }

    /// Why what runs today has no capacity: only a believable trial shows that it holds nothing.
    pub fn why_no_figure_of_today(&self) -> NoFigure {
        let today = self.current_configuration();
        let mut trials =
            self.trials.iter().filter(|trial| Some(trial.configuration) == today).peekable();
        if trials.peek().is_none() && self.boot_failures.iter().any(|(it, _)| Some(*it) == today) {
            return NoFigure::DoesNotStart;
        }
        let is_shown = |trial: &TrialSummary| {
            trial.valid && trial.failure.is_none() && trial.verdict == Verdict::No
        };
        let (mut is_slow, mut is_gone) = (false, false);
        for trial in trials {
            is_slow |= is_shown(trial);
            is_gone |= trial.failure.is_some();
        }
        match (is_slow, is_gone) {
            (true, _) => NoFigure::HoldsNothing,
            (false, true) => NoFigure::EndedUnderLoad,
            (false, false) => NoFigure::NotFarEnough,
        }
    }

    /// The believable trial that came nearest to the goal: fewest failures, then lowest latency.
    pub fn nearest(&self) -> Option<&TrialSummary> {
        let distance = |trial: &TrialSummary| {
            (trial.summary.failed_share(), self.goal_latency(&trial.summary).latency_s)
        };
        let trials = self.trials.iter().filter(|trial| trial.valid && trial.summary.completed > 0);
        trials.min_by(|a, b| {
            let ((a_failed, a_latency), (b_failed, b_latency)) = (distance(a), distance(b));
            a_failed.total_cmp(&b_failed).then(a_latency.total_cmp(&b_latency))
        })
    }

    /// The first limit on a latency; of several goals the common one's comes first.
    fn first_limit(&self) -> Option<QuantileLimit> {
        self.goals.settled().next()?.quantiles.first().copied()
    }

    /// The latency that the first limit is on, of the requests that its goal is about; p95 where it
    /// limits none that is kept.
    pub fn goal_latency(&self, summary: &LoadSummary) -> GoalLatency {
        let is_own = self.goals.common().is_none();
        let mut goals = summary.goals.iter().filter(|_| !self.goals.own.is_empty());
        let kept = match goals.find(|goal| goal.own == is_own && goal.due > 0) {
            Some(GoalSummary { latency_s: it, .. }) => {
                vec![(0.95, "p95", it.p95), (0.5, "p50", it.p50), (0.99, "p99", it.p99)]
            }
            None => {
                let it = &summary.latency_s;
                vec![
                    (0.95, "p95", it.p95),
                    (0.5, "p50", it.p50),
                    (0.75, "p75", it.p75),
                    (0.9, "p90", it.p90),
                    (0.99, "p99", it.p99),
                    (0.999, "p99.9", it.p999),
                ]
            }
        };
        let wanted = self.first_limit().map_or(0.95, |limit| limit.quantile.get());
        let found = kept.iter().find(|(kept, ..)| (wanted - kept).abs() < 1e-9);
        let (quantile_ratio, quantile, latency_s) = *found.unwrap_or(&kept[0]);
        GoalLatency { quantile, quantile_ratio, latency_s }
    }

    /// The latency of one request alone, and the goal's limit in seconds, where that one is over
    /// it: then no setting can help.
    pub fn too_slow_alone(&self) -> Option<(GoalLatency, f64)> {
        let first = self.first_limit()?;
        let limit_s = first.limit.as_secs_f64();
        let alone = self.goal_latency(&self.alone()?.summary);
        // A larger quantile that stands in for one that is not kept says nothing of that.
        let is_of_it = alone.quantile_ratio < first.quantile.get() + 1e-9;
        (is_of_it && alone.latency_s >= limit_s).then_some((alone, limit_s))
    }

    /// What kept trials from counting, neighbours that say the same as one.
    pub fn why_not_valid(&self) -> Vec<&Stated<Reason>> {
        let not_valid = self.trials.iter().filter(|trial| !trial.valid);
        let mut reasons: Vec<&Stated<Reason>> = not_valid.map(|trial| &trial.reason).collect();
        reasons.dedup();
        reasons
    }

    /// How many trials had each outcome, in the order in which they came up.
    pub fn outcomes(&self) -> Vec<(Outcome, usize)> {
        let mut counts: Vec<(Outcome, usize)> = Vec::new();
        for outcome in self.trials.iter().map(Outcome::of) {
            match counts.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome, 1)),
            }
        }
        counts
    }

    /// How far predictions of throughput and of capacity were off that were made before each
    /// measurement, relative: the median, and of how many settings.
    pub fn predictions_off(&self) -> [Option<(f64, usize)>; 2] {
        let off = |predicted: f64, measured: Option<f64>| {
            let measured = measured.filter(|measured| *measured > 0.0 && predicted > 0.0)?;
            Some((predicted / measured - 1.0).abs())
        };
        let scored = self.scored();
        let throughput = |it: &PredictionScore| {
            off(it.predicted_throughput_rps_max, it.measured_throughput_rps_max)
        };
        let capacity =
            |it: &PredictionScore| off(it.predicted_capacity_rps, it.measured_capacity_rps);
        let errors: [Vec<f64>; 2] = [
            scored.iter().filter_map(throughput).collect(),
            scored.iter().filter_map(capacity).collect(),
        ];
        errors.map(|mut errors| {
            errors.sort_by(f64::total_cmp);
            stats::median(&errors).map(|median| (median, errors.len()))
        })
    }

    /// What a request cost inside the server as it is, over all trials; `None` without a probe.
    pub fn inside(&self) -> Option<InsideMeans> {
        let as_it_is = self.trials.iter().filter(|trial| trial.is_as_it_is());
        let trials: Vec<InsideSummary> = as_it_is.filter_map(|trial| trial.inside).collect();
        let requests: u64 = trials.iter().map(|one| one.requests).sum();
        let mean = |figure: fn(&InsideSummary) -> Option<f64>| -> Option<f64> {
            let weighed = trials.iter().map(|one| Some(figure(one)? * one.requests as f64));
            Some(weighed.sum::<Option<f64>>()? / requests as f64)
        };
        (requests > 0).then_some(())?;
        Some(InsideMeans {
            app_s: mean(|one| Some(one.app_s))?,
            cpu_s: mean(|one| Some(one.cpu_s))?,
            gc_s: mean(|one| one.gc_s),
            gvl_wait_s: mean(|one| one.gvl_wait_s),
            probe_s: mean(|one| Some(one.probe_s))?,
        })
    }
}
