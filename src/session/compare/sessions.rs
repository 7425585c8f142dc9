//! The figures of two sessions, or of two settings of one, side by side.
//!
//! In: two [`Measured`]. Out: each figure with the ratio and its interval. Must not measure.

use crate::model::Costs;
use crate::report::Story;
use crate::search::{Start, mean_rps, ratio_apart, ratio_in_blocks, starts};
use crate::stats::{Estimate, LogRatio};
use crate::summary::compared::Compared;
use crate::terms::{Configuration, FigureKind, FigureLeftOut, Side, TrialPurpose, TrialSummary};

/// One side: a session and the setting of it that is meant.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    pub story: &'a Story,
    pub at: Configuration,
    /// Of all its configurations.
    starts: Vec<Start>,
}

/// A figure, or why it is not one of those compared.
pub type Found = Result<Compared, FigureLeftOut>;

/// Rates nearer to each other than this count as the same.
const SAME_RATE: f64 = 0.01;

impl<'a> Measured<'a> {
    pub fn new(story: &'a Story, at: Configuration) -> Self {
        Self { story, at, starts: starts(&story.trials) }
    }

    /// How many starts of the setting were measured.
    pub fn count(&self) -> usize {
        self.of(self.at).count()
    }

    /// The setting was measured on fresh starts after the choice.
    pub fn is_confirmed(&self) -> bool {
        self.of(self.at).any(|start| start.block > 0)
    }

    fn of(&self, at: Configuration) -> impl Iterator<Item = &Start> {
        self.starts.iter().filter(move |start| start.configuration == at)
    }

    /// What the session itself concluded; all there is where its trials don't tell.
    fn concluded(&self, at: Configuration) -> Vec<Start> {
        let decision = self.story.decision.as_ref().filter(|_| self.story.chosen() == Some(at));
        let of_chosen = decision.map(|it| (it.capacity_rps, it.capacity_rps_interval));
        let is_current = self.story.current_configuration() == Some(at);
        let current = self.story.current.as_ref().filter(|_| is_current);
        let of_current = current.and_then(|it| it.capacity_rps.zip(it.capacity_rps_interval));
        let known = of_chosen.or(of_current);
        known.map(|(rps, interval)| Start::concluded(at, rps, interval)).into_iter().collect()
    }

    /// Of the app as it is: what a knob does is no figure of the setting.
    fn trials(&self) -> impl Iterator<Item = &TrialSummary> {
        let trials = self.story.trials.iter().filter(|it| it.is_as_it_is());
        trials.filter(|it| it.configuration == self.at && it.valid && it.failure.is_none())
    }
}

/// B's setting beside A's. `is_one_session`: both are of the same one, so that blocks have both.
pub fn capacity(a: &Measured<'_>, b: &Measured<'_>, is_one_session: bool) -> Found {
    capacity_of(FigureKind::Capacity, (a, a.at), (b, b.at), is_one_session)
}

/// What was current in each.
pub fn current_capacity(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let known = |side: &Measured<'_>| {
        let missing = FigureLeftOut::MissingOnOneSide { figure: FigureKind::CurrentCapacity };
        side.story.current_configuration().ok_or(missing)
    };
    let (of_a, of_b) = (known(a)?, known(b)?);
    capacity_of(FigureKind::CurrentCapacity, (a, of_a), (b, of_b), false)
}

