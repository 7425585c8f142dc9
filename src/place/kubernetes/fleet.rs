//! One load of several pods: made, watched until all have joined, listened to, and removed.
//!
//! In: an [`Order`]. Out: what the collector's pod says, line by line. The generators themselves
//! are asked for nothing while they send: whatever their number, the API server serves one log.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use super::api::{Api, ApiError, Lines, items};
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

/// Lines for people that are kept to say why a load has no result.
const LAST_LINES: usize = 20;

/// What keeps a load from being sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FleetError {
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A pod cannot run.
    #[error("pod {name} cannot run: {why}")]
    Pod { name: String, why: String },
    /// What the collector's pod says cannot be read any more, though the API server answers.
    #[error(
        "pod {pod} cannot be read any more: its node {node} does not answer, and the API server \
         does; look at it with 'kubectl describe node {node}'"
    )]
    Silent { pod: String, node: String },
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
    /// Lines of the collector's log were not read before they were gone.
    #[error(
        "what pod {pod} said is not there as a whole: its lines {first} to {last} are gone, most \
         likely as its node has begun a new log file (kubelets do at 10 MiB, by \
         containerLogMaxSize) while the old one could not be read; seconds of the load may be \
         among them, so that there is no result: begin it again"
    )]
    Gap { pod: String, first: u64, last: u64 },
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
    /// The collector's Job, as it was made.
    owner: Value,
    /// For all pods to run.
    within: Duration,
    /// The collector's pod, by its name, and where it is joined.
    collector: String,
    address: String,
    /// As [`shared_node::by_node`] has it.
    nodes: BTreeMap<String, u64>,
    /// The number of the last line that was handed on: after an outage the log is read from its
    /// beginning, or what is left of it.
    seen: u64,
    lines: Option<Lines>,
    /// What the collector's program said to people last.
    words: Vec<String>,
}

