//! A Deployment that runs in a cluster as a place for trials: its pods are started with each
//! setting, and pods of ours send the load to them through their Service.
//!
//! In: a Deployment's name, an app with variables that give it a setting; then configurations and
//! offers. Out: what was seen. Must not judge it.

mod away;
mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::alike::Alike;
use super::api::Api;
use super::changing::{ChangeError, Changing, restoring};
use super::deployment::{self, Container, Wanted};
use super::error::{cluster, of_fleet};
use super::fields::name;
use super::fleet::Order;
use super::lease::{Lease, LeaseError};
use super::loads::Loads;
use super::made::Made;
use super::objects::PodOf;
use super::own_app::OwnApp;
use super::patience::{list, patiently};
use super::reserved::reserve;
use super::resize::resize;
use super::running::{RunningPod, RunningPods};
use super::service::{self, Door};
use super::{autoscaler, found, paths, pods, shared_node};
use crate::fleet::OnLoss;
use crate::place::local::log::worth_showing;
use crate::place::{Observed, Offer, Place, PlaceError, Started};
use crate::server::{self, App, Inspection};
use crate::terms::{
    BootEnd, Change, Configuration, ConnectionMode, LiveSecond, Machine, ProcessEnd, Secrets,
    ServerEnd, StopRequest, StopSignal, TrialFailure, Variant, Warning,
};

/// For a pod to be made, to boot, and to answer, unless the user gives it another time.
const BOOT_PATIENCE: Duration = Duration::from_secs(300);

/// Between two looks at a rollout.
const LOOK: Duration = Duration::from_millis(250);

/// A node's proxy applies what it hears of endpoints at most once in this time, by default.
const PROXY_SYNC: Duration = Duration::from_secs(1);

/// For generators to come up, and what beside the session's time their pods may take.
const GATHER: Duration = Duration::from_secs(180);

/// Lines at the end of a pod's log that are looked at, and bytes at its beginning.
const LOG_LINES: u32 = 200;
const HEAD_BYTES: u32 = 64 << 10;

/// What is tuned, and with what.
pub struct PodsSettings {
    pub namespace: String,
    /// Of the kubeconfig, where one was named.
    pub context: Option<String>,
    pub deployment: String,
    /// What is made under this name for the time; `None`: it is there.
    pub own: Option<OwnApp>,
    /// Of the session's first app: the Deployments of the others.
    pub beside: Vec<String>,
    /// Stands for what an image runs with today, which is nothing.
    pub smallest: Configuration,
    /// `None`: its pods' only one.
    pub container: Option<String>,
    /// `None`: the one that leads to its pods.
    pub service: Option<String>,
    /// Its variables have places for workers and threads.
    pub app: App,
    /// What variants are made of.
    pub changes: Vec<Change>,
    /// Asked for whether the app serves, where it has no probe of its own.
    pub ready_path: String,
    /// For a pod to be made, to boot, and to answer; `None`: five minutes.
    pub boot_timeout: Option<Duration>,
    pub connection: ConnectionMode,
    pub generators: u16,
    /// Each generator's pod.
    pub generator: PodOf,
    /// Of `sweetspot` in these pods, but for the URL; and the files that they name.
    pub arguments: Vec<String>,
    pub files: BTreeMap<String, String>,
    /// Values of headers and bodies of requests: masked in what the app prints.
    pub secrets: Secrets,
    /// Tells this session's objects from others'.
    pub run: String,
    pub token: String,
    /// Whose session it is, for others who want to tune the same.
    pub holder: String,
    /// What the pods that were measured had in common, those of places beside this one too.
    pub alike: Arc<Mutex<Alike>>,
    /// When the session began, for all places alike.
    pub born: Instant,
}

impl PodsSettings {
    /// The command that puts back what the session has changed.
    fn restoring(&self) -> String {
        restoring(&self.deployment, &self.namespace, self.context.as_deref())
    }
}

/// A Deployment as a place for trials.
pub struct Pods<'a> {
    api: &'a dyn Api,
    settings: PodsSettings,
    stop: StopSignal,
    machine: Machine,
    container: Container,
    door: Door,
    labels: BTreeMap<String, String>,
    warnings: Vec<Warning>,
    /// Dropped in this order: what was changed is put back while it is still ours.
    changing: Changing<'a>,
    loads: Option<Loads<'a>>,
    lease: Lease<'a>,
    /// Removed last.
    made: Option<Made<'a>>,
    running: Option<RunningPods>,
    starts: u32,
}

