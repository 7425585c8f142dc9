//! Sessions in which trials or starts fail, or requests do, on a simulated place that spoils some
//! of what it is asked for.

use std::ops::ControlFlow;
use std::time::Duration;

use sweetspot::model::simulator::Lock;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::place::{Observed, Offer, Place, PlaceError, Started};
use sweetspot::plan::Plan;
use sweetspot::server::Inspection;
use sweetspot::terms::{
    Configuration, LiveSecond, Machine, Note, PlannedGoal, ProcessEnd, SearchNote, ServerEnd,
    SessionState, Stated, StopSignal, Task, TrialFailure, TrialPurpose, Variant, Verdict, Warning,
    Workers,
};
use tempfile::TempDir;

use crate::hold::{decision, trials};
use crate::tune::{Room, plan};

/// A place that fails or changes what it is asked for, by how often each setting was started.
pub struct Spoiling<Spoil> {
    inner: Simulated,
    /// A server of this kind starts from the second start on, where it is one.
    later: Option<Simulated>,
    starts: Vec<Configuration>,
    /// What comes over a load before it begins.
    before: Box<dyn FnMut() -> Result<(), PlaceError> + Send>,
    spoil: Spoil,
}

/// What is spoiled of a trial of the setting that runs, which was started so often.
pub type At = (Configuration, usize);

impl<Spoil: FnMut(At, &Offer, &mut Observed)> Spoiling<Spoil> {
    pub fn new(app: SimulatedApp, seed: u64, spoil: Spoil) -> Self {
        Self {
            inner: Simulated::new(app, seed),
            later: None,
            starts: Vec::new(),
            before: Box::new(|| Ok(())),
            spoil,
        }
    }
}

impl<Spoil: FnMut(At, &Offer, &mut Observed) + Send> Place for Spoiling<Spoil> {
    fn machine(&self) -> &Machine {
        self.inner.machine()
    }
    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }
    fn warnings(&self) -> Vec<Warning> {
        self.inner.warnings()
    }
    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        self.inner.inspect()
    }
    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.starts.push(configuration);
        match &mut self.later {
            Some(later) if self.starts.len() > 1 => later.start_variant(configuration, variant),
            _ => self.inner.start_variant(configuration, variant),
        }
    }
    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        let running = *self.starts.last().expect("something was started");
        let starts = self.starts.iter().filter(|it| **it == running).count();
        (self.before)()?;
        let mut observed = self.inner.offer(offer, watch)?;
        (self.spoil)((running, starts), offer, &mut observed);
        Ok(observed)
    }
    fn stop(&mut self) -> Result<(), PlaceError> {
        self.inner.stop()
    }
}

/// What interrupts a session.
pub enum End {
    Stop(StopSignal),
    Fail,
}

/// A place that raises the stop signal, or fails us, in the course of its n-th offer and of those
/// after it.
pub fn interrupted(app: SimulatedApp, seed: u64, mut offers_left: u32, end: End) -> impl Place {
    let mut place = Spoiling::new(app, seed, |_, _: &Offer, _: &mut Observed| {});
    place.before = Box::new(move || {
        offers_left = offers_left.saturating_sub(1);
        match &end {
            End::Stop(signal) if offers_left == 0 => signal.raise(),
            End::Fail if offers_left == 0 => {
                let source = std::io::Error::other("pulled the plug");
                return Err(PlaceError::Environment { what: Task::EndServer, source });
            }
            _ => {}
        }
        Ok(())
    });
    place
}

fn app() -> SimulatedApp {
    let drift = Drift { start: 0.015, window: 0.01, ..Drift::default() };
    SimulatedApp { cpu_s: 0.012, wait_s: 0.024, drift, ..SimulatedApp::default() }
}

pub fn died() -> TrialFailure {
    let how = ProcessEnd::Signal(9);
    TrialFailure::Died { status: ServerEnd::ProcessEnded { how }.into(), last_lines: Vec::new() }
}

#[test]
fn a_server_that_dies_in_its_first_trial_and_starts_no_more_ends_the_session() {
    let folder = TempDir::new().unwrap();
    let mut place =
        Spoiling::new(app(), 1, |_, _: &Offer, seen: &mut Observed| seen.failure = Some(died()));
    let boot_failure: Option<fn(Configuration) -> bool> = Some(|_| true);
    place.later = Some(Simulated::new(SimulatedApp { boot_failure, ..app() }, 1));
    let ended = Room::default().tune(&plan(&folder), &mut place).unwrap();
    assert_eq!((ended.state, place.starts.len()), (SessionState::Done, 2));
    assert!(ended.result.decision.is_none(), "nothing was measured");
}

#[test]
fn a_finalist_that_fails_twice_in_the_blocks_leaves_the_others_to_be_held() {
    let today = app().current;
    for is_death in [true, false] {
        let folder = TempDir::new().unwrap();
        let budget = Duration::from_secs(480);
        // Its first start is the race's; in the blocks it has others.
        let spoil = |(at, starts): At, _: &Offer, seen: &mut Observed| {
            if at != today || starts < 2 {
                return;
            }
            if is_death {
                seen.failure = Some(died());
            }
            for second in &mut seen.load.seconds {
                second.send_lag.record_n(Duration::from_secs(1), second.due.max(1));
            }
        };
        let mut place = Spoiling::new(app(), 1, spoil);
        let plan = Plan { budget, ..plan(&folder) };
        let ended = Room::default().tune(&plan, &mut place).unwrap();
        let all = trials(&ended);
        let of_blocks = all.iter().filter(|it| it.purpose == TrialPurpose::Confirm).count();
        assert!(of_blocks >= 3, "dies: {is_death}: the other's blocks go on: {of_blocks}");
        assert!(decision(&ended).held.is_some(), "dies: {is_death}: {:?}", ended.result.notes);
    }
}

