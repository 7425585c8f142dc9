//! Pods of a start that are taken away while the others stay: what a lost one does.
//!
//! In: how many. Out: the Service leads to the others alone, and only these are looked at.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::{LOOK, PROXY_SYNC, Pods};
use crate::place::PlaceError;
use crate::place::kubernetes::error::cluster;
use crate::place::kubernetes::{deployment, fields};

/// For a pod to end, which may take it ten seconds and more, and for the cluster to say so.
const PATIENCE: Duration = Duration::from_secs(60);

impl Pods<'_> {
    /// Takes so many of the pods that run away; which, the cluster says. The others are the same as
    /// before.
    pub(super) fn take_away(&mut self, away: u16) -> Result<(), PlaceError> {
        let Some(running) = self.running.as_ref().filter(|_| away > 0) else { return Ok(()) };
        let left = (running.pods.len() as u16).saturating_sub(away);
        let generation = self.changing.scale(left).map_err(cluster)?;
        let began = Instant::now();
        loop {
            if self.stop.is_raised() {
                return Err(PlaceError::Stopped);
            }
            self.give_a_sign()?;
            let pods = self.pods()?;
            let object = self.changing.look().map_err(cluster)?;
            if self.are_all(&pods, &object, (generation, left))? {
                let names: BTreeSet<String> = pods.iter().map(fields::name).collect();
                self.keep(&names);
                thread::sleep(PROXY_SYNC);
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(PlaceError::Elsewhere(self.not_gone(left)));
            }
            thread::sleep(LOOK);
        }
    }

    /// No other pods of the start are looked at any more.
    fn keep(&mut self, names: &BTreeSet<String>) {
        if let Some(running) = &mut self.running {
            running.pods.retain(|pod| names.contains(&pod.name));
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
