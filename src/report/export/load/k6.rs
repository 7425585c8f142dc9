//! As k6 exports its summary (`--summary-export`): metrics by name, times in milliseconds. A
//! threshold is `true` when it was *crossed*.
//!
//! `http_req_duration`, which thresholds are about, is the latency, and `iteration_duration` the
//! same: each iteration is one request. What is not known is 0 as where k6 has nothing to measure:
//! the times of connecting, of TLS, and of sending and receiving. `http_req_blocked` is the wait
//! before the generator sent, and `http_req_waiting` the whole exchange. `vus` are the clients; in
//! the open model, what was in flight when seconds ended.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::{LoadResult, milliseconds};
use crate::report::figures;
use crate::terms::{Latencies, QuantileLimit, Slo};

pub fn render(result: &LoadResult<'_>) -> String {
    // The group of everything always has this identity (the MD5 of nothing).
    let id = "d41d8cd98f00b204e9800998ecf8427e";
    let group = json!({ "name": "", "path": "", "id": id, "groups": {}, "checks": {} });
    let summary = json!({ "metrics": metrics(result), "root_group": group });
    let mut text = Vec::new();
    let format = PrettyFormatter::with_indent(b"    ");
    summary
        .serialize(&mut Serializer::with_formatter(&mut text, format))
        .expect("figures and strings are all that it holds");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// By the limit as k6 writes it, whether it was crossed.
type Thresholds = BTreeMap<String, bool>;

fn metrics(result: &LoadResult<'_>) -> BTreeMap<&'static str, Value> {
    let all = result.all;
    let none = Latencies::default();
    let counter = |count: u64| json!({ "count": count, "rate": result.per_second(count) });
    let sent = all.due.saturating_sub(all.errors.dropped);
    let failed = sent.saturating_sub(result.good());
    // Both metrics are of all requests, as is the goal where it is the only one.
    let slo = result.summary.slo.as_ref().and_then(|slo| slo.goals.only());
    let share = if sent > 0 { failed as f64 / sent as f64 } else { 0.0 };
    let (of_latency, of_errors) = thresholds(slo, &all.latency, share);
    // `passes`: how often it was true that a request failed.
    let failures = json!({ "passes": failed, "fails": result.good(), "value": share });
    let mut metrics = BTreeMap::from([
        ("data_received", counter(all.bytes_in)),
        ("data_sent", counter(all.bytes_out)),
        ("http_req_blocked", trend(&all.send_lag, Thresholds::new())),
        ("http_req_connecting", trend(&none, Thresholds::new())),
        ("http_req_duration", trend(&all.latency, of_latency)),
        ("http_req_failed", with(failures, of_errors)),
        ("http_req_receiving", trend(&none, Thresholds::new())),
        ("http_req_sending", trend(&none, Thresholds::new())),
        ("http_req_tls_handshaking", trend(&none, Thresholds::new())),
        ("http_req_waiting", trend(&all.exchange_time, Thresholds::new())),
        ("http_reqs", counter(sent)),
        ("iteration_duration", trend(&all.latency, Thresholds::new())),
        ("iterations", counter(sent)),
        ("vus", vus(result)),
        ("vus_max", vus(result)),
    ]);
    // k6 has this one only when something was dropped.
    if all.errors.dropped > 0 {
        metrics.insert("dropped_iterations", counter(all.errors.dropped));
    }
    metrics
}

/// What the goal limits: `http_req_duration` and `http_req_failed`. Compared as k6 does, without
/// asking whether chance explains it: the summary's own verdict does.
fn thresholds(
    slo: Option<&Slo>,
    latency: &Latencies,
    failed_share: f64,
) -> (Thresholds, Thresholds) {
    let Some(slo) = slo else { return Default::default() };
    let of_quantile = |part: &QuantileLimit| {
        let percent = figures::percentile(part.quantile.get());
        let limit_ms = milliseconds(Some(part.limit));
        let measured_ms = milliseconds(latency.quantile(part.quantile.get()));
        (format!("p({percent})<{limit_ms}"), measured_ms >= limit_ms)
    };
    let of_errors = slo.errors.map(|share| (format!("rate<{}", share.get()), share.get()));
    (
        slo.quantiles.iter().map(of_quantile).collect(),
        of_errors.into_iter().map(|(name, most)| (name, failed_share >= most)).collect(),
    )
}

fn trend(times: &Latencies, thresholds: Thresholds) -> Value {
    let figures = json!({
        "avg": milliseconds(times.mean()),
        "min": milliseconds(times.min()),
        "med": milliseconds(times.quantile(0.5)),
        "max": milliseconds(times.max()),
        "p(90)": milliseconds(times.quantile(0.9)),
        "p(95)": milliseconds(times.quantile(0.95)),
    });
    with(figures, thresholds)
}

/// A metric and its thresholds, which it has only where there are any.
fn with(mut metric: Value, thresholds: Thresholds) -> Value {
    if !thresholds.is_empty() {
        metric["thresholds"] = json!(thresholds);
    }
    metric
}

fn vus(result: &LoadResult<'_>) -> Value {
    let summary = result.summary;
    if let Some(clients) = summary.clients {
        return json!({ "value": clients, "min": clients, "max": clients });
    }
    let measured = summary.windows.iter().filter(|window| window.start_s >= summary.warm_up_s);
    let in_flight: Vec<u64> = measured.map(|window| window.in_flight).collect();
    json!({
        "value": in_flight.last().copied().unwrap_or(0),
        "min": in_flight.iter().copied().min().unwrap_or(0),
        "max": in_flight.iter().copied().max().unwrap_or(0),
    })
}
