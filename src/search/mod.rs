//! Which trial next, when to stop, what to recommend: a state machine that is told results.
//!
//! In: a [`SearchPlan`], then the summary of every trial it asked for. Out: what it wants next,
//! what it expects of the whole grid, and an [`Answer`] at any moment. Computes only: the time it
//! knows is the time it is told, so a stored session replays to the same state.
//!
//! What is known stands in the ledger. Each stage holds what is its own, asks the ledger, and says
//! what it wants next; here they are asked in turn.

mod again;
mod answer;
mod ask;
mod at_any_rate;
mod belief;
mod blocks;
mod cell;
mod check;
mod climb;
mod confirm;
mod constants;
mod estimates;
mod expect;
mod fresh;
mod hold;
mod ledger;
mod loads;
mod objective;
mod plan;
mod pursue;
mod race;
mod rate;
mod recommend;
mod revisions;
mod screen;
mod screened;
mod slow_alone;
mod soak;
mod starts;
mod steady;
mod ties;
mod unloaded;
mod verify;
mod warmth;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::stats::Estimate;
use crate::terms::{
    Configuration, OPERATING_SHARE, Obstacle, Prediction, SearchNote, Slo, TrialPurpose,
    TrialSummary, Variant,
};
use check::Check;
use climb::Climb;
use confirm::Confirm;
use expect::Expectations;
use fresh::Arm;
use hold::{AfterHold, Hold};
use ledger::Ledger;
use recommend::{Ending, Standing, to_recommend};
use screen::Screen;
use screened::Knobs;
use soak::{Lasting, LongRun};
use unloaded::Attempt;

pub use answer::{Answer, CapacityEstimate, Choice};
#[cfg(test)]
pub(crate) use ask::tests_trial;
pub use ask::{Told, TrialRequest};
pub use belief::WindowAnswer;
pub use constants::{DRIFT_SD_LOG, GUESS_DEGREES, NOISE_SD_LOG, PRECISION, SETTLE, START_SD_LOG};
pub use loads::burst_clients;
pub use plan::{KnobChange, SearchPlan, USUAL_THREADS, goal_from_unloaded};
pub use rate::{BurstAnswer, RateAnswer, RateAsk, RateSearch};
pub use revisions::{
    RevisionFigure, Revisions, RevisionsAnswer, RevisionsPlan, SideFigures, of_failures,
};
pub use screened::{ChangeAnswer, KnobsAnswer, VariantAnswer};
pub use starts::{
    Start, at_other_times, capacity_of, mean_rps, ratio_apart, ratio_in_blocks, start_variance,
    starts,
};
pub use verify::{Verify, VerifyAnswer, VerifyPlan, VerifySetting};
pub use warmth::Warmth;

/// How far the search is.
#[derive(Debug, Clone)]
enum Stage {
    /// The current configuration with one client: the floor of latency, and the goal.
    Unloaded(Attempt),
    /// The current configuration's capacity, then that of promising ones: one after another, or as
    /// many at once as there are places.
    Race(Vec<Climb>),
    /// The winner and the reference, afresh and interleaved.
    Confirm(Confirm),
    /// The choice on a fresh start, at the rate to be printed.
    Hold(Hold),
    /// The same over connections of the other kind, where it is not known which there will be.
    Check(Check),
    /// The choice with changes of the knobs beside it as it is.
    Screen(Screen),
    /// What is recommended, for a long time; nothing comes after it.
    Soak(LongRun),
    Done,
}

/// The search as it stands.
#[derive(Debug, Clone)]
pub struct Search {
    ledger: Ledger,
    stage: Stage,
    /// How settings held the rate to be printed, the last one last.
    endings: Vec<Ending>,
    knobs: Knobs,
    /// Invalid or broken trials in a row; the search gives up on a configuration after two.
    setbacks: BTreeMap<Arm, u32>,
    /// Asked for and not yet told, which comes in this order.
    asked: VecDeque<TrialRequest>,
    /// When that was asked for, seconds of the session.
    asked_at_s: f64,
    /// The last ones of it were asked for by a stage that is over.
    is_outdated: bool,
}

