//! A stand-in for Datadog's API of time series: it takes what the real one takes and nothing else.
//!
//! `version:2` answers a quarter slower than `version:1`, and both ten requests a second, of which
//! one in a hundred fails. Of `service:old` nothing is kept, and of a week only whole hours.

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::noise;
use crate::load::server::{Connection, Server};

/// Serves it, for one pair of keys.
pub fn start() -> Server {
    Server::start(|connection: &mut Connection| {
        while let Some(request) = connection.request() {
            let (status, body) = answer(&request);
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} It\r\nContent-Length: {}\r\n\r\n", body.len());
            connection.send(head + &body);
        }
    })
}

fn answer(request: &str) -> (u16, Value) {
    let lower = request.to_lowercase();
    let is_known = |header: &str| lower.contains(&format!("\r\n{header}\r\n"));
    if !is_known("dd-api-key: k3y-of-api") || !is_known("dd-application-key: k3y-of-app") {
        return (403, json!({"errors": ["Forbidden"]}));
    }
    let line = request.lines().next().unwrap();
    let (_, query) = line.split_once("GET /api/v1/query?").expect("the path of time series");
    let query = query.strip_suffix(" HTTP/1.1").unwrap();
    let given = |name: &str| {
        let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        let found = found.unwrap_or_else(|| panic!("no {name} in {query}"));
        percent_decode_str(found).decode_utf8().unwrap().into_owned()
    };
    let number = |name: &str| given(name).parse::<i64>().unwrap();
    series(&given("query"), (number("from"), number("to")))
}

/// `AGGREGATOR:METRIC{SCOPE}`, counts as counts, and a rollup.
fn series(query: &str, (from_s, to_s): (i64, i64)) -> (u16, Value) {
    let (aggregator, rest) = query.split_once(':').unwrap();
    let (metric, rest) = rest.split_once('{').unwrap();
    let (scope, functions) = rest.split_once('}').unwrap();
    let (of, value, method): (_, fn(f64) -> f64, _) = match (aggregator, metric) {
        ("sum", "trace.rack.request.hits") => ("hits", |block| 10.0 * block, "sum, "),
        ("sum", "trace.rack.request.errors") => ("errors", |block| 0.1 * block, "sum, "),
        ("p95", "trace.rack.request") => ("p95", |_| 0.2, ""),
        _ => return (200, json!({"status": "ok", "series": []})),
    };
    let as_count = if of == "p95" { "" } else { ".as_count()" };
    let asked = functions
        .strip_prefix(&format!("{as_count}.rollup({method}"))
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|seconds| seconds.parse::<i64>().ok());
    let Some(asked) = asked else {
        return (400, json!({"status": "error", "error": format!("odd functions {functions}")}));
    };
    let block = if to_s - from_s > 7 * 24 * 3600 { asked.max(3600) } else { asked };
    let slower = if of == "p95" && scope.contains("version:2") { 1.25 } else { 1.0 };
    let first = from_s.div_euclid(block) * block;
    let points: Vec<Value> = (first..=to_s)
        .step_by(usize::try_from(block).unwrap())
        .filter(|_| !scope.contains("service:old"))
        .map(|at_s| {
            json!([at_s as f64 * 1000.0, value(block as f64) * slower * varied(at_s, scope)])
        })
        .collect();
    let unit = match of {
        "p95" => json!([{"family": "time", "name": "second", "scale_factor": 1.0}, null]),
        _ => Value::Null,
    };
    let series = json!({
        "metric": metric, "scope": scope, "interval": block, "unit": unit, "pointlist": points,
    });
    (200, json!({"status": "ok", "res_type": "time_series", "series": [series]}))
}

/// Between 0.9 and 1.1, always the same for the same moment and scope.
fn varied(at_s: i64, scope: &str) -> f64 {
    0.9 + 0.2 * noise(at_s / 300, scope.bytes().map(usize::from).sum())
}
