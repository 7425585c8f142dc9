//! Metrics as OpenTelemetry's OTLP/HTTP has them, in its JSON encoding: what is sent to
//! `/v1/metrics`, and what is answered.
//!
//! In: [`Metric`]s. Out: a JSON document. Gauges all: each value is one point in time, with its
//! labels as attributes; of a distribution a point for each quantile, its mean and its count.

use serde_json::{Value, json};

use crate::report::metrics::{Distribution, Metric, Point, Unit, Values};
use crate::report::outside::line;

/// All metrics, as measured at this time.
pub fn document(metrics: &[Metric], at: jiff::Timestamp, service: &str) -> String {
    let time = at.as_nanosecond().max(0).to_string();
    let all: Vec<Value> = metrics.iter().flat_map(|metric| gauges(metric, &time)).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", service.to_string())];
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": attributes(&resource) },
            "scopeMetrics": [{
                "scope": { "name": "sweetspot", "version": version },
                "metrics": all,
            }],
        }],
    })
    .to_string()
}

fn gauges(metric: &Metric, time: &str) -> Vec<Value> {
    let name = format!("sweetspot.{}", metric.name);
    match &metric.values {
        Values::Points(points) => {
            let points = points.iter().map(|it| data_point(it, time)).collect();
            vec![gauge(&name, metric.help, unit(metric.unit), points)]
        }
        Values::Distributions(all) => {
            let each = |of: fn(&Distribution) -> Vec<Point>| {
                all.iter().flat_map(of).map(|it| data_point(&it, time)).collect()
            };
            let (mean, count) = (format!("{name}.mean"), format!("{name}.count"));
            vec![
                gauge(&name, metric.help, unit(metric.unit), each(quantiles)),
                gauge(&mean, "Their mean.", unit(metric.unit), each(means)),
                gauge(&count, "How many there were.", "{request}", each(counts)),
            ]
        }
    }
}

fn gauge(name: &str, description: &str, unit: &str, points: Vec<Value>) -> Value {
    json!({
        "name": name,
        "description": description,
        "unit": unit,
        "gauge": { "dataPoints": points },
    })
}

/// As UCUM spells it.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::RequestsPerSecond => "{request}/s",
        Unit::Seconds => "s",
        Unit::Bytes => "By",
        Unit::Ratio | Unit::Count | Unit::Info => "1",
    }
}

fn quantiles(it: &Distribution) -> Vec<Point> {
    let point = |(quantile, value): &(f64, f64)| {
        let mut labels = it.labels.clone();
        labels.push(("quantile", quantile.to_string()));
        Point { labels, value: *value }
    };
    it.quantiles.iter().map(point).collect()
}

fn means(it: &Distribution) -> Vec<Point> {
    let value = if it.count == 0 { 0.0 } else { it.sum / it.count as f64 };
    vec![Point { labels: it.labels.clone(), value }]
}

fn counts(it: &Distribution) -> Vec<Point> {
    vec![Point { labels: it.labels.clone(), value: it.count as f64 }]
}

fn data_point(point: &Point, time: &str) -> Value {
    json!({
        "attributes": attributes(&point.labels),
        "timeUnixNano": time,
        "asDouble": number(point.value),
    })
}

/// JSON has no such numbers; Protocol Buffers' JSON writes them as text.
fn number(value: f64) -> Value {
    match value {
        it if it.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        it => json!(it),
    }
}

fn attributes(labels: &[(&str, String)]) -> Vec<Value> {
    let attribute = |(name, value): &(&str, String)| {
        let value = line(value);
        json!({ "key": name, "value": { "stringValue": value } })
    };
    labels.iter().map(attribute).collect()
}

/// Of a reply that took the rest: how many values were rejected, and why. `None` when all were
/// taken.
pub fn rejected(body: &str) -> Option<(u64, String)> {
    let reply: Value = serde_json::from_str(body).ok()?;
    let part = reply.get("partialSuccess")?;
    let count = part.get("rejectedDataPoints")?;
    // 64 bits are text in this encoding, but not everybody keeps to that.
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    let why = part.get("errorMessage").and_then(Value::as_str).unwrap_or_default();
    (count > 0).then(|| (count, why.to_string()))
}

/// What a refusal says: a status's `message`, or whatever text it is.
pub fn message(body: &str) -> String {
    let reply: Option<Value> = serde_json::from_str(body).ok();
    let message = reply.as_ref().and_then(|reply| reply.get("message")?.as_str());
    message.unwrap_or(body).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_a_point_with_its_labels_and_time() {
        let labels = vec![("app", "/srv/\u{1b}shop".to_string())];
        let point = Point { labels: labels.clone(), value: 412.4 };
        let latency = Distribution { labels, quantiles: vec![(0.5, 0.02)], sum: 8.0, count: 4 };
        let metric = |name, unit, values| Metric { name, unit, help: "Help.", values };
        let metrics = [
            metric("capacity", Unit::RequestsPerSecond, Values::Points(vec![point])),
            metric("latency", Unit::Seconds, Values::Distributions(vec![latency])),
        ];
        let at = jiff::Timestamp::from_second(1_700_000_000).unwrap();
        let document: Value = serde_json::from_str(&document(&metrics, at, "shop")).unwrap();
        let resource = &document["resourceMetrics"][0];
        let name = &resource["resource"]["attributes"][0];
        assert_eq!(*name, json!({"key": "service.name", "value": {"stringValue": "shop"}}));
        let all = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let names: Vec<&str> = all.iter().map(|it| it["name"].as_str().unwrap()).collect();
        let expected = ["capacity", "latency", "latency.mean", "latency.count"];
        assert_eq!(names, expected.map(|name| format!("sweetspot.{name}")));
        let expected = json!({
            "attributes": [{"key": "app", "value": {"stringValue": "/srv/shop"}}],
            "timeUnixNano": "1700000000000000000",
            "asDouble": 412.4,
        });
        assert_eq!(all[0]["gauge"]["dataPoints"], json!([expected]));
        assert_eq!(all[0]["unit"], "{request}/s");
        let quantile = &all[1]["gauge"]["dataPoints"][0]["attributes"][1];
        assert_eq!(*quantile, json!({"key": "quantile", "value": {"stringValue": "0.5"}}));
        assert_eq!(all[2]["gauge"]["dataPoints"][0]["asDouble"], 2.0);
    }

    #[test]
    fn replies_say_what_was_not_taken() {
        assert_eq!(rejected("{}"), None);
        assert_eq!(rejected(r#"{"partialSuccess":{}}"#), None);
        let some = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}"#;
        assert_eq!(rejected(some), Some((3, "too old".to_string())));
        assert_eq!(message(r#"{"code":3,"message":"bad"}"#), "bad");
        assert_eq!(message("no such page\n"), "no such page");
    }
}
