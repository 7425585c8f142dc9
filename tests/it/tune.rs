//! Whole sessions of `tune` on the simulated place: seeded, in virtual time, with a known answer.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use sweetspot::model::simulator::Lock;
use sweetspot::place::Place;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::plan::Plan;
use sweetspot::report::facts::with_sentences;
use sweetspot::report::{Reporter, Stored};
use sweetspot::server::{App, Framework};
use sweetspot::session::tune::{self, Ended, Session, Tune, TuneError};
use sweetspot::store::{SessionId, Store};
use sweetspot::terms::{
    Arrivals, Configuration, ConnectionMode, Event, EventKind, Note, Objective, PlanRecord,
    PlanSource, PlannedGoal, PlannedValue, SearchNote, SessionDoubt, SessionState, Stated,
    SteadinessNote, StopSignal, Target, Threads, TrialPurpose, Workers,
};
use tempfile::TempDir;

use crate::hold::trials;
use crate::schema::assert_valid;
use crate::sessions::change;
use crate::setbacks::{End, interrupted};

/// 12 ms of CPU and 48 ms of waiting on two cores: small rates, so that a session takes little
/// time.
fn app() -> SimulatedApp {
    SimulatedApp { cpu_s: 0.012, wait_s: 0.048, waits: 2, ..SimulatedApp::default() }
}

pub fn plan(folder: &TempDir) -> Plan {
    Plan {
        cluster: None,
        remote: None,
        app: App::new(folder.path().to_path_buf(), Framework::Rack, "config.ru"),
        server: "puma".into(),
        has_threads: true,
        workers: (1..=4).map(|n| Workers::new(n).unwrap()).collect(),
        threads: [1, 2, 4, 8].map(|n| Threads::new(n).unwrap()).to_vec(),
        threads_source: PlanSource::Flag,
        targets: vec![Target::get("/")],
        goal: PlannedGoal::FromUnloaded,
        objective: Objective::default(),
        cores: None,
        memory: None,
        precision: None,
        budget: Duration::from_secs(180),
        soak: None,
        arrivals: Arrivals::Poisson,
        connection: ConnectionMode::Fresh,
        timeout: Duration::from_secs(10),
        boot_timeout: None,
        db_connections: None,
        seed: 7,
        changes: Vec::new(),
        store: folder.path().join("sweetspot.db"),
        assume_yes: false,
        records: Vec::new(),
    }
}

/// Everything a session needs beside its plan and place.
#[derive(Default)]
pub struct Room {
    pub stop: StopSignal,
    consents: bool,
    asked: u32,
}

impl Room {
    /// On the simulated place, or on one around it.
    pub fn tune(&mut self, plan: &Plan, place: &mut dyn Place) -> Result<Ended, TuneError> {
        let _turn = crate::turn::compute();
        self.tune_really(plan, place)
    }

    /// On real servers.
    pub fn tune_really(&mut self, plan: &Plan, place: &mut dyn Place) -> Result<Ended, TuneError> {
        self.tune_watched(plan, place, &mut |_| Vec::new())
    }

    fn tune_watched(
        &mut self,
        plan: &Plan,
        place: &mut dyn Place,
        reporters: &mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    ) -> Result<Ended, TuneError> {
        self.tune_on(plan, place, Vec::new(), reporters)
    }

    /// With places beside the first one, for trials at the same time.
    pub fn tune_on(
        &mut self,
        plan: &Plan,
        place: &mut dyn Place,
        beside: Vec<&mut dyn Place>,
        reporters: &mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    ) -> Result<Ended, TuneError> {
        let mut store = Store::open(&plan.store).unwrap();
        let (consents, asked) = (self.consents, &mut self.asked);
        tune::run(Tune {
            session: Session {
                plan,
                place,
                store: &mut store,
                reporters,
                stop: self.stop.clone(),
                started_at: "2026-01-02T03:04:05Z".into(),
                doubts: Vec::new(),
            },
            consent: &mut |_| {
                *asked += 1;
                consents
            },
            may_resume: true,
            beside: beside.into_iter().map(|it| it as &mut dyn Place).collect(),
        })
    }
}

