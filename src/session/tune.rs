//! What `sweetspot tune` does: look at the app's own settings, then let the search ask for trials,
//! run them on a place, store each, and print the decision.

use std::time::Duration;

pub use super::drive::{Ended, TuneError};
use super::drive::{Log, Work};
use super::fingerprint;
use super::grid;
use super::knobs;
use super::resume::{self, Resumed};
use crate::model::Form;
use crate::place::Place;
use crate::plan::Plan;
use crate::report::{Reporter, Stored};
use crate::search::{self, Search, SearchPlan};
use crate::server::{self, Inspection};
use crate::store::{SessionHead, Store};
use crate::terms::{EventKind, PlannedGoal, Ratio, StopSignal, Warning};

/// Everything that a tune works with.
pub struct Tune<'a> {
    pub plan: &'a Plan,
    pub place: &'a mut dyn Place,
    pub store: &'a mut Store,
    /// Makes the receivers of events, once it is known where the session is stored.
    pub reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    pub stop: StopSignal,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// What doctor found.
    pub doubts: Vec<Warning>,
    /// Asked before threads are tried on an app that runs one today.
    pub consent: &'a mut dyn FnMut(&str) -> bool,
    /// Take up an unfinished session of the same plan.
    pub may_resume: bool,
}

/// Runs a whole tune.
///
/// # Errors
/// The app's settings cannot be read, the app does not start as it is, or our own environment fails
/// us. Whatever was measured until then is in the store.
pub fn run(tune: Tune<'_>) -> Result<Ended, TuneError> {
    let Tune { plan, place, store, reporters, stop, started_at, mut doubts, consent, may_resume } =
        tune;
    let inspection = place.inspect()?;
    doubts.extend(place.warnings());
    doubts.extend(knobs::doubts(plan, &inspection));
    let (configurations, doubt) = grid::grid(plan, inspection.current, consent);
    doubts.extend(doubt);
    let machine = place.machine().clone();
    let search_plan = search_plan(plan, &machine, configurations, &inspection, &doubts);
    let head = SessionHead {
        fingerprint: fingerprint::of_question(
            plan,
            &fingerprint::fingerprint(plan, &machine, &inspection),
        ),
        app: plan.app.folder.display().to_string(),
        server: format!("{} {}", plan.server, inspection.server_version),
    };
    let resumed = match may_resume {
        true => resume::find(store, &head, &search_plan)?,
        false => None,
    };
    let session = match &resumed {
        Some(resumed) => {
            store.take_up(resumed.session)?;
            resumed.session
        }
        None => store.begin(&head, &started_at)?,
    };
    let mut reporters = reporters(Stored {
        session: session.0,
        store: store.path().display().to_string(),
        started_at: started_at.clone(),
    });
    let clock_offset_s = resumed.as_ref().map_or(0.0, |resumed| resumed.at_s);
    let log = Log::new(store, session, &mut reporters, clock_offset_s);
    let mut work = Work {
        plan,
        server: head.server.clone(),
        inspection,
        machine,
        stop,
        log,
        starts: resumed.as_ref().map_or(0, |resumed| resumed.starts),
        trials: resumed.as_ref().map_or(0, |resumed| resumed.trials),
        load_s: resumed.as_ref().map_or(0.0, |resumed| resumed.load_s),
        mixed: resumed.iter().flat_map(Resumed::mixed).cloned().collect(),
    };
    let mut search = begin(&mut work, resumed, search_plan, place.elapsed())?;
    for doubt in doubts {
        work.log.warn(place.elapsed(), doubt)?;
    }
    work.drive(&mut search, place)
}

/// Goes on with a session, or begins one.
fn begin(
    work: &mut Work<'_>,
    resumed: Option<Resumed>,
    plan: SearchPlan,
    elapsed: Duration,
) -> Result<Search, TuneError> {
    let Some(resumed) = resumed else {
        work.log.emit(elapsed, work.started())?;
        return Ok(Search::new(plan));
    };
    work.log.take_up(resumed.warned, &resumed.events)?;
    let kind = EventKind::Resumed { session: resumed.session.0, trials: resumed.trials };
    work.log.emit(elapsed, kind)?;
    Ok(resumed.search)
}

fn search_plan(
    plan: &Plan,
    machine: &crate::terms::Machine,
    grid: Vec<crate::terms::Configuration>,
    inspection: &Inspection,
    doubts: &[Warning],
) -> SearchPlan {
    SearchPlan {
        grid,
        current: inspection.current,
        slo: match &plan.goal {
            PlannedGoal::Given(slo) => Some(slo.clone()),
            PlannedGoal::FromUnloaded => None,
        },
        cores: machine.cores.get(),
        // How an unknown server grows is not needed while it is measured.
        form: match server::find(&plan.server) {
            Some(adapter) if adapter.is_event_loop() => Form::EventLoop,
            _ => Form::Threads,
        },
        generator_shares_cores: doubts.iter().any(Warning::says_generator_shares_cores),
        memory: Some(machine.memory_bytes),
        db_connections: plan.db_connections,
        arrivals: plan.arrivals,
        objective: plan.objective,
        changes: knobs::changes(plan, inspection),
        budget: plan.budget,
        precision: plan.precision.map_or(search::PRECISION, Ratio::get),
        seed: plan.seed,
    }
}
