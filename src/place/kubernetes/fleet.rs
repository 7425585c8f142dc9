//! One load of several pods: these are made, gathered until all generators have joined the
//! collector, and removed.
//!
//! In: an [`Order`]. Out: a [`Fleet`], which hands on what the collector's pod says. The generators
//! themselves are asked for nothing while they send: whatever their number, the API server serves
//! one log.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use super::api::{Api, ApiError, items};
use super::collector::{LogError, PodLog, Said};
use super::fields::{name, text};
use super::lost;
use super::made::Made;
use super::objects::{self, PodOf};
use super::patience::{LOOK, OUTAGE, patiently};
use super::pods::{self, State};
use super::{deployment, paths, shared_node};
use crate::fleet::{OnLoss, Relay};
use crate::terms::{ClusterDoubt, StopSignal, format_duration};

/// A load for several pods.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub namespace: String,
    /// Tells its objects from those of other runs; letters and digits.
    pub run: String,
    pub generators: u16,
    pub pod: PodOf,
    /// Of `sweetspot`, without who collects and who joins.
    pub arguments: Vec<String>,
    /// What they name as `/files/NAME`.
    pub files: BTreeMap<String, String>,
    pub token: String,
    /// Where the collector is told, in its pod, which loads to send one after the other; `None`: it
    /// sends the one of its arguments.
    pub orders: Option<SocketAddr>,
    /// What is done when a generator is lost.
    pub on_loss: OnLoss,
}

/// Where the collector listens in its pod, by IPv4 and IPv6.
const PORT: u16 = 7077;

/// For the last generators to join the collector, once the pods of all of them run: a network may
/// let new pods through some seconds late.
const JOINING: Duration = Duration::from_secs(15);

/// From the time within which all pods are to run, as the collector counts it from its own start,
/// to the end of its patience: where we are not there any more, it ends by itself, and never before
/// pods that don't run, or generators that don't join, are told as that.
const BEYOND: Duration = Duration::from_secs(30);

/// For the API server to say what has become of a pod whose connection has ended.
const SETTLING: Duration = Duration::from_secs(5);

/// Pods that are yet to run, or will not; how many of them are looked at.
const WAITING: &str = "status.phase!=Running,status.phase!=Succeeded";
const FEW: u32 = 50;

/// Pods that have ended badly.
const FAILED: &str = "status.phase=Failed";

/// Bytes of all files of one Secret, by Kubernetes.
const MOST_FILES: usize = 1 << 20;

/// What keeps a load from being sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FleetError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// What the collector's pod says could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A pod cannot run.
    #[error("pod {name} cannot run: {why}")]
    Pod { name: String, why: String },
    /// Not all pods ran in time; why the first of them did not, as far as it is said.
    #[error(
        "{running} of {wanted} {role} pods ran within {} s{}",
        within.as_secs(), after_colon(why)
    )]
    Late { role: &'static str, running: usize, wanted: u16, within: Duration, why: String },
    /// All pods ran, and too few generators reached the collector.
    #[error(
        "{joined} of {wanted} generators joined the collector's pod at {address} within {} s, \
         though the pods of all of them ran: a NetworkPolicy may forbid it ('kubectl get \
         networkpolicy --namespace {namespace}'); let pods with the label app.kubernetes.io/name: \
         sweetspot reach each other at port {}; or they are slow to begin, as each looks up where \
         the load goes before it joins: what they say as they do is in 'kubectl logs --namespace \
         {namespace} -l sweetspot/role=generator'",
        within.as_secs(), PORT
    )]
    NotJoined { joined: u16, wanted: u16, within: Duration, address: String, namespace: String },
    /// The pods could not send it, in the words of the program in them.
    #[error("the pods could not send the load: {why}")]
    Failed { why: String },
    /// The files that the load needs are more than one object of the cluster holds.
    #[error(
        "targets and tables of {bytes} bytes are more than a Secret of the cluster holds ({}); \
         send fewer, or with smaller bodies",
        MOST_FILES
    )]
    TooMuch { bytes: usize },
    #[error("stopped before the load began")]
    Stopped,
}

/// A text with a colon before it; empty where there is none.
fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// A load whose pods are there. What was made is removed when this is dropped.
pub struct Fleet<'a> {
    api: &'a dyn Api,
    /// The collector's Job, with which all goes that is made after it.
    _made: Made<'a>,
    order: Order,
    log: PodLog<'a>,
    /// Where the collector is joined.
    address: String,
    /// As [`shared_node::by_node`] has it.
    nodes: BTreeMap<String, u64>,
}

