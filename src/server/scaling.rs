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
    /// Cores that they may use.
    pub cores_most: f64,
    /// CPU is what limits them: else it says little of how near their limit they are.
    pub is_limited_by_cpu: bool,
    /// What was measured at the rate nearest to that one; `None`: nothing was.
    pub seen: Option<Look>,
    /// What a request waits for a free thread by the model, seconds on average, where whichever is
    /// free first takes it; `None`: that is not known.
    pub queue_s: Option<f64>,
}

/// What was measured of the pods together in loads at one rate, medians where there are several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub rate_rps: f64,
    pub loads: u32,
    /// Answered, in all of them.
    pub requests: u64,
    pub latency_s_p95: f64,
    pub latency_s_p99: f64,
    /// Used; `None` where that was not seen.
    pub cores: Option<f64>,
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
    let (rate, cores) = (rate(at_work.rate_rps / count), at_work.cores / count);
    let target = millicores(cores);
    let cores = format!("{cores:.2}");
    let known = known(&at_work, pods_now);
    match at_work.is_limited_by_cpu {
        true => format!(
            "---\n# a pod more where each serves {rate} requests/s, which takes {cores} \
             cores of it\n{known}\
             apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n\
             metadata: {{name: {name}{namespace}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n  \
             minReplicas: {fewest}\n  maxReplicas: {most}\n  metrics:\n  - type: Resource\n    \
             resource: {{name: cpu, target: {{type: AverageValue, averageValue: {target}m}}}}"
        ),
        false => format!(
            "---\n# a pod more where each serves {rate} requests/s. CPU does not limit it \
             ({cores} cores then),\n# so it says little: scale by requests, here with KEDA and \
             your metric\n{known}\
             apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n\
             metadata: {{name: {name}{namespace}}}\nspec:\n  \
             scaleTargetRef: {{name: {name}}}\n  minReplicaCount: {fewest}\n  \
             maxReplicaCount: {most}\n  triggers:\n  - type: prometheus\n    metadata:\n      \
             serverAddress: http://prometheus:9090\n      \
             query: sum(rate(http_requests_total{{service=\"{name}\"}}[1m]))\n      \
             threshold: \"{rate}\""
        ),
    }
}

/// What is expected at that rate, and what was measured nearest to it, of one pod of so many: lines
/// of their own, none for what is not known.
fn known(at_work: &AtWork, pods: u16) -> String {
    // A request waits in its pod, also while a thread of another one is free.
    let queue_s = at_work.queue_s.filter(|_| pods == 1);
    let count = f64::from(pods);
    let expected = queue_s.map(|queue_s| {
        let wait = milliseconds(queue_s);
        format!("# by the model a request waits {wait} for a free thread then, on average\n")
    });
    let measured = at_work.seen.map(|look| {
        let cores = look.cores.map(|cores| {
            let (used, most) = (cores / count, at_work.cores_most / count);
            format!(", {used:.2} of its {most:.2} cores ({:.0} %)", 100.0 * used / most)
        });
        format!(
            "# measured at the rate nearest to that, {} requests/s in {} load{} ({} requests in \
             all):\n# p95 {}, p99 {}{}\n",
            rate(look.rate_rps / count),
            look.loads,
            if look.loads == 1 { "" } else { "s" },
            look.requests,
            milliseconds(look.latency_s_p95),
            milliseconds(look.latency_s_p99),
            cores.unwrap_or_default()
        )
    });
    expected.into_iter().chain(measured).collect()
}

/// Requests/s, whole ones from ten on; never 0, by which nothing can be scaled.
fn rate(rate_rps: f64) -> String {
    match rate_rps {
        many if many >= 10.0 => format!("{many:.0}"),
        few => format!("{:.2}", few.max(0.01)),
    }
}

