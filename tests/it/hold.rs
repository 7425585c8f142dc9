//! The last part of a session: what is printed as held was sent to a fresh start for half a minute
//! or more, on the simulated place.

use std::time::Duration;

use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::report;
use sweetspot::session::tune::Ended;
use sweetspot::terms::{
    Configuration, ConnectionMode, Decision, EventKind, Note, Objective, ObjectiveKind, PlanRecord,
    PlanSource, PlannedGoal, PlannedValue, SearchNote, Stated, TrialPurpose, TrialSummary, Verdict,
};
use tempfile::TempDir;

use crate::goals::asked;
use crate::process::flat;
use crate::tune::{Room, plan};

/// 12 ms of CPU and 24 ms of waiting on two cores, a machine as noisy as most.
pub fn app() -> SimulatedApp {
    SimulatedApp {
        cpu_s: 0.012,
        wait_s: 0.024,
        waits: 2,
        drift: Drift { start: 0.015, window: 0.01, ..Drift::default() },
        ..SimulatedApp::default()
    }
}

fn tuned(app: SimulatedApp, budget_s: u64, seed: u64, objective: Objective) -> Ended {
    let folder = TempDir::new().unwrap();
    let budget = Duration::from_secs(budget_s);
    let plan = sweetspot::plan::Plan { budget, seed, objective, ..plan(&folder) };
    Room::default().tune(&plan, &mut Simulated::new(app, seed)).unwrap()
}

pub fn decision(ended: &Ended) -> &Decision {
    ended.result.decision.as_ref().expect("there is a decision")
}

pub fn trials(ended: &Ended) -> Vec<&TrialSummary> {
    let finished = ended.events.iter().filter_map(|event| match &event.kind {
        EventKind::TrialFinished { summary, .. } => Some(summary.as_ref()),
        _ => None,
    });
    finished.collect()
}

/// The rates of the last part, in turn.
fn attempts(ended: &Ended) -> Vec<(f64, &TrialSummary)> {
    let of_part = trials(ended).into_iter().filter(|trial| trial.purpose == TrialPurpose::Hold);
    of_part.map(|trial| (trial.offered.rate().unwrap().as_per_second(), trial)).collect()
}

/// The middle one of the rates that the blocks tried of the setting that was then held: about its
/// capacity.
fn probed_rps(all: &[&TrialSummary]) -> f64 {
    let held = all.iter().find(|trial| trial.purpose == TrialPurpose::Hold).unwrap().configuration;
    let of_blocks =
        all.iter().filter(|it| it.purpose == TrialPurpose::Confirm && it.configuration == held);
    let rates: Vec<f64> =
        of_blocks.filter_map(|it| Some(it.offered.rate()?.as_per_second())).collect();
    sweetspot::stats::median(&rates).expect("it was measured in blocks")
}

fn has_note(ended: &Ended, is_it: fn(&SearchNote) -> bool) -> bool {
    let mut notes = ended.result.notes.iter().filter_map(Stated::fact);
    notes.any(|note| matches!(note, Note::Search(note) if is_it(note)))
}

/// What is printed at the end, in one line.
fn printed(ended: &Ended) -> String {
    printed_in(ended, report::Language::English)
}

pub fn printed_in(ended: &Ended, language: report::Language) -> String {
    let style = report::Style { language, ..report::Style::PLAIN };
    let lines = report::decision(&report::fold(&ended.events, None), style);
    flat(&lines.join(" "))
}

#[test]
fn what_is_printed_as_held_was_sent_to_a_fresh_start_for_half_a_minute() {
    for seed in 1..=4 {
        let ended = tuned(app(), 480, seed, Objective::default());
        let (decision, all) = (decision(&ended), trials(&ended));
        let held = decision.held.expect("a steady app holds something");
        let trial = all.iter().find(|trial| trial.id == held.trial).expect("it is stored");
        assert_eq!(trial.purpose, TrialPurpose::Hold);
        assert_eq!(trial.offered.rate().unwrap().as_per_second(), held.rate_rps);
        assert_eq!(decision.capacity_rps, held.rate_rps, "one figure for one setting");
        assert!(printed(&ended).contains(&format!("holds {} req", held.rate_rps)), "{held:?}");
        assert_ne!(trial.verdict, Verdict::No);
        assert_eq!(trial.leaning, Verdict::Yes);
        assert!(held.duration_s >= 30.0 && held.requests as f64 > 25.0 * held.rate_rps, "{held:?}");
        assert!(attempts(&ended)[0].0 < 0.985 * probed_rps(&all), "surer than a guess");
        let before = all.iter().filter(|other| other.id < trial.id);
        assert!(before.clone().all(|other| other.start < trial.start), "started afresh for it");
        assert!(ended.result.elapsed_s < 500.0, "{} s of 480", ended.result.elapsed_s);
    }
}

