//! Pods of a start that are taken away while the others stay: what a lost one does.
//!
//! In: how many. Out: the Service leads to the others alone, and only these are looked at; or why
//! it does not come to that.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::{LOOK, PROXY_SYNC, Pods};
use crate::place::PlaceError;
use crate::place::kubernetes::error::cluster;
use crate::place::kubernetes::running::RunningPod;
use crate::place::kubernetes::{deployment, fields, pods};
use crate::terms::{BootEnd, TrialFailure};

/// For the cluster to have a pod end, and to say so of it and of the others.
const PATIENCE: Duration = Duration::from_secs(60);

impl Pods<'_> {
    /// Takes `pods_away` of the pods that run away; which, the cluster says. The others are to be
    /// the same as before. Where it does not come to that in time, the load that is asked for tells
    /// nothing, for this reason.
    pub(super) fn take_away(&mut self, pods_away: u16) -> Result<Option<TrialFailure>, PlaceError> {
        let Some(running) = self.running.as_ref().filter(|_| pods_away > 0) else {
            return Ok(None);
        };
        assert!(self.made.is_some(), "a Deployment of the user's is not cut into pods");
        let left = (running.pods.len() as u16).saturating_sub(pods_away);
        let generation = self.changing.scale(left).map_err(cluster)?;
        let (names, is_done) = self.await_left(generation, left)?;
        if let Some(running) = &mut self.running {
            forget(&mut running.pods, pods_away, &names);
        }
        if is_done {
            return Ok(None);
        }
        let end = BootEnd::NotRun { error: self.not_gone(left) };
        Ok(Some(TrialFailure::Boot(self.boot_failure(end, None))))
    }

    /// The names of the pods that are there, but for those that are about to end; whether these are
    /// all that are to be left, and serve.
    fn await_left(
        &self,
        generation: i64,
        left: u16,
    ) -> Result<(BTreeSet<String>, bool), PlaceError> {
        let began = Instant::now();
        loop {
            if self.stop.is_raised() {
                return Err(PlaceError::Stopped);
            }
            self.give_a_sign()?;
            let mut pods = self.pods()?;
            // The Service leads no more to one that ends, which may take long.
            pods.retain(|pod| !pods::is_ending(pod));
            let object = self.changing.look().map_err(cluster)?;
            let is_done = self.are_all(&pods, &object, (generation, left))?;
            if is_done || began.elapsed() > PATIENCE {
                thread::sleep(PROXY_SYNC);
                return Ok((pods.iter().map(fields::name).collect(), is_done));
            }
            thread::sleep(LOOK);
        }
    }

    fn not_gone(&self, left: u16) -> String {
        let (name, namespace) = (&self.settings.deployment, &self.settings.namespace);
        let (selector, patience_s) = (deployment::selector(&self.labels), PATIENCE.as_secs());
        format!(
            "Deployment {name} was to go on with {left} of its pods while one is gone, and is not \
             there after {patience_s} s; see 'kubectl get pods -n {namespace} -l {selector}'"
        )
    }
}

/// `pods_away` of the pods that are not among those `left` went as was asked. How others fared that
/// are not there is still looked at after the load.
fn forget(pods: &mut Vec<RunningPod>, pods_away: u16, left: &BTreeSet<String>) {
    let mut gone = 0;
    pods.retain(|pod| {
        let is_gone = gone < pods_away && !left.contains(&pod.name);
        gone += u16::from(is_gone);
        !is_gone
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::kubernetes::running::RunningPods;
    use crate::terms::Configuration;

    #[test]
    fn one_that_went_without_being_asked_to_is_missed_and_its_successor_is_none_of_the_start() {
        let started = ["a", "b", "c"].map(|name| (name.to_string(), 0)).to_vec();
        let each = Configuration::new(1, 1).unwrap();
        let still_watched = |left: &[&str]| {
            let variables = [].into();
            let mut running = RunningPods::new(started.clone(), (each, variables), (1.0, 0));
            let left: BTreeSet<String> = left.iter().map(ToString::to_string).collect();
            forget(&mut running.pods, 1, &left);
            running.pods.into_iter().map(|pod| pod.name).collect::<Vec<_>>()
        };
        assert_eq!(still_watched(&["a", "c"]), ["a", "c"]);
        assert_eq!(still_watched(&["c", "d"]), ["b", "c"], "one of a and b was not asked to go");
        assert_eq!(still_watched(&["a", "b", "c"]), ["a", "b", "c"], "none went");
    }
}
