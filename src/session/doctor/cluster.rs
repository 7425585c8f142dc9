//! Whether a cluster's namespace is fit to measure in.
//!
//! In: a cluster to ask. Out: a [`Finding`] a check, always the same checks in the same order.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::fleet::{FleetError, identifier};
use crate::place::kubernetes::{self, ApiError, Fitness};
use crate::session::cluster::Found;
use crate::terms::FindingState::{Bad, Ok as Fit, Warn};
use crate::terms::{ClusterCheck, Finding, NodeLook, NodesAlike, QuotaLeft, StopSignal};

/// An image of sweetspot that is tried on each node.
pub struct TriedImage {
    pub image: String,
    /// `None`: as the cluster has it for this image.
    pub pull_policy: Option<String>,
}

/// Why a cluster could not be looked at.
#[derive(Debug, Error)]
pub enum CheckError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// Looks at the namespace; nothing is made in it but pods of this image, where there is one, which
/// are removed.
///
/// # Errors
/// Its API server does not answer, or doesn't say what may be done; the pods may not be made.
pub fn check(
    found: &Found,
    tried: Option<&TriedImage>,
    stop: &StopSignal,
) -> Result<Vec<Finding>, CheckError> {
    let Fitness { version, is_missing, missing, nodes, quotas, serves_metrics } =
        kubernetes::look(&*found.api, &found.namespace)?;
    let namespace = found.namespace.clone();
    let check = ClusterCheck::ApiServerFound { version, namespace, is_missing }.into();
    let mut findings = vec![Finding { state: if is_missing { Bad } else { Fit }, check }];
    let may_nothing = missing.iter().all(|(_, missing)| !missing.is_empty());
    let of_role = |(role, missing)| rights(role, missing, may_nothing);
    findings.extend(missing.into_iter().map(of_role));
    let open = nodes.as_deref().map(nodes_that_take_pods);
    findings.extend([of_nodes(nodes), of_quotas(quotas), of_metrics(serves_metrics)]);
    if let (Some(TriedImage { image, pull_policy }), false) = (tried, is_missing) {
        let run = identifier()?;
        let (of, image_of) = ((&*found.namespace, &*run), (&**image, pull_policy.as_deref()));
        let looks = kubernetes::look_from_nodes(&*found.api, of, image_of, open.unwrap_or(1), stop);
        findings.push(of_looks(image, looks?));
    }
    Ok(findings)
}

/// Pods on more of them say no more.
const MOST_LOOKED_AT: u32 = 32;

fn nodes_that_take_pods(nodes: &[NodesAlike]) -> u16 {
    let open: u32 = nodes.iter().filter(|it| it.take_pods).map(|it| it.count).sum();
    open.clamp(1, MOST_LOOKED_AT) as u16
}

/// Without it only what `tune` prints of autoscalers by CPU does not work.
fn of_metrics(are_served: Option<bool>) -> Finding {
    let state = if are_served == Some(false) { Warn } else { Fit };
    Finding { state, check: ClusterCheck::PodMetricsFound { are_served }.into() }
}

/// Clocks that differ by more are not kept by NTP; a Lease goes by them.
const CLOCK_S: f64 = 1.0;

fn of_looks(image: &str, looks: Vec<NodeLook>) -> Finding {
    let said: Vec<_> = looks.iter().filter_map(|it| it.said.as_ref()).collect();
    let kinds: BTreeSet<_> = said.iter().map(|it| (&it.cpu_model, &it.kernel, it.cores)).collect();
    let is_off = |[least, most]: [f64; 2]| least > CLOCK_S || most < -CLOCK_S;
    let are_off = looks.iter().filter_map(|it| it.clock_ahead_s).any(is_off);
    let state = match said.len() {
        0 => Bad,
        runs if runs < looks.len() || kinds.len() > 1 || are_off => Warn,
        _ => Fit,
    };
    let image = image.to_string();
    Finding { state, check: ClusterCheck::NodesLookedAt { image, looks }.into() }
}

/// Where the rights of one role are complete, that is a doubt about what the other is for.
fn rights(role: &str, missing: Vec<String>, may_nothing: bool) -> Finding {
    let state = match (missing.is_empty(), may_nothing) {
        (true, _) => Fit,
        (false, false) => Warn,
        (false, true) => Bad,
    };
    Finding { state, check: ClusterCheck::RightsFound { role: role.to_string(), missing }.into() }
}

/// Pods on unlike nodes cannot be told apart from unlike settings.
fn of_nodes(nodes: Option<Vec<NodesAlike>>) -> Finding {
    let ready = nodes.iter().flatten().filter(|nodes| nodes.take_pods).count();
    let state = match (&nodes, ready) {
        (None, _) | (_, 1) => Fit,
        (Some(_), 0) => Bad,
        (Some(_), _) => Warn,
    };
    Finding { state, check: ClusterCheck::NodesFound { nodes }.into() }
}

fn of_quotas(quotas: Option<Vec<QuotaLeft>>) -> Finding {
    let is_spent = quotas.iter().flatten().any(|quota| quota.is_spent);
    let state = if is_spent { Warn } else { Fit };
    Finding { state, check: ClusterCheck::QuotasFound { quotas }.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::NodeSaid;

    #[test]
    fn nodes_are_judged_by_what_pods_on_them_say() {
        let look = |cpu_model: &str, ahead_s: [f64; 2]| {
            let (cpu_model, kernel) = (cpu_model.to_string(), "6.1".to_string());
            let said = Some(NodeSaid { at_s: 1e9, cpu_model, kernel, cores: 2 });
            NodeLook { node: "a".into(), said, clock_ahead_s: Some(ahead_s), why: None }
        };
        let out = NodeLook {
            node: "b".into(),
            said: None,
            clock_ahead_s: None,
            why: Some("ErrImagePull: x".into()),
        };
        let near = [-0.02, 0.03];
        for (looks, expected) in [
            (vec![look("EPYC", near), look("EPYC", [-1.5, 0.2])], Fit),
            (vec![look("EPYC", near), look("Xeon", near)], Warn),
            (vec![look("EPYC", [1.1, 1.3])], Warn),
            (vec![look("EPYC", [-9.0, -1.2])], Warn),
            (vec![look("EPYC", near), out.clone()], Warn),
            (vec![out], Bad),
            (Vec::new(), Bad),
        ] {
            let said = format!("{looks:?}");
            assert_eq!(of_looks("sweetspot:1", looks).state, expected, "{said}");
        }
        assert_eq!(
            [None, Some(true), Some(false)].map(|it| of_metrics(it).state),
            [Fit, Fit, Warn]
        );
    }

    #[test]
    fn nodes_that_differ_are_a_doubt_and_none_that_takes_pods_is_the_end() {
        let nodes = |cores: f64, take_pods: bool| NodesAlike {
            count: 2,
            architecture: "amd64".into(),
            kernel: "6.1".into(),
            cores,
            memory_gib: 8,
            take_pods,
        };
        let state = |nodes: Option<Vec<NodesAlike>>| of_nodes(nodes).state;
        assert_eq!(state(None), Fit);
        assert_eq!(state(Some(vec![nodes(2.0, true), nodes(4.0, false)])), Fit);
        assert_eq!(state(Some(vec![nodes(2.0, true), nodes(4.0, true)])), Warn);
        assert_eq!(state(Some(vec![nodes(2.0, false)])), Bad);
        let of = |may_nothing| rights("r", vec!["get pods".into()], may_nothing).state;
        assert_eq!((of(true), of(false), rights("r", Vec::new(), true).state), (Bad, Warn, Fit));
    }
}