/// How waiting for a rollout ended.
enum Came {
    /// These pods.
    Up(Vec<Value>),
    /// Of which pod, where it is one's.
    Failed(BootEnd, Option<String>),
}

impl<'a> Pods<'a> {
    /// Looks at the Deployment, its Service and its autoscalers, and takes it for this session.
    /// Nothing of it is changed before the first start.
    ///
    /// # Errors
    /// It is not there or cannot be tuned as it is, another session does, or a right is missing.
    pub fn new(
        api: &'a dyn Api,
        settings: PodsSettings,
        stop: StopSignal,
    ) -> Result<Self, PlaceError> {
        let (namespace, name) = (&settings.namespace, &settings.deployment);
        let lease = Lease::take(api, namespace, name, (&settings.holder, Some(&settings.run)))
            .map_err(|error| PlaceError::Elsewhere(held(&error, name)))?;
        let made = settings.own.as_ref().map(|own| own.make(api, namespace, name));
        let made = made.transpose().map_err(cluster)?;
        // With the generators' Job it later ends by itself. Should we be killed before that, it is
        // removed with the Lease.
        let of_lease = made.iter().try_for_each(|made| made.belong_to(&lease.object));
        of_lease.map_err(cluster)?;
        let changing = Changing::read(api, namespace, name, &settings.run);
        let changing = changing.map_err(|error| match error {
            ChangeError::LeftChanged { .. } => {
                cluster(format!("{error}; put it back with '{}'", settings.restoring()))
            }
            other => cluster(other),
        })?;
        let of_it = |why: String| PlaceError::Elsewhere(format!("Deployment {name}: {why}"));
        let named = settings.container.as_deref();
        let (container, mut machine) = found::look(api, namespace, &changing.object, named)?;
        if let Some(OwnApp { cores, memory, .. }) = settings.own {
            (machine.cores, machine.memory_bytes) = (cores, memory);
        }
        deployment::check(&changing.object).map_err(of_it)?;
        let labels = deployment::labels(&changing.object);
        let of_pods = deployment::labels_of_pods(&changing.object);
        let services = list(api, &paths::core(namespace, "services")).map_err(cluster)?;
        let found = service::door(&services, settings.service.as_deref(), &of_pods);
        let door = found.map_err(of_it)?;
        let verticals = patiently(|| autoscaler::vertical(api, namespace, name));
        let verticals = verticals.map_err(cluster)?;
        let warnings = found::warnings(&changing, &container, &settings.app, verticals);
        Ok(Self {
            api,
            settings,
            stop,
            machine,
            container,
            door,
            labels,
            warnings,
            changing,
            loads: None,
            lease,
            made,
            running: None,
            starts: 0,
        })
    }

    fn core(&self, kind: &str) -> String {
        paths::core(&self.settings.namespace, kind)
    }

    /// Looks into the containers, where nobody does, or not any more.
    fn watch_again(&mut self) {
        let path = self.core("pods");
        if let Some(running) = &mut self.running {
            running.watch(self.api, &path, &self.container.name);
        }
    }

    /// Of the app's pods, those of places beside this one too.
    fn app_labels(&self) -> BTreeMap<String, String> {
        let of_session = self.settings.own.as_ref().and_then(OwnApp::of_session);
        of_session.unwrap_or_else(|| self.labels.clone())
    }

    /// The pods are to be like this from now on, and there are generators. Returns the generation
    /// of the Deployment that has been asked for.
    fn set(&mut self, spec: &Value) -> Result<i64, PlaceError> {
        let begun = if self.loads.is_none() { self.begin_loads(spec)? } else { None };
        begun.map_or_else(|| self.changing.set(spec).map_err(cluster), Ok)
    }

    /// Makes the generators. An app of our own is begun just before them, where they have an owner
    /// that it can have too: on a small cluster they would take the room that it needs. `None`:
    /// there is no such app.
    fn begin_loads(&mut self, spec: &Value) -> Result<Option<i64>, PlaceError> {
        let settings = &self.settings;
        let url = vec!["load".to_string(), self.door.url()];
        let away_from = self.app_labels();
        let order = Order {
            namespace: settings.namespace.clone(),
            run: settings.run.clone(),
            generators: settings.generators,
            pod: PodOf { away_from: away_from.clone(), ..settings.generator.clone() },
            arguments: [url, settings.arguments.clone()].concat(),
            files: settings.files.clone(),
            token: settings.token.clone(),
            orders: None,
            on_loss: OnLoss::End,
        };
        let (changing, mut begun) = (&mut self.changing, None);
        let mut own = |owner: &Value| {
            self.lease.belong_to(owner)?;
            let Some(made) = &self.made else { return Ok(()) };
            made.belong_to(owner)?;
            begun = Some(changing.set(spec));
            let of_session = (owner, &*deployment::selector(&away_from));
            reserve(self.api, &settings.namespace, &settings.beside, of_session, &self.stop)
        };
        let loads = Loads::begin(self.api, order, GATHER, &self.stop, &mut own);
        self.loads = Some(loads.map_err(of_fleet)?);
        begun.transpose().map_err(cluster)
    }

