//! What Datadog's tracing counted of both sides, in blocks.
//!
//! In: the question, whose sides are scopes such as `service:web,version:2`. Out: p95, throughput
//! and errors of each, and what there is to say of them. Of requests an application's own tracer
//! makes a distribution and two counts, named after the operation (Datadog's documentation, "Trace
//! Metrics"); percentiles are of all requests of a block together, on all hosts.

use serde_json::Value;

use super::asked::{Api, Tell};
use super::blocks::blocks;
use super::counted::{Counted, UNSEEN, observed};
use super::metrics::Named;
use super::question::{ObserveError, Question, Recorded};
use super::range::Blocks;
use crate::http_client::Peer;
use crate::observe::Observed;
use crate::terms::{CompareNote, FigureKind, FigureLeftOut, MetricRead, Side};

/// Distributions of requests' times by the tracers of Rack, Django, Flask, FastAPI, of PHP and
/// Node, and of Express.
const OPERATIONS: [&str; 6] = [
    "trace.rack.request",
    "trace.django.request",
    "trace.flask.request",
    "trace.fastapi.request",
    "trace.web.request",
    "trace.express.request",
];
/// One query gives at most 1,500 points a series (Datadog's documentation).
const MOST_POINTS: usize = 1_000;

/// Reads both sides.
///
/// # Errors
/// Datadog is not reached, says no, or counted no request of a side; a scope is none.
pub fn of_traces(
    question: &Question,
    (peer, tell): (Peer, Tell),
    named: &[Named],
    now_s: i64,
) -> Result<([Blocks; 2], Recorded), ObserveError> {
    let names = names(named)?;
    let (both, mut notes) = blocks(question, now_s, None)?;
    let scope_b = question.b.as_ref().unwrap_or(&question.a);
    let sides = [(Side::A, &question.a, both[0]), (Side::B, scope_b, both[1])];
    for (side, scope, _) in sides {
        check(side, scope)?;
    }
    let ((a, b), metric) = Datadog::new(peer, tell).read_both(sides, &names)?;
    let read = MetricRead { figure: FigureKind::LatencyP95, metric: metric.clone() };
    notes.push(CompareNote::MetricsRead { metrics: vec![read] });
    let left_out = UNSEEN.map(|figure| FigureLeftOut::NotInTraces { figure }).into();
    Ok((both, Recorded { a, b, left_out, notes }))
}

/// The names that are looked for.
fn names(named: &[Named]) -> Result<Vec<String>, ObserveError> {
    match named {
        [] => Ok(OPERATIONS.map(String::from).into()),
        [one] if one.figure == FigureKind::LatencyP95 => Ok(vec![one.name.clone()]),
        _ => Err(ObserveError::Figure),
    }
}

/// A scope that ends within its braces.
fn check(side: Side, scope: &str) -> Result<(), ObserveError> {
    let is_odd = |c: char| c.is_control() || "{}".contains(c);
    match scope.trim().is_empty() || scope.contains(is_odd) {
        true => Err(ObserveError::Scope { side, scope: scope.escape_debug().to_string() }),
        false => Ok(()),
    }
}

struct Datadog {
    api: Api,
}

/// A side, its scope, and what is asked of it.
type Asked<'a> = (Side, &'a String, Blocks);

impl Datadog {
    fn new(peer: Peer, tell: Tell) -> Self {
        let hint = "DD_SITE is the site of your account, such as datadoghq.eu";
        Self { api: Api { peer, who: "Datadog", hint, tell } }
    }