pub fn tune_app(plan: &Plan, app: SimulatedApp) -> Ended {
    Room::default().tune(plan, &mut Simulated::new(app, plan.seed)).unwrap()
}

fn tuned(app: SimulatedApp) -> Ended {
    tune_app(&plan(&TempDir::new().unwrap()), app)
}

pub fn chosen(ended: &Ended) -> Configuration {
    let decision = ended.result.decision.as_ref().expect("there is a decision");
    Configuration::new(decision.workers, decision.threads).unwrap()
}

fn purposes(events: &[Event]) -> Vec<(TrialPurpose, Configuration)> {
    events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TrialFinished { summary, .. } => {
                Some((summary.purpose, summary.configuration))
            }
            _ => None,
        })
        .collect()
}

/// Another program that looks at the store while a session writes it.
struct Watcher {
    store: Store,
    seconds: Rc<Cell<usize>>,
}

impl Reporter for Watcher {
    fn take(&mut self, event: &Event) -> std::io::Result<()> {
        let shown = self.store.shown(SessionId(1), 0).unwrap().len();
        match event.kind {
            EventKind::Second(_) => self.seconds.set(self.seconds.get().max(shown)),
            EventKind::TrialFinished { .. } => assert_eq!(shown, 0, "the trial has its seconds"),
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn the_running_trials_seconds_are_in_the_store_until_it_ends() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { budget: Duration::from_secs(60), ..plan(&folder) };
    let seconds = Rc::new(Cell::new(0));
    let watcher = || Watcher {
        store: Store::open_existing(&plan.store).unwrap(),
        seconds: Rc::clone(&seconds),
    };
    let mut place = Simulated::new(app(), plan.seed);
    Room::default().tune_watched(&plan, &mut place, &mut |_| vec![Box::new(watcher())]).unwrap();
    assert!(seconds.get() >= 4, "a trial has several seconds: {}", seconds.get());
}

#[test]
fn the_models_favourite_is_tried_first_and_then_the_rule_of_thumb() {
    // A request waits for 40 ms of 41: many threads are what the model expects most of.
    let waits = SimulatedApp { cpu_s: 0.001, wait_s: 0.040, waits: 2, ..SimulatedApp::default() };
    let ended = tuned(waits);
    let mut raced: Vec<Configuration> = purposes(&ended.events)
        .into_iter()
        .filter(|(purpose, _)| *purpose == TrialPurpose::Saturate)
        .map(|(_, configuration)| configuration)
        .collect();
    raced.dedup();
    // On two cores, with 5 threads today: of 1, 2, 4 and 8 the nearest to 5 and to 10.
    let expected = [(1, 5), (4, 8), (2, 4), (2, 8)].map(|(w, t)| Configuration::new(w, t).unwrap());
    assert_eq!(raced[..4], expected, "{raced:?}");
}

#[test]
fn what_is_expected_to_be_passed_by_far_is_not_probed_before_the_blocks() {
    let folder = TempDir::new().unwrap();
    // Long enough for whole blocks before the last part.
    let plan = Plan { budget: Duration::from_secs(480), ..plan(&folder) };
    let ended = Room::default().tune(&plan, &mut Simulated::new(app(), plan.seed)).unwrap();
    let purposes = purposes(&ended.events);
    let today = Configuration::new(1, 5).unwrap();
    let is_todays = |purpose| purposes.iter().filter(|it| **it == (purpose, today)).count();
    assert_eq!(is_todays(TrialPurpose::Probe), 0, "{purposes:?}");
    assert!(is_todays(TrialPurpose::Confirm) >= 3, "{purposes:?}");
    let gain = ended.result.decision.unwrap().gain_ratio;
    assert!(gain.is_some_and(|gain| gain > 1.2), "{gain:?}");
}

#[test]
fn a_hiccup_in_the_burst_of_what_was_expected_to_win_does_not_rule_it_out() {
    let folder = TempDir::new().unwrap();
    let drift = Drift { outliers: 0.15, outlier: 0.5, ..Drift::default() };
    let is_given_another = |seed: u64| {
        let place = &mut Simulated::new(SimulatedApp { drift, ..app() }, seed);
        let store = folder.path().join(format!("{seed}.db"));
        let ended = Room::default().tune(&Plan { seed, store, ..plan(&folder) }, place).unwrap();
        // Its first burst was disturbed, and it went on after the second.
        purposes(&ended.events).windows(3).any(|three| {
            let [first, second, third] = three else { unreachable!() };
            let is_burst = |it: &(TrialPurpose, Configuration)| it.0 == TrialPurpose::Saturate;
            first == second && is_burst(first) && *third == (TrialPurpose::Probe, first.1)
        })
    };
    let given_another = (1..=12).filter(|seed| is_given_another(*seed)).count();
    assert!(given_another > 0, "in none of twelve sessions");
}

#[test]
fn requests_that_are_slow_by_nature_do_not_hide_how_much_a_server_holds() {
    let folder = TempDir::new().unwrap();
    // Requests differ so much that some are too slow when nobody else is there.
    let app = SimulatedApp { cpu_s: 0.001, wait_s: 0.06, waits: 1, cv2: 1.0, ..app() };
    let today = app.current;
    let capacity = |limit_ms| app.true_capacity(today, Duration::from_millis(limit_ms), 0.95);
    let limits: Vec<u64> = (60..400).collect();
    let least = limits[limits.partition_point(|limit_ms| capacity(*limit_ms) == 0.0)];
    let limit_ms = least * 120 / 100;
    let plan = Plan {
        workers: vec![today.workers],
        threads: vec![today.threads],
        goal: PlannedGoal::Given(format!("p95<{limit_ms}ms").parse().unwrap()),
        ..plan(&folder)
    };
    let decision = tune_app(&plan, app.clone()).result.decision.unwrap();
    let ratio = decision.capacity_rps / capacity(limit_ms);
    assert!((0.8..1.25).contains(&ratio), "{ratio} of what it holds within {limit_ms} ms");
}

#[test]
fn a_server_that_gets_slower_every_minute_is_called_not_steady() {
    let folder = TempDir::new().unwrap();
    // Windows of four seconds, as in shorter sessions, are not enough to see it.
    let plan = Plan { budget: Duration::from_secs(480), ..plan(&folder) };
    let notes = |slowing_per_minute: f64| {
        let drift = Drift { slowing_per_minute, start: 0.01, window: 0.01, ..Drift::default() };
        tune_app(&plan, SimulatedApp { drift, ..app() }).result.notes
    };
    let of_steadiness = |note: &Stated<Note>| match note.fact() {
        Some(Note::Steadiness(note)) => Some(note.clone()),
        _ => None,
    };
    assert_eq!(notes(0.0).iter().find_map(of_steadiness), None);
    let slowing = notes(0.3).iter().find_map(of_steadiness);
    assert!(matches!(slowing, Some(SteadinessNote::SlowsDown { .. })), "{slowing:?}");
}

#[test]
fn a_session_finds_a_configuration_close_to_the_known_best_within_its_budget() {
    let ended = tuned(app());
    let limit = Duration::from_millis(200);
    let truth = |c| app().true_capacity(c, limit, 0.95);
    let grid = (1..=4).flat_map(|w| [1, 2, 4, 8].map(|t| Configuration::new(w, t).unwrap()));
    let best = grid.map(truth).fold(0.0, f64::max);
    let found = truth(chosen(&ended));
    assert!(found >= 0.9 * best, "{} holds {found:.0} of {best:.0}", chosen(&ended));
    let decision = ended.result.decision.as_ref().unwrap();
    assert!(decision.gain_ratio.unwrap() > 1.2, "one worker is far from the best");
    assert!(decision.capacity_rps_interval[0] < decision.capacity_rps);
    assert!(decision.capacity_rps < decision.capacity_rps_interval[1]);
    assert!(ended.result.elapsed_s < 200.0, "{} s of 180", ended.result.elapsed_s);
    assert_eq!(ended.state, SessionState::Done);
}

#[test]
fn an_event_loop_that_waits_a_lot_is_not_taken_for_a_server_with_one_thread() {
    // 4 ms of CPU and 120 ms of waiting: a worker holds a hundred times what one request at a time
    // would.
    let app = SimulatedApp {
        cpu_s: 0.004,
        wait_s: 0.12,
        is_event_loop: true,
        lock: Lock::Ruby33 { quantum_s: 3600.0 },
        current: Configuration::new(1, 1).unwrap(),
        ..SimulatedApp::default()
    };
    let folder = TempDir::new().unwrap();
    let plan = Plan {
        server: "uvicorn".into(),
        goal: PlannedGoal::Given("p95<500ms".parse().unwrap()),
        has_threads: false,
        threads: vec![Threads::new(1).unwrap()],
        ..plan(&folder)
    };
    let ended = tune_app(&plan, app.clone());
    let decision = ended.result.decision.as_ref().unwrap();
    let chosen = chosen(&ended);
    assert!(chosen.workers.get() >= 2, "{chosen} on two cores");
    let truth = app.true_capacity(chosen, Duration::from_millis(500), 0.95);
    assert!(truth > 300.0, "{truth}");
    assert!((decision.capacity_rps / truth - 1.0).abs() < 0.1, "{decision:?} of {truth}");
    let before = ended.result.predicted.iter().find(|one| one.workers == 2).unwrap();
    assert!((before.capacity_rps / truth - 1.0).abs() < 0.25, "{before:?} of {truth}");
}

#[test]
fn the_current_setting_is_measured_first_and_again_beside_the_choice() {
    let ended = tuned(app());
    let current = app().current;
    let trials = purposes(&ended.events);
    assert_eq!(trials[0], (TrialPurpose::Unloaded, current));
    assert_eq!(trials[1], (TrialPurpose::Saturate, current));
    let confirmed: Vec<Configuration> =
        trials.iter().filter(|t| t.0 == TrialPurpose::Confirm).map(|t| t.1).collect();
    assert!(confirmed.contains(&current) && confirmed.contains(&chosen(&ended)));
}

#[test]
fn the_same_seed_gives_the_same_session() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [first, second] = folders.each_ref().map(|folder| tune_app(&plan(folder), app()));
    assert_eq!(purposes(&first.events), purposes(&second.events));
    assert_eq!(first.result, second.result);
}

#[test]
fn what_is_stored_makes_the_json_that_scripts_rely_on() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let ended = tune_app(&plan, app());
    let stored = Stored {
        session: ended.session.0,
        store: "sweetspot.db".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
    };
    let report = crate::schema::report_of(&ended.events, Some(stored));
    let json = with_sentences(&report);
    assert_valid("tune.schema.json", &json);
    assert_eq!(json["decision"]["workers"], u64::from(chosen(&ended).workers.get()));
    assert_eq!(json["trials"].as_array().unwrap().len(), purposes(&ended.events).len());
    let again = Store::open(&plan.store).unwrap().events(ended.session).unwrap();
    assert_eq!(again, ended.events);
}

