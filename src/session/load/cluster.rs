//! A load that pods of a Kubernetes cluster send together.
//!
//! In: what was typed for it, and a cluster's API. Out: what was gathered.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use super::asked::ClusterAsked;
use super::error::LoadVerbError;
use crate::fleet::{Gathered, Relay};
use crate::place::kubernetes::{Api, Fleet, Order, PodOf};
#[cfg(feature = "kubernetes")]
use crate::place::kubernetes::{Client, FleetError};
use crate::terms::{LiveSecond, LoadSecond, StopRequest, StopSignal};

/// Beside the load's own length: for pods to come up and to end.
const AROUND: Duration = Duration::from_secs(600);

/// What the collector said to people and is shown where it fails, lines.
const LAST_LINES: usize = 20;

/// How many generators, how long the load takes at most, and where.
pub struct Sending<'a> {
    pub generators: u16,
    pub length: Duration,
    pub within: Duration,
    pub namespace: &'a str,
    /// Tells it from other runs.
    pub run: &'a str,
    pub token: &'a str,
}

/// Has pods send the load, and hands on its seconds.
pub fn collect(
    api: &dyn Api,
    asked: &ClusterAsked,
    sending: &Sending<'_>,
    stop: &StopSignal,
    watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    second: &mut dyn FnMut(LoadSecond),
) -> Result<Gathered, LoadVerbError> {
    let order = order(asked, sending);
    let mut fleet = Fleet::begin(api, order, sending.within, stop)?;
    let mut said: Vec<String> = Vec::new();
    let mut is_told = false;
    while let Some(line) = fleet.next_line()? {
        if stop.requested() == StopRequest::Now {
            break;
        }
        match Relay::read(&line) {
            Some(Relay::Live(live)) => {
                let is_to_end = watch(&live).is_break() || stop.is_raised();
                if is_to_end && !std::mem::replace(&mut is_told, true) {
                    fleet.stop()?;
                }
            }
            Some(Relay::Second(one)) => second(*one),
            Some(Relay::Gathered { run, generators }) => return Ok(Gathered { run, generators }),
            Some(Relay::Failed { why }) => return Err(LoadVerbError::Pods { why }),
            None => {
                said.push(line);
                said.drain(..said.len().saturating_sub(LAST_LINES));
            }
        }
    }
    let why = match said.is_empty() {
        true => "the collector's pod ended without a result".into(),
        false => format!("the collector's pod ended without a result: {}", said.join(" / ")),
    };
    Err(LoadVerbError::Pods { why })
}

/// A cluster that can be asked.
pub struct Found {
    pub api: Box<dyn Api>,
    pub namespace: String,
}

/// The cluster that was asked for.
///
/// # Errors
/// This build knows no clusters, there is none, or it looks like production and that was not
/// confirmed.
#[cfg(feature = "kubernetes")]
pub fn connect(asked: &ClusterAsked) -> Result<Found, LoadVerbError> {
    let client = Client::new(asked.context.as_deref()).map_err(FleetError::from)?;
    if client.context.to_ascii_lowercase().contains("prod") && !asked.is_confirmed {
        return Err(LoadVerbError::Usage(format!(
            "the context '{}' ({}) looks like production; say --yes if it is meant, or name \
             another with --context",
            client.context, client.server
        )));
    }
    let namespace = asked.namespace.clone().unwrap_or_else(|| client.namespace.clone());
    Ok(Found { api: Box::new(client), namespace })
}

#[cfg(not(feature = "kubernetes"))]
pub fn connect(_asked: &ClusterAsked) -> Result<Found, LoadVerbError> {
    Err(LoadVerbError::Usage(
        "this build of sweetspot knows no Kubernetes; build it with: cargo build --release \
         --features kubernetes"
            .into(),
    ))
}

/// What nobody else has: 16 hexadecimal digits.
///
/// # Errors
/// The system gives no random numbers.
pub fn identifier() -> Result<String, LoadVerbError> {
    let mut bytes = [0; 8];
    let random = SystemRandom::new().fill(&mut bytes);
    random.map_err(|_| LoadVerbError::Pods { why: "the system gives no random numbers".into() })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn order(asked: &ClusterAsked, sending: &Sending<'_>) -> Order {
    Order {
        namespace: sending.namespace.to_string(),
        run: sending.run.to_string(),
        generators: sending.generators,
        pod: PodOf {
            image: asked.image.clone(),
            pull_policy: asked.pull_policy.clone(),
            cpus: asked.cpus,
            memory_bytes: asked.memory.0,
            deadline: sending.length + sending.within + AROUND,
            away_from: asked.away_from.iter().cloned().collect::<BTreeMap<_, _>>(),
        },
        arguments: asked.arguments.clone(),
        files: asked.files.iter().cloned().collect(),
        token: sending.token.to_string(),
    }
}
