//! Other questions than the highest capacity: whole sessions on the simulated place, seeded, whose
//! answers are set beside the truth; and what is refused.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sweetspot::place::simulated::SimulatedApp;
use sweetspot::place::{Observed, Offer};
use sweetspot::plan::Plan;
use sweetspot::report;
use sweetspot::report::Language;
use sweetspot::report::facts::with_sentences;
use sweetspot::session::tune::Ended;
use sweetspot::terms::*;
use tempfile::TempDir;

use crate::hold::trials;
use crate::process::flat;
use crate::schema::assert_valid;
use crate::setbacks::Spoiling;
use crate::tune::{self, Room, chosen};

const LIMIT: Duration = Duration::from_millis(250);

/// 12 ms of CPU and 48 ms of waiting on two cores: small rates, so that a session takes little
/// time.
fn app() -> SimulatedApp {
    SimulatedApp { cpu_s: 0.012, wait_s: 0.048, waits: 2, ..SimulatedApp::default() }
}

fn plan(folder: &TempDir, objective: Objective, seed: u64) -> Plan {
    Plan {
        goal: PlannedGoal::Given("p95<250ms".parse().unwrap()),
        objective,
        seed,
        budget: Duration::from_secs(300),
        ..tune::plan(folder)
    }
}

pub fn asked(kind: ObjectiveKind, rate: f64) -> Objective {
    Objective { kind, rate: Some(Rate::per_second(rate).unwrap()), prices: None }
}

fn tune_app(plan: &Plan) -> Ended {
    tune::tune_app(plan, app())
}

fn held(ended: &Ended) -> Option<Verdict> {
    ended.result.objective.as_ref().unwrap().held
}

/// Its capacity, which takes most of a second to compute and is asked for again and again.
fn truly(configuration: Configuration) -> f64 {
    static KNOWN: Mutex<BTreeMap<Configuration, f64>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let compute = || app().true_capacity(configuration, LIMIT, 0.95);
    *known.entry(configuration).or_insert_with(compute)
}

fn grid(plan: &Plan) -> Vec<Configuration> {
    let of = |workers: &Workers| {
        let threads = plan.threads.iter();
        threads
            .map(|threads| Configuration::new(workers.get(), threads.get()).unwrap())
            .collect::<Vec<_>>()
    };
    plan.workers.iter().flat_map(of).collect()
}

fn text(ended: &Ended) -> String {
    let story = report::story::fold(&ended.events, None);
    report::decision(&story, report::Style::PLAIN).join("\n")
}

#[test]
fn the_least_memory_that_holds_a_rate_is_found() {
    for (rate, seed) in [(30.0, 1), (50.0, 2), (100.0, 3)] {
        let folder = TempDir::new().unwrap();
        let plan = plan(&folder, asked(ObjectiveKind::Memory, rate), seed);
        let ended = tune_app(&plan);
        let (found, memory) = (chosen(&ended), app().memory);
        assert_eq!(held(&ended), Some(Verdict::Yes), "{rate}/s with seed {seed}: {found}");
        assert!(truly(found) > rate * 0.98, "{found} holds {} of {rate}/s", truly(found));
        // Settings that hold the rate only just are not certain to.
        let with_room = grid(&plan).into_iter().filter(|it| truly(*it) > rate * 1.12);
        let least = with_room.map(|it| memory.of(it)).min().unwrap();
        let share = memory.of(found) as f64 / least as f64;
        assert!(share < 1.02, "{rate}/s with seed {seed}: {found} needs {share} of the least");
        let text = text(&ended);
        let reason = "it needs the least memory of those that hold";
        assert!(flat(&text).contains(reason), "{text}");
        assert!(text.contains("Capacity against memory"), "{text}");
        assert!(text.lines().any(|line| line.contains("  chosen  ")), "{text}");
        let json = with_sentences(&crate::schema::report_of(&ended.events, None));
        assert_valid("tune.schema.json", &json);
        assert_eq!(json["objective"]["goal"], "memory");
        let page = report::Format::Markdown
            .render(&report::story::fold(&ended.events, None), report::Style::PLAIN);
        assert!(page.contains("## Capacity against memory"), "{page}");
    }
}