impl<'a> Fleet<'a> {
    /// Makes the pods, and waits until the collector and all generators run, and these have joined
    /// it. `own` is told of the collector's Job, which the cluster ends in time whatever becomes of
    /// us, once it is there.
    ///
    /// # Errors
    /// Something may not be made, a pod does not come up, or generators don't join. What was made
    /// is removed.
    pub fn begin(
        api: &'a dyn Api,
        order: Order,
        within: Duration,
        stop: &StopSignal,
        own: &mut dyn FnMut(&Value) -> Result<(), ApiError>,
    ) -> Result<Self, FleetError> {
        let job = objects::job_path(&order.namespace, &order.run, objects::COLLECTOR);
        let made = Made { api, paths: vec![job] };
        let until = (Instant::now(), within);
        let owner = make_collector(api, &order, within)?;
        own(&owner)?;
        let found = await_pods(api, &order, (objects::COLLECTOR, 1), until, stop)?;
        let log = PodLog::new(api, &paths::core(&order.namespace, "pods"), name(&found[0]));
        let address = joined_at(&pods::address(&found[0]).unwrap_or_default());
        make_generators(api, &order, (&address, within), &owner)?;
        let wanted = (objects::GENERATOR, order.generators);
        let sending = await_pods(api, &order, wanted, until, stop)?;
        let nodes = shared_node::by_node(&found[0], &sending);
        let fleet = Self { api, _made: made, order, log, address, nodes };
        fleet.await_joined(JOINING, stop)?;
        Ok(fleet)
    }

    /// How many generators run on each node that has a pod of ours.
    pub fn nodes(&self) -> &BTreeMap<String, u64> {
        &self.nodes
    }

    /// A node that pods of ours share with those that they were to be kept away from, as far as
    /// these are named and may be looked at: whatever keeps us from it keeps no result back.
    pub fn shared_node(&self) -> Option<ClusterDoubt> {
        let labels = Some(&self.order.pod.away_from).filter(|labels| !labels.is_empty())?;
        let all = paths::core(&self.order.namespace, "pods");
        let path = paths::selected(&all, &deployment::selector(labels));
        let apps = items(self.api.get(&path).ok()?);
        let running = apps.iter().filter(|pod| pods::address(pod).is_some());
        let nodes = running.map(|pod| text(&pod["spec"]["nodeName"]).to_string()).collect();
        shared_node::doubt(&self.nodes, &nodes)
    }

    /// What the collector says next; `None` after its last line. A log that breaks off is read
    /// again, and what it says of loads is handed on once.
    ///
    /// # Errors
    /// The API server has not answered for a minute, or the pod's node; generators have not joined;
    /// or lines are missing, of which each may be a second of the load: the last line of a load
    /// holds none of them.
    pub fn next_said(&mut self) -> Result<Option<Said>, FleetError> {
        match self.log.next_said()? {
            Some(Said::Relay(Relay::TooFew { joined, within, .. })) => {
                Err(self.not_joined(joined, within))
            }
            said => Ok(said),
        }
    }

    /// What the collector's program said to people last, after a colon; empty: it said nothing.
    pub fn last_words(&self) -> String {
        after_colon(&self.log.last_words())
    }

