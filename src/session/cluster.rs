//! A tune of a Deployment where it runs, a verification of one, and its undoing: the cluster, the
//! place and the store, put together.

mod connect;
pub(super) mod requests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::grid;
use super::local::RunOptions;
use super::tune::{self, Ended, Session, Tune, TuneError};
use super::verify::{self, Claim, Verified, VerifyError, Verifying};
use crate::fleet::{FleetError, identifier};
use crate::place::kubernetes::{self, Lease, LeaseError, OwnApp, PodOf, Pods, PodsSettings};
use crate::place::{Place, PlaceError};
use crate::plan::{Cluster, Plan, Surroundings};
use crate::store::Store;
use crate::terms::{Bytes, ClusterDoubt, Configuration, Secrets, StopSignal, Warning};

pub use crate::place::kubernetes::Restored;
pub use connect::{ConnectError, Found, connect};

/// Beside a session's own time: for pods to come up and to end.
const AROUND: Duration = Duration::from_secs(900);

/// Of each generator's pod.
const GENERATOR_MEMORY: Bytes = Bytes(256 << 20);

/// What a plan has to know of this Deployment: the container that runs the app, and what that may
/// use in place of what this machine has. `None`: pods are made for it, as the plan says.
///
/// # Errors
/// It is not there, has several containers, or it is not known what it may use.
pub fn surroundings(
    found: &Found,
    cluster: &Cluster,
    here: &Surroundings,
) -> Result<Option<(String, Surroundings)>, TuneError> {
    if cluster.own.is_some() {
        return Ok(None);
    }
    let named = cluster.container.as_deref();
    let (container, machine) =
        kubernetes::machine_of(&*found.api, &found.namespace, &cluster.deployment, named)?;
    let (cores, memory) = (machine.cores, machine.memory_bytes);
    Ok(Some((container, Surroundings { cores, memory, ..here.clone() })))
}

/// Tunes the plan's Deployment. It is as it was before when this returns, or the error says that it
/// isn't.
///
/// # Errors
/// As [`tune::run`]; also when the store cannot be opened, or the cluster does not do what it
/// takes.
pub fn tune(
    plan: &Plan,
    (found, cluster): (&Found, &Cluster),
    options: RunOptions<'_>,
) -> Result<Ended, TuneError> {
    let plan = &in_context(plan, &found.context);
    // The store first: measuring for minutes and then failing to keep it would be a waste.
    let mut store = Store::open(&plan.store)?;
    let RunOptions { stop, reporters, consent, may_resume } = options;
    // Nothing is made for an image before its user has answered, which may take any time.
    let answered = match cluster.own.is_some() {
        true => answer(plan, consent),
        false => None,
    };
    let mut consent = |question: &str| answered.unwrap_or_else(|| consent(question));
    let mut places = places(plan, found, cluster, &stop)?;
    let (place, beside) = places.split_first_mut().expect("at least one setting at a time");
    let session = Session::new(plan, (place, &mut store), reporters, stop, left_out(plan));
    let beside = beside.iter_mut().map(|place| place as &mut dyn Place).collect();
    tune::run(Tune { session, consent: &mut consent, may_resume, beside })
}

/// The plan with the context that it is carried out in, also where none was named: trials of the
/// one that was current then do not stand for those of the one that is now.
fn in_context(plan: &Plan, context: &str) -> Plan {
    let mut plan = plan.clone();
    if let Some(cluster) = &mut plan.cluster {
        cluster.context.get_or_insert_with(|| context.to_string());
    }
    plan
}

/// What the user says to the one question that a tune of an image asks; `None`: it is not asked.
fn answer(plan: &Plan, consent: &mut dyn FnMut(&str) -> bool) -> Option<bool> {
    let mut answered = None;
    let mut ask = |question: &str| *answered.insert(consent(question));
    drop(grid::grid(plan, smallest(plan), &mut ask));
    answered
}