    /// Waits until the only pods are these many of this start, they serve, and the Service leads to
    /// all of them.
    fn await_pods(&self, generation: i64, count: u16) -> Result<Came, PlaceError> {
        let mut began = Instant::now();
        let mut is_made = false;
        loop {
            if self.stop.is_raised() {
                return Err(PlaceError::Stopped);
            }
            self.give_a_sign()?;
            let pods = self.pods()?;
            if !is_made && pods.iter().any(|pod| self.is_of_start(pod)) {
                // What was there before may take its time to end.
                (is_made, began) = (true, Instant::now());
            }
            let failed = pods.iter().find_map(|pod| Some((self.failure_of(pod)?, name(pod))));
            if let Some((end, pod)) = failed {
                return Ok(Came::Failed(end, Some(pod)));
            }
            let object = self.changing.look().map_err(cluster)?;
            if self.are_all(&pods, &object, (generation, count))? {
                thread::sleep(PROXY_SYNC);
                return Ok(Came::Up(pods));
            }
            if began.elapsed() > self.boot_patience() {
                if deployment::is_rolled_out(&object, generation, count) {
                    self.check_door(&pods)?;
                }
                // No setting is to blame for it, and others would wait for it in the same way.
                let still_ending = || pods::still_ending(&pods, self.boot_patience());
                let in_the_way = || (!is_made).then(still_ending).flatten();
                if let Some(why) = pods.iter().find_map(pods::silence).or_else(in_the_way) {
                    return Err(PlaceError::Elsewhere(why));
                }
                return Ok(Came::Failed(self.too_late(&pods, &object), None));
            }
            thread::sleep(LOOK);
        }
    }

    /// These pods are as many as the Deployment of this generation is to have, they serve, and the
    /// Service leads to them alone.
    fn are_all(
        &self,
        pods: &[Value],
        object: &Value,
        (generation, count): (i64, u16),
    ) -> Result<bool, PlaceError> {
        let has_address = |pod: &Value| pods::address(pod).is_some();
        Ok(deployment::is_rolled_out(object, generation, count)
            && pods.len() == usize::from(count)
            && pods.iter().all(has_address)
            && self.leads_to()? == pods.iter().map(name).collect())
    }

    fn boot_patience(&self) -> Duration {
        self.settings.boot_timeout.unwrap_or(BOOT_PATIENCE)
    }

    /// Figures of one image on nodes of one kind alone are set beside each other.
    fn check_alike(&mut self, pods: &[Value]) -> Result<(), PlaceError> {
        let of_pods = self.core("pods");
        for pod in pods {
            let (api, container) = (self.api, &self.container.name);
            let path = format!("{of_pods}/{}", name(pod));
            let mut facts = || found::facts_of(api, &path, container);
            let mut alike = self.settings.alike.lock().unwrap_or_else(PoisonError::into_inner);
            alike.check(pod, container, &mut facts).map_err(PlaceError::Elsewhere)?;
        }
        Ok(())
    }

    /// Where pods run that differ from what is wanted by their limit of CPU alone, and such limits
    /// are all that is tried, these pods are given another. False: there is to be a start. Beside
    /// changes that take a fresh start nothing may be warm.
    fn resize(
        &mut self,
        count: u16,
        (each, variables): (Configuration, &BTreeMap<String, String>),
        limits: Option<(f64, u64)>,
    ) -> Result<bool, PlaceError> {
        let (Some(running), Some(share)) = (self.running.take(), limits) else { return Ok(false) };
        let is_same = running.pods.len() == usize::from(count)
            && (running.each, &running.variables) == (each, variables)
            && running.share.1 == share.1;
        let is_warm = self.settings.changes.iter().all(server::pods::is_of_cpus);
        if !is_same || !is_warm || running.share.0 == share.0 {
            return Ok(false);
        }
        let names: Vec<String> = running.pods.iter().map(|pod| pod.name.clone()).collect();
        let wanted = (&*self.container.name, share.0, share.1);
        let is_done = resize(self.api, &self.core("pods"), &names, wanted, &self.stop);
        let is_done = is_done.map_err(cluster)?;
        self.running = is_done.then(|| running.with_share(share));
        Ok(is_done)
    }