impl Search {
    /// A search that has been told nothing yet.
    pub fn new(plan: SearchPlan) -> Self {
        Self {
            ledger: Ledger::new(plan),
            stage: Stage::Unloaded(Attempt::First),
            endings: Vec::new(),
            knobs: Knobs::default(),
            setbacks: BTreeMap::new(),
            asked: VecDeque::new(),
            asked_at_s: 0.0,
            is_outdated: false,
        }
    }

    /// All that it wants next, at most as many trials as the plan has places, each of a setting of
    /// its own; they are told in this order. Empty: it is done. Asking twice without telling gives
    /// the same answer.
    pub fn ask(&mut self) -> Vec<TrialRequest> {
        while self.asked.is_empty() {
            self.is_outdated = false;
            self.fill_race();
            let requests = self.requests();
            if requests.is_empty() {
                match self.stage {
                    Stage::Soak(_) | Stage::Done => return Vec::new(),
                    _ => self.advance(),
                }
            }
            self.asked_at_s = self.ledger.now_s;
            self.asked = requests.into_iter().map(|it| self.after_setbacks(it)).collect();
        }
        self.asked.iter().copied().collect()
    }

    fn requests(&self) -> Vec<TrialRequest> {
        let ledger = &self.ledger;
        let all = match &self.stage {
            Stage::Unloaded(attempt) => vec![unloaded::request(ledger, *attempt)],
            Stage::Race(climbs) => climbs.iter().filter_map(|it| it.request(ledger)).collect(),
            Stage::Confirm(confirm) => confirm.requests(ledger),
            Stage::Hold(hold) => Vec::from_iter(hold.request(ledger)),
            Stage::Check(check) => Vec::from_iter(check.request(ledger)),
            Stage::Screen(screen) => screen.requests(ledger, &self.knobs),
            Stage::Soak(long_run) => Vec::from_iter(long_run.request(ledger.now_s)),
            Stage::Done => Vec::new(),
        };
        let Some(at) = ledger.warmth.warming_at() else { return all };
        // What a start needs until it is warm is to be known before others are begun.
        let (warming, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.configuration == at);
        if warming.is_empty() { others } else { warming }
    }

    /// Something on every place, while there is something to race.
    fn fill_race(&mut self) {
        let Self { ledger, stage: Stage::Race(climbs), .. } = self else { return };
        if ledger.plan.places == 1 {
            return;
        }
        climbs.retain(|climb| climb.request(ledger).is_some());
        while !climbs.is_empty() && climbs.len() < ledger.plan.places {
            ledger.racing = climbs.iter().map(Climb::configuration).collect();
            let Some(another) = race::beside(ledger) else { break };
            climbs.push(another);
        }
        ledger.racing.clear();
    }

    fn after_setbacks(&self, request: TrialRequest) -> TrialRequest {
        let has_any = self.setbacks.contains_key(&Arm::of(&request));
        TrialRequest { fresh_start: request.fresh_start || has_any, ..request }
    }

