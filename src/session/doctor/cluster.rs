//! Whether a cluster's namespace is fit to measure in.
//!
//! In: a cluster to ask. Out: a [`Finding`] a check, always the same checks in the same order.

use crate::place::kubernetes::{self, ApiError, Fitness};
use crate::session::cluster::Found;
use crate::terms::FindingState::{Bad, Ok as Fit, Warn};
use crate::terms::{ClusterCheck, Finding, NodesAlike, QuotaLeft};

/// Looks at the namespace; nothing is made in it.
///
/// # Errors
/// Its API server does not answer, or doesn't say what may be done.
pub fn check(found: &Found) -> Result<Vec<Finding>, ApiError> {
    let Fitness { version, is_missing, missing, nodes, quotas } =
        kubernetes::look(&*found.api, &found.namespace)?;
    let namespace = found.namespace.clone();
    let check = ClusterCheck::ApiServerFound { version, namespace, is_missing }.into();
    let mut findings = vec![Finding { state: if is_missing { Bad } else { Fit }, check }];
    let may_nothing = missing.iter().all(|(_, missing)| !missing.is_empty());
    let of_role = |(role, missing)| rights(role, missing, may_nothing);
    findings.extend(missing.into_iter().map(of_role));
    findings.extend([of_nodes(nodes), of_quotas(quotas)]);
    Ok(findings)
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
