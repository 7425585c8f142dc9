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
        ClusterDoubt::VerticalAutoscaler { name, .. } => format!(
            "the vertical autoscaler {name} changes what its pods request and may use when they \
             are made, and may evict them: their limits may not be those that the Deployment gives"
        ),
        ClusterDoubt::VariablesElsewhere { variables } => format!(
            "the values of {} are kept elsewhere, in a ConfigMap or a Secret: what it runs with \
             today is assumed",
            variables.join(", ")
        ),
        ClusterDoubt::ContainersLeftOut { containers } => format!(
            "the app runs alone in its pods, without what its template has beside it: {}",
            containers.join(", ")
        ),
        ClusterDoubt::NodesNotCompared { first, other } => format!(
            "its pods ran on the nodes {first} and {other}, and whether these are alike could not \
             be looked at (no 'cat' in the image, or no right to run it): figures of unlike nodes \
             may have been compared"
        ),
        ClusterDoubt::GeneratorSharesNode { node, generators: 0 } => format!(
            "the app's pod and the one that adds up the load ran on node {node}: the CPU that this \
             one takes comes out of what the node has for the app"
        ),
        ClusterDoubt::GeneratorSharesNode { node, generators } => format!(
            "the app's pod and pods that send the load ({generators}) ran on node {node}: the CPU \
             that these take comes out of what the node has for the app"
        ),
    }
}

/// Of a vertical autoscaler, that it changes nothing by itself.
const TO_RECOMMEND: &str = "{\"spec\":{\"updatePolicy\":{\"updateMode\":\"Off\"}}}";

/// What to do.
pub(super) fn advice(doubt: &ClusterDoubt) -> String {
    let always = match doubt {
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
        ClusterDoubt::VerticalAutoscaler { name, namespace } => {
            return format!(
                "have it only recommend for the time: kubectl patch vpa {name} --namespace \
                 {namespace} --type merge -p '{TO_RECOMMEND}'"
            );
        }
        ClusterDoubt::VariablesElsewhere { .. } => {
            "set them there afterwards, and not on the Deployment"
        }
        ClusterDoubt::ContainersLeftOut { .. } => {
            "where the app needs one of them, such as a proxy to its database, lead it past that \
             with --env"
        }
        ClusterDoubt::NodesNotCompared { .. } => {
            "keep its pods on nodes of one kind, by a nodeSelector"
        }
        ClusterDoubt::GeneratorSharesNode { .. } => {
            "make room for them on another node: add one, send from fewer generators \
             (--generators), or keep the app on a node of its own, by a nodeSelector and a taint \
             that its pods tolerate"
        }
    };
    always.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_vertical_autoscaler_still_can_be_typed_as_it_is() {
        let (name, namespace) = ("auto".to_string(), "web".to_string());
        let said = advice(&ClusterDoubt::VerticalAutoscaler { name, namespace });
        let command = "kubectl patch vpa auto --namespace web --type merge -p \
                       '{\"spec\":{\"updatePolicy\":{\"updateMode\":\"Off\"}}}'";
        assert!(said.ends_with(command), "{said}");
    }
}