    /// Takes the result of the first trial of those that it [asked](Self::ask) for.
    pub fn tell(&mut self, told: Told) {
        let asked = self.asked.pop_front();
        match told {
            Told::Trial(summary) => {
                self.ledger.take_time(&summary, self.asked_at_s);
                if self.is_outdated {
                    return;
                }
                if let Stage::Soak(long_run) = &mut self.stage {
                    return long_run.take(&summary);
                }
                if summary.purpose == TrialPurpose::LostPod {
                    return self.take_lost_pod(&summary);
                }
                match summary.valid && summary.failure.is_none() {
                    true => self.take(&summary),
                    false => self.take_setback(&summary),
                }
            }
            Told::BootFailed { configuration, reason, ended_s } => {
                self.ledger.now_s = self.ledger.now_s.max(ended_s);
                if self.is_outdated {
                    return;
                }
                self.ledger.warmth.give_up(configuration);
                let obstacle = Obstacle::DoesNotStart { why: reason };
                match (&mut self.stage, asked) {
                    (Stage::Soak(long_run), _) => long_run.end(obstacle),
                    (Stage::Check(check), _) => check.give_up(),
                    // What is asked for alone is asked for whatever is known of the setting.
                    (Stage::Unloaded(_), _) => {
                        self.ledger.cell_mut(configuration).rule_out(obstacle);
                        self.stage = Stage::Done;
                    }
                    (Stage::Screen(_), Some(asked)) => self.screen_fails(Arm::of(&asked), obstacle),
                    _ => self.ledger.cell_mut(configuration).rule_out(obstacle),
                }
            }
        }
    }

    /// The answer so far.
    pub fn answer(&self) -> Answer {
        let answer = answer::answer(&self.ledger, self.standing(), &self.knobs);
        let soak = match &self.stage {
            Stage::Soak(long_run) => long_run.seen(),
            _ => None,
        };
        Answer { soak, ..answer }
    }

    /// One measured setting's capacity divided by another's, with its 95 % interval; `None` before
    /// both were measured.
    pub fn compared(&self, a: Configuration, b: Configuration) -> Option<Estimate> {
        estimates::ratio(&self.ledger, a, b, 0.95)
    }

    /// The goal, once it is settled.
    pub fn slo(&self) -> Option<&Slo> {
        self.ledger.slo.as_ref()
    }

    /// Mean latency of one client alone, seconds; `None` before it was measured.
    pub fn unloaded_s(&self) -> Option<f64> {
        self.ledger.alone.map(|alone| alone.latency_mean_s)
    }

    /// Time that the session may still use.
    pub fn session_time_left(&self) -> Duration {
        let ledger = &self.ledger;
        let left_s = match &self.stage {
            Stage::Soak(long_run) => long_run.left_s(ledger.now_s),
            _ => ledger.whole_left_s() + ledger.plan.soak.unwrap_or_default().as_secs_f64(),
        };
        Duration::from_secs_f64(left_s)
    }

    /// What the model expects of every configuration, in the order of the grid; empty before the
    /// first saturated trial.
    pub fn predictions(&self) -> Vec<Prediction> {
        Expectations::of(&self.ledger).map(|it| it.predictions()).unwrap_or_default()
    }

    /// What a request waits for a free thread by the model, with this choice at the rate to run it
    /// at day to day: seconds, on average; `None`: nothing is expected, or that it cannot keep up.
    pub fn queue_s(&self, choice: &Choice) -> Option<f64> {
        let CapacityEstimate { configuration, rps } = choice.capacity;
        Expectations::of(&self.ledger)?.queue_s(configuration, rps.value * OPERATING_SHARE)
    }

    fn take(&mut self, summary: &TrialSummary) {
        self.setbacks.remove(&Arm::of_trial(summary));
        let ledger = &mut self.ledger;
        if let Stage::Unloaded(attempt @ Attempt::First) = &mut self.stage
            && let Some(next) = unloaded::in_place_of_first(ledger, summary)
        {
            *attempt = next;
            return;
        }
        let summary = &ledger.at_any_rate.apart(summary);
        match &mut self.stage {
            // The ledger holds what is known of the app as it is, over the plan's connections.
            Stage::Screen(screen) => return screen.take(ledger, &mut self.knobs, summary),
            Stage::Check(check) => return check.take(ledger, summary),
            _ => {}
        }
        ledger.take(summary);
        if ledger.warmth.warming_at() == Some(summary.configuration) {
            return;
        }
        match &mut self.stage {
            Stage::Unloaded(_) => {
                self.stage = match unloaded::take(ledger, summary) {
                    true => Stage::Race(vec![Climb::new(ledger.plan.current, None, None)]),
                    false => Stage::Done,
                }
            }
            Stage::Race(climbs) => {
                let climb =
                    climbs.iter_mut().find(|it| it.configuration() == summary.configuration);
                climb.into_iter().for_each(|it| it.take(ledger, summary));
            }
            Stage::Confirm(confirm) => confirm.take(ledger, summary),
            Stage::Hold(hold) => hold.take(ledger, summary),
            Stage::Check(_) | Stage::Screen(_) | Stage::Soak(_) | Stage::Done => {}
        }
    }