/// What the collector's pod says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Of the load.
    Relay(Relay),
    /// To people.
    Words(String),
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
        let mut fleet = Self {
            api,
            _made: Made { api, paths: vec![job] },
            order,
            owner: Value::Null,
            within,
            collector: String::new(),
            address: String::new(),
            nodes: BTreeMap::new(),
            seen: 0,
            lines: None,
            words: Vec::new(),
        };
        let until = (Instant::now(), within);
        fleet.make_collector()?;
        own(&fleet.owner)?;
        let found = fleet.await_pods(objects::COLLECTOR, 1, until, stop)?;
        fleet.collector = name(&found[0]);
        fleet.address = joined_at(&pods::address(&found[0]).unwrap_or_default());
        let count = fleet.order.generators;
        let join = ["--join".to_string(), fleet.address.clone()];
        let arguments = [fleet.order.arguments.clone(), fleet.together(), join.to_vec()].concat();
        let (run, pod, token) = (&fleet.order.run, &fleet.order.pod, &fleet.order.token);
        let job = objects::generators(run, pod, (count, &arguments, token), &fleet.owner);
        let goes_on = fleet.order.on_loss == OnLoss::GoOn;
        let job = if goes_on { objects::going_on(job) } else { job };
        api.create(&paths::jobs(&fleet.order.namespace), &job)?;
        let sending = fleet.await_pods(objects::GENERATOR, count, until, stop)?;
        fleet.nodes = shared_node::by_node(&found[0], &sending);
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
        let path = paths::selected(&self.core("pods"), &deployment::selector(labels));
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
        // Old lines that come again are no sign of life.
        let began = Instant::now();
        while let Some(line) = self.next_line(began)? {
            match Relay::read(&line) {
                Some((number, _)) if number <= self.seen => {}
                Some((number, _)) if number > self.seen + 1 => {
                    let (pod, first) = (self.collector.clone(), self.seen + 1);
                    return Err(FleetError::Gap { pod, first, last: number - 1 });
                }
                Some((_, Relay::TooFew { joined, within, .. })) => {
                    return Err(self.not_joined(joined, within));
                }
                Some((number, relay)) => {
                    self.seen = number;
                    return Ok(Some(Said::Relay(relay)));
                }
                None => {
                    self.words.push(line.clone());
                    self.words.drain(..self.words.len().saturating_sub(LAST_LINES));
                    return Ok(Some(Said::Words(line)));
                }
            }
        }
        Ok(None)
    }

    /// What the collector's program said to people last, after a colon; empty: it said nothing.
    pub fn last_words(&self) -> String {
        after_colon(&self.words.join(" / "))
    }

    fn next_line(&mut self, began: Instant) -> Result<Option<String>, FleetError> {
        loop {
            let next = match &mut self.lines {
                Some(lines) => lines.next(),
                None => match self.follow() {
                    Ok(()) => continue,
                    Err(error) => Some(Err(error)),
                },
            };
            match next {
                Some(Ok(line)) => return Ok(Some(line)),
                None if self.has_ended() => return Ok(None),
                Some(Err(error)) if !error.is_passing() => return Err(error.into()),
                Some(Err(error)) if began.elapsed() > OUTAGE => return Err(self.silence(error)),
                None | Some(Err(_)) if began.elapsed() > OUTAGE => return Ok(None),
                None | Some(Err(_)) => {
                    self.lines = None;
                    thread::sleep(LOOK);
                }
            }
        }
    }

    /// Whether the collector runs no more; a container that a mesh has added to its pod may. What
    /// cannot be asked is not known to have ended.
    fn has_ended(&self) -> bool {
        match self.api.get(&self.pod_path()) {
            Ok(Some(pod)) => {
                pods::state(&pod).is_over() || pods::ended(&pod, objects::COLLECTOR).is_some()
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Logs come from the node, and all else from the API server itself.
    fn silence(&self, error: ApiError) -> FleetError {
        match self.api.get(&self.pod_path()) {
            Ok(Some(pod)) => {
                let node = text(&pod["spec"]["nodeName"]).to_string();
                FleetError::Silent { pod: self.collector.clone(), node }
            }
            _ => error.into(),
        }
    }

    fn follow(&mut self) -> Result<(), ApiError> {
        self.lines = Some(self.api.follow(&format!("{}&follow=true", self.log_path()))?);
        Ok(())
    }

    /// Of what the collector has said so far. The container is named, as a mesh may have added one.
    fn log_path(&self) -> String {
        format!("{}/log?container={}", self.pod_path(), objects::COLLECTOR)
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
            match self.joined_so_far() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if self.has_ended() => return Ok(()),
                Ok(Some(joined)) if is_late => return Err(self.not_joined(joined, patience)),
                Ok(Some(_)) => self.dead().map_or(Ok(()), Err)?,
                Err(error) if !error.is_passing() => return Err(error.into()),
                Err(error) if began.elapsed() > OUTAGE => return Err(self.silence(error)),
                Err(_) => {}
            }
            thread::sleep(LOOK);
        }
    }

    /// How many generators have joined, as the collector has said so far; `None`: it has said more
    /// than that.
    fn joined_so_far(&self) -> Result<Option<u16>, ApiError> {
        let mut so_far = 0;
        for line in self.api.follow(&self.log_path())? {
            match Relay::read(&line?) {
                Some((_, Relay::Joined { joined })) => so_far = joined,
                Some(_) => return Ok(None),
                None => {}
            }
        }
        Ok(Some(so_far))
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
        let selector = objects::selector(&self.order.run, objects::GENERATOR);
        let all = paths::selected(&self.core("pods"), &selector);
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
        let selector = objects::selector(&self.order.run, objects::GENERATOR);
        Ok(items(self.api.get(&paths::selected(&self.core("pods"), &selector))?))
    }

    /// The load ends: the collector is told as by Ctrl-C, and says what it has so far.
    ///
    /// # Errors
    /// It could not be told.
    pub fn stop(&self) -> Result<(), FleetError> {
        Ok(patiently(|| self.api.delete(&self.pod_path()))?)
    }

    /// Runs a program in the collector's pod to its end.
    ///
    /// # Errors
    /// It could not be run, or has failed.
    pub fn run_beside(&self, words: &[&str]) -> Result<(), ApiError> {
        let path = paths::command(&self.pod_path(), objects::COLLECTOR, words);
        self.api.run(&path)?.try_for_each(|line| line.map(drop))
    }

    /// Its Job, which owns all that is made after it.
    fn make_collector(&mut self) -> Result<(), FleetError> {
        let mut collect = vec!["--collect".into(), format!("[::]:{PORT}"), "--relay".into()];
        if let Some(address) = self.order.orders {
            collect.extend(["--orders".into(), address.to_string()]);
        }
        if self.order.on_loss == OnLoss::GoOn {
            collect.extend(["--on-loss".into(), "go-on".into()]);
        }
        let arguments = [self.order.arguments.clone(), self.together(), collect].concat();
        let (run, pod, token) = (&self.order.run, &self.order.pod, &self.order.token);
        let job = objects::collector(run, pod, (self.order.generators, &arguments, token));
        let bytes: usize = self.order.files.values().map(String::len).sum();
        if bytes > MOST_FILES {
            return Err(FleetError::TooMuch { bytes });
        }
        self.owner = self.api.create(&paths::jobs(&self.order.namespace), &job)?;
        if !self.order.files.is_empty() {
            let files = objects::files(&self.order.run, &self.order.files, &self.owner);
            self.api.create(&self.core("secrets"), &files)?;
        }
        Ok(())
    }

    fn together(&self) -> Vec<String> {
        let gather = format_duration(self.within.saturating_add(BEYOND));
        let many = self.order.generators;
        vec!["--generators".into(), many.to_string(), "--gather".into(), gather]
    }

    /// Waits until this many pods of a role run (or are over already), and returns them. Only a few
    /// of those that don't run yet are looked at, and all of them once none of these is left: so
    /// the answers are as long for any number of pods.
    fn await_pods(
        &self,
        role: &'static str,
        wanted: u16,
        (began, within): (Instant, Duration),
        stop: &StopSignal,
    ) -> Result<Vec<Value>, FleetError> {
        let selector = objects::selector(&self.order.run, role);
        let path = paths::selected(&self.core("pods"), &selector);
        let some_waiting = format!("{path}&fieldSelector={}&limit={FEW}", paths::escaped(WAITING));
        let look = |path: &str| match self.api.get(path) {
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
                let why = why.or_else(|| self.why_none(role)).unwrap_or_default();
                return Err(FleetError::Late { role, running, wanted, within, why });
            }
            thread::sleep(LOOK);
        }
    }

    /// A Job that may not make its pods (a quota, a policy) says so in an event alone.
    fn why_none(&self, role: &str) -> Option<String> {
        let job = objects::name(&self.order.run, role);
        let of = format!("involvedObject.name={job},type=Warning");
        let path = format!("{}?fieldSelector={}", self.core("events"), paths::escaped(&of));
        let events = items(self.api.get(&path).ok()?);
        events.last()?["message"].as_str().map(str::to_string)
    }

    fn core(&self, kind: &str) -> String {
        paths::core(&self.order.namespace, kind)
    }

    fn pod_path(&self) -> String {
        format!("{}/{}", self.core("pods"), self.collector)
    }
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

    #[test]
    fn a_log_that_breaks_off_is_gone_on_with_and_all_is_removed() {
        let gone = ApiError::Unreachable { why: "reset".into() };
        let said = |number: u64| Relay::Failed { why: number.to_string() };
        let line = |number: u64| Ok(said(number).line(number));
        let fake = Fake::default();
        fake.pods.lock().unwrap().push_back(running());
        fake.pods.lock().unwrap().push_back(running());
        fake.pods.lock().unwrap().push_back(json!({"status": {"phase": "Succeeded"}}));
        *fake.log.lock().unwrap() =
            VecDeque::from([vec![line(1), line(2), Err(gone)], vec![line(2), line(3)]]);
        let stop = StopSignal::default();
        let mut fleet =
            Fleet::begin(&fake, order(), Duration::from_secs(5), &stop, &mut |_| Ok(())).unwrap();
        let lines: Vec<Said> = std::iter::from_fn(|| fleet.next_said().unwrap()).collect();
        let expected = [1, 2, 3].map(|number| Said::Relay(said(number)));
        assert_eq!(lines, expected, "each once, also where a log's beginning is gone");
        drop(fleet);
        let did = fake.did.lock().unwrap().join(" ");
        assert_eq!(did, "+sweetspot-7-collector +sweetspot-7-generator -sweetspot-7-collector");
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
    fn a_line_that_is_gone_with_its_file_is_noticed() {
        let said = || Relay::Failed { why: String::new() };
        let fake = saying(&[(1, said()), (4, said())]);
        let mut fleet = begin(&fake);
        assert_eq!(fleet.next_said(), Ok(Some(Said::Relay(said()))));
        let gap = FleetError::Gap { pod: "p".into(), first: 2, last: 3 };
        assert_eq!(fleet.next_said(), Err(gap));
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
        assert_eq!(begin(&saying(&[])).together().join(" "), "--generators 1 --gather 35s");
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
