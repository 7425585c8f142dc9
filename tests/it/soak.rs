//! What is recommended, run for a long time at the end of a session: on the simulated place, seeded
//! and with a known leak; on a real Puma that leaks in `at_length.rs`.

use std::time::Duration;

use sweetspot::place::simulated::{ChangeEffect, Simulated, SimulatedApp, SimulatedMemory};
use sweetspot::plan::Plan;
use sweetspot::report;
use sweetspot::session::tune::Ended;
use sweetspot::terms::{
    Decision, Obstacle, SessionState, Soak, Stated, TrialPurpose, TrialSummary,
};
use tempfile::TempDir;

use crate::hold::{app, decision, printed_in, trials};
use crate::knobs;
use crate::setbacks::{End, interrupted};
use crate::tune::{Room, plan};

const HOUR_S: f64 = 3600.0;

fn leaking(bytes_s: u64) -> SimulatedApp {
    let memory = app().memory;
    SimulatedApp { memory: SimulatedMemory { leak_bytes_s: bytes_s, ..memory }, ..app() }
}

fn soaked_plan(folder: &TempDir, minutes: u64) -> Plan {
    let (budget, soak) = (Duration::from_secs(180), Duration::from_secs(60 * minutes));
    Plan { budget, soak: Some(soak), ..plan(folder) }
}

fn soaked(app: SimulatedApp, minutes: u64) -> Ended {
    let plan = soaked_plan(&TempDir::new().unwrap(), minutes);
    Room::default().tune(&plan, &mut Simulated::new(app, plan.seed)).unwrap()
}

pub fn soak(ended: &Ended) -> &Soak {
    decision(ended).soak.as_ref().expect("it was asked for")
}

fn parts(ended: &Ended) -> Vec<&TrialSummary> {
    trials(ended).into_iter().filter(|trial| trial.purpose == TrialPurpose::Soak).collect()
}

#[test]
fn it_lasts_as_long_as_was_asked_on_one_start_at_the_rate_to_run_it_at() {
    let ended = soaked(app(), 20);
    let (decision, soak, parts) = (decision(&ended), soak(&ended), parts(&ended));
    assert_eq!(soak.parts.len(), parts.len());
    assert!(parts.iter().all(|part| part.start == parts[0].start), "one start");
    let rate = parts[0].offered.rate().unwrap().as_per_second();
    assert_eq!(rate, soak.rate_rps);
    assert!((rate / decision.operating_rps - 1.0).abs() < 0.01, "{rate}");
    let lasted = soak.lasted_s() / soak.asked_s;
    assert!((0.95..1.1).contains(&lasted), "{lasted} of what was asked");
    let besides_s = ended.result.elapsed_s - soak.lasted_s();
    assert!((100.0..190.0).contains(&besides_s), "{besides_s} s of the budget's 180");
    assert_eq!((soak.workers_replaced, &soak.ended), (0, &None));
    assert_eq!(soak.workers_memory.len(), usize::from(decision.workers));
}

#[test]
fn what_is_recommended_is_the_same_with_and_without_it() {
    let with = soaked(app(), 10);
    let folder = TempDir::new().unwrap();
    let plan = Plan { soak: None, ..soaked_plan(&folder, 10) };
    let without = Room::default().tune(&plan, &mut Simulated::new(app(), plan.seed)).unwrap();
    let forgotten = Decision { soak: None, ..decision(&with).clone() };
    assert_eq!(&forgotten, decision(&without));
}

#[test]
fn a_steady_app_shows_no_growth_and_a_leak_is_told_with_the_hour_when_memory_is_full() {
    let steady = soaked(app(), 20);
    assert_eq!(soak(&steady).memory_bytes.unwrap().certain(), None);
    assert_eq!(soak(&steady).memory_full_in_s, None);
    assert!(!printed_in(&steady, report::Language::English).contains("full in"));

    let bytes_s = 40_000;
    let ended = soaked(leaking(bytes_s), 20);
    let soak = soak(&ended);
    let truth = bytes_s as f64 * f64::from(decision(&ended).workers) * HOUR_S;
    let (per_hour, interval) = soak.memory_bytes.unwrap().certain().expect("it grows");
    assert!((per_hour / truth - 1.0).abs() < 0.02, "{per_hour} of {truth} bytes an hour");
    assert!(interval[0] <= per_hour && per_hour <= interval[1]);
    for worker in &soak.workers_memory {
        let (per_hour, _) = worker.memory_bytes.certain().expect("each worker grows");
        assert!((per_hour / (bytes_s as f64 * HOUR_S) - 1.0).abs() < 0.02, "{per_hour}");
    }
    let full_s = soak.memory_full_in_s.expect("it grows");
    let left = app().memory.limit_bytes as f64 * 0.95 - soak.memory_bytes.unwrap().last;
    assert!((full_s / (left / truth * HOUR_S) - 1.0).abs() < 0.02, "{full_s} s");
    let text = printed_in(&ended, report::Language::English);
    assert!(text.contains("over time") && text.contains(": full in "), "{text}");
    let text = printed_in(&ended, report::Language::Japanese).replace(' ', "");
    assert!(text.contains("長時間運転") && text.contains("でいっぱい"), "{text}");
}

#[test]
fn a_server_that_dies_under_it_ends_it_with_the_reason_and_the_decision_stands() {
    let dies_at = Some(Duration::from_secs(600));
    let ended = soaked(SimulatedApp { dies_at, ..app() }, 20);
    let soak = soak(&ended);
    let why = soak.ended.as_ref().and_then(Stated::fact);
    assert!(matches!(why, Some(Obstacle::NotMeasurable { .. })), "{soak:?}");
    assert!(soak.lasted_s() < 600.0, "{} s", soak.lasted_s());
    assert_eq!(ended.state, SessionState::Done);
    let text = printed_in(&ended, report::Language::English);
    assert!(text.contains("it ended before its 20 min"), "{text}");
}

#[test]
fn stopped_in_the_middle_it_says_what_it_saw_by_then() {
    let folder = TempDir::new().unwrap();
    let plan = soaked_plan(&folder, 20);
    let whole = soaked(app(), 20);
    let first = parts(&whole)[0].id;
    let mut room = Room::default();
    let end = End::Stop(room.stop.clone());
    let mut place = interrupted(app(), plan.seed, first + 4, end);
    let ended = room.tune(&plan, &mut place).unwrap();
    assert_eq!(ended.state, SessionState::Stopped);
    assert_eq!(soak(&ended).parts.len(), 4, "the stopped one says nothing");
}

#[test]
fn the_recommended_knobs_are_run_with_it() {
    let folder = TempDir::new().unwrap();
    let halved = ChangeEffect { cpu: 0.5, ..ChangeEffect::NONE };
    let app = SimulatedApp { changes: vec![halved], ..app() };
    let plan = knobs::with_knobs(&folder, &app, 600, 1);
    let plan = Plan { soak: Some(Duration::from_secs(300)), ..plan };
    let ended = Room::default().tune(&plan, &mut Simulated::new(app, 1)).unwrap();
    let parts = parts(&ended);
    assert!(!parts.is_empty() && parts.iter().all(|part| !part.variant.is_as_it_is()));
}
