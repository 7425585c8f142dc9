//! An autoscaler for a Deployment, by what one of its pods was measured to hold.
//!
//! In: figures of a pod at the rate that it is to run at. Out: an object to apply. Must not run,
//! read or write anything.

use super::App;

/// What the app's pods do together at the rate that they are to run at from day to day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtWork {
    pub rate_rps: f64,
    /// Cores that they use then.
    pub cores: f64,
    /// CPU is what limits them: else it says little of how near their limit they are.
    pub is_limited_by_cpu: bool,
}

/// Rounded up to whole thousandths: less than nothing cannot be asked for.
fn millicores(cores: f64) -> u64 {
    (1e3 * cores).ceil().max(1.0) as u64
}

/// Lines for people, after those that set the variables: pods are added where one has as much to do
/// as it should.
pub fn lines(app: &App, at_work: AtWork) -> String {
    let Some(pods) = &app.pods else { return String::new() };
    let name = &pods.deployment;
    let namespace = pods.namespace.iter().map(|it| format!(", namespace: {it}"));
    let namespace: String = namespace.collect();
    let pods_now = super::pods::count(app);
    let (fewest, most) = (pods_now.max(2), (2 * pods_now).max(10));
    let count = f64::from(pods_now);
    let (rate, cores) = ((at_work.rate_rps / count).round(), at_work.cores / count);
    let target = millicores(cores);
    let cores = format!("{cores:.2}");
    match at_work.is_limited_by_cpu {
        true => format!(
            "---\n# a pod more where each serves {rate:.0} requests/s, which takes {cores} \
             cores of it\n\
             apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n\
             metadata: {{name: {name}{namespace}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n  \
             minReplicas: {fewest}\n  maxReplicas: {most}\n  metrics:\n  - type: Resource\n    \
             resource: {{name: cpu, target: {{type: AverageValue, averageValue: {target}m}}}}"
        ),
        false => format!(
            "---\n# a pod more where each serves {rate:.0} requests/s. CPU does not limit it \
             ({cores} cores then),\n# so it says little: scale by requests, here with KEDA and \
             your metric\n\
             apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n\
             metadata: {{name: {name}{namespace}}}\nspec:\n  \
             scaleTargetRef: {{name: {name}}}\n  minReplicaCount: {fewest}\n  \
             maxReplicaCount: {most}\n  triggers:\n  - type: prometheus\n    metadata:\n      \
             serverAddress: http://prometheus:9090\n      \
             query: sum(rate(http_requests_total{{service=\"{name}\"}}[1m]))\n      \
             threshold: \"{rate:.0}\""
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Framework, pods::PodTemplate};

    #[test]
    fn pods_are_added_by_cpu_where_that_limits_them_and_else_by_requests() {
        let pods =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        let app = App { pods: Some(pods), ..App::new("/", Framework::Other, "") };
        let at_work =
            |is_limited_by_cpu| AtWork { rate_rps: 247.8, cores: 0.3301, is_limited_by_cpu };
        let by_cpu = lines(&app, at_work(true));
        assert!(by_cpu.contains("248 requests/s, which takes 0.33 cores"), "{by_cpu}");
        assert!(by_cpu.contains("{type: AverageValue, averageValue: 331m}"), "{by_cpu}");
        let by_requests = lines(&app, at_work(false));
        assert!(by_requests.contains("kind: ScaledObject"), "{by_requests}");
        assert!(by_requests.contains("{service=\"shop\"}[1m]"), "{by_requests}");
        assert!(by_requests.ends_with("threshold: \"248\""), "{by_requests}");
        assert_eq!(lines(&App::new("/", Framework::Other, ""), at_work(true)), "");
    }
}