    /// Whatever came of it is the result, and evidence of nothing else.
    fn take_lost_pod(&mut self, summary: &TrialSummary) {
        if let Stage::Screen(screen) = &mut self.stage {
            screen.take_lost_pod(&self.ledger, &mut self.knobs, summary);
        }
    }

    /// A trial that broke or was invalid is asked for once more. After that a server that dies is
    /// out; where only the measuring failed, what was known before stays.
    fn take_setback(&mut self, summary: &TrialSummary) {
        let arm = Arm::of_trial(summary);
        let setbacks = self.setbacks.entry(arm).or_default();
        *setbacks += 1;
        if *setbacks < 2 {
            return;
        }
        self.setbacks.remove(&arm);
        let why = summary.reason.clone();
        if matches!(self.stage, Stage::Screen(_)) {
            self.screen_fails(arm, Obstacle::NotMeasurable { why });
            return;
        }
        if let Stage::Check(check) = &mut self.stage {
            return check.give_up();
        }
        let ledger = &mut self.ledger;
        ledger.warmth.give_up(summary.configuration);
        if summary.failure.is_some() {
            ledger.cell_mut(summary.configuration).rule_out(Obstacle::DiedTwice);
        }
        let note = match &mut self.stage {
            Stage::Unloaded(_) => SearchNote::AloneNotMeasured { why },
            Stage::Confirm(confirm) => {
                let configuration = summary.configuration;
                confirm.leave_out(ledger, configuration);
                let configuration = Some(configuration);
                return ledger.note(SearchNote::ChoiceNotMeasuredAgain { configuration, why });
            }
            Stage::Race(climbs) => {
                let climb =
                    climbs.iter_mut().find(|it| it.configuration() == summary.configuration);
                return climb.into_iter().for_each(|it| it.give_up(ledger, summary));
            }
            Stage::Hold(hold) => return hold.give_up(),
            Stage::Check(_) | Stage::Screen(_) | Stage::Soak(_) | Stage::Done => return,
        };
        ledger.note(note);
        self.go_to_soak();
    }

    fn screen_fails(&mut self, arm: Arm, why: Obstacle) {
        let Stage::Screen(screen) = &mut self.stage else { return };
        if !screen.fail(&mut self.ledger, &mut self.knobs, (arm, why)) {
            self.go_to_soak();
        }
    }

    /// In the middle of what was asked for: of what comes of the rest, nothing is wanted.
    fn go_to_soak(&mut self) {
        self.stage = self.begin_soak();
        self.is_outdated = true;
    }

