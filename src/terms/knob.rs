//! What may be changed beside workers and threads: one value of a knob is a change, and the app
//! with some changes is a variant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::obstacle::Obstacle;
use super::stated::{Stated, or_empty};

/// One value of a knob, tried beside what is set today. Holds no secret: it is printed and stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The knob: a variable, a setting of the server's, or the name that the user gave it. All
    /// values of one knob have the same.
    pub knob: String,
    /// As it is printed: `MALLOC_ARENA_MAX=2`, `preload_app=false`, `jemalloc`.
    pub name: String,
    /// Variables of the app, on top of all others.
    pub env: BTreeMap<String, String>,
    /// Settings by the names that the server's adapter knows.
    pub settings: BTreeMap<String, String>,
}

/// Which changes are made to the app: a set of numbers, each the place of a [`Change`] in the
/// session's list.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Variant(u64);

impl Variant {
    /// The app as it is.
    pub const AS_IT_IS: Self = Self(0);
    /// Most changes that a session can tell apart.
    pub const MOST_CHANGES: usize = 32;

    /// The app with one change.
    pub fn of(change: usize) -> Self {
        assert!(change < Self::MOST_CHANGES, "the plan allows no more");
        Self(1 << change)
    }

    /// The app with several.
    pub fn of_all(changes: impl IntoIterator<Item = usize>) -> Self {
        Self(changes.into_iter().fold(0, |set, change| set | Self::of(change).0))
    }

    /// Nothing is changed.
    pub fn is_as_it_is(&self) -> bool {
        self.0 == 0
    }

    /// The changes, in the order of the list.
    pub fn changes(self) -> impl Iterator<Item = usize> {
        (0..Self::MOST_CHANGES).filter(move |change| self.0 & (1 << change) != 0)
    }

    /// What of a list stands for these changes.
    pub fn of_list<T>(self, list: &[T]) -> impl Iterator<Item = &T> {
        self.changes().filter_map(|change| list.get(change))
    }

    /// The names of the changes; empty for the app as it is.
    pub fn names(self, list: &[Change]) -> Vec<String> {
        self.of_list(list).map(|change| change.name.clone()).collect()
    }
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnobVerdict {
    /// More capacity, beyond doubt; or as much within 3 %, from clearly less memory.
    Helps,
    /// Less capacity, beyond doubt.
    Hurts,
    /// As much capacity within 3 %.
    NoDifference,
    /// Neither is shown.
    Undecided,
    /// It could not be run: see the reason.
    Out,
}

/// What one change does to the chosen configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnobResult {
    /// As in `MALLOC_ARENA_MAX`.
    pub knob: String,
    /// The knob with this value: `MALLOC_ARENA_MAX=2`.
    pub change: String,
    pub verdict: KnobVerdict,
    /// Capacity with the change divided by that without, on fresh starts in the same blocks; null
    /// when nothing was measured.
    pub capacity_ratio: Option<f64>,
    pub capacity_ratio_interval: Option<[f64; 2]>,
    /// Memory with the change divided by that without; null where it could not be read.
    pub memory_ratio: Option<f64>,
    pub memory_ratio_interval: Option<[f64; 2]>,
    /// Blocks that measured both.
    pub blocks: u32,
    /// Seconds that a verdict would need beside these, as far as can be seen; null when there is
    /// one.
    pub more_s: Option<f64>,
    /// What was seen at the rate that is the same for all; null where only capacities are compared.
    pub at_one_rate: Option<AtOneRate>,
    /// Cores that the app may use with the change divided by those without: where the change is
    /// another limit of CPU, which is told and never recommended; else null.
    pub cpus_ratio: Option<f64>,
    /// Why it could not be run or was not measured; empty otherwise.
    #[serde(with = "or_empty")]
    #[schemars(with = "Stated<Obstacle>")]
    pub reason: Option<Stated<Obstacle>>,
}

/// What was seen of the app in one way, at the rate at which all ways are looked at: so many
/// requests/s as the chosen setting is to serve from day to day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtOneRate {
    pub rate_rps: f64,
    /// Fresh starts, each looked at for some seconds.
    pub starts: u32,
    /// Median of the starts.
    pub latency_s_p95: f64,
    /// The least and the most of the starts.
    pub latency_s_p95_range: [f64; 2],
    /// Median of the starts.
    pub latency_s_p99: f64,
    /// Median of the starts; null where it could not be read.
    pub memory_bytes: Option<u64>,
    /// Into how many pods this way cuts the app; 0 in sessions from before that was noted.
    #[serde(default)]
    pub pods: u16,
    /// What the others did when one of the pods had been taken away; null for a way of one pod, of
    /// which nothing is left then, and where it was not measured.
    pub with_a_pod_less: Option<WithAPodLess>,
}

/// What was seen at the same rate of the pods that were left when one of them had been taken away:
/// one look of some seconds, at one start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WithAPodLess {
    pub pods_left: u16,
    /// Of all requests, also of those that failed: as long as they were waited for.
    pub latency_s_p95: f64,
    /// As `latency_s_p95`.
    pub latency_s_p99: f64,
    /// Share of the requests without a good reply, 0 to 1.
    pub failed_share: f64,
    /// False where the number of requests in flight grew to the end of the look: they cannot carry
    /// this rate, and the figures get worse the longer the pod is gone. True where it did not, and
    /// no request failed; else null, and in sessions from before that was noted.
    pub keeps_up: Option<bool>,
    /// Another of the pods ended during the look.
    #[serde(default)]
    pub another_ended: bool,
}

/// Changes measured together, or at another configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnobCheck {
    pub changes: Vec<String>,
    pub workers: u16,
    pub threads: u16,
    pub capacity_ratio: f64,
    pub capacity_ratio_interval: [f64; 2],
    pub memory_ratio: Option<f64>,
    pub memory_ratio_interval: Option<[f64; 2]>,
    pub blocks: u32,
}

/// What came of the knobs that the plan names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnobsReport {
    /// The configuration at which changes were tried, one at a time.
    pub workers: u16,
    pub threads: u16,
    /// Of each interval, so that all of them together cover with 95 %.
    pub interval_level: f64,
    /// In the plan's order.
    pub results: Vec<KnobResult>,
    /// The app as it is, where all ways were looked at at one rate; else null.
    pub at_one_rate: Option<AtOneRate>,
    /// Several helpful changes at once, beside the app without them; null when there were none or
    /// no time.
    pub together: Option<KnobCheck>,
    /// The recommended changes at the neighbouring numbers of threads, beside the same changes at
    /// the chosen one.
    pub neighbours: Vec<KnobCheck>,
    /// Changes to make; empty: leave everything as it is.
    pub recommended: Vec<String>,
    /// What they bring together, capacity with them divided by that without; null without any.
    pub gain_ratio: Option<f64>,
    pub gain_ratio_interval: Option<[f64; 2]>,
    /// Threads to run with these changes: another number than without them only where that is
    /// better beyond doubt.
    pub recommended_threads: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_a_set_of_changes() {
        assert!(Variant::default().is_as_it_is());
        let both = Variant::of_all([3, 0]);
        assert_eq!(both.changes().collect::<Vec<_>>(), [0, 3]);
        assert_eq!(both.of_list(&["a", "b", "c", "d"]).collect::<Vec<_>>(), [&"a", &"d"]);
        assert_ne!(both, Variant::of(3));
        assert_eq!(serde_json::to_string(&both).unwrap(), "9");
    }
}
