//! Nodes as pods of ours see them: whether they can run our image, what processor they have, and
//! how far their clocks are off.
//!
//! In: an image of sweetspot, and how many nodes there are. Out: a look from each pod, or why it
//! does not run. What was made is removed.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::api::{Api, ApiError};
use super::fields::{name, text};
use super::made::Made;
use super::objects::{self, PodOf};
use super::paths;
use super::patience::{LOOK, list};
use super::pods::{self, State};
use crate::monitor::host;
use crate::terms::{NodeLook, NodeSaid, StopSignal};

/// The role of the pods.
const ROLE: &str = "look";
/// For an image to be pulled and its pod to run.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the pods stay, should nobody remove them.
const STAY: Duration = Duration::from_secs(300);
/// How often a clock is asked; the quickest answer counts.
const ASKED: u32 = 5;

/// A pod on each of so many nodes. `run`: tells its objects from those of other runs.
///
/// # Errors
/// They may not be made, or the API server does not answer. What becomes of a pod is in its look.
pub fn look(
    api: &dyn Api,
    (namespace, run): (&str, &str),
    (image, pull_policy): (&str, Option<&str>),
    nodes: u16,
    stop: &StopSignal,
) -> Result<Vec<NodeLook>, ApiError> {
    let pod = PodOf {
        image: image.to_string(),
        pull_policy: pull_policy.map(str::to_string),
        cpus: 0.01,
        memory_bytes: 64 << 20,
        deadline: STAY,
        grace: objects::GRACE,
        away_from: Default::default(),
    };
    let stay = STAY.as_secs().to_string();
    let job = objects::lookers(run, ROLE, &pod, (nodes, &["__node".to_string(), stay]));
    let _made = Made { api, paths: vec![objects::job_path(namespace, run, ROLE)] };
    api.create(&paths::jobs(namespace), &job)?;
    let began = Instant::now();
    let of_pods = paths::core(namespace, "pods");
    let selected = paths::selected(&of_pods, &objects::selector(run, ROLE));
    loop {
        let found = list(api, &selected)?;
        let is_open = |pod: &Value| !pods::state(pod).is_over() && pods::address(pod).is_none();
        let is_whole = found.len() >= usize::from(nodes) && !found.iter().any(is_open);
        if is_whole || began.elapsed() > PATIENCE || stop.is_raised() {
            return Ok(found.iter().map(|pod| of_pod(api, &of_pods, pod)).collect());
        }
        thread::sleep(LOOK);
    }
}

fn of_pod(api: &dyn Api, of_pods: &str, pod: &Value) -> NodeLook {
    let node = text(&pod["spec"]["nodeName"]).to_string();
    let why = match pods::state(pod) {
        State::Running => match ask(api, &format!("{of_pods}/{}", name(pod))) {
            Ok((said, ahead)) => {
                return NodeLook { node, said: Some(said), clock_ahead_s: Some(ahead), why: None };
            }
            Err(error) => error.to_string(),
        },
        State::Waiting(why) | State::Failed(why) => why,
        State::Succeeded => "its pod has ended before it was asked".to_string(),
    };
    NodeLook { node, said: None, clock_ahead_s: None, why: Some(why) }
}

/// What the node says, and how many seconds its clock is ahead of ours, at least and at most: it
/// was read after we asked, and before we had the answer.
fn ask(api: &dyn Api, pod: &str) -> Result<(NodeSaid, [f64; 2]), ApiError> {
    // The program that runs there already, wherever the image has it.
    let path = paths::command(pod, ROLE, &["/proc/1/exe", "__node"]);
    let width_s = |[least, most]: [f64; 2]| most - least;
    let once = || {
        let asked_s = host::wall_clock_s();
        let line = api.run(&path)?.next().transpose()?.unwrap_or_default();
        let answered_s = host::wall_clock_s();
        let said: NodeSaid = serde_json::from_str(&line).map_err(|_| ApiError::Command {
            message: format!("it said '{line}', which is not what this version asks for"),
        })?;
        let ahead_s = [said.at_s - answered_s, said.at_s - asked_s];
        Ok((said, ahead_s))
    };
    let mut best = once()?;
    for _ in 1..ASKED {
        let next = once()?;
        if width_s(next.1) < width_s(best.1) {
            best = next;
        }
    }
    Ok(best)
}