    /// Goes to the next stage; called when the present one wants no further trial.
    fn advance(&mut self) {
        let ledger = &mut self.ledger;
        self.stage = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Unloaded(_) | Stage::Soak(_) | Stage::Done => Stage::Done,
            Stage::Race(_) => match race::next_candidate(ledger) {
                Some(climb) => Stage::Race(vec![climb]),
                None => Confirm::begin(ledger).map_or_else(|| self.begin_hold(), Stage::Confirm),
            },
            Stage::Confirm(confirm) => {
                let next = confirm.next_block(ledger);
                next.map_or_else(|| self.begin_hold(), Stage::Confirm)
            }
            Stage::Hold(hold) => match hold.end(ledger) {
                AfterHold::Another => self.begin_hold(),
                AfterHold::Ended(None) => self.begin_screen(),
                AfterHold::Ended(Some(ending)) => {
                    self.endings.push(ending);
                    self.begin_hold()
                }
            },
            Stage::Check(_) => self.begin_screen(),
            Stage::Screen(screen) => {
                let next = screen.next_block(ledger, &self.knobs);
                next.map_or_else(|| self.begin_soak(), Stage::Screen)
            }
        };
    }

    /// What comes when the choice is made; where it was held, or there is no time to hold it, what
    /// comes after.
    fn begin_hold(&mut self) -> Stage {
        let standing = self.standing();
        let hold = standing.to_hold(&self.ledger).and_then(|(configuration, asked_rps)| {
            let before = standing.ending_of(configuration);
            Hold::begin(&self.ledger, configuration, asked_rps, before)
        });
        hold.map_or_else(|| self.begin_check(), Stage::Hold)
    }

    fn begin_check(&mut self) -> Stage {
        let standing = self.standing();
        let chosen = to_recommend(&self.ledger, standing);
        let ending = chosen.and_then(|chosen| standing.ending_of(chosen));
        let check = ending.and_then(|it| Check::begin(&self.ledger, it));
        check.map_or_else(|| self.begin_screen(), Stage::Check)
    }

    fn begin_screen(&mut self) -> Stage {
        let chosen = to_recommend(&self.ledger, self.standing());
        let screen = chosen.and_then(|chosen| Screen::begin(&self.ledger, &mut self.knobs, chosen));
        screen.map_or_else(|| self.begin_soak(), Stage::Screen)
    }

    /// What comes last, where it was asked for and anything is recommended.
    fn begin_soak(&mut self) -> Stage {
        self.setbacks.clear();
        let plan = &self.ledger.plan;
        let asked = plan.soak.map(|duration| (duration, self.answer()));
        let Some((duration, Answer { choice: Some(choice), knobs, .. })) = asked else {
            return Stage::Done;
        };
        let changed = knobs.map(|knobs| (knobs.recommended_at, knobs.recommended));
        let as_it_is = (choice.capacity.configuration, Variant::AS_IT_IS);
        let (configuration, variant) = changed.unwrap_or(as_it_is);
        Stage::Soak(LongRun::new(Lasting {
            configuration,
            variant,
            capacity_rps: choice.capacity.rps.value,
            arrivals: plan.arrivals,
            duration,
            memory: plan.memory,
        }))
    }

    fn standing(&self) -> Standing<'_> {
        let first_block = match &self.stage {
            Stage::Confirm(confirm) => confirm.first_block(),
            _ => None,
        };
        Standing { first_block, endings: &self.endings }
    }
}

#[cfg(test)]
mod tests {
    use super::ask::tests_trial;
    use super::plan::tests_plan;
    use super::*;
    use crate::terms::{Offered, WarmUp, WarmUpKind};

    #[test]
    fn a_setting_that_fails_while_it_is_warmed_leaves_the_starts_of_others_as_they_are() {
        let mut search = Search::new(tests_plan());
        let at = search.ledger.plan.current;
        search.stage = Stage::Race(vec![Climb::new(at, None, None)]);
        let mut burst = TrialSummary {
            offered: Offered::Closed { clients: 4, think: Duration::ZERO },
            warm_up: WarmUp { kind: WarmUpKind::Warmed, left_out_s: 2.0 },
            cpu_s: [("worker".to_string(), 10.0)].into(),
            ..tests_trial(TrialPurpose::Saturate, 70.0, (1000, 0))
        };
        search.tell(Told::Trial(Box::new(burst.clone())));
        assert!(search.ledger.warmth.is_warming());
        burst.valid = false;
        (0..2).for_each(|_| search.tell(Told::Trial(Box::new(burst.clone()))));
        assert!(!search.ledger.is_open(&at) && !search.ledger.warmth.is_warming());
        let other = loads::warm_burst(&search.ledger, Configuration::new(2, 1).unwrap());
        assert!(other.fresh_start, "each block has a start of its own");
    }
}