#[test]
fn a_rate_that_nothing_holds_is_said_with_the_most_that_holds() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder, asked(ObjectiveKind::Memory, 400.0), 5);
    let ended = tune_app(&plan);
    assert_eq!(held(&ended), Some(Verdict::No));
    let best = grid(&plan).into_iter().map(truly).fold(0.0, f64::max);
    assert!(truly(chosen(&ended)) > best * 0.95, "the highest capacity all the same");
    let mut notes = ended.result.notes.iter().filter_map(Stated::fact);
    let is_said = |note: &Note| {
        matches!(note, Note::Objective(ObjectiveNote::NothingHoldsRate { rate, .. })
            if rate.as_per_second() == 400.0)
    };
    assert!(notes.any(is_said), "{:?}", ended.result.notes);
    let notes = Language::DATA.say_each(&ended.result.notes).join("\n");
    assert!(notes.contains("sweetspot predict"), "{notes}");
    let text = text(&ended);
    let said = "No setting that was measured holds 400/s; the most is";
    assert!(flat(&text).starts_with(said), "{text}");
}

#[test]
fn the_lowest_latency_at_a_rate_is_as_low_as_the_truth_allows() {
    let folder = TempDir::new().unwrap();
    let (rate, requests) = (50.0, 50_000.0);
    let plan = plan(&folder, asked(ObjectiveKind::Latency, rate), 6);
    let ended = tune_app(&plan);
    let p95_s = |it: Configuration| {
        let latency = app().host(it).latency(rate, requests);
        latency.map_or(f64::INFINITY, |(all, _)| all.p95)
    };
    let least_s = grid(&plan).into_iter().map(p95_s).fold(f64::INFINITY, f64::min);
    let share = p95_s(chosen(&ended)) / least_s;
    assert!(share < 1.08, "{} has {share} times the lowest p95", chosen(&ended));
    let front = &ended.result.objective.as_ref().unwrap().front;
    let measured_s = front.iter().find(|it| it.chosen).unwrap().latency_s_p95.unwrap();
    assert!((measured_s / p95_s(chosen(&ended)) - 1.0).abs() < 0.2, "{measured_s}");
    let at_rate = |it: &&TrialSummary| {
        it.purpose == TrialPurpose::Confirm && it.offered.rate() == plan.objective.rate
    };
    assert!(trials(&ended).into_iter().filter(at_rate).count() >= 2);
    assert!(text(&ended).contains("; p95 at 50.0/s"), "{}", text(&ended));
}

#[test]
fn the_cheapest_request_is_as_cheap_as_the_truth_allows() {
    for (prices, seed) in [((0.04, 0.005), 8), ((0.0, 0.01), 9)] {
        let folder = TempDir::new().unwrap();
        let prices = Prices { per_core_hour: prices.0, per_gib_hour: prices.1 };
        let objective = Objective { kind: ObjectiveKind::Cost, rate: None, prices: Some(prices) };
        let plan = plan(&folder, objective, seed);
        let ended = tune_app(&plan);
        let cost_at = |it: Configuration, capacity_rps: f64| {
            let rps = capacity_rps * OPERATING_SHARE;
            let gib = app().memory.of(it) as f64 / (1_u64 << 30) as f64;
            (rps * app().cpu_s * prices.per_core_hour + gib * prices.per_gib_hour) / rps
        };
        let cost = |it: Configuration| cost_at(it, truly(it));
        let least = grid(&plan).into_iter().map(cost).fold(f64::INFINITY, f64::min);
        let share = cost(chosen(&ended)) / least;
        assert!(share < 1.06, "{} costs {share} of the least", chosen(&ended));
        let text = flat(&text(&ended));
        assert!(text.contains("a million requests cost least with it"), "{text}");
        let found = &ended.result.objective.as_ref().unwrap().front;
        let million = found.iter().find(|it| it.chosen).unwrap().cost_per_million_requests;
        // Memory costs the same at any rate: what is printed is the cost at the rate that was held.
        let held_rps = ended.result.decision.as_ref().unwrap().capacity_rps;
        let truth = cost_at(chosen(&ended), held_rps) / 3600.0 * 1e6;
        assert!((million.unwrap() / truth - 1.0).abs() < 0.1, "{million:?} beside {truth}");
        let of_truth = held_rps / truly(chosen(&ended));
        assert!((0.8..1.02).contains(&of_truth), "{held_rps}/s is {of_truth} of the truth");
    }
}

