//! `verify`: whole verifications on the simulated place, seeded, with a known answer; one of a real
//! Puma is in `at_length.rs`.

use std::time::Duration;

use sweetspot::place::simulated::{ChangeEffect, Drift, Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report::Language;
use sweetspot::report::facts::with_sentences;
use sweetspot::session::report::Which;
use sweetspot::session::sessions::list;
use sweetspot::session::tune::Session;
use sweetspot::session::verify::{Claim, Verified, VerifyError, Verifying, claim, run};
use sweetspot::store::{SessionId, Store};
use sweetspot::terms::{Obstacle, PlannedGoal, RecheckReason, SessionState, StopSignal, Verdict};
use tempfile::TempDir;

use crate::knobs;
use crate::schema::assert_valid;
use crate::setbacks::{End, interrupted};
use crate::tune;

fn app() -> SimulatedApp {
    let drift = Drift { start: 0.02, window: 0.01, ..Drift::default() };
    SimulatedApp { cpu_s: 0.006, wait_s: 0.024, waits: 2, drift, ..SimulatedApp::default() }
}

fn plan(folder: &TempDir) -> Plan {
    Plan {
        goal: PlannedGoal::Given("p95<200ms".parse().unwrap()),
        budget: Duration::from_secs(600),
        ..tune::plan(folder)
    }
}

/// A folder with a store in which the app was tuned.
fn tuned() -> TempDir {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    tune::Room::default().tune(&plan, &mut Simulated::new(app(), plan.seed)).unwrap();
    folder
}

fn store(folder: &TempDir) -> Store {
    Store::open(&folder.path().join("sweetspot.db")).unwrap()
}

fn claimed(folder: &TempDir) -> Claim {
    claim(&store(folder), Which::Last).unwrap()
}

pub fn verify(
    folder: &TempDir,
    place: &mut dyn sweetspot::place::Place,
    (seed, stop, compares_machines): (u64, StopSignal, bool),
) -> Result<Verified, VerifyError> {
    let claim = claimed(folder);
    let plan = Plan {
        budget: Duration::from_secs(120),
        goal: PlannedGoal::Given(claim.slo.clone().expect("one goal for all")),
        seed,
        ..plan(folder)
    };
    run(Verifying {
        session: Session {
            plan: &plan,
            place,
            store: &mut store(folder),
            reporters: &mut |_| Vec::new(),
            stop,
            started_at: "2026-01-03T03:04:05Z".into(),
            doubts: Vec::new(),
        },
        claim: &claim,
        compares_machines,
    })
}

fn verified(folder: &TempDir, app: SimulatedApp, seed: u64) -> Verified {
    verify(folder, &mut Simulated::new(app, seed), (seed, StopSignal::default(), false)).unwrap()
}

#[test]
fn what_has_not_changed_is_still_right_and_never_declared_wrong() {
    let folder = tuned();
    let found: Vec<Verdict> =
        (1..=10).map(|seed| verified(&folder, app(), seed).verification.verdict).collect();
    let yes = found.iter().filter(|it| **it == Verdict::Yes).count();
    assert!(yes >= 6 && !found.contains(&Verdict::No), "{found:?}");
}

#[test]
fn an_app_that_became_a_third_slower_makes_it_wrong() {
    let folder = tuned();
    let slower = SimulatedApp { cpu_s: 0.009, ..app() };
    for seed in 1..=3 {
        let found = verified(&folder, slower.clone(), seed).verification;
        assert_eq!(found.verdict, Verdict::No, "{found:?}");
        assert!(found.ratio_interval.unwrap()[1] < 0.97, "{found:?}");
        assert!(found.gain_ratio.unwrap() > 1.2, "the current setting is still worse: {found:?}");
    }
}

#[test]
fn a_server_that_dies_once_is_asked_once_more() {
    let folder = tuned();
    let dies_at = Some(Duration::from_secs(30));
    let found = verified(&folder, SimulatedApp { dies_at, ..app() }, 1).verification;
    let reason = found.reason.fact();
    assert!(!matches!(reason, Some(RecheckReason::NoLongerRuns { .. })), "{found:?}");
    assert!(found.held.is_some() && found.ratio_interval.is_some(), "{found:?}");
}

#[test]
fn where_knobs_are_recommended_too_the_setting_is_verified_without_them_and_that_is_said() {
    let folder = TempDir::new().unwrap();
    let halved = ChangeEffect { cpu: 0.5, ..ChangeEffect::NONE };
    let app = SimulatedApp { changes: vec![halved], ..app() };
    let tuned = knobs::with_knobs(&folder, &app, 600, 1);
    let tuned = Plan { goal: PlannedGoal::Given("p95<200ms".parse().unwrap()), ..tuned };
    let mut place = Simulated::new(app.clone(), tuned.seed);
    let ended = tune::Room::default().tune(&tuned, &mut place).unwrap();
    assert_eq!(ended.result.knobs.unwrap().recommended, ["A=1"]);
    let found = verified(&folder, app, 1).verification;
    // With the change it holds much more: nothing of that may count as what it held then.
    assert_eq!(found.verdict, Verdict::Yes, "{found:?}");
    assert!(found.ratio_interval.unwrap()[0] < 1.0, "{found:?}");
    let differences = Language::DATA.say_each(&found.differences);
    assert!(differences.iter().any(|it| it.contains("A=1")), "{found:?}");
}

#[test]
fn a_setting_that_no_longer_starts_is_no_longer_right() {
    let folder = tuned();
    let broken = SimulatedApp { boot_failure: Some(|c| c.workers.get() > 1), ..app() };
    let found = verified(&folder, broken, 1);
    assert_eq!(found.verification.verdict, Verdict::No, "{found:?}");
    let reason = found.verification.reason.fact();
    let does_not_start = |why: &Obstacle| matches!(why, Obstacle::DoesNotStart { .. });
    assert!(
        matches!(reason, Some(RecheckReason::NoLongerRuns { why, .. }) if does_not_start(why)),
        "{found:?}"
    );
    assert_eq!(found.state, SessionState::Done);
}

#[test]
fn another_machine_is_refused_unless_it_is_what_is_asked_about() {
    let folder = tuned();
    let larger = SimulatedApp { cores: 4.0, ..app() };
    let on = |compares| {
        let stop = StopSignal::default();
        verify(&folder, &mut Simulated::new(larger.clone(), 1), (1, stop, compares))
    };
    let error = on(false).unwrap_err();
    assert!(matches!(error, VerifyError::OtherMachine { .. }), "{error}");
    assert!(error.to_string().contains("--machines"), "{error}");
    assert_eq!(store(&folder).sessions().unwrap().len(), 1, "nothing was stored of it");
    assert_eq!(on(true).unwrap().verification.machine.cores.get(), 4.0);
}

#[test]
fn it_is_stored_as_a_session_of_its_own_that_nothing_takes_for_a_tune() {
    let folder = tuned();
    let found = verified(&folder, app(), 1);
    assert_eq!((found.verification.session, found.verification.stored_as), (1, 2));
    assert_valid("verify.schema.json", &with_sentences(&found.verification));
    let store = store(&folder);
    let entries = list(&store).unwrap();
    assert_eq!(entries.iter().map(|it| it.verifies).collect::<Vec<_>>(), [Some(1), None]);
    assert_valid("sessions.schema.json", &with_sentences(&entries));
    assert_eq!(claimed(&folder).session, 1, "the last one is the tune");
    let error = claim(&store, Which::Id(SessionId(2))).unwrap_err();
    assert!(error.to_string().contains("sweetspot verify 1"), "{error}");
    let report = crate::schema::report_of(&found.events, None);
    assert_eq!(report.verification, Some(found.verification));
    assert_valid("tune.schema.json", &with_sentences(&report));
}

#[test]
fn a_verification_that_was_killed_is_not_taken_up_by_a_tune() {
    let folder = tuned();
    let found = verified(&folder, app(), 1);
    let connection = rusqlite::Connection::open(folder.path().join("sweetspot.db")).unwrap();
    let killed = "UPDATE sessions SET owner = '4194304 1', state = 'running' WHERE id = 2";
    assert_eq!(connection.execute(killed, []).unwrap(), 1);
    let plan = plan(&folder);
    let ended = tune::Room::default().tune(&plan, &mut Simulated::new(app(), 7)).unwrap();
    assert_eq!(ended.session.0, found.verification.stored_as + 1);
}

#[test]
fn a_stop_gives_the_answer_so_far() {
    let folder = tuned();
    let stop = StopSignal::default();
    // In the middle of the printed rate.
    let mut place = interrupted(app(), 1, 1, End::Stop(stop.clone()));
    let found = verify(&folder, &mut place, (1, stop, false)).unwrap();
    assert_eq!(found.state, SessionState::Stopped);
    assert_eq!(found.verification.verdict, Verdict::Undecided);
    assert!(!found.verification.notes.is_empty(), "{found:?}");
}
