//! Metrics in Prometheus's text format, version 0.0.4: for the textfile collector of its
//! node_exporter, which takes no time stamps.
//!
//! In: [`Metric`]s. Out: text. Computes only; what came from outside is a label's value, escaped.

use std::fmt::Write;

use super::metrics::{Distribution, Metric, Point, Unit, Values};
use crate::report::outside::line;

/// All of them.
pub fn render(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for metric in metrics {
        let name = format!("sweetspot_{}{}", metric.name, suffix(metric.unit));
        let kind = match metric.values {
            Values::Points(_) => "gauge",
            Values::Distributions(_) => "summary",
        };
        text += &format!("# HELP {name} {}\n# TYPE {name} {kind}\n", help(metric.help));
        match &metric.values {
            Values::Points(points) => points.iter().for_each(|it| point(&mut text, &name, it)),
            Values::Distributions(all) => all.iter().for_each(|it| summary(&mut text, &name, it)),
        }
    }
    text
}

fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::RequestsPerSecond => "_requests_per_second",
        Unit::Seconds => "_seconds",
        Unit::Bytes => "_bytes",
        Unit::Ratio => "_ratio",
        Unit::Count => "",
        Unit::Info => "_info",
    }
}

fn point(text: &mut String, name: &str, point: &Point) {
    sample(text, name, &point.labels, None, point.value);
}

fn summary(text: &mut String, name: &str, it: &Distribution) {
    for (quantile, value) in &it.quantiles {
        sample(text, name, &it.labels, Some(*quantile), *value);
    }
    sample(text, &format!("{name}_sum"), &it.labels, None, it.sum);
    sample(text, &format!("{name}_count"), &it.labels, None, it.count as f64);
}

fn sample(
    text: &mut String,
    name: &str,
    labels: &[(&str, String)],
    quantile: Option<f64>,
    value: f64,
) {
    let mut all: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", label(value))).collect();
    all.extend(quantile.map(|quantile| format!("quantile=\"{quantile}\"")));
    let labels = if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) };
    writeln!(text, "{name}{labels} {}", number(value)).expect("a String takes every text");
}

/// As Go reads it.
fn number(value: f64) -> String {
    match value {
        it if it.is_nan() => "NaN".to_string(),
        f64::INFINITY => "+Inf".to_string(),
        f64::NEG_INFINITY => "-Inf".to_string(),
        it => it.to_string(),
    }
}

fn label(value: &str) -> String {
    line(value).replace('\\', "\\\\").replace('"', "\\\"")
}

fn help(text: &str) -> String {
    line(text).replace('\\', "\\\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_from_outside_stay_labels() {
        let labels = vec![("app", "a\"} 1\n# \\ b\u{1b}[31m".to_string())];
        let points = vec![Point { labels, value: f64::INFINITY }];
        let metric = Metric {
            name: "memory",
            unit: Unit::Bytes,
            help: "Memory.",
            values: Values::Points(points),
        };
        assert_eq!(
            render(&[metric]),
            "# HELP sweetspot_memory_bytes Memory.\n# TYPE sweetspot_memory_bytes gauge\n\
             sweetspot_memory_bytes{app=\"a\\\"} 1 # \\\\ b[31m\"} +Inf\n"
        );
    }
}