#[test]
fn an_app_slower_than_the_first_trial_is_measured_all_the_same() {
    let folder = TempDir::new().unwrap();
    let app = SimulatedApp {
        cpu_s: 0.02,
        wait_s: 12.0,
        timeout: Duration::from_secs(120),
        ..SimulatedApp::default()
    };
    let plan = Plan {
        goal: PlannedGoal::Given("p50<30s".parse().unwrap()),
        timeout: Duration::from_secs(120),
        budget: Duration::from_secs(900),
        ..plan(&folder)
    };
    let ended = Room::default().tune(&plan, &mut Simulated::new(app, 1)).unwrap();
    let rps = decision(&ended).capacity_rps;
    // 32 threads that each take 12 seconds a request.
    assert!((1.0..=2.7).contains(&rps), "{rps} {:?}", ended.result.notes);
}

#[test]
fn an_event_loop_that_nobody_knows_as_one_is_sent_enough_to_saturate_it() {
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
        has_threads: false,
        threads: plan(&folder).threads[..1].to_vec(),
        goal: PlannedGoal::Given("p95<500ms".parse().unwrap()),
        budget: Duration::from_secs(480),
        ..plan(&folder)
    };
    let ended = Room::default().tune(&plan, &mut Simulated::new(app.clone(), 1)).unwrap();
    let decision = decision(&ended);
    let chosen = Configuration::new(decision.workers, decision.threads).unwrap();
    let truth = app.true_capacity(chosen, Duration::from_millis(500), 0.95);
    assert!(decision.workers >= 2 && truth > 300.0, "{decision:?}");
    assert!((decision.capacity_rps / truth - 1.0).abs() < 0.1, "{decision:?} of {truth}");
}

/// Turns this share of the replies to each load into a 500.
fn failing(share: impl Fn(&Offer) -> f64 + Send) -> impl FnMut(At, &Offer, &mut Observed) + Send {
    move |_, offer, observed| {
        let share = share(offer);
        let mut owed = 0.0;
        for second in &mut observed.load.seconds {
            let good = second.status.get(&200).copied().unwrap_or_default();
            owed += good as f64 * share;
            let failed = (owed as u64).min(good);
            owed -= failed as f64;
            second.status.insert(200, good - failed);
            *second.status.entry(500).or_default() += failed;
        }
    }
}

#[test]
fn a_rate_at_which_requests_begin_to_fail_is_not_printed_as_one_that_is_held() {
    let mut lower = 0;
    for (seed, above_rps) in [(1, 25.0), (2, 35.0), (3, 45.0), (4, 30.0)] {
        // None below that rate, and twelve percent of them at three times as much.
        let share = move |offer: &Offer| {
            let rate = offer.offered.rate().map_or(0.0, |rate| rate.as_per_second());
            (0.06 * (rate / above_rps - 1.0)).clamp(0.0, 1.0)
        };
        let folder = TempDir::new().unwrap();
        let plan = Plan {
            workers: vec![Workers::new(1).unwrap()],
            threads: plan(&folder).threads[..1].to_vec(),
            goal: PlannedGoal::Given("p95<400ms,errors<0.1%".parse().unwrap()),
            budget: Duration::from_secs(480),
            seed,
            ..plan(&folder)
        };
        let current = Configuration::new(1, 1).unwrap();
        let app = SimulatedApp { wait_s: 0.004, current, ..app() };
        let mut place = Spoiling::new(app, 1, failing(share));
        let ended = Room::default().tune(&plan, &mut place).unwrap();
        let held = decision(&ended).held.expect("a rate was held");
        let is_met = held.failed as f64 <= 0.002 * held.requests as f64;
        let is_said = ended.result.notes.iter().any(|note| {
            matches!(note, Stated::Fact(Note::Search(SearchNote::ErrorsUntold { .. })))
        });
        assert!(is_met || is_said, "{above_rps}: {held:?} {:?}", ended.result.notes);
        lower += usize::from(is_met);
    }
    assert!(lower >= 3, "a rate without errors is found: {lower}");
}

#[test]
fn a_verification_is_wrong_where_requests_fail_that_did_not_and_right_where_they_did_too() {
    let goal = PlannedGoal::Given("p95<200ms,errors<0.1%".parse().unwrap());
    for (then, now, is_right) in [(0.0, 0.05, false), (0.02, 0.02, true)] {
        let folder = TempDir::new().unwrap();
        let budget = Duration::from_secs(480);
        let plan = Plan { goal: goal.clone(), budget, ..plan(&folder) };
        let mut place = Spoiling::new(app(), 1, failing(move |_| then));
        Room::default().tune(&plan, &mut place).unwrap();
        let mut place = Spoiling::new(app(), 1, failing(move |_| now));
        let verified =
            crate::verify::verify(&folder, &mut place, (1, StopSignal::default(), false));
        let verified = verified.unwrap();
        let verdict = verified.verification.verdict;
        let expected = if is_right { verdict != Verdict::No } else { verdict == Verdict::No };
        assert!(expected, "{then} {now}: {:?}", verified.verification);
    }
}
