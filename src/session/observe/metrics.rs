//! Which metrics say what, and the queries that ask for it.
//!
//! In: the names that the series of a side have. Out: PromQL. Asks nobody.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::plan::nearest;
use crate::terms::FigureKind;

/// At so many moments of a block memory is looked at.
const MOMENTS: i64 = 20;

/// Response times, without `_bucket`, `_sum` and `_count`: yabeda-rails, prometheus_exporter,
/// OpenTelemetry and prometheus-client, others, then proxies and meshes.
const LATENCY: [&str; 9] = [
    "rails_request_duration_seconds",
    "ruby_http_request_duration_seconds",
    "http_server_request_duration_seconds",
    "http_request_duration_seconds",
    "nginx_ingress_controller_request_duration_seconds",
    "istio_request_duration_milliseconds",
    "response_latency_ms",
    "traefik_service_request_duration_seconds",
    "kamal_proxy_http_request_duration_seconds",
];
/// Time before the app began, likewise.
const QUEUE: [&str; 3] = [
    "ruby_http_request_queue_duration_seconds",
    "http_request_queue_duration_seconds",
    "http_req_queue_time_seconds",
];
const MEMORY: [&str; 3] =
    ["container_memory_working_set_bytes", "process_resident_memory_bytes", "ruby_rss"];
const CPU: [&str; 2] = ["container_cpu_usage_seconds_total", "process_cpu_seconds_total"];
/// Counters of requests that say how these ended, where the response times don't.
const REQUESTS: [&str; 7] = [
    "rails_requests_total",
    "ruby_http_requests_total",
    "http_server_requests_total",
    "http_requests_total",
    "nginx_ingress_controller_requests",
    "response_total",
    "kamal_proxy_http_requests_total",
];
/// Labels that say how a request ended, and what they say of one that the server failed.
pub const ENDINGS: [(&str, &str); 6] = [
    ("status", "5.."),
    ("code", "5.."),
    ("status_code", "5.."),
    ("response_code", "5.."),
    ("http_response_status_code", "5.."),
    ("classification", "failure"),
];

/// A metric that says a figure, as it was typed: `latency=NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub figure: FigureKind,
    pub name: String,
}

/// The names by which `--metric` calls figures.
const FIGURES: [(&str, FigureKind); 4] = [
    ("latency", FigureKind::LatencyP95),
    ("queue", FigureKind::QueueTime),
    ("memory", FigureKind::Memory),
    ("cpu", FigureKind::CpuPerRequest),
];

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, name) = text.split_once('=').unwrap_or((text, ""));
        let figure = FIGURES.iter().find(|(known, _)| *known == what).map(|(_, figure)| *figure);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
        match figure.filter(|_| !name.is_empty() && name.chars().all(is_name)) {
            Some(figure) => Ok(Self { figure, name: name.to_string() }),
            None => Err("write latency=NAME, queue=NAME, memory=NAME or cpu=NAME, such as \
                         latency=rails_request_duration_seconds"
                .to_string()),
        }
    }
}

/// How a metric counts times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// With a series for each bound.
    Classic,
    /// One series whose samples are histograms.
    Native,
    /// Sum and count alone, and perhaps quantiles.
    Summary,
}

/// A metric of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    pub name: String,
    pub shape: Shape,
}

/// The metrics of a question; of some figures none is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metrics {
    pub latency: Times,
    pub queue: Option<Times>,
    pub memory: Option<String>,
    pub cpu: Option<String>,
}

/// Nobody's response times are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoLatency {
    /// What was looked for: a name that was typed, or the first that is known.
    pub wanted: Option<String>,
    pub near: Vec<String>,
}

/// Finds the metrics among the names that both sides have.
///
/// # Errors
/// No response times are there.
pub fn find(names: &BTreeSet<String>, named: &[Named]) -> Result<Metrics, NoLatency> {
    let typed = |figure: FigureKind| named.iter().find(|it| it.figure == figure);
    let times = |figure, known: &[&str]| match typed(figure) {
        Some(it) => times(names, &it.name),
        None => known.iter().find_map(|name| times(names, name)),
    };
    let plain = |figure, known: &[&str]| {
        let known = known.iter().map(|name| name.to_string());
        let candidates = typed(figure).map_or_else(|| known.collect(), |it| vec![it.name.clone()]);
        candidates.into_iter().find(|name| names.contains(name))
    };
    let wanted = typed(FigureKind::LatencyP95).map(|it| it.name.clone());
    let latency = times(FigureKind::LatencyP95, &LATENCY)
        .ok_or_else(|| NoLatency { near: near(names, wanted.as_deref()), wanted })?;
    Ok(Metrics {
        latency,
        queue: times(FigureKind::QueueTime, &QUEUE),
        memory: plain(FigureKind::Memory, &MEMORY),
        cpu: plain(FigureKind::CpuPerRequest, &CPU),
    })
}