    /// Waits until all generators have joined, or the collector has ended, of which its next lines
    /// say why.
    fn await_joined(&self, patience: Duration, stop: &StopSignal) -> Result<(), FleetError> {
        let began = Instant::now();
        loop {
            if stop.is_raised() {
                return Err(FleetError::Stopped);
            }
            // Asked before the log is read: who has joined in time stands in it.
            let is_late = began.elapsed() >= patience;
            match self.log.joined_so_far() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if self.log.has_ended() => return Ok(()),
                Ok(Some(joined)) if is_late => return Err(self.not_joined(joined, patience)),
                Ok(Some(_)) => self.dead().map_or(Ok(()), Err)?,
                Err(error) if !error.is_passing() => return Err(error.into()),
                Err(error) if began.elapsed() > OUTAGE => {
                    return Err(self.log.silence(error).into());
                }
                Err(_) => {}
            }
            thread::sleep(LOOK);
        }
    }

    /// Why so few generators have joined, though all of their pods ran.
    fn not_joined(&self, joined: u16, within: Duration) -> FleetError {
        self.dead().unwrap_or_else(|| FleetError::NotJoined {
            joined,
            wanted: self.order.generators,
            within,
            address: self.address.clone(),
            namespace: self.order.namespace.clone(),
        })
    }

    /// A generator whose pod has ended badly, where one is known to; a single one is looked at,
    /// however many there are.
    fn dead(&self) -> Option<FleetError> {
        let all = pods_of(&self.order, objects::GENERATOR);
        let path = format!("{all}&fieldSelector={}&limit=1", paths::escaped(FAILED));
        let found = items(self.api.get(&path).ok()?);
        found.iter().find_map(|pod| match pods::state(pod) {
            State::Failed(why) => Some(FleetError::Pod { name: name(pod), why }),
            _ => None,
        })
    }

    /// What has become of the generator with this address (`ip:port`), which was lost; in words.
    pub fn fate(&self, address: &str) -> String {
        let began = Instant::now();
        loop {
            let all = self.generators();
            let is_settled = all.as_ref().is_ok_and(|all| lost::is_settled(all, address));
            if is_settled || began.elapsed() > SETTLING {
                return lost::words(all.as_deref().ok(), address);
            }
            thread::sleep(LOOK);
        }
    }

    /// The pods that send, those that have ended among them.
    fn generators(&self) -> Result<Vec<Value>, ApiError> {
        Ok(items(self.api.get(&pods_of(&self.order, objects::GENERATOR))?))
    }

    /// The load ends: the collector is told as by Ctrl-C, and says what it has so far.
    ///
    /// # Errors
    /// It could not be told.
    pub fn stop(&self) -> Result<(), FleetError> {
        Ok(patiently(|| self.api.delete(self.log.pod_path()))?)
    }

    /// Runs a program in the collector's pod to its end.
    ///
    /// # Errors
    /// It could not be run, or has failed.
    pub fn run_beside(&self, words: &[&str]) -> Result<(), ApiError> {
        let path = paths::command(self.log.pod_path(), objects::COLLECTOR, words);
        self.api.run(&path)?.try_for_each(|line| line.map(drop))
    }
}

/// Makes the collector's Job, which owns all that is made after it, and returns it.
fn make_collector(api: &dyn Api, order: &Order, within: Duration) -> Result<Value, FleetError> {
    let mut collect = vec!["--collect".into(), format!("[::]:{PORT}"), "--relay".into()];
    if let Some(address) = order.orders {
        collect.extend(["--orders".into(), address.to_string()]);
    }
    if order.on_loss == OnLoss::GoOn {
        collect.extend(["--on-loss".into(), "go-on".into()]);
    }
    let (count, run, pod, token) = (order.generators, &order.run, &order.pod, &order.token);
    let arguments = [order.arguments.clone(), together(count, within), collect].concat();
    let job = objects::collector(run, pod, (count, &arguments, token));
    let bytes: usize = order.files.values().map(String::len).sum();
    if bytes > MOST_FILES {
        return Err(FleetError::TooMuch { bytes });
    }
    let owner = api.create(&paths::jobs(&order.namespace), &job)?;
    if !order.files.is_empty() {
        let files = objects::files(run, &order.files, &owner);
        api.create(&paths::core(&order.namespace, "secrets"), &files)?;
    }
    Ok(owner)
}

/// Makes the Job of the generators, which join the collector at this address.
fn make_generators(
    api: &dyn Api,
    order: &Order,
    (address, within): (&str, Duration),
    owner: &Value,
) -> Result<(), ApiError> {
    let (count, run, pod, token) = (order.generators, &order.run, &order.pod, &order.token);
    let join = vec!["--join".into(), address.to_string()];
    let arguments = [order.arguments.clone(), together(count, within), join].concat();
    let job = objects::generators(run, pod, (count, &arguments, token), owner);
    let goes_on = order.on_loss == OnLoss::GoOn;
    let job = if goes_on { objects::going_on(job) } else { job };
    api.create(&paths::jobs(&order.namespace), &job).map(drop)
}

/// What the collector and the generators are told alike. `within`: for all pods to run.
fn together(generators: u16, within: Duration) -> Vec<String> {
    let gather = format_duration(within.saturating_add(BEYOND));
    vec!["--generators".into(), generators.to_string(), "--gather".into(), gather]
}