/// Stands for what an image runs with today.
fn smallest(plan: &Plan) -> Configuration {
    Configuration { workers: plan.workers[0], threads: plan.threads[0] }
}

/// One for each setting that is measured at the same time, alike but for their names.
fn places<'a>(
    plan: &Plan,
    found: &'a Found,
    cluster: &Cluster,
    stop: &StopSignal,
) -> Result<Vec<Pods<'a>>, TuneError> {
    let at_once = cluster.own.as_ref().map_or(1, |own| own.at_once);
    let first = settings(plan, found, cluster)?;
    let (run, alike, born) = (first.run.clone(), Arc::clone(&first.alike), first.born);
    let beside = (1..at_once).map(|_| {
        let alike = Arc::clone(&alike);
        Ok(PodsSettings { alike, born, ..settings(plan, found, cluster)? })
    });
    let beside = beside.collect::<Result<Vec<_>, PlaceError>>()?;
    let names = beside.iter().map(|it| it.deployment.clone()).collect();
    let all = std::iter::once(PodsSettings { beside: names, ..first }).chain(beside);
    let make = |mut settings: PodsSettings| {
        if let Some(own) = settings.own.as_mut().filter(|_| at_once > 1) {
            own.session = Some(run.clone());
        }
        Ok(Pods::new(&*found.api, settings, stop.clone())?)
    };
    all.map(make).collect()
}

/// Measures whether a session's recommendation for a Deployment is still right. `plan` is that
/// session's again; of the options, `consent` and `may_resume` have no part in it.
///
/// # Errors
/// As [`verify::run`]; also when the store cannot be opened, or the cluster does not do what it
/// takes.
pub fn verify(
    claim: &Claim,
    plan: &Plan,
    (found, cluster): (&Found, &Cluster),
    (compares_machines, options): (bool, RunOptions<'_>),
) -> Result<Verified, VerifyError> {
    let mut store = Store::open(&plan.store).map_err(TuneError::from)?;
    let settings = settings(plan, found, cluster).map_err(TuneError::from)?;
    let RunOptions { stop, reporters, .. } = options;
    let place = Pods::new(&*found.api, settings, stop.clone());
    let mut place = place.map_err(TuneError::from)?;
    let session = Session::new(plan, (&mut place, &mut store), reporters, stop, left_out(plan));
    verify::run(Verifying { session, claim, compares_machines })
}

/// What the pods of an image are made without, though those that they are like have it.
fn left_out(plan: &Plan) -> Vec<Warning> {
    let own = plan.cluster.as_ref().and_then(|cluster| cluster.own.as_ref());
    let template = own.and_then(|own| own.template.as_ref());
    let containers = template.map(|template| template.left_out.clone()).unwrap_or_default();
    let doubt = ClusterDoubt::ContainersLeftOut { containers: containers.clone() };
    (!containers.is_empty()).then(|| Warning::from(doubt)).into_iter().collect()
}

fn settings(plan: &Plan, found: &Found, cluster: &Cluster) -> Result<PodsSettings, PlaceError> {
    let unusable = |error: FleetError| PlaceError::Elsewhere(error.to_string());
    let (run, token) = (identifier().map_err(unusable)?, identifier().map_err(unusable)?);
    let secrets = Secrets::default()
        .with_given(plan.app.env.iter().map(|(name, value)| (&**name, &**value)))
        .with_requests(&plan.targets);
    let length = plan.budget + plan.soak.unwrap_or_default();
    let around = AROUND + plan.boot_timeout.unwrap_or_default();
    let (arguments, files) = requests::of(&plan.targets, plan.timeout, "/files/");
    Ok(PodsSettings {
        namespace: found.namespace.clone(),
        context: cluster.context.clone(),
        deployment: match &cluster.own {
            Some(_) => format!("sweetspot-{run}-app"),
            None => cluster.deployment.clone(),
        },
        own: own(plan, cluster),
        beside: Vec::new(),
        smallest: smallest(plan),
        container: cluster.container.clone(),
        service: cluster.service.clone(),
        app: plan.app.clone(),
        changes: plan.changes.clone(),
        ready_path: plan.app.ready_path.clone(),
        boot_timeout: plan.boot_timeout,
        connection: plan.connection,
        generators: cluster.generators,
        generator: PodOf {
            image: cluster.generator_image.clone(),
            pull_policy: cluster.generator_pull_policy.clone(),
            cpus: cluster.generator_cpus,
            memory_bytes: GENERATOR_MEMORY.0,
            deadline: length + around,
            grace: kubernetes::GRACE,
            away_from: Default::default(),
        },
        arguments,
        files,
        secrets,
        holder: format!("{}, run {run}", whose()),
        run,
        token,
        alike: Arc::default(),
        born: Instant::now(),
    })
}

/// The pods that are made for it; a plan of such has both limits.
fn own(plan: &Plan, cluster: &Cluster) -> Option<OwnApp> {
    let own = cluster.own.as_ref()?;
    Some(OwnApp {
        image: own.image.clone(),
        pull_policy: own.pull_policy.clone(),
        port: own.port,
        cores: plan.cores?,
        memory: plan.memory?,
        template: own.template.clone(),
        session: None,
    })
}

/// Who others are told tunes it.
fn whose() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("process {} on {}", std::process::id(), host.trim())
}