#[test]
fn a_goal_that_nothing_meets_ends_the_session_at_once_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let plan =
        Plan { goal: PlannedGoal::Given("p95<30ms,errors<1%".parse().unwrap()), ..plan(&folder) };
    let ended = tune_app(&plan, app());
    assert_eq!(ended.result.decision, None);
    assert_eq!(purposes(&ended.events).len(), 1);
    let [Stated::Fact(Note::Search(SearchNote::GoalsOutOfReach { goals, .. }))] =
        &ended.result.notes[..]
    else {
        panic!("{:?}", ended.result.notes)
    };
    assert_eq!(goals.to_string(), "p95<30ms,errors<1%");
}

#[test]
fn configurations_that_do_not_start_are_left_out_and_the_session_goes_on() {
    let app = SimulatedApp { boot_failure: Some(|c| c.workers.get() > 2), ..app() };
    let ended = tuned(app);
    assert!(chosen(&ended).workers.get() <= 2);
    assert!(ended.events.iter().any(|e| matches!(e.kind, EventKind::BootFailed { .. })));
}

#[test]
fn an_app_that_does_not_start_today_is_an_error_with_its_reason() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let app = SimulatedApp { boot_failure: Some(|_| true), ..app() };
    let mut place = Simulated::new(app, 1);
    let error = Room::default().tune(&plan, &mut place).unwrap_err();
    assert!(matches!(error, TuneError::DoesNotStart(_)), "{error}");
    let rows = Store::open(&plan.store).unwrap().sessions().unwrap();
    assert_eq!(rows[0].state, SessionState::Failed);
}