#[test]
fn a_rate_that_is_missed_goes_down_and_the_miss_is_never_printed_as_held() {
    // A machine whose neighbour comes and goes: what short windows saw, a minute may not hold.
    let drift = Drift { start: 0.1, window: 0.12, ..Drift::default() };
    let mut missed = 0;
    for seed in 1..=12 {
        let ended = tuned(SimulatedApp { drift, ..app() }, 480, seed, Objective::default());
        let attempts = attempts(&ended);
        for pair in attempts.windows(2) {
            assert!(pair[1].0 <= 0.951 * pair[0].0, "{} after {}", pair[1].0, pair[0].0);
        }
        let misses = attempts.iter().filter(|(_, trial)| trial.verdict == Verdict::No);
        missed += misses.clone().count();
        match decision(&ended).held {
            Some(held) => assert!(misses.clone().all(|(rate, _)| *rate > held.rate_rps)),
            None => {
                assert!(has_note(&ended, |it| matches!(it, SearchNote::NothingHeldAtEnd { .. })));
                assert!(printed(&ended).contains("holds about "), "{}", printed(&ended));
            }
        }
    }
    assert!(missed > 0, "twelve sessions on such a machine never missed: nothing was tested");
}

/// Blocks whose windows took its time left sessions of four minutes without it in one of four.
#[test]
fn sessions_of_four_minutes_hold_what_they_print_too() {
    for seed in 1..=8 {
        let ended = tuned(app(), 240, seed, Objective::default());
        let attempts = attempts(&ended);
        assert!(!attempts.is_empty(), "seed {seed}: no time was left");
        assert!(attempts.iter().all(|(_, trial)| trial.summary.duration_s >= 29.5), "seed {seed}");
    }
}

#[test]
fn a_budget_without_time_for_it_says_that_the_figure_is_an_estimate() {
    let ended = tuned(app(), 90, 3, Objective::default());
    assert_eq!(attempts(&ended).len(), 0);
    assert_eq!(decision(&ended).held, None);
    assert!(has_note(&ended, |it| *it == SearchNote::NotHeldAtEnd));
    assert!(printed(&ended).contains("holds about "), "{}", printed(&ended));
    let [low, high] = decision(&ended).capacity_rps_interval;
    assert_eq!(decision(&ended).capacity_rps, low, "no more than what is nearly sure");
    assert!(low < high);
}

#[test]
fn a_rate_that_is_asked_for_is_the_one_that_is_tried() {
    let ended = tuned(app(), 480, 5, asked(ObjectiveKind::Memory, 60.0));
    let attempts = attempts(&ended);
    assert_eq!(attempts.iter().map(|(rate, _)| *rate).collect::<Vec<_>>(), [60.0]);
    assert_eq!(decision(&ended).held.map(|held| held.rate_rps), Some(60.0));
    assert!(decision(&ended).capacity_rps > 60.0, "what it holds beyond that is an estimate");
    assert!(printed(&ended).contains("it holds about "), "{}", printed(&ended));
}