    /// For whoever else wants to tune the same, now and then.
    fn give_a_sign(&self) -> Result<(), PlaceError> {
        match self.lease.is_due() {
            true => patiently(|| self.lease.renew()).map(drop).map_err(cluster),
            false => Ok(()),
        }
    }

    /// Whether a pod was made for this start: those of earlier ones end meanwhile, as asked.
    fn is_of_start(&self, pod: &Value) -> bool {
        deployment::is_of_start(pod, &self.settings.run, self.starts)
    }

    /// A pod of this start that will not come up.
    fn failure_of(&self, pod: &Value) -> Option<BootEnd> {
        self.is_of_start(pod).then(|| pods::not_coming(pod, &self.container.name)).flatten()
    }

    /// Its pods, those that are about to end among them.
    fn pods(&self) -> Result<Vec<Value>, PlaceError> {
        let path = paths::selected(&self.core("pods"), &deployment::selector(&self.labels));
        let mut all = list(self.api, &path).map_err(cluster)?;
        // One that was evicted stays in the list for long.
        all.retain(|pod| !pods::state(pod).is_over() || self.is_of_start(pod));
        Ok(all)
    }

    /// The pods that the Service leads to now, by their names.
    fn leads_to(&self) -> Result<BTreeSet<String>, PlaceError> {
        let namespace = &self.settings.namespace;
        let slices = paths::of_group("discovery.k8s.io/v1", namespace, "endpointslices");
        let of_service = format!("kubernetes.io/service-name={}", self.door.service);
        let path = paths::selected(&slices, &of_service);
        Ok(service::leads_to(&list(self.api, &path).map_err(cluster)?))
    }

    /// The Service leads to pods, and to others than the Deployment's.
    fn check_door(&self, pods: &[Value]) -> Result<(), PlaceError> {
        let (door, deployment) = (&self.door.service, &self.settings.deployment);
        self.refuse_beside(pods.iter().map(name).collect(), |others| {
            format!(
                "the Service {door} leads to pods that are not of Deployment {deployment} too \
                 ({others}); name another with --service"
            )
        })
    }

    /// Nobody has added pods meanwhile, which would have answered a part of the load.
    fn check_only(&self, pods: &[RunningPod]) -> Result<(), PlaceError> {
        let deployment = &self.settings.deployment;
        self.refuse_beside(pods.iter().map(|pod| pod.name.clone()).collect(), |others| {
            format!(
                "Deployment {deployment} got more pods during a load ({others}): keep others from \
                 scaling it"
            )
        })
    }

    /// The Service leads to these pods alone; `said` of the others' names.
    fn refuse_beside(
        &self,
        ours: BTreeSet<String>,
        said: impl Fn(&str) -> String,
    ) -> Result<(), PlaceError> {
        let others: Vec<String> = self.leads_to()?.difference(&ours).cloned().collect();
        match others.is_empty() {
            true => Ok(()),
            false => Err(PlaceError::Elsewhere(said(&others.join(", ")))),
        }
    }

    /// How a pod that the load went to has fared.
    fn death(&self, running: &RunningPod) -> Result<Option<TrialFailure>, PlaceError> {
        let path = format!("{}/{}", self.core("pods"), running.name);
        let pod = patiently(|| self.api.get(&path)).map_err(cluster)?;
        let name = &self.container.name;
        // One that is being removed runs on for a moment.
        let left = pod.as_ref().filter(|pod| !pods::is_ending(pod));
        let how = match left {
            None => ProcessEnd::Other("its pod was removed".into()),
            Some(pod) if pods::restarts(pod, name) > running.restarts => {
                pods::end_of(pods::ended(pod, name).unwrap_or_default())
            }
            Some(pod) if pods::is_lost(pod) => {
                ProcessEnd::Other("its node does not answer any more".into())
            }
            Some(pod) => match pods::state(pod) {
                pods::State::Running => return Ok(None),
                pods::State::Failed(why) | pods::State::Waiting(why) => ProcessEnd::Other(why),
                pods::State::Succeeded => ProcessEnd::ExitStatus(0),
            },
        };
        let last_lines = worth_showing(&self.last_lines(&running.name, pod.is_some()));
        let status = ServerEnd::ProcessEnded { how }.into();
        Ok(Some(TrialFailure::Died { status, last_lines }))
    }
}

