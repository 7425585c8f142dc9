//! One whole session at the zoo, and what became of it beside the truth.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sweetspot::place::Place;
use sweetspot::report::Language;
use sweetspot::search::{Answer, SearchPlan};
use sweetspot::terms::{Bytes, Configuration, Note, PrecisionNote, Ratio, SearchNote, Slo, Stated};

use super::app::Case;
use super::kinds::{self, Kind};
use super::place::Zoo;
use super::recheck::{self, Rechecked};
use super::truth::{Kept, Truth, fits};
use crate::common::Result;
use crate::common::played::{self, Played, play};

/// What one session came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct One {
    pub seed: u64,
    pub kind: Kind,
    /// The app, for people.
    pub app: String,
    pub goal: String,
    pub best: Option<(Configuration, f64)>,
    /// `None`: it recommended nothing.
    pub chosen: Option<Chosen>,
    pub is_warned: bool,
    pub is_called_unsteady: bool,
    /// By the best: the largest setting that fits, and the rule of thumb.
    pub largest: f64,
    pub thumb: f64,
    pub trials: usize,
    pub load_s: f64,
    pub elapsed_s: f64,
    pub notes: Vec<String>,
    /// What `verify` says of it; `None` where it was not asked.
    #[serde(default)]
    pub rechecked: Option<Rechecked>,
}

/// A recommendation: as printed, and in truth. Rates a second.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Chosen {
    pub configuration: Configuration,
    pub printed: f64,
    pub low: f64,
    pub high: f64,
    pub capacity: f64,
    /// Of the best.
    pub quality: f64,
    /// What is printed was held by the session's last part.
    pub is_proved: bool,
    /// For ten minutes on a fresh start.
    pub is_printed_held: bool,
    pub is_low_held: bool,
}

/// A search that has ended.
struct Ended {
    answer: Answer,
    slo: Option<Slo>,
    played: Played,
}

/// What all sessions have in common.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub budget: Duration,
    /// Machines on which settings are measured at the same time.
    pub places: usize,
    /// The recommendation is verified as well.
    pub is_verified: bool,
}

pub fn one(seed: u64, asked: Asked, kept: &Kept) -> Result<One> {
    let case = kinds::case(seed);
    let ended = run(&case, plan(&case, asked, seed))?;
    let notes = &ended.answer.notes;
    let is_a = |is: fn(&Note) -> bool| notes.iter().filter_map(Stated::fact).any(is);
    let mut one = One {
        seed,
        kind: Kind::of(seed),
        app: words(&case),
        goal: ended.slo.as_ref().map_or("none settled".into(), Slo::to_string),
        best: None,
        chosen: None,
        is_warned: is_a(is_warning),
        is_called_unsteady: is_a(|note| matches!(note, Note::Steadiness(_))),
        largest: 0.0,
        thumb: 0.0,
        trials: ended.played.trials.len(),
        load_s: ended.played.load_s(),
        elapsed_s: ended.played.elapsed_s,
        notes: notes.iter().map(|note| Language::DATA.say(note)).collect(),
        rechecked: None,
    };
    let Some(slo) = ended.slo else { return Ok(one) };
    if asked.is_verified {
        one.rechecked = recheck::again(&case, &ended.played, &slo, seed)?;
    }
    let (slo, printed) = match is_a(is_about_errors) {
        true => (beside_errors(slo.clone(), case.app.failing), Slo { errors: None, ..slo }),
        false => (slo.clone(), slo),
    };
    let (slo, printed) = (&slo, &printed);
    let capacity = ended.answer.choice.as_ref().map(|choice| choice.capacity);
    let first = capacity.map_or((case.current, 0.0), |it| (it.configuration, it.rps.value));
    let mut truth = Truth::find(&case, slo, seed, first, kept)?;
    one.best = (truth.best_rps > 0.0).then_some((truth.best, truth.best_rps));
    one.chosen = capacity.map(|it| Chosen {
        configuration: it.configuration,
        printed: it.rps.value,
        low: it.rps.low,
        high: it.rps.high,
        capacity: truth.of(it.configuration),
        quality: truth.quality(it.configuration),
        is_proved: ended.answer.choice.as_ref().is_some_and(|choice| choice.held.is_some()),
        is_printed_held: truth.holds_afresh(printed, it.configuration, it.rps.value, 1),
        is_low_held: it.rps.low <= 0.0
            || truth.holds_afresh(printed, it.configuration, it.rps.low, 1),
    });
    let fitting = case.grid.iter().copied().filter(|it| fits(&case, *it));
    let largest = fitting.max_by_key(|it| it.slots());
    one.largest = largest.map_or(0.0, |it| truth.quality(it));
    one.thumb = truth.quality(thumb(&case));
    Ok(one)
}