#[test]
fn no_configuration_with_more_connections_than_allowed_is_tried() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { db_connections: Some(6), ..plan(&folder) };
    let ended = tune_app(&plan, app());
    assert!(purposes(&ended.events).iter().all(|(_, c)| c.slots() <= 6));
    assert!(ended.result.decision.unwrap().database_connections <= 6);
}

#[test]
fn a_server_that_dies_once_costs_a_trial_and_not_the_session() {
    let app = SimulatedApp { dies_at: Some(Duration::from_secs(40)), ..app() };
    let ended = tuned(app);
    assert!(trials(&ended).iter().any(|it| it.failure.is_some()), "the server died in a trial");
    assert!(ended.result.decision.is_some());
}

#[test]
fn an_app_with_one_thread_is_asked_before_it_gets_more() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { threads_source: PlanSource::Default, ..plan(&folder) };
    let app = SimulatedApp { current: Configuration::new(2, 1).unwrap(), ..app() };
    let mut room = Room::default();
    let ended = room.tune(&plan, &mut Simulated::new(app.clone(), 1)).unwrap();
    assert_eq!(room.asked, 1);
    assert!(purposes(&ended.events).iter().all(|(_, c)| c.threads.get() == 1));
    assert!(ended.result.warnings.iter().any(|w| *w == SessionDoubt::OneThreadOnly.into()));

    let folder = TempDir::new().unwrap();
    let plan = Plan { store: folder.path().join("other.db"), ..plan };
    let mut room = Room { consents: true, ..Room::default() };
    let ended = room.tune(&plan, &mut Simulated::new(app, 1)).unwrap();
    assert!(purposes(&ended.events).iter().any(|(_, c)| c.threads.get() > 1));
}