/// The name may be typed with or without what a histogram's series add to it.
fn times(names: &BTreeSet<String>, name: &str) -> Option<Times> {
    let endings = ["_bucket", "_sum", "_count"];
    let name = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let has = |ending: &str| names.contains(&format!("{name}{ending}"));
    let shape = match () {
        () if has("_bucket") => Shape::Classic,
        () if has("_sum") && has("_count") => Shape::Summary,
        () if has("") => Shape::Native,
        () => return None,
    };
    Some(Times { name: name.to_string(), shape })
}

/// Names near the one that is not there: by their letters, or of what may be times of requests.
pub fn near(names: &BTreeSet<String>, wanted: Option<&str>) -> Vec<String> {
    const MOST: usize = 4;
    let of_times =
        |name: &&str| ["duration", "latency", "_time"].iter().any(|it| name.contains(it));
    let stems =
        names.iter().filter_map(|name| name.strip_suffix("_sum").or(name.strip_suffix("_bucket")));
    let mut stems: Vec<&str> = stems.collect();
    stems.dedup();
    let found = match wanted {
        Some(wanted) => {
            nearest(wanted, stems.iter().copied().chain(names.iter().map(String::as_str)), MOST)
        }
        None => Vec::new(),
    };
    let found = if found.is_empty() {
        stems.into_iter().filter(of_times).take(MOST).collect()
    } else {
        found
    };
    let mut found: Vec<String> = found.into_iter().map(String::from).collect();
    found.dedup();
    found
}

impl Times {
    /// Seconds in its unit.
    pub fn unit_s(&self) -> f64 {
        let is_milliseconds = ["_ms", "_milliseconds"].iter().any(|unit| self.name.ends_with(unit));
        if is_milliseconds { 1e-3 } else { 1.0 }
    }
}

/// Asks about the series of one selector, over blocks.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Without its braces.
    pub selector: &'a str,
    pub block_s: i64,
}

impl Asked<'_> {
    /// A metric's series: `name{selector}`.
    pub fn series(&self, name: &str) -> String {
        format!("{name}{{{}}}", self.selector)
    }

    fn with(&self, name: &str, more: &str) -> String {
        let comma = if self.selector.is_empty() { "" } else { "," };
        format!("{name}{{{}{comma}{more}}}", self.selector)
    }

    fn rate(&self, series: &str) -> String {
        format!("rate({series}[{}s])", self.block_s)
    }

    fn sum_rate(&self, series: &str) -> String {
        format!("sum({})", self.rate(series))
    }

    /// In the metric's unit; `None` of a summary.
    pub fn p95(&self, times: &Times) -> Option<String> {
        let name = &times.name;
        let summed = match times.shape {
            Shape::Classic => {
                let buckets = self.series(&format!("{name}_bucket"));
                format!("sum by (le) ({})", self.rate(&buckets))
            }
            Shape::Native => self.sum_rate(&self.series(name)),
            Shape::Summary => return None,
        };
        Some(format!("histogram_quantile(0.95, {summed})"))
    }

    /// In the metric's unit.
    pub fn mean(&self, times: &Times) -> String {
        format!("{} / {}", self.of_times(times, "sum"), self.requests(times))
    }

    /// A second.
    pub fn requests(&self, times: &Times) -> String {
        self.of_times(times, "count")
    }

    fn of_times(&self, times: &Times, part: &str) -> String {
        let name = &times.name;
        match times.shape {
            Shape::Native => format!("histogram_{part}({})", self.sum_rate(&self.series(name))),
            _ => self.sum_rate(&self.series(&format!("{name}_{part}"))),
        }
    }

    /// How often counters began anew in so long.
    pub fn resets(&self, times: &Times, length_s: i64) -> String {
        let name = match times.shape {
            Shape::Native => times.name.clone(),
            _ => format!("{}_count", times.name),
        };
        format!("sum(resets({}[{length_s}s]))", self.series(&name))
    }

    /// Bytes, of one instance: at each of some moments all that there is by how many there are.
    /// What was replaced within a block counts for as long as it was there.
    pub fn memory(&self, name: &str) -> String {
        let series = self.of_containers(name);
        let each = format!("sum({series}) / count(count by (instance, pod) ({series}))");
        let step_s = (self.block_s / MOMENTS).max(1);
        format!("avg_over_time(({each})[{}s:{step_s}s])", self.block_s)
    }

    /// Seconds.
    pub fn cpu_per_request(&self, name: &str, times: &Times) -> String {
        format!("{} / {}", self.sum_rate(&self.of_containers(name)), self.requests(times))
    }

    /// A pod's sum stands beside its containers'.
    fn of_containers(&self, name: &str) -> String {
        match name.starts_with("container_") {
            true => self.with(name, "container!=\"\",container!=\"POD\""),
            false => self.series(name),
        }
    }

    /// Share of requests that the server failed, by a counter with this label.
    pub fn errors(&self, counter: &str, (label, failed): (&str, &str)) -> String {
        let failed = self.sum_rate(&self.with(counter, &format!("{label}=~\"{failed}\"")));
        format!("({failed} or vector(0)) / {}", self.sum_rate(&self.series(counter)))
    }
}