impl Place for Pods<'_> {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn elapsed(&self) -> Duration {
        self.settings.born.elapsed()
    }

    fn warnings(&self) -> Vec<Warning> {
        self.warnings.clone()
    }

    fn noticed(&self) -> Vec<Warning> {
        let alike = self.settings.alike.lock().unwrap_or_else(PoisonError::into_inner);
        let loads = self.loads.as_ref();
        let shared = loads.and_then(|loads| shared_node::doubt(loads.nodes(), &alike.nodes()));
        [alike.doubt(), shared].into_iter().flatten().map(Warning::from).collect()
    }

    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        self.inspection()
    }

    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.give_a_sign()?;
        let app = self.settings.app.with_changes(variant.of_list(&self.settings.changes));
        let (count, each) = (server::pods::count(&app), server::pods::share(&app, configuration));
        let own = self.settings.own.as_ref();
        let limits = own.map(|own| own.share(count, server::pods::cpus_in(&app.changed.settings)));
        let variables = server::command::environment(&app, each);
        let began = Instant::now();
        if self.resize(count, (each, &variables), limits)? {
            self.watch_again();
            return Ok(Started::Ready { boot: began.elapsed() });
        }
        self.starts += 1;
        let wanted = Wanted {
            container: &self.container,
            variables: &variables,
            path: &self.settings.ready_path,
            port: &self.door.target_port,
            pods: count,
            limits,
            run: &self.settings.run,
            start: self.starts,
        };
        let spec = deployment::spec(&self.changing.original(), &wanted);
        let generation = self.set(&spec)?;
        let pods = match self.await_pods(generation, count)? {
            Came::Up(pods) => pods,
            Came::Failed(end, pod) => return Ok(Started::Failed(self.boot_failure(end, pod))),
        };
        let boot = began.elapsed();
        self.check_alike(&pods)?;
        let restarts = |pod: &Value| pods::restarts(pod, &self.container.name);
        let pods: Vec<_> = pods.iter().map(|it| (name(it), restarts(it))).collect();
        for (pod, _) in &pods {
            if let Err(failure) = self.unless_ignored(each, pod) {
                return Ok(Started::Failed(*failure));
            }
        }
        let of_machine = || (self.machine.cores.get() / f64::from(count), 0);
        let share = limits.unwrap_or_else(of_machine);
        self.running = Some(RunningPods::new(pods, (each, variables), share));
        self.watch_again();
        Ok(Started::Ready { boot })
    }

    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        self.give_a_sign()?;
        let not_away = self.take_away(offer.pods_away)?;
        self.watch_again();
        let running = self.running.as_ref().expect("a load is offered to pods that were started");
        let loads = self.loads.as_mut().expect("generators are there before the first start");
        let loops = (self.settings.generator.cpus.ceil() as u16).max(1);
        let mut origin = None;
        let lease = &self.lease;
        let mut watch_too = |second: &LiveSecond| {
            origin = origin.or_else(|| Instant::now().checked_sub(second.at));
            if lease.is_due() {
                // One that was missed is given at the next start or load at the latest.
                drop(lease.renew());
            }
            watch(second)
        };
        let sent = loads.send(offer, (self.settings.connection, loops), &self.stop, &mut watch_too);
        let sent = sent.map_err(of_fleet)?;
        if let Some(member) = sent.lost.first() {
            return Err(PlaceError::Elsewhere(loads.fate(member)));
        }
        let monitor = running.record(origin.unwrap_or_else(Instant::now));
        let deaths = running.pods.iter().map(|pod| self.death(pod));
        let died = deaths.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().next();
        let failure = died.or(not_away);
        if failure.is_none() {
            self.check_only(&running.pods)?;
        }
        Ok(Observed { load: sent.record, monitor, failure })
    }

    fn stop(&mut self) -> Result<(), PlaceError> {
        self.running = None;
        if self.made.is_some() {
            self.changing.leave();
            return Ok(());
        }
        let waits = self.stop.requested() != StopRequest::Now;
        self.changing.put_back(waits).map_err(|error| {
            let (name, command) = (&self.settings.deployment, self.settings.restoring());
            PlaceError::Elsewhere(format!(
                "Deployment {name} could not be put back: {error}; do it with '{command}'"
            ))
        })
    }
}

fn held(error: &LeaseError, deployment: &str) -> String {
    match error {
        LeaseError::Held { holder, until } => format!(
            "another session tunes Deployment {deployment}: {holder} holds it until {until} at \
             least; wait for its end"
        ),
        LeaseError::Api(error) => error.to_string(),
    }
}
