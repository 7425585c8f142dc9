//! What each start of a server held in a session that is over, from its trials alone.
//!
//! In: the trials that a store has. Out: a [`Start`] for every start that was measured. Asks no
//! search, so that sessions can be compared whichever version of this program chose their trials.

use super::at_any_rate::AtAnyRate;
use super::belief::{Most, after_burst, observe};
use super::constants::{
    DRIFT_SD_LOG, GUESS_DEGREES, RACE_PRIOR_SD_LOG, START_PRIOR_SD_LOG, START_SD_LOG, USUAL_CV2,
};
use crate::stats::{Estimate, LogRatio, RatePosterior, weighed_mean};
use crate::terms::{Configuration, TrialPurpose, TrialSummary};

/// One start of a server, and the capacity that was measured on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    pub configuration: Configuration,
    /// From 1: the round of fresh starts after the choice in which it was measured; 0 for a start
    /// of the race, which had a part in choosing.
    pub block: u32,
    /// Median of what is believed after its trials.
    pub rps: f64,
    /// How unsure that is: standard deviation of its logarithm, as `width` has it.
    pub sd_log: f64,
    /// The most that any of its trials took.
    pub memory_bytes: Option<u64>,
}

/// The trials of one start as far as they are known.
struct Open {
    purpose: TrialPurpose,
    configuration: Configuration,
    /// The number of the server's start.
    start: u32,
    burst: Option<Most>,
    belief: Option<RatePosterior>,
    memory_bytes: Option<u64>,
}

/// Every measured start, oldest first. Of a configuration that was measured again after the choice
/// only those starts count: the race's had a part in choosing, and the luckiest wins.
pub fn starts(trials: &[TrialSummary]) -> Vec<Start> {
    let mut groups: Vec<Open> = Vec::new();
    let mut was_setback = false;
    let mut at_any_rate = AtAnyRate::default();
    // Those of the knobs were short, and only compared with each other; those after the choice were
    // at one rate, chosen to be held.
    let is_counted = |purpose| {
        use TrialPurpose::{Confirm, Probe, Saturate};
        matches!(purpose, Saturate | Probe | Confirm)
    };
    let counted = |trial: &TrialSummary| trial.variant.is_as_it_is() && is_counted(trial.purpose);
    for trial in trials {
        let is_usable = trial.valid && trial.failure.is_none();
        let usable = is_usable.then(|| at_any_rate.apart(trial));
        if !counted(trial) {
            continue;
        }
        if let Some(trial) = usable {
            take(&mut groups, &trial, was_setback);
        }
        was_setback = !is_usable;
    }
    let is_confirmed = |at: Configuration| {
        groups.iter().any(|group| group.configuration == at && group.is_confirmed())
    };
    let mut round = Round::default();
    groups
        .iter()
        .filter(|group| group.is_confirmed() || !is_confirmed(group.configuration))
        .filter_map(|group| {
            let belief = group.belief.as_ref()?;
            let block = if group.is_confirmed() { round.of(group.configuration) } else { 0 };
            Some(Start {
                configuration: group.configuration,
                block,
                rps: belief.median(),
                sd_log: width(belief),
                memory_bytes: group.memory_bytes,
            })
        })
        .collect()
}

/// How unsure a belief is: half the width of its middle 68 %, on the logarithm's scale. Its
/// standard deviation is mostly that of the tails which let a wrong prior give way.
pub(super) fn width(belief: &RatePosterior) -> f64 {
    let (low, high) = belief.interval(0.6827);
    (high / low).ln() / 2.0
}

/// `b`'s capacity divided by `a`'s, of starts that were made apart. What a start is expected to
/// scatter by is worth as many measured starts as in the search's own answer.
pub fn ratio_apart(a: &[Start], b: &[Start]) -> Option<LogRatio> {
    let weighed = |starts: &[Start]| starts.iter().map(Start::weighed).collect::<Vec<_>>();
    LogRatio::between(&weighed(a), &weighed(b), GUESS_DEGREES).map(at_other_times)
}

/// With what a machine's speed differs by between the times at which two things were measured:
/// twice the variance of either.
pub fn at_other_times(ratio: LogRatio) -> LogRatio {
    ratio.with_lasting(DRIFT_SD_LOG * 2.0_f64.sqrt(), GUESS_DEGREES)
}

