//! What is tuned of a Deployment of a cluster: its pods, by variables alone.
//!
//! In: the settings, and the user's variables. Out: the subject of a plan. Looks into no folder:
//! what pods run is not what a folder here holds.

use std::collections::BTreeMap;

use super::cluster::asked_cluster;
use super::deployment::Deployment;
use super::error::{PlanError, Problem};
use super::options::Key;
use super::record::Subject;
use super::settings::{Settings, Sourced, hidden};
use super::start;
use crate::server::command::has_place;
use crate::server::pods::{PodTemplate, uses};
use crate::server::{App, FOR_PODS, Framework, Proxy};

/// What is filled in for each configuration.
pub const PLACES: [&str; 2] = ["workers", "threads"];

/// The variables that most apps follow, taken where the user gives none with a place.
const USUAL: [(&str, &str); 2] = [(WEB_CONCURRENCY, "{workers}"), (RAILS_MAX_THREADS, "{threads}")];
const WEB_CONCURRENCY: &str = "WEB_CONCURRENCY";
const RAILS_MAX_THREADS: &str = "RAILS_MAX_THREADS";

/// Several numbers of something that no variable has a place for.
pub const NO_WORKERS: Problem =
    Problem::NoPlaceInVariables { place: "workers", variable: WEB_CONCURRENCY };
pub const NO_THREADS: Problem =
    Problem::NoPlaceInVariables { place: "threads", variable: RAILS_MAX_THREADS };

/// What is tuned where a Deployment was asked for; `None`: something on this machine is. `env`: the
/// user's variables.
///
/// # Errors
/// As [`asked_cluster`] says; a variable has a place that is none.
pub fn subject(
    settings: &Settings<'_>,
    env: &Sourced<BTreeMap<String, String>>,
) -> Result<Option<Subject>, PlanError> {
    let Some(asked) = asked_cluster(settings)? else { return Ok(None) };
    start::check_slips(env.value.values(), &PLACES)
        .map_err(|error| hidden(settings.origin(Key::Env, &env.source), error))?;
    let (folder, folder_source) = start::folder(settings)?;
    let variables = with_usual(env.value.clone());
    let pods = PodTemplate {
        deployment: asked.cluster.deployment.clone(),
        namespace: asked.cluster.namespace.clone(),
        container: asked.cluster.container.clone(),
        cut: asked.cluster.own.as_ref().map(|own| own.cuts[0]),
    };
    let app =
        App { env: variables.into(), pods: Some(pods), ..App::new(folder, Framework::Other, "") };
    Ok(Some(Subject {
        app: Sourced { value: app, source: folder_source },
        env_source: env.source.clone(),
        entry_asked: None,
        threads_asked: uses(&env.value, "threads").then(|| env.source.clone()),
        deployment: Deployment::default(),
        server: Sourced { value: FOR_PODS, source: asked.source.clone() },
        proxy: Sourced::default(Proxy::None),
        probe: Sourced::default(false),
        run_as: None,
        cluster: Some(asked),
        remote: None,
    }))
}

/// With the variables that most apps follow, where none of these has a place.
pub fn with_usual(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if !PLACES.iter().any(|place| uses(&variables, place)) {
        for (name, place) in USUAL {
            variables.entry(name.to_string()).or_insert_with(|| place.to_string());
        }
    }
    variables
}

/// How many workers pods have where no variable has a place for their number: as many as the user's
/// own variable says, else one stands for what is not known. `None`: there is a place, or these are
/// no pods.
pub fn only_workers(app: &App) -> Option<u16> {
    if app.pods.is_none() || uses(&app.env, "workers") {
        return None;
    }
    Some(given_workers(&app.env).unwrap_or(1))
}

/// The number of workers that the user's own variable says; `None`: it is not there, or no number.
fn given_workers(variables: &BTreeMap<String, String>) -> Option<u16> {
    let text = variables.get(WEB_CONCURRENCY)?;
    text.trim().parse::<u16>().ok().filter(|count| *count > 0)
}

/// Makes a place of the number of workers that the user's own variable says, where there is no
/// other, and returns that number, the only one there is to try. So today's setting keeps its own,
/// and what is written down in the end has the variable. `None`: there is a place already, or no
/// number.
pub fn with_place_for_workers(
    variables: &mut BTreeMap<String, String>,
    command: &str,
) -> Option<u16> {
    if has_place(command, "workers") || uses(variables, "workers") {
        return None;
    }
    let count = given_workers(variables)?;
    variables.insert(WEB_CONCURRENCY.to_string(), "{workers}".to_string());
    Some(count)
}
