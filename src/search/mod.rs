//! Which trial next, when to stop, what to recommend: a state machine that is told results.
//!
//! In: a [`SearchPlan`], then the summary of every trial it asked for. Out: the next [`Ask`], what
//! it expects of the whole grid, and an [`Answer`] at any moment. Computes only: the time it knows
//! is the time it is told, so a stored session replays to the same state.

mod answer;
mod at_any_rate;
mod capacity;
mod cell;
mod climb;
mod confirm;
mod constants;
mod errors;
mod expect;
mod fresh;
mod hold;
mod objective;
mod precision;
mod pursue;
mod race;
mod rate;
mod screen;
mod screened;
mod slow_alone;
mod starts;
mod steady;
mod verify;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{self, Form};
use crate::terms::{
    Arrivals, BootCause, Bytes, Configuration, Goals, Note, Objective, Obstacle, Offered,
    Prediction, QuantileLimit, Ratio, SearchNote, Slo, Stated, TrialPurpose, TrialSummary, Variant,
    Verdict,
};

pub use answer::{Answer, CapacityEstimate, Choice, EquivalentChoice, ObjectiveAnswer};
use at_any_rate::AtAnyRate;
pub use capacity::CapacitySearch;
use cell::Cell;
use climb::Climb;
use confirm::Confirm;
pub use constants::{
    DRIFT_DEGREES, DRIFT_SD_LOG, NOISE_SD_LOG, PRECISION, START_SD_DEGREES, START_SD_LOG,
};
use hold::{Ending, Hold};
pub use objective::{Cost, Weighed};
pub use screen::KnobChange;
use screen::{Knobs, Screen};
pub use screened::{ChangeAnswer, KnobsAnswer, VariantAnswer};
use steady::Sight;

pub use rate::{BurstAnswer, RateAnswer, RateAsk, RateSearch, WindowAnswer};
pub use starts::{
    Start, capacity_of, mean_rps, ratio_apart, ratio_in_blocks, start_variance, starts,
};
pub use verify::{Verify, VerifyAnswer, VerifyPlan, VerifySetting};

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

/// One trial that the search wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialRequest {
    pub configuration: Configuration,
    /// Changes to the app.
    pub variant: Variant,
    /// Start the server afresh first, even when this configuration runs already.
    pub fresh_start: bool,
    pub purpose: TrialPurpose,
    pub offered: Offered,
    /// Whole seconds.
    pub warm_up: Duration,
    /// Measured part.
    pub duration: Duration,
    /// Trials of equal numbers have the same arrivals but for their rate: what is chance in these
    /// falls out when they are compared. `None`: arrivals of its own.
    pub common_arrivals: Option<u32>,
}

/// What the search wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Trial(TrialRequest),
    Done,
}

/// What became of a trial that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    Trial(Box<TrialSummary>),
    /// The configuration never became ready. `ended_s` as in [`TrialSummary::ended_s`].
    BootFailed {
        configuration: Configuration,
        reason: Stated<BootCause>,
        ended_s: f64,
    },
}

/// How far the search is.
#[derive(Debug, Clone)]
enum Stage {
    /// The current configuration with one client: the floor of latency, and the goal.
    Unloaded,
    /// The current configuration's capacity.
    Reference(Climb),
    /// Promising configurations, one after another.
    Race(Option<Climb>),
    /// The winner and the reference, afresh and interleaved.
    Confirm(Confirm),
    /// The choice on a fresh start, at the rate to be printed.
    Hold(Hold),
    /// The choice with changes of the knobs beside it as it is.
    Screen(Screen),
    Done,
}

/// The search as it stands.
#[derive(Debug, Clone)]
pub struct Search {
    /// Its budget is without what the knobs get.
    plan: SearchPlan,
    whole_budget: Duration,
    knobs: Knobs,
    slo: Option<Slo>,
    unloaded: Option<Unloaded>,
    /// Of the goals, the limit that the model asks its formulas about.
    limit: Option<QuantileLimit>,
    cells: BTreeMap<Configuration, Cell>,
    stage: Stage,
    /// How the choice held the rate to be printed, once that was tried.
    ending: Option<Ending>,
    /// Time of the last thing told, seconds since the session began.
    now_s: f64,
    /// Mean seconds that a start costs beyond its load, as seen so far.
    start_cost_s: f64,
    starts: u32,
    notes: Vec<Stated<Note>>,
    /// What would not fit into memory, by what is known now, and why.
    too_large: BTreeMap<Configuration, Obstacle>,
    at_any_rate: AtAnyRate,
    /// Of the app as it is, oldest first.
    sights: Vec<Sight>,
    /// Invalid or broken trials in a row; the search gives up on a configuration after two.
    setbacks: u32,
}

