//! A load that pods of a Kubernetes cluster send together.
//!
//! In: what was typed for it, and a cluster's API. Out: what was gathered.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use super::asked::{ClusterAsked, FleetAsked};
use super::error::LoadVerbError;
use crate::fleet::{Gathered, Relay, identifier};
use crate::place::kubernetes::{self, Api, Fleet, Order, PodOf, Said};
use crate::terms::{ClusterDoubt, LiveSecond, LoadSecond, StopRequest, StopSignal};

/// Beside the load's own length and the time to gather: for pods to come up and to end.
const AROUND: Duration = Duration::from_secs(600);

/// Has pods send the load, and hands on its seconds; and whether they shared a node with the app,
/// as far as its pods are known. `within`: to gather.
pub fn collect(
    api: &dyn Api,
    order: Order,
    within: Duration,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    second: &mut dyn FnMut(LoadSecond),
) -> Result<(Gathered, Option<ClusterDoubt>), LoadVerbError> {
    let mut fleet = Fleet::begin(api, order, within, stop, &mut |_| Ok(()))?;
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

/// What pods in that namespace are to send: a load that takes at most `length`, a request of it at
/// most `timeout`.
pub fn order(
    pods: &ClusterAsked,
    asked: &FleetAsked,
    (length, timeout): (Duration, Duration),
    namespace: &str,
) -> Result<Order, LoadVerbError> {
    // Once for the pods to run, and once more for the generators to join the collector, which is to
    // say itself that they don't.
    let gathering = asked.within.saturating_mul(2);
    Ok(Order {
        namespace: namespace.to_string(),
        run: identifier()?,
        generators: asked.generators,
        pod: PodOf {
            image: pods.image.clone(),
            pull_policy: pods.pull_policy.clone(),
            cpus: pods.cpus,
            memory_bytes: pods.memory.0,
            deadline: length.saturating_add(gathering).saturating_add(AROUND),
            grace: timeout.saturating_add(kubernetes::GRACE),
            away_from: pods.away_from.iter().cloned().collect::<BTreeMap<_, _>>(),
        },
        arguments: pods.arguments.clone(),
        files: pods.files.iter().cloned().collect(),
        token: identifier()?,
        orders: None,
        on_loss: pods.on_loss,
    })
}
