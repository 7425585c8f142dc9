//! What is searched, within what, and by which goal.

use std::time::Duration;

use super::constants::{KNOBS_SHARE_MOST, KNOBS_SHARE_OF_ONE};
use crate::model::Form;
use crate::terms::{
    Arrivals, Bytes, Configuration, ConnectionMode, Objective, ObjectiveKind, Obstacle,
    QuantileLimit, Ratio, Slo, Variant,
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
    /// What the choice is tried over as well; `None` where it is known how clients come.
    pub other_connection: Option<ConnectionMode>,
    /// What the best setting has most or least of.
    pub objective: Objective,
    /// What is tried of the knobs once the choice is made, in the order in which variants count
    /// them.
    pub changes: Vec<KnobChange>,
    /// Trials that can run at once, each on a server and a machine of its own; at least 1.
    pub places: usize,
    /// All ways are looked at once more at one rate, for their latency.
    pub compares_latency: bool,
    /// Pods of the app as it is; 1 where it runs in none.
    pub pods: u16,
    pub budget: Duration,
    /// How long what is recommended is run at the end, besides the budget.
    pub soak: Option<Duration>,
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
    /// It gives the app another machine: what that does is told, and never recommended.
    pub is_machine: bool,
    /// Into how many pods it cuts the app; `None`: into as many as without it.
    pub pods: Option<u16>,
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

    /// Into how many pods the app is cut with these changes.
    pub(super) fn pods_of(&self, variant: Variant) -> u16 {
        variant.of_list(&self.changes).find_map(|change| change.pods).unwrap_or(self.pods)
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

/// Threads of a worker that are considered where nobody says which.
pub const USUAL_THREADS: [u16; 6] = [1, 2, 3, 5, 8, 16];

/// Where p95 has to be by the goal that is set where none was given, whatever the app.
const USUAL_GOAL: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(200)];

/// Is the goal of such an app beyond what is usual?
pub(super) fn is_goal_its_own(unloaded_p95: Duration) -> bool {
    unloaded_p95 * 3 > USUAL_GOAL[1]
}

/// The goal when none was given: errors below 0.1 %, and p95 below ten times the unloaded p95,
/// within 50 and 200 ms, or three times it where that is more.
///
/// One server with exponential times has p95 = unloaded p95 / (1 - busy) (M/M/1), so that ten times
/// leaves it nine tenths of its capacity, and three times two thirds. Nobody calls 200 ms slow;
/// what is below 50 ms is more the machine's than the app's.
pub fn goal_from_unloaded(unloaded_p95: Duration) -> Slo {
    let [least, most] = USUAL_GOAL;
    let limit = (unloaded_p95 * 10).clamp(least, most).max(unloaded_p95 * 3);
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
        other_connection: None,
        changes: Vec::new(),
        places: 1,
        compares_latency: false,
        pods: 1,
        objective: Objective::default(),
        precision: super::PRECISION,
        budget: Duration::from_secs(600),
        soak: None,
        seed: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_app_is_asked_for_more_than_a_slow_one() {
        for (unloaded_ms, expected_ms) in
            [(0, 50), (1, 50), (5, 50), (8, 80), (20, 200), (60, 200), (67, 201), (400, 1200)]
        {
            let goal = goal_from_unloaded(Duration::from_millis(unloaded_ms));
            let limit = goal.quantiles[0].limit.as_millis();
            assert_eq!(limit, expected_ms, "of {unloaded_ms} ms");
        }
    }

    fn change(ruled_out: Option<Obstacle>) -> KnobChange {
        let (knob, name) = ("X".into(), "X=1".into());
        KnobChange { knob, name, is_machine: false, pods: None, ruled_out }
    }

    #[test]
    fn an_app_has_the_pods_of_the_change_that_cuts_it_else_its_own() {
        let cut = KnobChange { pods: Some(4), ..change(None) };
        let plan = SearchPlan { changes: vec![change(None), cut], pods: 2, ..tests_plan() };
        let of = |changes: &[usize]| plan.pods_of(Variant::of_all(changes.iter().copied()));
        assert_eq!([of(&[]), of(&[0]), of(&[1]), of(&[0, 1])], [2, 2, 4, 4]);
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
