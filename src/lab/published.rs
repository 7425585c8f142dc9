//! `published.toml`: the article's own figures, found by their settings.
//!
//! In: the file's text and a run. Out: the figures of the same run, as far as they were published.
//! Only computes.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::matrix::Planned;
use crate::terms::{LabFigures, LabLatency};

/// An article's runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Published {
    runs: Vec<Table>,
    /// Sentences that go with runs, or with the whole.
    pub findings: Vec<String>,
}

/// Settings that a published run must share with ours when it has them.
const NUMBERS: [&str; 4] = ["workers", "threads", "rate_rps", "clients"];

/// Texts that tell published runs apart: one that has them is found only by naming them.
const NAMES: [&str; 4] = ["series", "pattern", "machine", "endpoint"];

/// Reads the article's figures.
///
/// # Errors
/// The text with the line and column that are wrong, and why.
pub fn parse(text: &str) -> Result<Published, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let runs = match table.get("run") {
        None => Vec::new(),
        Some(Value::Array(runs)) => runs.iter().filter_map(|run| run.as_table().cloned()).collect(),
        Some(other) => return Err(format!("'run' is {}, not [[run]]", other.type_str())),
    };
    let of_runs = runs.iter().filter_map(|run: &Table| {
        let finding = run.get("finding")?.as_str()?;
        Some(format!("{}: {finding}", setting(run)))
    });
    let of_whole = table.get("findings").and_then(Value::as_table).into_iter().flatten();
    let of_whole = of_whole.filter_map(|(name, text)| Some(format!("{name}: {}", text.as_str()?)));
    let findings = of_runs.chain(of_whole).collect();
    Ok(Published { runs, findings })
}

impl Published {
    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The settings and figures of each run as published, for people.
    pub fn rows(&self) -> impl Iterator<Item = (String, LabFigures)> {
        self.runs.iter().map(|run| (setting(run), figures(run)))
    }

    /// The figures of the same run; of several that are alike, one for each repeat.
    pub fn find(&self, planned: &Planned<'_>) -> Option<LabFigures> {
        let alike: Vec<&Table> = self.runs.iter().filter(|run| is_of(run, planned)).collect();
        let nth = planned.setting.repeat as usize - 1;
        alike.get(nth).or_else(|| alike.first()).map(|run| figures(run))
    }
}

fn is_of(run: &Table, planned: &Planned<'_>) -> bool {
    let setting = &planned.setting;
    let ours = |name: &str| match name {
        "workers" => Some(f64::from(setting.workers.get())),
        "threads" => Some(f64::from(setting.threads.get())),
        "rate_rps" => setting.rate_rps,
        _ => setting.clients.map(f64::from),
    };
    let selector = &planned.block.published;
    let numbers = NUMBERS.iter().all(|name| {
        // Named by the selector, it is compared as text below.
        selector.contains_key(*name)
            || run.get(*name).is_none_or(|value| number(value) == ours(name))
    });
    let names = NAMES.iter().all(|name| run.get(*name).is_none() || selector.contains_key(*name));
    let selected = selector
        .iter()
        .all(|(name, text)| run.get(name).is_some_and(|value| as_text(value) == *text));
    numbers && names && selected
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Such as `workers 1, threads 8, rate_rps 40`.
fn setting(run: &Table) -> String {
    let names = NAMES.iter().chain(&["processes"]).chain(&NUMBERS);
    let parts = names.filter_map(|name| Some(format!("{name} {}", as_text(run.get(*name)?))));
    parts.collect::<Vec<_>>().join(", ")
}

fn figures(run: &Table) -> LabFigures {
    let get = |name: &str| run.get(name).and_then(number);
    let latency = run.get("latency_s").and_then(Value::as_table);
    let time = |name: &str| latency.and_then(|table| table.get(name)).and_then(number);
    let status = run.get("status").and_then(Value::as_table).into_iter().flatten();
    let shares = [get("cpu_user"), get("cpu_system")];
    let is_shared = shares.iter().any(Option::is_some);
    LabFigures {
        requests: get("requests").map(|count| count as u64),
        throughput_rps: get("throughput_rps").or_else(|| get("throughput_rps_about")),
        success: get("success"),
        latency_s: LabLatency {
            mean: time("mean"),
            p50: time("p50"),
            p90: time("p90"),
            p95: time("p95"),
            p99: time("p99"),
            max: time("max"),
        },
        status: status
            .filter_map(|(code, count)| Some((code.clone(), number(count)? as u64)))
            .collect::<BTreeMap<_, _>>(),
        cpu_cores: get("cpu_cores_used"),
        cpu_share: is_shared.then(|| shares.iter().flatten().sum()),
        memory_share: get("memory_utilization"),
        ..LabFigures::default()
    }
}