/// Waits until this many pods of a role run (or are over already), and returns them. Only a few of
/// those that don't run yet are looked at, and all of them once none of these is left: so the
/// answers are as long for any number of pods.
fn await_pods(
    api: &dyn Api,
    order: &Order,
    (role, wanted): (&'static str, u16),
    (began, within): (Instant, Duration),
    stop: &StopSignal,
) -> Result<Vec<Value>, FleetError> {
    let path = pods_of(order, role);
    let some_waiting = format!("{path}&fieldSelector={}&limit={FEW}", paths::escaped(WAITING));
    let look = |path: &str| match api.get(path) {
        Ok(list) => Ok(items(list)),
        Err(error) if error.is_passing() && began.elapsed() < within => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    loop {
        if stop.is_raised() {
            return Err(FleetError::Stopped);
        }
        let mut found = look(&some_waiting)?;
        let is_late = began.elapsed() > within;
        if found.is_empty() || is_late {
            found = look(&path)?;
        }
        for pod in &found {
            if let State::Failed(why) = pods::state(pod) {
                return Err(FleetError::Pod { name: name(pod), why });
            }
        }
        let runs =
            |pod: &&Value| pods::address(pod).is_some() || pods::state(pod) == State::Succeeded;
        let running = found.iter().filter(runs).count();
        if running >= usize::from(wanted) {
            return Ok(found);
        }
        if is_late {
            let why = found.iter().find_map(pods::why_waiting);
            let why = why.or_else(|| why_none(api, order, role)).unwrap_or_default();
            return Err(FleetError::Late { role, running, wanted, within, why });
        }
        thread::sleep(LOOK);
    }
}

/// A Job that may not make its pods (a quota, a policy) says so in an event alone.
fn why_none(api: &dyn Api, order: &Order, role: &str) -> Option<String> {
    let job = objects::name(&order.run, role);
    let of = format!("involvedObject.name={job},type=Warning");
    let all = paths::core(&order.namespace, "events");
    let events = items(api.get(&format!("{all}?fieldSelector={}", paths::escaped(&of))).ok()?);
    events.last()?["message"].as_str().map(str::to_string)
}

/// The path of the pods of a role.
fn pods_of(order: &Order, role: &str) -> String {
    let all = paths::core(&order.namespace, "pods");
    paths::selected(&all, &objects::selector(&order.run, role))
}

/// Where a collector in the pod with this address is joined.
fn joined_at(address: &str) -> String {
    let parsed = address.parse::<IpAddr>();
    parsed.map_or_else(|_| format!("{address}:{PORT}"), |it| SocketAddr::new(it, PORT).to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use serde_json::json;

    use super::super::api::Lines;
    use super::*;

    /// A cluster whose pods are what `pods` says next, and whose log is read in pieces.
    #[derive(Default)]
    struct Fake {
        pods: Mutex<VecDeque<Value>>,
        log: Mutex<VecDeque<Vec<Result<String, ApiError>>>>,
        /// What stands in the log when it is not followed; after these, that all have joined.
        so_far: Mutex<VecDeque<Result<Vec<Relay>, ApiError>>>,
        did: Mutex<Vec<String>>,
        /// How often all pods were asked for.
        looks_at_all: Mutex<u32>,
    }

    impl Api for Fake {
        fn get(&self, path: &str) -> Result<Option<Value>, ApiError> {
            if path.contains("/events?") {
                return Ok(Some(json!({"items": [{"message": "exceeded quota: few"}]})));
            }
            let mut pods = self.pods.lock().unwrap();
            let is_running = |pod: &Value| pod["status"]["phase"] == "Running";
            if path.contains("fieldSelector=") {
                if pods.len() > 1 && pods[0]["items"][0]["status"]["phase"] == "Pending" {
                    return Ok(pods.pop_front());
                }
                let mut waiting = pods.front().cloned().unwrap_or_default();
                if let Some(items) = waiting["items"].as_array_mut() {
                    items.retain(|pod| !is_running(pod));
                }
                return Ok(Some(waiting));
            }
            *self.looks_at_all.lock().unwrap() += u32::from(path.contains("labelSelector"));
            let next = if pods.len() > 1 { pods.pop_front() } else { pods.front().cloned() };
            Ok(next)
        }

        fn delete_version(&self, path: &str, _version: &str) -> Result<(), ApiError> {
            panic!("no version is removed: {path}")
        }

        fn create(&self, collection: &str, object: &Value) -> Result<Value, ApiError> {
            let name = object["metadata"]["name"].as_str().unwrap();
            self.did.lock().unwrap().push(format!("+{name}"));
            assert!(collection.ends_with("/jobs") || collection.ends_with("/secrets"));
            let mut made = object.clone();
            made["metadata"]["uid"] = "u".into();
            Ok(made)
        }

        fn delete(&self, path: &str) -> Result<(), ApiError> {
            self.did.lock().unwrap().push(format!("-{}", path.rsplit('/').next().unwrap()));
            Ok(())
        }

        fn patch(&self, path: &str, _operations: &Value) -> Result<Value, ApiError> {
            panic!("a fleet changes nothing: {path}")
        }

        fn run(&self, path: &str) -> Result<Lines, ApiError> {
            panic!("this fleet is told nothing: {path}")
        }

        fn follow(&self, path: &str) -> Result<Lines, ApiError> {
            if !path.contains("follow=true") {
                let next = self.so_far.lock().unwrap().pop_front();
                let all_joined = vec![Relay::Ready { program: String::new() }];
                let said = next.unwrap_or(Ok(all_joined))?.into_iter();
                let lines: Vec<_> = said.map(|relay| Ok::<_, ApiError>(relay.line(1))).collect();
                return Ok(Box::new(lines.into_iter()));
            }
            let piece = self.log.lock().unwrap().pop_front().unwrap_or_default();
            Ok(Box::new(piece.into_iter()))
        }
    }

    fn order() -> Order {
        let pod = PodOf {
            image: "sweetspot".into(),
            pull_policy: None,
            cpus: 1.0,
            memory_bytes: 1 << 28,
            deadline: Duration::from_secs(60),
            grace: objects::GRACE,
            away_from: BTreeMap::new(),
        };
        Order {
            namespace: "shop".into(),
            run: "7".into(),
            generators: 1,
            pod,
            arguments: vec!["load".into()],
            files: BTreeMap::new(),
            token: "t".into(),
            orders: None,
            on_loss: OnLoss::End,
        }
    }

    fn running() -> Value {
        json!({"items": [{"metadata": {"name": "p"},
            "status": {"phase": "Running", "podIP": "10.0.0.7"}}]})
    }

    /// A cluster in which all runs, and whose collector says this.
    fn saying(lines: &[(u64, Relay)]) -> Fake {
        let fake = Fake::default();
        fake.pods.lock().unwrap().push_back(running());
        let lines = lines.iter().map(|(number, said)| Ok(said.clone().line(*number)));
        fake.log.lock().unwrap().push_back(lines.collect());
        fake
    }

    fn begin(fake: &Fake) -> Fleet<'_> {
        let (stop, within) = (StopSignal::default(), Duration::from_secs(5));
        Fleet::begin(fake, order(), within, &stop, &mut |_| Ok(())).unwrap()
    }

    #[test]
    fn what_was_made_is_removed_with_the_fleet() {
        let fake = saying(&[]);
        drop(begin(&fake));
        let did = fake.did.lock().unwrap().join(" ");
        assert_eq!(did, "+sweetspot-7-collector +sweetspot-7-generator -sweetspot-7-collector");
    }

    #[test]
    fn generators_that_run_and_do_not_join_are_told_with_what_may_be_between() {
        let few = Relay::TooFew { joined: 0, wanted: 1, within: Duration::from_secs(35) };
        let fake = saying(&[(1, few)]);
        let mut fleet = begin(&fake);
        let error = fleet.next_said().unwrap_err().to_string();
        let joined = "0 of 1 generators joined the collector's pod at 10.0.0.7:7077 within 35 s";
        assert!(error.starts_with(joined), "{error}");
        assert!(error.contains("'kubectl get networkpolicy --namespace shop'"), "{error}");
        assert!(error.contains("'kubectl logs --namespace shop -l sweetspot/role"), "{error}");
    }

    #[test]
    fn those_that_have_not_joined_in_time_are_not_waited_for_unless_nobody_could_look() {
        let (fake, stop) = (saying(&[]), StopSignal::default());
        let fleet = begin(&fake);
        let ask = |so_far: Result<Vec<Relay>, ApiError>| {
            fake.so_far.lock().unwrap().push_back(so_far);
            fleet.await_joined(Duration::ZERO, &stop)
        };
        let few = |joined| Ok(vec![Relay::Joined { joined }]);
        let said = ask(Ok(Vec::new())).unwrap_err().to_string();
        assert!(said.starts_with("0 of 1 generators joined the collector's pod at"), "{said}");
        let three = ask(few(3));
        assert!(matches!(three, Err(FleetError::NotJoined { joined: 3, .. })), "{three:?}");
        let gone_on = Relay::Failed { why: String::new() };
        assert_eq!(ask(Ok(vec![Relay::Joined { joined: 1 }, gone_on])), Ok(()));
        // Once the API server answers again, they have joined.
        assert_eq!(ask(Err(ApiError::Unreachable { why: "reset".into() })), Ok(()));
        let status = json!({"phase": "Failed", "reason": "Evicted"});
        let evicted = json!({"items": [{"metadata": {"name": "g"}, "status": status}]});
        *fake.pods.lock().unwrap() = VecDeque::from([evicted]);
        fake.so_far.lock().unwrap().push_back(few(0));
        let (name, why) = ("g".to_string(), "Evicted".to_string());
        let at_once = fleet.await_joined(JOINING, &stop);
        assert_eq!(at_once, Err(FleetError::Pod { name, why }), "it joins no more");
        *fake.pods.lock().unwrap() = VecDeque::from([json!({"status": {"phase": "Failed"}})]);
        assert_eq!(ask(few(0)), Ok(()), "its last words say why it has ended");
        stop.raise();
        assert_eq!(ask(few(0)), Err(FleetError::Stopped));
    }

    #[test]
    fn a_node_shared_with_the_app_is_named_where_the_apps_labels_are_known() {
        let (fake, stop, mut order) = (saying(&[]), StopSignal::default(), order());
        fake.pods.lock().unwrap()[0]["items"][0]["spec"]["nodeName"] = "node1".into();
        let shared = |order: &Order| {
            let within = Duration::from_secs(5);
            let fleet = Fleet::begin(&fake, order.clone(), within, &stop, &mut |_| Ok(()));
            fleet.unwrap().shared_node()
        };
        assert_eq!(shared(&order), None);
        order.pod.away_from.insert("app".into(), "shop".into());
        let (node, generators) = ("node1".into(), 1);
        assert_eq!(shared(&order), Some(ClusterDoubt::GeneratorSharesNode { node, generators }));
    }

    #[test]
    fn the_collector_waits_longer_than_pods_have_to_run_and_is_joined_by_either_protocol() {
        let told = together(1, Duration::from_secs(5)).join(" ");
        assert_eq!(told, "--generators 1 --gather 35s");
        assert_eq!(joined_at("10.0.0.7"), "10.0.0.7:7077");
        assert_eq!(joined_at("fd00::7"), "[fd00::7]:7077");
        let (fake, stop) = (saying(&[]), StopSignal::default());
        let endless = Fleet::begin(&fake, order(), Duration::MAX, &stop, &mut |_| Ok(()));
        assert!(endless.is_ok(), "no time is too long to be added to");
    }

    #[test]
    fn all_pods_are_looked_at_once_none_waits() {
        let fake = Fake::default();
        let pending =
            json!({"items": [{"metadata": {"name": "p"}, "status": {"phase": "Pending"}}]});
        for pods in [running(), pending.clone(), pending, running()] {
            fake.pods.lock().unwrap().push_back(pods);
        }
        let stop = StopSignal::default();
        let fleet = Fleet::begin(&fake, order(), Duration::from_secs(5), &stop, &mut |_| Ok(()));
        drop(fleet.map_err(|error| panic!("{error}")));
        assert_eq!(
            *fake.looks_at_all.lock().unwrap(),
            2,
            "of the collector once, of the generators once"
        );
    }

    #[test]
    fn pods_that_do_not_come_up_are_removed_and_it_is_said_why() {
        let fake = Fake::default();
        fake.pods.lock().unwrap().push_back(json!({"items": []}));
        let stop = StopSignal::default();
        let error =
            Fleet::begin(&fake, order(), Duration::ZERO, &stop, &mut |_| Ok(())).err().unwrap();
        let said = "0 of 1 collector pods ran within 0 s: exceeded quota: few";
        assert_eq!(error.to_string(), said);
        assert_eq!(
            fake.did.lock().unwrap().join(" "),
            "+sweetspot-7-collector -sweetspot-7-collector"
        );
        let fake = Fake::default();
        let never = json!({"items": [{"metadata": {"name": "p"}, "status": {
            "containerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull"}}}]}}]});
        fake.pods.lock().unwrap().push_back(never);
        let error =
            Fleet::begin(&fake, order(), Duration::ZERO, &stop, &mut |_| Ok(())).err().unwrap();
        assert_eq!(error.to_string(), "pod p cannot run: ErrImageNeverPull");
    }
}