fn is_about_errors(note: &Note) -> bool {
    matches!(
        note,
        Note::Search(
            SearchNote::ErrorsAtAnyRate { .. }
                | SearchNote::ErrorsUntold { .. }
                | SearchNote::ErrorsNotCertified { .. }
        )
    )
}

/// The goal of an app whose errors were told apart from its capacity: as many as it fails anyway
/// are no reason against a rate. Where it fails fewer than allowed, nothing changes.
fn beside_errors(slo: Slo, failing: f64) -> Slo {
    let beside = |most: Ratio| match failing > most.get() {
        true => Ratio::new(most.get() + failing).expect("both are a few percent"),
        false => most,
    };
    Slo { errors: slo.errors.map(beside), ..slo }
}

/// As many workers as cores, of five threads.
fn thumb(case: &Case) -> Configuration {
    let workers = case.app.cores().round().max(1.0) as u16;
    Configuration::new(workers, 5).expect("neither number is zero")
}

/// Says that the answer may be far from the best, or is no more than a guess.
fn is_warning(note: &Note) -> bool {
    matches!(
        note,
        Note::Search(
            SearchNote::UntriedMayHoldMore { .. }
                | SearchNote::NoTimeToConfirm
                | SearchNote::NoRateHeld { .. }
                | SearchNote::GoalsOutOfReach { .. }
                | SearchNote::AloneNotMeasured { .. }
                | SearchNote::NothingHeldAtEnd { .. }
        ) | Note::Precision(PrecisionNote::TooVague { .. })
    )
}

fn plan(case: &Case, Asked { budget, places, .. }: Asked, seed: u64) -> SearchPlan {
    SearchPlan {
        slo: case.slo.clone(),
        cores: case.app.cores(),
        generator_shares_cores: case.app.hardware.generator_s > 0.0,
        memory: Some(Bytes(case.app.memory.limit_bytes)),
        places,
        ..played::plan(case.grid.clone(), case.current, budget, seed)
    }
}

fn run(case: &Case, plan: SearchPlan) -> Result<Ended> {
    let (seed, places) = (plan.seed, plan.places as u64);
    // Machines of one kind: what a start there is like is each one's own.
    let mut zoos: Vec<Zoo> =
        (0..places).map(|number| Zoo::new(case, seed ^ (number << 40))).collect();
    let places = zoos.iter_mut().map(|zoo| zoo as &mut dyn Place).collect();
    let played = play(places, plan, &mut |_, _| {})?;
    let slo = played.search.slo().cloned().or_else(|| case.slo.clone());
    Ok(Ended { answer: played.search.answer(), slo, played })
}

fn words(case: &Case) -> String {
    let app = &case.app;
    let (cpu_s, wait_s) = app.means_s();
    format!(
        "{:.1} cores, {:.1} ms of computing, {:.1} ms of waiting in {}, {:?}, {:?}, {:?}, {:?}, \
         failing {:.4}, {:?}, {:?}, switching {:.3}, {:?}",
        app.cores(),
        1e3 * cpu_s,
        1e3 * wait_s,
        app.waits,
        app.spread,
        app.lock,
        app.backend,
        app.pool,
        app.failing,
        app.collection,
        app.cold,
        app.switching,
        app.hardware
    )
}