#[test]
fn a_stop_ends_the_trial_and_gives_the_answer_so_far() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let mut room = Room::default();
    let end = End::Stop(room.stop.clone());
    let ended = room.tune(&plan, &mut interrupted(app(), plan.seed, 8, end)).unwrap();
    assert_eq!(ended.state, SessionState::Stopped);
    assert_eq!(purposes(&ended.events).len(), 8);
    assert!(ended.result.decision.is_some(), "what was measured by then gives an answer");
}

#[test]
fn a_session_that_broke_off_goes_on_where_it_was() {
    let folder = TempDir::new().unwrap();
    let (value, source) = (PlannedValue::Store("s.db".into()), PlanSource::Default);
    let plan = Plan { records: vec![PlanRecord { value, source }], ..plan(&folder) };
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app());
    // The program dies without a word: what was stored until then is all there is.
    let unfinished = first_events(&plan, &whole, 12);
    let _turn = crate::turn::compute();
    let (mut place, mut told) = (Simulated::new(app(), plan.seed), None);
    let ended = Room::default().tune_watched(&plan, &mut place, &mut |stored| {
        told = Some(stored);
        Vec::new()
    });
    let (ended, rows) = (ended.unwrap(), Store::open(&plan.store).unwrap().sessions().unwrap());
    let (session, started_at) = (unfinished, rows[0].started_at.clone());
    assert_eq!(told, Some(Stored { session, store: "s.db".into(), started_at }));
    assert_eq!(ended.session.0, unfinished);
    let resumed = ended
        .events
        .iter()
        .any(|e| matches!(e.kind, EventKind::Resumed { trials, .. } if trials > 2));
    assert!(resumed, "it says that it goes on");
    let trials = purposes(&ended.events);
    let unloaded = trials.iter().filter(|t| t.0 == TrialPurpose::Unloaded).count();
    assert_eq!(unloaded, 1, "what was measured is not measured again");
    let (now, then) = (ended.result.decision.unwrap(), whole.result.decision.unwrap());
    let ratio = now.capacity_rps / then.capacity_rps;
    assert!((0.85..1.18).contains(&ratio), "an equivalent answer: {ratio}");
}

