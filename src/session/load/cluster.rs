//! A load that pods of a Kubernetes cluster send together.
//!
//! In: what was typed for it, and a cluster's API. Out: what was gathered.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use super::asked::ClusterAsked;
use super::error::LoadVerbError;
use crate::fleet::{Gathered, Relay};
use crate::place::kubernetes::{self, Api, Fleet, Order, PodOf, Said};
use crate::terms::{ClusterDoubt, LiveSecond, LoadSecond, StopRequest, StopSignal};

/// Beside the load's own length and the time to gather: for pods to come up and to end.
const AROUND: Duration = Duration::from_secs(600);

/// How many generators, how long the load takes at most, and where.
pub struct Sending<'a> {
    pub generators: u16,
    pub length: Duration,
    pub within: Duration,
    /// Of a request.
    pub timeout: Duration,
    pub namespace: &'a str,
    /// Tells it from other runs.
    pub run: &'a str,
    pub token: &'a str,
}

/// Has pods send the load, and hands on its seconds; and whether they shared a node with the app,
/// as far as its pods are known.
pub fn collect(
    api: &dyn Api,
    asked: &ClusterAsked,
    sending: &Sending<'_>,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    second: &mut dyn FnMut(LoadSecond),
) -> Result<(Gathered, Option<ClusterDoubt>), LoadVerbError> {
    let order = order(asked, sending);
    let mut fleet = Fleet::begin(api, order, sending.within, stop, &mut |_| Ok(()))?;
    let mut is_told = false;
    while let Some(next) = fleet.next_said()? {
        if stop.requested() == StopRequest::Now {
            let why = "it was ended before its result was there".into();
            return Err(LoadVerbError::Pods { why });
        }
        match next {
            Said::Relay(Relay::Live(live)) => {
                let is_to_end = watch(&live).is_break() || stop.is_raised();
                if is_to_end && !std::mem::replace(&mut is_told, true) {
                    fleet.stop()?;
                }
            }
            Said::Relay(Relay::Second(one)) => second(*one),
            Said::Relay(Relay::Gathered { run, generators }) => {
                return Ok((Gathered { run, generators }, fleet.shared_node()));
            }
            Said::Relay(Relay::Failed { why }) => return Err(LoadVerbError::Pods { why }),
            Said::Relay(Relay::Joined { .. } | Relay::Ready { .. } | Relay::TooFew { .. })
            | Said::Words(_) => {}
        }
    }
    let why = format!("the collector's pod ended without a result{}", fleet.last_words());
    Err(LoadVerbError::Pods { why })
}

fn order(asked: &ClusterAsked, sending: &Sending<'_>) -> Order {
    // Once for the pods to run, and once more for the generators to join the collector, which is to
    // say itself that they don't.
    let gathering = sending.within.saturating_mul(2);
    Order {
        namespace: sending.namespace.to_string(),
        run: sending.run.to_string(),
        generators: sending.generators,
        pod: PodOf {
            image: asked.image.clone(),
            pull_policy: asked.pull_policy.clone(),
            cpus: asked.cpus,
            memory_bytes: asked.memory.0,
            deadline: sending.length.saturating_add(gathering).saturating_add(AROUND),
            grace: sending.timeout.saturating_add(kubernetes::GRACE),
            away_from: asked.away_from.iter().cloned().collect::<BTreeMap<_, _>>(),
        },
        arguments: asked.arguments.clone(),
        files: asked.files.iter().cloned().collect(),
        token: sending.token.to_string(),
        orders: None,
        on_loss: asked.on_loss,
    }
}