/// Puts a Deployment back to what it was before a session that was cut off. `is_confirmed`: also
/// where that session is not known to be over.
///
/// # Errors
/// A session goes on, there is no such Deployment, or the cluster does not do what it takes.
pub fn restore(found: &Found, deployment: &str, is_confirmed: bool) -> Result<Restored, TuneError> {
    let (api, namespace) = (&*found.api, &found.namespace);
    let in_words = |words: String| PlaceError::Elsewhere(words);
    let run = Lease::run_of(api, namespace, deployment);
    let run = run.map_err(|error| in_words(error.to_string()))?;
    let lease = Lease::take(api, namespace, deployment, (&whose(), None));
    let lease = match lease {
        Ok(lease) => Some(lease),
        Err(LeaseError::Held { .. }) if is_confirmed => None,
        Err(LeaseError::Held { holder, until }) => {
            let words = format!(
                "a session tunes Deployment {deployment}: {holder} holds it until {until} at \
                 least; say --yes if that has been killed"
            );
            return Err(in_words(words).into());
        }
        Err(LeaseError::Api(error)) => return Err(in_words(error.to_string()).into()),
    };
    kubernetes::remove_generators(api, namespace, deployment, run)
        .map_err(|error| in_words(error.to_string()))?;
    let restored = kubernetes::restore(api, namespace, deployment, (None, true));
    let restored = restored.map_err(|error| in_words(error.to_string()))?;
    if lease.is_none() {
        Lease::release(api, namespace, deployment).map_err(|error| in_words(error.to_string()))?;
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Key, Typed, resolve};

    #[test]
    fn a_plan_is_of_the_context_that_it_is_carried_out_in() {
        let folder = tempfile::tempdir().unwrap();
        let given = [(Key::Deployment, "shop"), (Key::GeneratorImage, "sweetspot:1")];
        let typed =
            given.iter().fold(Typed::default(), |typed, (key, text)| typed.with(*key, *text));
        let of = |typed: &Typed, current: &str| {
            let plan = resolve(typed, &Surroundings::of_test(folder.path(), [])).unwrap();
            in_context(&plan, current).cluster.and_then(|cluster| cluster.context)
        };
        assert_eq!(of(&typed, "staging").as_deref(), Some("staging"));
        assert_eq!(of(&typed, "other").as_deref(), Some("other"));
        let named = typed.clone().with(Key::Context, "staging");
        assert_eq!(of(&named, "other").as_deref(), Some("staging"));
    }
}
