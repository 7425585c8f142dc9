//! What each start of a server held in a session that is over, from its trials alone.
//!
//! In: the trials that a store has. Out: a [`Start`] for every start that was measured. Asks no
//! search, so that sessions can be compared whichever version of this program chose their trials.

use super::answer::{START_SD_DEGREES, START_SD_LOG};
use super::climb::{cap, observe};
use crate::stats::{PriorSpread, RatePosterior};
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
    /// How unsure that is: standard deviation of its logarithm.
    pub sd_log: f64,
    /// The most that any of its trials took.
    pub memory_bytes: Option<u64>,
}

/// Before its first trial that rate is expected, give or take this.
const CONFIRM_SD_LOG: f64 = 0.15;
/// The race begins anywhere.
const PROBE_SD_LOG: f64 = 0.35;

/// The trials of one start as far as they are known.
struct Open {
    purpose: TrialPurpose,
    configuration: Configuration,
    /// The number of the server's start.
    start: u32,
    burst_rps: Option<f64>,
    belief: Option<RatePosterior>,
    memory_bytes: Option<u64>,
}

/// Every measured start, oldest first. Of a configuration that was measured again after the choice
/// only those starts count: the race's had a part in choosing, and the luckiest wins.
pub fn starts(trials: &[TrialSummary]) -> Vec<Start> {
    let mut groups: Vec<Open> = Vec::new();
    let mut was_setback = false;
    for trial in trials.iter().filter(|trial| trial.purpose != TrialPurpose::Unloaded) {
        let is_usable = trial.valid && trial.failure.is_none();
        if is_usable {
            take(&mut groups, trial, was_setback);
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
                sd_log: belief.sd_log(),
                memory_bytes: group.memory_bytes,
            })
        })
        .collect()
}

/// What two starts of one configuration differ by before any are compared: the probes' own
/// uncertainty and the spread between starts. Of the logarithm of one start's capacity.
pub fn spread_of<'a>(starts: impl IntoIterator<Item = &'a Start>) -> PriorSpread {
    let variances: Vec<f64> = starts.into_iter().map(|start| start.sd_log.powi(2)).collect();
    let probes = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    PriorSpread { variance: probes + START_SD_LOG.powi(2), degrees: START_SD_DEGREES }
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
            burst_rps: None,
            belief: None,
            memory_bytes: None,
        });
    }
    let Some(open) = groups.last_mut() else { return };
    open.start = trial.start;
    open.memory_bytes = open.memory_bytes.max(trial.memory_bytes);
    if is_burst {
        open.burst_rps = Some(trial.summary.throughput_rps);
    }
    let Some(rate) = trial.offered.rate().map(|rate| rate.as_per_second()) else { return };
    open.purpose = trial.purpose;
    let belief = open.belief.get_or_insert_with(|| match trial.purpose {
        // The rate that is tried first is what is believed after the burst.
        TrialPurpose::Confirm => RatePosterior::with_prior(rate, CONFIRM_SD_LOG),
        _ => {
            let mut belief = RatePosterior::with_prior(rate, PROBE_SD_LOG);
            cap(&mut belief, open.burst_rps.unwrap_or(0.0));
            belief
        }
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
