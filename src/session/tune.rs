//! What `sweetspot tune` does: look at the app's own settings, then let the search ask for trials,
//! run them on a place, store each, and print the decision.

use std::time::Duration;

use super::drive::Work;
pub use super::drive::{Ended, Session, TuneError};
use super::fingerprint;
use super::grid;
use super::knobs;
use super::resume::{self, Resumed};
use crate::model::Form;
use crate::place::Place;
use crate::plan::Plan;
use crate::search::{self, Search, SearchPlan};
use crate::server::{self, Inspection};
use crate::terms::{
    ConnectionMode, EventKind, PlanRecord, PlanSource, PlannedGoal, PlannedValue, Ratio, Warning,
};

/// Everything that a tune works with.
pub struct Tune<'a> {
    pub session: Session<'a>,
    /// Asked before threads are tried on an app that runs one today.
    pub consent: &'a mut dyn FnMut(&str) -> bool,
    /// Take up an unfinished session of the same plan.
    pub may_resume: bool,
    /// Places like the session's, for trials at the same time.
    pub beside: Vec<&'a mut dyn Place>,
}

/// Runs a whole tune.
///
/// # Errors
/// The app's settings cannot be read, the app does not start as it is, or our own environment fails
/// us. Whatever was measured until then is in the store.
pub fn run(tune: Tune<'_>) -> Result<Ended, TuneError> {
    let Tune { mut session, consent, may_resume, beside } = tune;
    let (plan, inspection) = (session.plan, session.place.inspect()?);
    session.doubts.extend(session.place.warnings());
    session.doubts.extend(knobs::doubts(plan, &inspection));
    let (configurations, doubt) = grid::grid(plan, inspection.current, consent);
    session.doubts.extend(doubt);
    let machine = session.place.machine();
    let search_plan = search_plan(plan, machine, configurations, &inspection, &session.doubts);
    let search_plan = SearchPlan { places: 1 + beside.len(), ..search_plan };
    let key = session.store.key()?;
    let fingerprint = fingerprint::fingerprint(plan, machine, &inspection, &key);
    let fingerprint = fingerprint::of_question(plan, &fingerprint);
    let resumed = match may_resume {
        true => resume::find(session.store, &fingerprint, &search_plan)?,
        false => None,
    };
    let (mut work, place) = session.begin(fingerprint, inspection, resumed.as_ref())?;
    let mut search = begin(&mut work, resumed, search_plan, place.elapsed())?;
    work.drive(&mut search, std::iter::once(place).chain(beside).collect())
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
    let trials = resumed.finished.last().map_or(0, |trial| trial.id);
    let kind = EventKind::Resumed { session: resumed.session.0, trials };
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
        form: if plan.has_event_loops() { Form::EventLoop } else { Form::Threads },
        generator_shares_cores: doubts.iter().any(Warning::says_generator_shares_cores),
        memory: Some(machine.memory_bytes),
        db_connections: plan.db_connections,
        arrivals: plan.arrivals,
        other_connection: other_connection(plan),
        objective: plan.objective,
        changes: knobs::changes(plan, inspection),
        places: 1,
        pods: server::pods::count(&plan.app),
        compares_latency: plan.changes.iter().any(|change| change.knob == server::pods::CUT),
        budget: plan.budget,
        soak: plan.soak,
        precision: plan.precision.map_or(search::PRECISION, Ratio::get),
        seed: plan.seed,
    }
}

/// The mode that was not taken, where nothing said which to take.
fn other_connection(plan: &Plan) -> Option<ConnectionMode> {
    let of_connection = |it: &&PlanRecord| matches!(it.value, PlannedValue::Connection(_));
    let record = plan.records.iter().find(of_connection)?;
    (record.source == PlanSource::NoReverseProxy).then_some(match plan.connection {
        ConnectionMode::Fresh => ConnectionMode::KeepAlive,
        ConnectionMode::KeepAlive => ConnectionMode::Fresh,
    })
}