/// A machine whose neighbour comes and goes: what blocks saw of a setting, half a minute may not
/// show again.
#[test]
fn where_the_rate_that_is_asked_for_is_missed_another_setting_is_held_and_not_just_recommended() {
    let drift = Drift { start: 0.1, window: 0.12, ..Drift::default() };
    let (mut others, mut own) = (0, 0);
    for seed in 1..=12 {
        let rps = 110.0 + 5.0 * seed as f64;
        let objective = asked(ObjectiveKind::Memory, rps);
        let ended = tuned(SimulatedApp { drift, ..app() }, 480, seed, objective);
        let (tried, decision) = (attempts(&ended), decision(&ended));
        let chosen = Configuration::new(decision.workers, decision.threads).unwrap();
        let is_tried = tried.iter().any(|(_, trial)| trial.configuration == chosen);
        let is_said = has_note(&ended, |it| *it == SearchNote::NotHeldAtEnd);
        assert!(is_tried != is_said, "seed {seed}: {chosen} of {tried:?}");
        let Some((_, first)) = tried.first() else { continue };
        others += u32::from(first.configuration != chosen);
        let held = ended.result.objective.as_ref().unwrap().held;
        for (at_rps, trial) in &tried {
            assert!(*at_rps <= rps, "seed {seed}: {at_rps}/s at {}", trial.configuration);
            let is_own = *at_rps < rps;
            own += u32::from(is_own);
            assert!(!is_own || held != Some(Verdict::Yes), "seed {seed}: at {at_rps}/s");
        }
        assert!(ended.result.elapsed_s < 500.0, "{} s of 480", ended.result.elapsed_s);
    }
    assert!(others > 0 && own > 0, "{others} others, {own} at rates of their own");
}

/// Its first seconds are five times as slow as the rest.
#[test]
fn a_server_that_is_cold_when_it_is_measured_alone_is_measured_once_more_for_longer() {
    let drift = Drift { cold: 4.0, cold_s: 4.0, ..app().drift };
    let cold = SimulatedApp { drift, ..app() };
    let folder = TempDir::new().unwrap();
    let plan = sweetspot::plan::Plan {
        budget: Duration::from_secs(480),
        goal: PlannedGoal::Given("p95<100ms".parse().unwrap()),
        ..plan(&folder)
    };
    let ended = Room::default().tune(&plan, &mut Simulated::new(cold.clone(), 1)).unwrap();
    let alone = |ended: &Ended| {
        let all = trials(ended).into_iter().filter(|it| it.purpose == TrialPurpose::Unloaded);
        all.map(|it| it.summary.latency_s.p95).collect::<Vec<_>>()
    };
    let both = alone(&ended);
    assert!(both.len() == 2 && both[0] > 0.1 && both[1] < 0.1, "{both:?}");
    assert!(decision(&ended).held.is_some());
    // A goal is set by what the app does once it is warm.
    let ended = tuned(cold, 480, 1, Objective::default());
    assert_eq!(alone(&ended).len(), 2);
    let warm = alone(&tuned(app(), 480, 1, Objective::default()));
    assert_eq!(warm.len(), 1, "one that is warm at once is measured once");
}

/// No file of the app says what stands in front of it.
fn nothing_in_front() -> PlanRecord {
    let value = PlannedValue::Connection(ConnectionMode::Fresh);
    PlanRecord { value, source: PlanSource::NoReverseProxy }
}

#[test]
fn where_nobody_says_how_requests_come_the_printed_rate_is_tried_the_other_way_in_the_time_left() {
    let [known, unknown] = [vec![], vec![nothing_in_front()]].map(|records| {
        let folder = TempDir::new().unwrap();
        let budget = Duration::from_secs(480);
        let plan = sweetspot::plan::Plan { budget, seed: 3, records, ..plan(&folder) };
        Room::default().tune(&plan, &mut Simulated::new(app(), 3)).unwrap()
    });
    let checks = |ended: &Ended| {
        let all = trials(ended).into_iter().filter(|trial| trial.purpose == TrialPurpose::Check);
        all.map(|trial| trial.offered.rate().unwrap().as_per_second()).collect::<Vec<_>>()
    };
    assert_eq!(checks(&known), [] as [f64; 0]);
    let held = decision(&unknown).held.unwrap();
    assert_eq!(checks(&unknown), [held.rate_rps]);
    assert!(unknown.result.elapsed_s < 500.0, "{} s of 480", unknown.result.elapsed_s);
    let is_said = |note: &SearchNote| match note {
        SearchNote::OtherConnections(of) => {
            of.is_held && of.connection == ConnectionMode::KeepAlive
        }
        _ => false,
    };
    assert!(has_note(&unknown, is_said), "{:?}", unknown.result.notes);
    let decided = |ended: &Ended| {
        let found = decision(ended);
        (found.workers, found.threads, found.held, found.capacity_rps_interval)
    };
    assert_eq!(decided(&unknown), decided(&known), "it changes nothing of the decision");
}
