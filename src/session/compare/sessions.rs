//! The figures of two sessions, or of two settings of one, side by side.
//!
//! In: two [`Measured`]. Out: each figure with the ratio and its interval. Must not measure.

use crate::model::Costs;
use crate::report::Story;
use crate::search::{Start, spread_of, starts};
use crate::stats::{Estimate, LogRatio, PriorSpread};
use crate::terms::{Configuration, FigureKind, TrialPurpose, TrialSummary};

/// One side: a session and the setting of it that is meant.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    pub story: &'a Story,
    pub at: Configuration,
    /// Of all its configurations.
    starts: Vec<Start>,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub kind: FigureKind,
    pub a: f64,
    pub b: f64,
    /// `None` where nothing is known of the spread.
    pub ratio: Option<LogRatio>,
    pub within_blocks: bool,
    pub observations: [u64; 2],
}

/// A figure, or why it is not one of those compared.
pub type Found = Result<Pair, String>;

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
    fn concluded(&self, at: Configuration) -> Option<Estimate> {
        let estimate = |value: f64, [low, high]: [f64; 2]| Estimate { value, low, high, count: 1 };
        let chosen = self.story.decision.as_ref().filter(|_| self.story.chosen() == Some(at));
        let of_chosen = chosen.map(|it| estimate(it.capacity_rps, it.capacity_rps_interval));
        let is_current = self.story.current_configuration() == Some(at);
        let current = self.story.current.as_ref().filter(|_| is_current);
        of_chosen.or_else(|| {
            let current = current?;
            Some(estimate(current.capacity_rps?, current.capacity_rps_interval?))
        })
    }

    fn trials(&self) -> impl Iterator<Item = &TrialSummary> {
        let trials = self.story.trials.iter();
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
        let current = side.story.current_configuration();
        current.ok_or_else(|| "current setting's capacity: one side has none".to_string())
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
    let (of_a, of_b): (Vec<&Start>, Vec<&Start>) = (a.of(at_a).collect(), b.of(at_b).collect());
    let spread = spread_of(of_a.iter().chain(&of_b).copied());
    let pairs = if is_one_session { in_blocks(&of_a, &of_b) } else { Vec::new() };
    let observations = [of_a.len(), of_b.len()].map(|count| count.max(1) as u64);
    if !pairs.is_empty() {
        let ratio = LogRatio::paired(
            &pairs,
            // Two starts take part in each ratio.
            PriorSpread { variance: 2.0 * spread.variance, ..spread },
        );
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let observations = [pairs.len() as u64; 2];
        let (a, b) = (mean(&a), mean(&b));
        return Ok(Pair { kind, a, b, ratio, within_blocks: true, observations });
    }
    let rates = |starts: &[&Start]| starts.iter().map(|start| start.rps).collect::<Vec<_>>();
    let (rates_a, rates_b) = (rates(&of_a), rates(&of_b));
    if !rates_a.is_empty() && !rates_b.is_empty() {
        let ratio = LogRatio::between(&rates_a, &rates_b, Some(spread));
        let (a, b) = (mean(&rates_a), mean(&rates_b));
        return Ok(Pair { kind, a, b, ratio, within_blocks: false, observations });
    }
    let missing = |side: &str, at: Configuration| {
        format!("{kind}: {at} holds nothing in {side}, or was not measured there")
    };
    let a = a.concluded(at_a).ok_or_else(|| missing("A", at_a))?;
    let b = b.concluded(at_b).ok_or_else(|| missing("B", at_b))?;
    let ratio = LogRatio::of_estimates(&a, &b);
    let (a, b) = (a.value, b.value);
    Ok(Pair { kind, a, b, ratio, within_blocks: false, observations })
}

/// What both held in the blocks that have both.
fn in_blocks(a: &[&Start], b: &[&Start]) -> Vec<(f64, f64)> {
    let other = |start: &Start| b.iter().find(|it| it.block == start.block && start.block > 0);
    a.iter().filter_map(|start| Some((start.rps, other(start)?.rps))).collect()
}

/// How much more than the current setting the recommended one holds, in each.
pub fn gain(a: &Measured<'_>, b: &Measured<'_>) -> Found {
    let known = |side: &Measured<'_>| {
        let decision = side.story.decision.as_ref()?;
        let (value, [low, high]) = (decision.gain_ratio?, decision.gain_ratio_interval?);
        Some(Estimate { value, low, high, count: 1 })
    };
    let missing = || "gain: one side has none".to_string();
    let (a, b) = (known(a).ok_or_else(missing)?, known(b).ok_or_else(missing)?);
    Ok(Pair {
        kind: FigureKind::Gain,
        a: a.value,
        b: b.value,
        ratio: LogRatio::of_estimates(&a, &b),
        within_blocks: false,
        observations: [1, 1],
    })
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
        return Err("p95: there is no rate that both were offered".to_string());
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
        return Err(format!("{kind}: not measured on both sides"));
    }
    Ok(Pair {
        kind,
        a: mean(a),
        b: mean(b),
        ratio: LogRatio::between(a, b, None),
        within_blocks: false,
        observations: [a.len() as u64, b.len() as u64],
    })
}

/// The geometric one, as ratios are made from logarithms.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