    /// Both sides by the first operation that both have requests of, and its name.
    fn read_both<'a>(
        &self,
        [a, b]: [Asked<'_>; 2],
        names: &'a [String],
    ) -> Result<((Observed, Observed), &'a String), ObserveError> {
        let nothing = |(side, scope, blocks): Asked<'_>| ObserveError::DatadogNothing {
            side,
            scope: scope.clone(),
            range: blocks.range(),
            names: names.to_vec(),
        };
        let mut missing = nothing(a);
        for name in names {
            let Some(of_a) = self.read(a, name)? else { continue };
            match self.read(b, name)? {
                Some(of_b) => return Ok(((of_a, of_b), name)),
                None => missing = nothing(b),
            }
        }
        Err(missing)
    }

    /// One side; `None`: there is no such request.
    fn read(
        &self,
        (_, scope, blocks): Asked<'_>,
        name: &str,
    ) -> Result<Option<Observed>, ObserveError> {
        let seconds = blocks.block_s;
        let count =
            |of: &str| format!("sum:{name}.{of}{{{scope}}}.as_count().rollup(sum, {seconds})");
        let requests = self.values(&count("hits"), blocks)?;
        if requests.iter().all(Option::is_none) {
            return Ok(None);
        }
        let failed = self.values(&count("errors"), blocks)?;
        let p95_s = self.values(&format!("p95:{name}{{{scope}}}.rollup({seconds})"), blocks)?;
        Ok(observed(Counted { p95_s, requests, failed }, blocks))
    }

    /// A value a block.
    fn values(&self, query: &str, blocks: Blocks) -> Result<Vec<Option<f64>>, ObserveError> {
        let mut values = vec![None; blocks.count];
        for first in (0..blocks.count).step_by(MOST_POINTS) {
            let last = blocks.count.min(first + MOST_POINTS);
            let at = |block: usize| blocks.start_s + blocks.block_s * block as i64;
            // The end counts as within.
            let (from, to) = (at(first).to_string(), (at(last) - 1).to_string());
            let answer = self.ask(&[("from", &from), ("to", &to), ("query", query)])?;
            fill(&mut values, &answer, blocks)?;
        }
        Ok(values)
    }

    fn ask(&self, parameters: &[(&str, &str)]) -> Result<Value, ObserveError> {
        let (status, answer) = self.api.get("/api/v1/query", parameters)?;
        self.granted(status, answer)
    }

    /// The answer, unless it says no.
    fn granted(&self, status: u16, answer: Value) -> Result<Value, ObserveError> {
        if answer["status"] == "ok" && status == 200 {
            return Ok(answer);
        }
        let errors = answer["errors"].as_array().into_iter().flatten();
        let said: Vec<&str> = errors.chain([&answer["error"]]).filter_map(Value::as_str).collect();
        let is_theirs = answer["status"] == "ok" || answer["status"] == "error";
        // Others answer with an object too, such as whatever is at a wrong DD_SITE.
        match said.is_empty() && !is_theirs {
            true => Err(self.api.unlike(status, &answer.to_string()).into()),
            false => Err(self.api.refused(status, &said.join("; ")).into()),
        }
    }
}

/// Points of the only series, at the beginnings of their blocks in milliseconds, in its own unit of
/// time where it says one.
fn fill(values: &mut [Option<f64>], answer: &Value, blocks: Blocks) -> Result<(), ObserveError> {
    let series = &answer["series"][0];
    if let Some(there) = series["interval"].as_i64().filter(|there| *there > blocks.block_s) {
        return Err(ObserveError::DatadogBlock { there });
    }
    let unit = &series["unit"][0];
    let scale = unit["scale_factor"].as_f64().filter(|_| unit["family"] == "time").unwrap_or(1.0);
    for point in series["pointlist"].as_array().into_iter().flatten() {
        let second = point[0].as_f64().map(|ms| (ms / 1000.0) as i64);
        if let Some(block) = second.and_then(|second| blocks.index(second)) {
            values[block] = point[1].as_f64().map(|value| value * scale);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_stand_at_their_blocks_in_seconds() {
        let blocks = Blocks { start_s: 600, block_s: 300, count: 3 };
        let mut values = vec![None; 3];
        let milliseconds = json!([{"family": "time", "scale_factor": 0.001}, null]);
        let points =
            json!([[600_000.0, 120.0], [900_000.0, null], [1_200_000.0, 80.0], [5.0, 9.0]]);
        let series = json!({"interval": 300, "unit": milliseconds, "pointlist": points});
        fill(&mut values, &json!({"series": [series]}), blocks).unwrap();
        assert_eq!(values, [Some(0.12), None, Some(0.08)]);
        fill(&mut values, &json!({"series": []}), blocks).unwrap();
        assert_eq!(values[0], Some(0.12), "no series says nothing");
        let longer = json!({"series": [{"interval": 3600, "pointlist": []}]});
        let error = fill(&mut values, &longer, blocks).unwrap_err().to_string();
        assert!(error.contains("--block 3600s"), "{error}");
    }

    #[test]
    fn an_object_of_somebody_else_is_told_from_a_refusal() {
        let url = "https://api.datadog.example".to_string();
        let peer = Peer { url, addresses: Vec::new(), headers: Vec::new() };
        let datadog = Datadog::new(peer, |_: &str| {});
        for (status, answer, expected, is_usage) in [
            (404, json!({"message": "Not found"}), "404, but not as Datadog does; DD_SITE", true),
            (200, json!({"version": "8.1"}), "200, but not as Datadog does; DD_SITE", true),
            (503, json!({"message": "Later"}), "answered 503: {\"message\":\"Later\"}", false),
            (403, json!({"errors": ["Forbidden"]}), "answered 403: Forbidden", false),
            (400, json!({"status": "error", "error": "Rule 'a'"}), "400: Rule 'a'", true),
            (200, json!({"status": "error"}), "answered 200: nothing more", false),
        ] {
            let error = datadog.granted(status, answer).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.is_usage(), is_usage, "{error}");
        }
        let answer = json!({"status": "ok", "series": []});
        assert_eq!(datadog.granted(200, answer.clone()).unwrap(), answer);
    }

    #[test]
    fn a_scope_ends_within_its_braces() {
        assert!(check(Side::A, "service:web AND version:2").is_ok());
        for odd in ["", "service:web} by {host", "a\nb"] {
            assert!(check(Side::B, odd).unwrap_err().to_string().contains("is no scope"));
        }
    }
}