/// Whole ones from ten on.
fn milliseconds(seconds: f64) -> String {
    match 1e3 * seconds {
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms => format!("{ms:.1} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Framework, pods::PodTemplate};

    const AT_WORK: AtWork = AtWork {
        rate_rps: 247.8,
        cores: 0.3301,
        cores_most: 1.0,
        is_limited_by_cpu: true,
        seen: None,
        queue_s: None,
    };

    #[test]
    fn pods_are_added_by_cpu_where_that_limits_them_and_else_by_requests() {
        let pods =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        let app = App { pods: Some(pods), ..App::new("/", Framework::Other, "") };
        let at_work = |is_limited_by_cpu| AtWork { is_limited_by_cpu, ..AT_WORK };
        let by_cpu = lines(&app, at_work(true));
        assert!(by_cpu.contains("248 requests/s, which takes 0.33 cores"), "{by_cpu}");
        assert!(by_cpu.contains("{type: AverageValue, averageValue: 331m}"), "{by_cpu}");
        let by_requests = lines(&app, at_work(false));
        assert!(by_requests.contains("kind: ScaledObject"), "{by_requests}");
        assert!(by_requests.contains("{service=\"shop\"}[1m]"), "{by_requests}");
        assert!(by_requests.ends_with("threshold: \"248\""), "{by_requests}");
        assert_eq!(lines(&App::new("/", Framework::Other, ""), at_work(true)), "");
    }

    #[test]
    fn pods_that_serve_less_than_one_request_a_second_are_not_scaled_by_none() {
        let pods =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        let app = App { pods: Some(pods), ..App::new("/", Framework::Other, "") };
        for (rate_rps, rate) in [(0.42, "0.42"), (0.001, "0.01"), (2.5, "2.50"), (12.4, "12")] {
            let few = AtWork { rate_rps, is_limited_by_cpu: false, ..AT_WORK };
            let lines = lines(&app, few);
            assert!(lines.contains(&format!("each serves {rate} requests/s.")), "{lines}");
            assert!(lines.ends_with(&format!("threshold: \"{rate}\"")), "{lines}");
        }
    }

    #[test]
    fn what_was_measured_and_what_is_expected_stand_in_lines_of_their_own() {
        let look = Look {
            rate_rps: 250.4,
            loads: 3,
            requests: 4500,
            latency_s_p95: 0.0412,
            latency_s_p99: 0.0971,
            cores: Some(0.66),
        };
        let of_pods = |pods, seen, queue_s| known(&AtWork { seen, queue_s, ..AT_WORK }, pods);
        let of = |seen, queue_s| of_pods(2, seen, queue_s);
        assert_eq!(of(None, None), "", "what is not known is not said");
        assert_eq!(of(None, Some(0.00234)), "", "the model knows no queues of several pods");
        let measured = "# measured at the rate nearest to that, 125 requests/s in 3 loads (4500 \
                        requests in all):\n# p95 41 ms, p99 97 ms";
        let cores = ", 0.33 of its 0.50 cores (66 %)\n";
        let expected = "# by the model a request waits 2.3 ms for a free thread then, on average\n";
        let of_one = of_pods(1, Some(look), Some(0.00234));
        assert!(of_one.starts_with(&format!("{expected}# measured at")), "{of_one}");
        assert_eq!(of(Some(look), None), format!("{measured}{cores}"));
        let one = Look { loads: 1, cores: None, ..look };
        let once = format!("{}\n", measured.replace("3 loads", "1 load"));
        assert_eq!(of(Some(one), None), once);
        let pods =
            PodTemplate { deployment: "shop".into(), namespace: None, container: None, cut: None };
        let app = App { pods: Some(pods), ..App::new("/", Framework::Other, "") };
        for is_limited_by_cpu in [true, false] {
            let lines = lines(&app, AtWork { is_limited_by_cpu, queue_s: Some(0.1), ..AT_WORK });
            let follows = "waits 100 ms for a free thread then, on average\napiVersion: ";
            assert!(lines.contains(follows), "{lines}");
        }
    }
}
