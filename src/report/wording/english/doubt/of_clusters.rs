//! What is doubtful of a Deployment that was tuned where it runs, in English.

use crate::terms::{ClusterDoubt, LimitedResource};

/// What was seen.
pub(super) fn message(doubt: &ClusterDoubt) -> String {
    match doubt {
        ClusterDoubt::OnePodOfSeveral { pods } => {
            format!(
                "one pod is measured, of {pods} that the Deployment had: capacities are a pod's"
            )
        }
        ClusterDoubt::NoLimit { of: LimitedResource::Cpu } => {
            "its container has no CPU limit: it is measured with what its node has to spare".into()
        }
        ClusterDoubt::NoLimit { of: LimitedResource::Memory } => {
            "its container has no memory limit: it is measured with what its node has".into()
        }
        ClusterDoubt::KeptByRepository { program } => {
            format!(
                "{program} keeps the Deployment as a repository says, and may undo what is tried"
            )
        }
        ClusterDoubt::AutoscalerOwned { owner } => {
            format!("its autoscaler belongs to {owner}, which may set it anew in the middle")
        }
        ClusterDoubt::VariablesElsewhere { variables } => format!(
            "the values of {} are kept elsewhere, in a ConfigMap or a Secret: what it runs with \
             today is assumed",
            variables.join(", ")
        ),
    }
}

/// What to do.
pub(super) fn advice(doubt: &ClusterDoubt) -> &'static str {
    match doubt {
        ClusterDoubt::OnePodOfSeveral { .. } => {
            "several pods hold that many times as much, as long as what they share does"
        }
        ClusterDoubt::NoLimit { .. } => {
            "give it requests and limits, so that what is measured is what it always has"
        }
        ClusterDoubt::KeptByRepository { .. } => "suspend it for this Deployment for the time",
        ClusterDoubt::AutoscalerOwned { .. } => {
            "pause its owner for the time, as KEDA's autoscaling.keda.sh/paused does"
        }
        ClusterDoubt::VariablesElsewhere { .. } => {
            "set them there afterwards, and not on the Deployment"
        }
    }
}