fn capacity_of(
    kind: FigureKind,
    (a, at_a): (&Measured<'_>, Configuration),
    (b, at_b): (&Measured<'_>, Configuration),
    is_one_session: bool,
) -> Found {
    let of = |measured: &Measured<'_>, side: Side, setting: Configuration| {
        let starts: Vec<Start> = measured.of(setting).copied().collect();
        // Of the race's own starts the session knew more than their trials tell.
        let is_confirmed = starts.iter().any(|start| start.block > 0);
        let concluded = measured.concluded(setting);
        let found = if is_confirmed || concluded.is_empty() { starts } else { concluded };
        let missing = FigureLeftOut::SettingHoldsNothing { figure: kind, setting, side };
        if found.is_empty() { Err(missing) } else { Ok(found) }
    };
    let (of_a, of_b) = (of(a, Side::A, at_a)?, of(b, Side::B, at_b)?);
    let in_blocks = if is_one_session { ratio_in_blocks(&of_a, &of_b) } else { None };
    let ratio = in_blocks.or_else(|| ratio_apart(&of_a, &of_b));
    let both = [mean_rps(&of_a), mean_rps(&of_b)];
    let apart = Compared::apart(kind, both, ratio, [of_a.len() as u64, of_b.len() as u64]);
    Ok(Compared { within_blocks: in_blocks.is_some(), ..apart })
}

/// How much more than the current setting the recommended one holds, in each.
pub fn gain(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let known = |side: &Measured<'_>| {
        let decision = side.story.decision.as_ref()?;
        let (value, [low, high]) = (decision.gain_ratio?, decision.gain_ratio_interval?);
        Some(Estimate { value, low, high, count: 1 })
    };
    let missing = || FigureLeftOut::MissingOnOneSide { figure: FigureKind::Gain };
    let (a, b) = (known(a).ok_or_else(missing)?, known(b).ok_or_else(missing)?);
    let ratio = LogRatio::of_estimates(&a, &b);
    Ok(Compared::apart(FigureKind::Gain, [a.value, b.value], ratio, [1, 1]))
}

/// Memory of all processes, the most that each start took.
pub fn memory(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let known = |side: &Measured<'_>| -> Vec<f64> {
        side.of(side.at).filter_map(|start| start.memory_bytes).map(|it| it as f64).collect()
    };
    plain(FigureKind::Memory, &known(a), &known(b))
}

/// CPU of the server for a request, of each load that saturated it.
pub fn cpu_per_request(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let known = |side: &Measured<'_>| -> Vec<f64> {
        let saturated = side.trials().filter(|it| it.purpose == TrialPurpose::Saturate);
        saturated.filter_map(|trial| Costs::of(trial).server_s).collect()
    };
    plain(FigureKind::CpuPerRequest, &known(a), &known(b))
}

/// p95 at the highest rate that both were offered and held.
pub fn latency(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let at = |side: &Measured<'_>, rate: f64| -> Vec<f64> {
        let offered = |trial: &&TrialSummary| rate_of(trial).is_some_and(|it| is_same(it, rate));
        side.trials().filter(offered).map(|trial| trial.summary.latency_s.p95).collect()
    };
    let mut rates: Vec<f64> = a.trials().filter_map(rate_of).collect();
    rates.sort_by(|a, b| b.total_cmp(a));
    let common = rates.iter().find(|rate| !at(b, **rate).is_empty());
    let Some(&rate) = common else {
        return Err(FigureLeftOut::NoCommonRate);
    };
    plain(FigureKind::LatencyP95, &at(a, rate), &at(b, rate))
}

fn rate_of(trial: &TrialSummary) -> Option<f64> {
    let is_held = trial.verdict == crate::terms::Verdict::Yes;
    trial.offered.rate().filter(|_| is_held).map(|rate| rate.as_per_second())
}

fn is_same(a: f64, b: f64) -> bool {
    (a / b).ln().abs() <= SAME_RATE
}

/// Figures of which nothing is known beforehand: with one value on a side there is no interval.
fn plain(kind: FigureKind, a: &[f64], b: &[f64]) -> Found {
    if a.is_empty() || b.is_empty() {
        return Err(FigureLeftOut::NotMeasuredOnBoth { figure: kind });
    }
    let observations = [a.len() as u64, b.len() as u64];
    Ok(Compared::apart(kind, [mean(a), mean(b)], LogRatio::plain(a, b), observations))
}

/// The geometric one, as ratios are made from logarithms.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