/// `b`'s capacity divided by `a`'s, within blocks that have both.
pub fn ratio_in_blocks(a: &[Start], b: &[Start]) -> Option<LogRatio> {
    let pair = |of_a: &Start| {
        let of_b = b.iter().find(|it| it.block == of_a.block && it.block > 0)?;
        Some((of_a.rps, of_b.rps, of_a.variance() + of_b.variance()))
    };
    LogRatio::paired(&a.iter().filter_map(pair).collect::<Vec<_>>(), GUESS_DEGREES)
}

/// What these starts held, taken together; NaN when there is none.
pub fn mean_rps(starts: &[Start]) -> f64 {
    weighed_mean(&starts.iter().map(Start::weighed).collect::<Vec<_>>())
}

/// What these starts held, taken together, with its 95 % interval, requests/s.
pub fn capacity_of(starts: &[Start]) -> Option<Estimate> {
    let beside_one = starts.iter().map(|start| (1.0, start.rps, start.variance()));
    let ratio = LogRatio::paired(&beside_one.collect::<Vec<_>>(), GUESS_DEGREES);
    Some(ratio?.estimate(0.95))
}

impl Start {
    /// One that only its conclusion is known of: a capacity with its 95 % interval.
    pub fn concluded(configuration: Configuration, rps: f64, interval: [f64; 2]) -> Self {
        let sd_log = (interval[1] / interval[0]).ln() / (2.0 * 1.96);
        Self { configuration, block: 0, rps, sd_log, memory_bytes: None }
    }

    /// Of the logarithm of what it held: what its trials left open, and what starts differ by.
    fn variance(&self) -> f64 {
        self.sd_log.powi(2) + START_SD_LOG.powi(2)
    }

    fn weighed(&self) -> (f64, f64) {
        (self.rps, self.variance())
    }
}

/// Variance of the logarithm of what one start shows, where nothing else is known of it.
pub fn start_variance() -> f64 {
    START_SD_LOG.powi(2)
}

impl Open {
    fn is_confirmed(&self) -> bool {
        self.purpose == TrialPurpose::Confirm && self.belief.is_some()
    }
}

/// Adds a trial to the start that it belongs to. Each begins with a burst; one that was started
/// once more in its middle, because a trial failed, stays the same.
fn take(groups: &mut Vec<Open>, trial: &TrialSummary, was_setback: bool) {
    let is_burst = trial.purpose == TrialPurpose::Saturate;
    let goes_on = groups.last().is_some_and(|last| {
        let is_same =
            last.configuration == trial.configuration && (last.start == trial.start || was_setback);
        let begins_only = last.belief.is_none();
        is_same && !is_burst && (begins_only || last.purpose == trial.purpose)
    });
    if !goes_on {
        groups.push(Open {
            purpose: trial.purpose,
            configuration: trial.configuration,
            start: trial.start,
            burst: None,
            belief: None,
            memory_bytes: None,
        });
    }
    let Some(open) = groups.last_mut() else { return };
    open.start = trial.start;
    open.memory_bytes = open.memory_bytes.max(trial.memory_bytes);
    if is_burst {
        open.burst = Most::of(trial, USUAL_CV2);
    }
    let Some(rate) = trial.offered.rate().map(|rate| rate.as_per_second()) else { return };
    open.purpose = trial.purpose;
    let belief = open.belief.get_or_insert_with(|| match trial.purpose {
        // The rate that is tried first is what is believed after the burst.
        TrialPurpose::Confirm => RatePosterior::with_prior(rate, START_PRIOR_SD_LOG),
        _ => after_burst(rate, RACE_PRIOR_SD_LOG, open.burst),
    });
    observe(belief, rate, trial);
}

/// Counts blocks: a configuration that is met again begins the next.
#[derive(Default)]
struct Round {
    block: u32,
    met: Vec<Configuration>,
}

impl Round {
    fn of(&mut self, configuration: Configuration) -> u32 {
        if self.block == 0 || self.met.contains(&configuration) {
            self.block += 1;
            self.met.clear();
        }
        self.met.push(configuration);
        self.block
    }
}