/// What one client alone saw.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unloaded {
    latency_mean_s: f64,
    cpu_per_request_s: Option<f64>,
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

impl Search {
    /// A search that has been told nothing yet.
    pub fn new(mut plan: SearchPlan) -> Self {
        let whole_budget = plan.budget;
        plan.budget -= screen::share(&plan);
        let mut cells: BTreeMap<Configuration, Cell> =
            plan.grid.iter().map(|&configuration| (configuration, Cell::default())).collect();
        cells.entry(plan.current).or_default();
        for (configuration, cell) in &mut cells {
            if let Some(most) = plan.db_connections.filter(|&most| configuration.slots() > most) {
                let needed = configuration.slots();
                cell.rule_out(Obstacle::NeedsDatabaseConnections { needed, limit: most });
            }
        }
        let slo = plan.slo.clone();
        Self {
            plan,
            whole_budget,
            knobs: Knobs::default(),
            slo,
            unloaded: None,
            limit: None,
            cells,
            stage: Stage::Unloaded,
            ending: None,
            now_s: 0.0,
            start_cost_s: 2.0,
            starts: 0,
            notes: Vec::new(),
            too_large: BTreeMap::new(),
            at_any_rate: AtAnyRate::default(),
            sights: Vec::new(),
            setbacks: 0,
        }
    }

    /// What it wants next. Asking twice without telling gives the same answer.
    pub fn ask(&mut self) -> Ask {
        loop {
            let request = match &self.stage {
                Stage::Unloaded => Some(self.unloaded_request()),
                Stage::Reference(climb) => self.climb_request(climb),
                Stage::Race(Some(climb)) => self.climb_request(climb),
                Stage::Race(None) => None,
                Stage::Confirm(confirm) => self.confirm_request(confirm),
                Stage::Hold(hold) => self.hold_request(hold),
                Stage::Screen(screen) => self.screen_request(screen),
                Stage::Done => return Ask::Done,
            };
            match request {
                Some(request) => return Ask::Trial(request),
                None => self.advance(),
            }
        }
    }

    /// Takes the result of the trial that [`ask`](Self::ask) asked for.
    pub fn tell(&mut self, told: Told) {
        match told {
            Told::Trial(summary) => self.take_trial(&summary),
            Told::BootFailed { configuration, reason, ended_s } => {
                self.now_s = ended_s;
                let obstacle = Obstacle::DoesNotStart { why: reason };
                match self.is_screening() {
                    true => self.screen_fails(obstacle),
                    false => self.cell_mut(configuration).rule_out(obstacle),
                }
            }
        }
    }

    /// The goal, once it is settled.
    pub fn slo(&self) -> Option<&Slo> {
        self.slo.as_ref()
    }

    /// Time that the session may still use.
    pub fn session_time_left(&self) -> Duration {
        Duration::from_secs_f64(self.whole_time_left_s())
    }