/// Counters that may say how requests ended, the response times' own first.
pub fn counters(names: &BTreeSet<String>, times: &Times) -> Vec<String> {
    let own = format!("{}_count", times.name);
    let others = REQUESTS.iter().map(|name| name.to_string());
    std::iter::once(own).chain(others).filter(|name| names.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn histograms_come_before_summaries_only_where_they_are_those_of_the_app() {
        let there = names(&[
            "rails_request_duration_seconds_sum",
            "rails_request_duration_seconds_count",
            "response_latency_ms_bucket",
            "process_cpu_seconds_total",
        ]);
        let found = find(&there, &[]).unwrap();
        assert_eq!(found.latency.shape, Shape::Summary);
        assert_eq!((found.memory, found.cpu), (None, Some("process_cpu_seconds_total".into())));
        let typed = "latency=response_latency_ms_bucket".parse().unwrap();
        let found = find(&there, &[typed]).unwrap().latency;
        assert_eq!((found.shape, found.unit_s()), (Shape::Classic, 1e-3));
        let native = find(&names(&["http_request_duration_seconds"]), &[]).unwrap();
        assert_eq!(native.latency.shape, Shape::Native);
    }

    #[test]
    fn a_metric_that_was_renamed_is_told_with_names_near_it() {
        let there =
            names(&["rails_request_time_seconds_bucket", "rails_request_time_seconds_sum", "up"]);
        let typed = "latency=rails_request_times_seconds".parse().unwrap();
        let missing = find(&there, &[typed]).unwrap_err();
        assert_eq!(missing.near[0], "rails_request_time_seconds");
        let missing = find(&there, &[]).unwrap_err();
        assert_eq!((missing.wanted, missing.near.len()), (None, 1));
        for wrong in ["latency", "latency=", "speed=x", "latency=a{b}"] {
            assert!(wrong.parse::<Named>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn queries_are_those_that_prometheus_documents() {
        let asked = Asked { selector: "pod=~\"a.*\"", block_s: 300 };
        let classic = Times { name: "x_seconds".into(), shape: Shape::Classic };
        assert_eq!(
            asked.p95(&classic).unwrap(),
            "histogram_quantile(0.95, sum by (le) (rate(x_seconds_bucket{pod=~\"a.*\"}[300s])))"
        );
        let native = Times { shape: Shape::Native, ..classic };
        assert_eq!(
            asked.requests(&native),
            "histogram_count(sum(rate(x_seconds{pod=~\"a.*\"}[300s])))"
        );
        let whole = Asked { selector: "", ..asked };
        assert_eq!(
            whole.errors("n_total", ENDINGS[0]),
            "(sum(rate(n_total{status=~\"5..\"}[300s])) or vector(0)) / sum(rate(n_total{}[300s]))"
        );
    }
}
