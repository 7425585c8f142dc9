//! Sessions on several simulated places at once, as `--parallel` has them on nodes of a cluster.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::place::{Observed, Offer, Place, PlaceError, Started};
use sweetspot::plan::Plan;
use sweetspot::server::Inspection;
use sweetspot::session::tune::Ended;
use sweetspot::terms::{
    Configuration, LiveSecond, Machine, SessionState, TrialPurpose, Variant, Warning,
};
use tempfile::TempDir;

use crate::hold::trials;
use crate::tune::{Room, chosen, plan};

fn app() -> SimulatedApp {
    SimulatedApp {
        cpu_s: 0.012,
        wait_s: 0.048,
        waits: 2,
        drift: Drift { start: 0.015, window: 0.01, ..Drift::default() },
        ..SimulatedApp::default()
    }
}

/// On so many places.
fn tuned(plan: &Plan, places: u64) -> Ended {
    let mut places: Vec<Simulated> =
        (0..places).map(|number| Simulated::new(app(), plan.seed + 1000 * number)).collect();
    let (first, beside) = places.split_first_mut().unwrap();
    let beside = beside.iter_mut().map(|it| it as &mut dyn Place).collect();
    Room::default().tune_on(plan, first, beside, &mut |_| Vec::new()).unwrap()
}

/// How many configurations were saturated.
fn raced(ended: &Ended) -> usize {
    let all = trials(ended).into_iter().filter(|it| it.purpose == TrialPurpose::Saturate);
    all.map(|it| it.configuration).collect::<BTreeSet<_>>().len()
}

#[test]
fn on_more_places_more_is_measured_in_the_same_time_and_the_best_is_found() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { budget: Duration::from_secs(180), ..plan(&folder) };
    let (one, three) = (tuned(&plan, 1), tuned(&plan, 3));
    assert_eq!((one.state, three.state), (SessionState::Done, SessionState::Done));
    let share = |ended: &Ended| ended.result.load_s / ended.result.elapsed_s;
    assert!(share(&one) < 1.0, "{}", share(&one));
    assert!(share(&three) > 1.3, "loads run at the same time: {}", share(&three));
    assert!(raced(&three) > raced(&one), "{} and {}", raced(&three), raced(&one));
    assert!(three.result.elapsed_s < 200.0, "{} s of 180", three.result.elapsed_s);
    let limit = Duration::from_millis(200);
    let truth = |c| app().true_capacity(c, limit, 0.95);
    let grid = (1..=4).flat_map(|w| [1, 2, 4, 8].map(|t| Configuration::new(w, t).unwrap()));
    let best = grid.map(truth).fold(0.0, f64::max);
    let found = chosen(&three);
    assert!(truth(found) >= 0.9 * best, "{found} holds {:.0} of {best:.0}", truth(found));
    // Of one load at a time the store says when it ran.
    let ids: Vec<u32> = trials(&three).iter().map(|it| it.id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
}

/// A place that notes what was started on it, and on which nothing starts any more once it has
/// started something so often.
struct Noted {
    place: Simulated,
    broken: Simulated,
    begun: Arc<Mutex<Vec<Configuration>>>,
    starts_most: usize,
}

impl Noted {
    fn new(seed: u64, starts_most: usize) -> Self {
        let broken = SimulatedApp { boot_failure: Some(|_| true), ..app() };
        Self {
            place: Simulated::new(app(), seed),
            broken: Simulated::new(broken, seed),
            begun: Arc::default(),
            starts_most,
        }
    }
}

impl Place for Noted {
    fn machine(&self) -> &Machine {
        self.place.machine()
    }

    fn elapsed(&self) -> Duration {
        self.place.elapsed()
    }

    fn catch_up(&mut self, until: Duration) {
        self.place.catch_up(until);
    }

    fn warnings(&self) -> Vec<Warning> {
        self.place.warnings()
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        self.place.inspect()
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        let mut begun = self.begun.lock().unwrap();
        begun.push(configuration);
        let often = begun.iter().filter(|it| **it == configuration).count();
        assert!(begun.len() < 200, "it starts again and again: {begun:?}");
        match often > self.starts_most {
            true => self.broken.start_variant(configuration, variant),
            false => self.place.start_variant(configuration, variant),
        }
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        self.place.offer(offer, watch)
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        self.place.stop()
    }
}

#[test]
fn settings_that_are_compared_take_turns_on_the_places() {
    let folder = TempDir::new().unwrap();
    let plan = Plan { budget: Duration::from_secs(480), ..plan(&folder) };
    let mut places = [Noted::new(7, 200), Noted::new(1007, 200)];
    let begun = places.each_ref().map(|it| Arc::clone(&it.begun));
    let [first, second] = &mut places;
    let run = Room::default().tune_on(&plan, first, vec![second], &mut |_| Vec::new());
    let ended = run.unwrap();
    let at = chosen(&ended);
    let often = begun.map(|of| of.lock().unwrap().iter().filter(|it| **it == at).count());
    assert!(often.iter().sum::<usize>() >= 3, "{at}: {often:?}");
    assert!(often[0].abs_diff(often[1]) <= 1, "{at}: {often:?}");
}

/// It used to be asked for again and again.
#[test]
fn a_finalist_that_does_not_start_any_more_is_out_and_the_session_ends() {
    let folder = TempDir::new().unwrap();
    let plan = plan(&folder);
    for places in [1, 2] {
        let mut all: Vec<Noted> =
            (0..places).map(|number| Noted::new(7 + 1000 * number, 2)).collect();
        let (first, beside) = all.split_first_mut().unwrap();
        let beside = beside.iter_mut().map(|it| it as &mut dyn Place).collect();
        let mut room = Room::default();
        let ended = room.tune_on(&plan, first, beside, &mut |_| Vec::new()).unwrap();
        assert_eq!(ended.state, SessionState::Done, "{places}");
        assert!(ended.result.elapsed_s < 220.0, "{} s of 180", ended.result.elapsed_s);
    }
}