    /// Time that the search may still use, knobs apart.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs_f64((self.plan.budget.as_secs_f64() - self.now_s).max(0.0))
    }

    /// What the model expects of every configuration, in the order of the grid; empty before the
    /// first saturated trial.
    pub fn predictions(&self) -> Vec<Prediction> {
        self.expectations().map(|e| e.predictions(self)).unwrap_or_default()
    }

    fn take_trial(&mut self, summary: &TrialSummary) {
        self.note_time(summary);
        let is_usable = summary.valid && summary.failure.is_none();
        if !is_usable {
            self.take_setback(summary);
            return;
        }
        self.setbacks = 0;
        let summary = &self.at_any_rate.apart(summary);
        if self.is_screening() {
            // Cells hold what is known of the app as it is.
            self.take_screen(summary);
            return;
        }
        self.cell_mut(summary.configuration).take(summary);
        self.sights.extend(Sight::of(summary));
        match summary.purpose {
            TrialPurpose::Unloaded => self.take_unloaded(summary),
            TrialPurpose::Saturate if self.is_confirming() => self.take_confirm_burst(summary),
            TrialPurpose::Saturate => self.take_burst(summary),
            TrialPurpose::Probe => self.take_probe(summary),
            TrialPurpose::Confirm => self.take_confirm(summary),
            TrialPurpose::Hold => self.take_hold(summary),
            TrialPurpose::Screen => {}
        }
    }

    /// A trial that broke or was invalid is asked for once more. After that a server that dies is
    /// out; where only the measuring failed, what was known before stays.
    fn take_setback(&mut self, summary: &TrialSummary) {
        self.setbacks += 1;
        if self.setbacks < 2 {
            return;
        }
        self.setbacks = 0;
        let why = summary.reason.clone();
        if self.is_screening() {
            self.screen_fails(Obstacle::NotMeasurable { why });
            return;
        }
        if summary.failure.is_some() {
            self.cell_mut(summary.configuration).rule_out(Obstacle::DiedTwice);
        }
        match summary.purpose {
            TrialPurpose::Hold => {
                self.drop_hold();
                return;
            }
            TrialPurpose::Unloaded => self.note(SearchNote::AloneNotMeasured { why }),
            _ if self.is_confirming() => self.note(SearchNote::ChoiceNotMeasuredAgain { why }),
            TrialPurpose::Probe if self.cells[&summary.configuration].probes > 0 => {
                self.end_climb();
                return;
            }
            _ => {
                self.cell_mut(summary.configuration).rule_out(Obstacle::NotMeasurable { why });
                return;
            }
        }
        self.stage = Stage::Done;
    }

    fn note(&mut self, note: SearchNote) {
        self.notes.push(Note::Search(note).into());
    }

    fn is_confirming(&self) -> bool {
        matches!(self.stage, Stage::Confirm(_))
    }

    fn note_time(&mut self, summary: &TrialSummary) {
        let cost_s = summary.ended_s - self.now_s - summary.load_s;
        self.now_s = summary.ended_s;
        if summary.start > self.starts {
            self.starts = summary.start;
            // A moving mean: one slow boot must not shape the rest of the session.
            self.start_cost_s = 0.7 * self.start_cost_s + 0.3 * cost_s.clamp(0.0, 120.0);
        }
    }

    fn unloaded_request(&self) -> TrialRequest {
        TrialRequest {
            configuration: self.plan.current,
            variant: Variant::AS_IT_IS,
            fresh_start: self.setbacks > 0,
            purpose: TrialPurpose::Unloaded,
            offered: Offered::Closed { clients: 1, think: Duration::ZERO },
            warm_up: Duration::from_secs(2),
            duration: self.seconds(0.015, 3.0, 15.0),
            common_arrivals: None,
        }
    }

    /// Mean latency of one client alone, seconds; `None` before it was measured.
    pub fn unloaded_s(&self) -> Option<f64> {
        self.unloaded.map(|unloaded| unloaded.latency_mean_s)
    }

    fn take_unloaded(&mut self, summary: &TrialSummary) {
        self.unloaded = Some(Unloaded {
            latency_mean_s: summary.summary.latency_s.mean,
            cpu_per_request_s: model::Costs::of(summary).server_s,
        });
        let p95 = Duration::from_secs_f64(model::common_p95_s(&summary.summary));
        let slo = self.slo.get_or_insert_with(|| goal_from_unloaded(p95)).clone();
        self.limit = Some(model::limit_that_binds(&summary.summary, &slo));
        if summary.verdict == Verdict::No {
            let goals = summary
                .summary
                .slo
                .as_ref()
                .map_or_else(|| Goals::one(slo).list(), |it| it.goals.clone());
            let (latency_s_p95, why) = (p95.as_secs_f64(), summary.reason.clone());
            self.note(SearchNote::GoalsOutOfReach { goals, latency_s_p95, why });
            self.stage = Stage::Done;
            return;
        }
        self.stage = Stage::Reference(Climb::new(self.plan.current, None, None));
    }

    /// Goes to the next stage; called when the present one wants no further trial.
    fn advance(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Reference(_) => Stage::Race(None),
            Stage::Race(_) => match self.next_candidate() {
                Some(climb) => Stage::Race(Some(climb)),
                None => match self.begin_confirm() {
                    Some(confirm) => Stage::Confirm(confirm),
                    None => self.begin_hold(),
                },
            },
            Stage::Confirm(confirm) => match self.next_block(confirm) {
                Some(confirm) => Stage::Confirm(confirm),
                None => self.begin_hold(),
            },
            Stage::Hold(hold) => self.end_hold(hold),
            Stage::Screen(screen) => self.after_screen_block(&screen),
            Stage::Unloaded | Stage::Done => Stage::Done,
        };
    }

    fn cell_mut(&mut self, configuration: Configuration) -> &mut Cell {
        self.cells.entry(configuration).or_default()
    }

    /// A share of the budget as whole seconds, within bounds.
    fn seconds(&self, share: f64, least: f64, most: f64) -> Duration {
        let seconds = (self.plan.budget.as_secs_f64() * share).clamp(least, most);
        Duration::from_secs_f64(seconds.round())
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
        precision: PRECISION,
        budget: Duration::from_secs(600),
        seed: 1,
    }
}