#[test]
fn trials_are_taken_up_although_a_later_session_was_killed_before_its_first() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app());
    let unfinished = first_events(&plan, &whole, 12);
    let mut store = Store::open(&plan.store).unwrap();
    let head = store.sessions().unwrap().remove(0).head;
    let later = store.begin(&head, "2026-01-02T23:59:59Z").unwrap();
    store.append(later, &whole.events[0]).unwrap();
    drop(store);
    change(&plan.store, "UPDATE sessions SET owner = '4194304 1'");
    assert_eq!(tune_app(&plan, app()).session.0, unfinished);
}

#[test]
fn what_was_measured_without_the_probe_is_not_taken_up_with_it() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app());
    let unfinished = first_events(&plan, &whole, 12);
    let probed = Plan { app: App { is_probed: true, ..plan.app.clone() }, ..plan };
    let ended = tune_app(&probed, app());
    assert_ne!(ended.session.0, unfinished, "requests cost a little more with it");
}

#[test]
fn what_was_measured_with_less_time_to_boot_is_not_taken_up_with_more() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let whole = tune_app(&Plan { store: folder.path().join("whole.db"), ..plan.clone() }, app());
    let unfinished = first_events(&plan, &whole, 12);
    let patient = Plan { boot_timeout: Some(Duration::from_secs(300)), ..plan };
    let ended = tune_app(&patient, app());
    assert_ne!(ended.session.0, unfinished, "what did not boot in time may do so now");
}

/// Stores the first `count` events of a session as a program that was killed leaves them.
pub fn first_events(plan: &Plan, whole: &Ended, count: usize) -> i64 {
    let mut other = Store::open(&folder_of(plan).join("whole.db")).unwrap();
    let head = other.sessions().unwrap().remove(0).head;
    other.remove(whole.session).unwrap();
    drop(other);
    // What fingerprints are made with is the store's own.
    let key = |store: &Path| format!("{}-key", store.display());
    fs::copy(key(&folder_of(plan).join("whole.db")), key(&plan.store)).unwrap();
    let mut store = Store::open(&plan.store).unwrap();
    let session = store.begin(&head, "2026-01-01T23:59:59Z").unwrap();
    whole.events[..count].iter().for_each(|event| store.append(session, event).unwrap());
    drop(store);
    // This test lives, so the store would take the session for one that is being written.
    let connection = rusqlite::Connection::open(&plan.store).unwrap();
    let changed = connection.execute("UPDATE sessions SET owner = '4194304 1'", []).unwrap();
    assert_eq!(changed, 1);
    session.0
}

fn folder_of(plan: &Plan) -> &Path {
    plan.store.parent().unwrap()
}

#[test]
fn when_we_cannot_go_on_the_watcher_still_hears_the_end() {
    struct LastWord(Rc<Cell<Option<SessionState>>>);
    impl Reporter for LastWord {
        fn take(&mut self, event: &Event) -> std::io::Result<()> {
            if let EventKind::SessionEnded { state, .. } = &event.kind {
                self.0.set(Some(*state));
            }
            Ok(())
        }
    }
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    let mut place = interrupted(app(), plan.seed, 5, End::Fail);
    let heard = Rc::new(Cell::new(None));
    let error = Room::default()
        .tune_watched(&plan, &mut place, &mut |_| vec![Box::new(LastWord(heard.clone()))])
        .unwrap_err();
    assert!(error.to_string().contains("pulled the plug"), "{error}");
    assert_eq!(heard.get(), Some(SessionState::Failed));
    let store = Store::open(&plan.store).unwrap();
    let trials = purposes(&store.events(SessionId(1)).unwrap());
    assert_eq!(trials.len(), 4, "what was measured is kept");
}

#[test]
fn the_shortest_budget_still_compares_something() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { budget: Duration::from_secs(60), ..plan(&folder) };
    let ended = tune_app(&plan, app());
    let others = purposes(&ended.events).iter().filter(|(_, c)| *c != app().current).count();
    assert!(others > 0, "only today's setting was measured");
    assert!(ended.result.elapsed_s < 75.0, "{} s of 60", ended.result.elapsed_s);
}
