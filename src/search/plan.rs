//! What is searched, within what, and by which goal.

use std::time::Duration;

use super::constants::{KNOBS_SHARE_MOST, KNOBS_SHARE_OF_ONE};
use crate::model::Form;
use crate::terms::{
    Arrivals, Bytes, Configuration, Objective, ObjectiveKind, Obstacle, QuantileLimit, Ratio, Slo,
};

/// What is searched, and within what.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchPlan {
    /// Every configuration that may be recommended; the current one is added.
    pub grid: Vec<Configuration>,
    /// What runs today; the reference.
    pub current: Configuration,
    /// `None`: settled by the unloaded trial ([`goal_from_unloaded`]).
    pub slo: Option<Slo>,
    /// Cores the server may use.
    pub cores: f64,
    /// How its workers take requests in.
    pub form: Form,
    /// The load generator runs on these cores as well.
    pub generator_shares_cores: bool,
    /// Memory the server may use.
    pub memory: Option<Bytes>,
    /// Most workers x threads that may exist at once.
    pub db_connections: Option<u32>,
    pub arrivals: Arrivals,
    /// What the best setting has most or least of.
    pub objective: Objective,
    /// What is tried of the knobs once the choice is made, in the order in which variants count
    /// them.
    pub changes: Vec<KnobChange>,
    pub budget: Duration,
    /// Enough: half the width of a 95 % interval of capacity, relative.
    pub precision: f64,
    pub seed: u64,
}

/// One change that may be tried.
#[derive(Debug, Clone, PartialEq)]
pub struct KnobChange {
    /// Of several changes of one knob only one can be made.
    pub knob: String,
    /// As it is printed.
    pub name: String,
    /// Why it cannot be tried here.
    pub ruled_out: Option<Obstacle>,
}

impl SearchPlan {
    /// What the knobs may use of the budget.
    pub(super) fn knobs_budget(&self) -> Duration {
        let changes = self.changes.iter().filter(|change| change.ruled_out.is_none()).count();
        self.budget.mul_f64(match changes {
            0 => 0.0,
            1 => KNOBS_SHARE_OF_ONE,
            _ => KNOBS_SHARE_MOST,
        })
    }

    /// A share of the budget as whole seconds, within bounds.
    pub(super) fn seconds(&self, share: f64, least: f64, most: f64) -> Duration {
        let seconds = (self.budget.as_secs_f64() * share).clamp(least, most);
        Duration::from_secs_f64(seconds.round())
    }

    /// Is anything asked for but the highest capacity?
    pub(super) fn pursues(&self) -> bool {
        self.objective.kind != ObjectiveKind::Capacity
    }
}

/// The goal when none was given: p95 below max(200 ms, 3 x the unloaded p95), errors below 0.1 %.
pub fn goal_from_unloaded(unloaded_p95: Duration) -> Slo {
    let limit = Duration::from_millis(200).max(unloaded_p95 * 3);
    // Rounded up to whole milliseconds: it is printed, and people type it again.
    let limit = Duration::from_millis(limit.as_micros().div_ceil(1000) as u64);
    let ratio = |value| Ratio::new(value).expect("a constant between 0 and 1");
    Slo {
        quantiles: vec![QuantileLimit { quantile: ratio(0.95), limit }],
        errors: Some(ratio(0.001)),
    }
}

/// A plan for tests: one configuration, ten minutes.
#[cfg(test)]
pub(super) fn tests_plan() -> SearchPlan {
    let one = Configuration::new(1, 1).expect("one is not zero");
    SearchPlan {
        grid: vec![one],
        current: one,
        slo: None,
        cores: 1.0,
        form: Form::Threads,
        generator_shares_cores: false,
        memory: None,
        db_connections: None,
        arrivals: Arrivals::Poisson,
        changes: Vec::new(),
        objective: Objective::default(),
        precision: super::PRECISION,
        budget: Duration::from_secs(600),
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(ruled_out: Option<Obstacle>) -> KnobChange {
        KnobChange { knob: "X".into(), name: "X=1".into(), ruled_out }
    }

    #[test]
    fn knobs_take_a_share_of_the_budget_only_where_there_are_some() {
        for (changes, expected) in [
            (vec![], 0.0),
            (vec![change(Some(Obstacle::DiedTwice))], 0.0),
            (vec![change(None)], 0.3),
            (vec![change(None); 3], 0.4),
        ] {
            let plan = SearchPlan { changes, ..tests_plan() };
            assert_eq!(plan.knobs_budget(), plan.budget.mul_f64(expected));
        }
    }
}
