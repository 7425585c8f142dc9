//! The pods of one start, looked into while loads go to them.
//!
//! In: their names. Out: what they used together.

use std::collections::BTreeMap;
use std::time::Instant;

use super::api::{Api, ApiError};
use super::paths;
use crate::place::usage;
use crate::place::watching::{self, Watching};
use crate::terms::{BlindSpot, Configuration, MonitorRecord};

/// A pod that was started.
pub struct RunningPod {
    pub name: String,
    /// Of its container, when it had come up.
    pub restarts: u64,
    watching: Option<Watching>,
}

/// All of one start.
pub struct RunningPods {
    pub pods: Vec<RunningPod>,
    /// What each of them runs with, was told, and may use: cores and bytes of memory.
    pub each: Configuration,
    pub variables: BTreeMap<String, String>,
    pub share: (f64, u64),
}

impl RunningPods {
    /// `pods`: names and restarts.
    pub fn new(
        pods: Vec<(String, u64)>,
        (each, variables): (Configuration, BTreeMap<String, String>),
        share: (f64, u64),
    ) -> Self {
        let pod = |(name, restarts)| RunningPod { name, restarts, watching: None };
        Self { pods: pods.into_iter().map(pod).collect(), each, variables, share }
    }

    /// The same pods, now that each may use this much.
    pub fn with_share(self, share: (f64, u64)) -> Self {
        let pods = self.pods.into_iter().map(|pod| (pod.name, pod.restarts)).collect();
        Self::new(pods, (self.each, self.variables), share)
    }

    /// Looks into their containers, where nobody does, or not any more. `path`: of the namespace's
    /// pods.
    pub fn watch(&mut self, api: &dyn Api, path: &str, container: &str) {
        for pod in &mut self.pods {
            if pod.watching.as_ref().is_none_or(Watching::is_over) {
                let path = format!("{path}/{}", pod.name);
                // Where nothing may be run, or there is no shell, nothing is seen.
                let lines = lines(api, &path, container).ok();
                pod.watching = lines.map(|lines| Watching::of(lines, self.each, self.share.0));
            }
        }
    }

    /// What was seen of a load that began at `origin` and is over now.
    pub fn record(&self, origin: Instant) -> MonitorRecord {
        let of = |pod: &RunningPod| {
            let nothing = || watching::nothing(BlindSpot::NothingWatched);
            pod.watching.as_ref().map_or_else(nothing, |it| it.record(origin))
        };
        let cores = self.share.0 * self.pods.len() as f64;
        usage::together(self.pods.iter().map(of).collect(), cores)
    }
}

/// What a shell prints in the container that looks at it.
fn lines(
    api: &dyn Api,
    pod: &str,
    container: &str,
) -> Result<impl Iterator<Item = String> + Send + 'static, ApiError> {
    let path = paths::command(pod, container, &["sh", "-c", &watching::script()]);
    Ok(api.run(&path)?.map_while(Result::ok))
}
