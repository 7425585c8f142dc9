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
    /// Cores that the app had there, if it was one machine.
    pub cores: Option<u16>,
    /// Sentences that go with runs, or with the whole.
    pub findings: Vec<String>,
}

/// Settings that a published run must share with ours when it has them.
const NUMBERS: [&str; 4] = ["workers", "threads", "rate_rps", "clients"];

/// Texts that distinguish published runs: one that has them is found only by naming them.
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
    let cores = table.get("cores").and_then(number).map(|cores| cores as u16);
    Ok(Published { runs, cores, findings })
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

#[cfg(test)]
mod tests {
    use crate::lab::{self, Lab};

    /// Workers, threads, rate, clients, and the published throughput.
    type Row = (u16, u16, Option<f64>, Option<u32>, f64);

    /// Every run of a lab whose throughput was published.
    fn found(name: &str) -> Vec<Row> {
        let lab = Lab::read(name, lab::built_in(name).unwrap()).unwrap();
        let runs = lab::runs(&lab.definition, false, 2);
        let runs = runs.iter().filter(|run| run.setting.repeat == 1);
        let of = |run: &lab::Planned<'_>| {
            let figures = lab.published.find(run)?;
            let it = &run.setting;
            let load = (it.rate_rps, it.clients);
            let (workers, threads) = (it.workers.get(), it.threads.get());
            Some((workers, threads, load.0, load.1, figures.throughput_rps?))
        };
        runs.filter_map(of).collect()
    }

    #[test]
    fn every_run_has_the_figure_of_its_own_setting() {
        let rails = found("rails-puma");
        assert_eq!(rails.len(), 12, "{rails:?}");
        assert!(rails.contains(&(2, 8, Some(120.0), None, 119.66)), "{rails:?}");
        assert!(rails.contains(&(1, 12, Some(60.0), None, 56.71)), "{rails:?}");
        let board = found("isucon-unicorn");
        assert_eq!(board.len(), 8, "{board:?}");
        assert!(board.contains(&(4, 1, None, Some(4), 14.22)), "{board:?}");
    }

    #[test]
    fn runs_that_differ_by_a_name_are_told_apart() {
        let noop = found("noop-sinatra-puma");
        let of = |threads: u16, workers: u16| {
            let is_it = |run: &&Row| run.0 == workers && run.1 == threads;
            noop.iter().filter(is_it).map(|run| run.4).collect::<Vec<_>>()
        };
        assert_eq!(of(16, 1), [10279.41]);
        assert_eq!(of(1, 16), [28062.22]);
        assert_eq!(of(1, 1), [11285.14, 11361.52], "the first of each series, none of RACK_ENV");
        let thin = found("thin-nginx");
        assert!(thin.iter().all(|run| [500.0, 10000.0].contains(&run.4)), "{thin:?}");
    }

    #[test]
    fn findings_say_to_which_run_they_belong() {
        let lab = Lab::read("rails-puma", lab::built_in("rails-puma").unwrap()).unwrap();
        let finding = &lab.published.findings[2];
        assert!(finding.starts_with("workers 2, threads 8, rate_rps 80: the two"), "{finding}");
    }
}