/// As a platform has it that records whole minutes, of all that runs beside the app too: of the
/// rate alone that is held in the end.
#[test]
fn memory_that_long_loads_alone_tell_compares_no_settings_and_says_nothing_of_others() {
    const BYTES: u64 = 700 << 20;
    let folder = TempDir::new().unwrap();
    let plan = Plan {
        workers: [1, 2].map(|it| Workers::new(it).unwrap()).to_vec(),
        threads: [2, 8].map(|it| Threads::new(it).unwrap()).to_vec(),
        ..plan(&folder, asked(ObjectiveKind::Memory, 50.0), 12)
    };
    let mut place = Spoiling::new(app(), plan.seed, |_, offer: &Offer, seen: &mut Observed| {
        let is_long = offer.duration >= Duration::from_secs(30);
        let blind_spot = match is_long {
            true => BlindSpot::OnlyWholeMinutes,
            false => BlindSpot::NoShellGiven { has_platform: true },
        };
        let task = ProcessMemory { pss_bytes: BYTES, ..ProcessMemory::default() };
        seen.monitor = MonitorRecord {
            memory: is_long.then_some(task).into_iter().collect(),
            blind_spots: vec![blind_spot.into()],
            ..MonitorRecord::default()
        };
    });
    let ended = Room::default().tune(&plan, &mut place).unwrap();
    let (text, result) = (text(&ended), &ended.result);
    let decision = result.decision.as_ref().unwrap();
    assert_eq!((chosen(&ended).workers.get(), decision.memory_bytes), (2, Some(BYTES)), "{text}");
    assert!(result.objective.as_ref().unwrap().front.is_empty(), "{text}");
    let instead = ObjectiveNote::HighestCapacityInstead { missing: MissingFigure::Memory };
    assert!(result.notes.contains(&Note::Objective(instead).into()), "{:?}", result.notes);
    assert!(!flat(&text).contains("it needs the least memory"), "{text}");
    assert_eq!(result.memory, None);
    let all_bytes = result.predicted.iter().map(|it| it.memory_bytes);
    assert_eq!(all_bytes.flatten().count(), 0, "{:?}", result.predicted);
    let codes: Vec<String> = result.warnings.iter().map(Warning::code).collect();
    for code in ["not_seen", "only_whole_minutes"] {
        assert!(codes.iter().any(|it| it == code), "{codes:?}");
    }
}

#[test]
fn without_a_goal_the_highest_capacity_is_chosen_and_the_front_is_told() {
    let folder = TempDir::new().unwrap();
    let ended = tune_app(&plan(&folder, Objective::default(), 10));
    let objective = ended.result.objective.as_ref().unwrap();
    assert_eq!((objective.goal, objective.held), (ObjectiveKind::Capacity, None));
    let memory: Vec<u64> = objective.front.iter().map(|it| it.memory_bytes).collect();
    assert!(memory.len() > 1 && memory.is_sorted(), "{memory:?}");
    assert_eq!(objective.front.iter().filter(|it| it.chosen).count(), 1);
}

#[test]
fn a_session_that_broke_off_is_not_taken_up_with_another_goal() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder, asked(ObjectiveKind::Memory, 50.0), 11);
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() });
    let unfinished = tune::first_events(&plan, &whole, 12);
    let faster = Plan { objective: asked(ObjectiveKind::Memory, 60.0), ..plan.clone() };
    assert_ne!(tune_app(&faster).session.0, unfinished, "another rate");
    let highest = Plan { objective: Objective::default(), ..plan.clone() };
    assert_ne!(tune_app(&highest).session.0, unfinished, "another goal");
    let ended = tune_app(&plan);
    assert_eq!(ended.session.0, unfinished);
    assert_eq!(chosen(&ended), chosen(&whole));
}
