//! `lab.toml`: which server and services an experiment needs, its settings, and what is checked.
//!
//! In: the file's text. Out: a [`Definition`], or the line that is wrong. Only computes.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::terms::{Arrivals, Bytes, ConnectionMode, Cores, Slo, Target, slo};

/// A database or other part that runs beside the app server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    Mariadb,
    Memcached,
}

/// A part that an experiment cannot run without, and Debian's package that has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Need {
    #[serde(flatten)]
    pub part: Part,
    pub package: String,
}

/// What is looked for on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// On the `PATH`.
    Program(String),
    /// Of Ruby.
    Gem(String),
}

/// How long each run takes.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    pub duration_s: u32,
    /// Left out of the figures.
    pub warm_up_s: u32,
    #[serde(default = "once")]
    pub repeats: u32,
    /// A run ends sooner, after this many measured requests; `duration_s` is the most it takes.
    pub requests: Option<u64>,
}

fn once() -> u32 {
    1
}

/// A number of workers or threads: itself, or the cores there are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a whole number, or \"cores\"")]
pub enum Count {
    Number(u16),
    Word(CountWord),
}

/// A number that depends on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountWord {
    Cores,
}

impl Count {
    /// As a number on this many cores.
    pub fn on(&self, cores: u16) -> u16 {
        match self {
            Self::Number(number) => *number,
            Self::Word(CountWord::Cores) => cores,
        }
    }
}

/// What is asked for, and its name in the results: method and path, `GET /products`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct NamedTarget {
    pub name: String,
    pub target: Target,
}

impl TryFrom<String> for NamedTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let target: Target =
            text.parse().map_err(|error| format!("the target '{text}': {error}"))?;
        Ok(Self { name: format!("{} {}", target.method, target.path), target })
    }
}

/// Settings that are run in every combination.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The requests' name in the experiment; by default the first target.
    pub name: Option<String>,
    /// Runs are set in relation to the first of their series; by default the name.
    pub series: Option<String>,
    /// As `tune --target` takes them.
    pub targets: Vec<NamedTarget>,
    pub workers: Vec<Count>,
    #[serde(default = "one_thread")]
    pub threads: Vec<Count>,
    /// An open load each.
    #[serde(default)]
    pub rate_rps: Vec<f64>,
    /// A closed load each.
    #[serde(default)]
    pub clients: Vec<u32>,
    #[serde(default)]
    pub think_s: f64,
    /// About how long a run takes, warm-up left out, where it ends after a number of requests.
    pub about_s: Option<f64>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names that the published run must have, besides workers, threads, rate and clients.
    #[serde(default)]
    pub published: BTreeMap<String, String>,
}

fn one_thread() -> Vec<Count> {
    vec![Count::Number(1)]
}

/// Rates are the article's times what a request costs there and here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// CPU of a request in the article.
    pub cpu_s_per_request: f64,
}

/// Which runs are meant; what is left out may be anything.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    pub name: Option<String>,
    pub series: Option<String>,
    #[serde(default)]
    pub workers: Vec<Count>,
    /// More workers than there are cores.
    #[serde(default)]
    pub beyond_cores: bool,
    #[serde(default)]
    pub threads: Vec<Count>,
    #[serde(default)]
    pub rate_rps: Vec<f64>,
    #[serde(default)]
    pub clients: Vec<u32>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The figures that a condition can be on.
pub(super) const FIGURES: [&str; 8] =
    ["throughput_rps", "success", "mean_s", "p50_s", "p95_s", "p99_s", "cpu_cores", "cpu_share"];

/// Those that there are of each target, too, such as `p95_s GET /path`.
pub(super) const FIGURES_OF_TARGETS: [&str; 3] = ["p50_s", "p95_s", "p99_s"];

/// A figure of the best run of `of`, divided by that of the best run of `to` if there is one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// One of [`FIGURES`]; of mixed requests one of [`FIGURES_OF_TARGETS`] and the target.
    pub figure: String,
    pub of: Selector,
    pub to: Option<Selector>,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
}

/// A sentence of the article, and what has to be so for it to hold.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    pub says: String,
    pub when: Vec<Condition>,
}

/// What `tune` is asked to do with the app, and what the article ended with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// As `tune --target` takes them.
    pub targets: Vec<String>,
    /// As `tune --workers` takes them.
    pub workers: String,
    /// As `tune --threads` takes them; left out for a server without threads.
    pub threads: Option<String>,
    #[serde(deserialize_with = "slo::as_written::deserialize")]
    pub slo: Slo,
    pub budget: String,
    pub article: Article,
}

/// The article's setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Article {
    pub workers: Count,
    pub threads: Count,
}

/// An experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub title: String,
    pub source: String,
    /// What the article ran on.
    pub machine: String,
    /// The rule that the article ended with.
    pub rule: String,
    /// The app server's name.
    pub server: String,
    /// What has to be installed.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// nginx in front.
    #[serde(default)]
    pub behind_nginx: bool,
    /// Cores that are enforced; all by default.
    pub cores: Option<Cores>,
    /// Memory that is enforced, such as `4GiB`; all by default.
    #[serde(default, deserialize_with = "bytes")]
    pub memory: Option<Bytes>,
    pub connection: ConnectionMode,
    #[serde(default = "uniform")]
    pub arrivals: Arrivals,
    #[serde(default = "half_a_minute")]
    pub timeout_s: f64,
    /// Path that answers once the app serves.
    pub ready: String,
    #[serde(default)]
    pub services: Vec<Service>,
    /// Command that starts the slow service outside, in the app's folder; it is given a port (0 for
    /// any) and prints `listening on PORT`.
    pub external: Option<String>,
    /// Variables for the app in every run.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub scale: Option<Scale>,
    /// What clients wait between requests is part of the article's latencies.
    #[serde(default)]
    pub think_is_latency: bool,
    /// Whatever a reader has to know to understand a difference, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    pub full: Course,
    pub quick: Course,
    pub runs: Vec<Block>,
    pub quick_runs: Vec<Block>,
    pub conclusion: Vec<Conclusion>,
    pub tune: Tuning,
}

fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

fn uniform() -> Arrivals {
    Arrivals::Uniform
}

fn half_a_minute() -> f64 {
    30.0
}

/// Reads a lab's definition.
///
/// # Errors
/// The text with the line and column that are wrong, and why.
pub fn parse(text: &str) -> Result<Definition, String> {
    let definition: Definition =
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_string())?;
    definition.runs.iter().chain(&definition.quick_runs).try_for_each(check_block)?;
    if [definition.full, definition.quick].iter().any(|it| it.duration_s == 0 || it.repeats == 0) {
        return Err("duration_s or repeats is 0: they are 1 at least".to_string());
    }
    if definition.timeout_s.is_nan() || definition.timeout_s <= 0.0 {
        return Err("timeout_s is not above zero".to_string());
    }
    if definition.cores.is_some_and(|cores| !(cores.get().is_finite() && cores.get() > 0.0)) {
        return Err("cores is not above zero".to_string());
    }
    let conditions = definition.conclusion.iter().flat_map(|one| &one.when);
    for condition in conditions {
        check_figure(&condition.figure)?;
        if condition.at_least.is_none() && condition.at_most.is_none() {
            let figure = &condition.figure;
            return Err(format!("a condition on {figure} has neither at_least nor at_most"));
        }
    }
    Ok(definition)
}

/// Refuses runs without a load, and numbers with which nothing would be run, or something else.
fn check_block(block: &Block) -> Result<(), String> {
    if block.targets.is_empty() {
        return Err(format!("the runs with workers {:?} have no targets", block.workers));
    }
    let has_none = |counts: &[Count]| counts.is_empty() || counts.contains(&Count::Number(0));
    let is_rate = |rate: &f64| rate.is_finite() && *rate > 0.0;
    let wrong = if block.rate_rps.is_empty() && block.clients.is_empty() {
        "no load: give them rate_rps or clients"
    } else if has_none(&block.workers) {
        "no workers: a server of one process, such as Puma with 'workers 0', has 1 here"
    } else if has_none(&block.threads) {
        "no threads: 1 is the least"
    } else if block.clients.contains(&0) {
        "no clients: 1 is the least"
    } else if !block.rate_rps.iter().all(is_rate) {
        "a rate_rps that is not above zero"
    } else if !block.think_s.is_finite() || block.think_s < 0.0 {
        "a think_s below zero, or without end"
    } else {
        return Ok(());
    };
    let names: Vec<&str> = block.targets.iter().map(|one| one.name.as_str()).collect();
    Err(format!("the runs of {} have {wrong}", names.join(", ")))
}

fn check_figure(figure: &str) -> Result<(), String> {
    let (name, known): (_, &[&str]) = match figure.split_once(' ') {
        None => (figure, &FIGURES),
        Some((name, _)) => (name, &FIGURES_OF_TARGETS),
    };
    match known.contains(&name) {
        true => Ok(()),
        false => Err(format!(
            "a condition is on '{figure}', which is no figure; there are {}, and of a target {}",
            FIGURES.join(", "),
            FIGURES_OF_TARGETS.map(|name| format!("'{name} GET /path'")).join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = r#"
        title = "t"
        source = "s"
        machine = "m"
        rule = "r"
        server = "puma"
        memory = "4GiB"
        connection = "keep-alive"
        ready = "/"
        full = { duration_s = 60, warm_up_s = 5, repeats = 3 }
        quick = { duration_s = 2, warm_up_s = 1 }
        [[runs]]
        targets = ["GET /"]
        workers = [1, "cores"]
        clients = [40]
        [[quick_runs]]
        targets = ["GET /"]
        workers = [1]
        clients = [40]
        [tune]
        targets = ["GET /"]
        workers = "1..4"
        slo = "p95<50ms"
        budget = "2m"
        article = { workers = "cores", threads = 1 }
        [[conclusion]]
        says = "more is more"
        when = [{ figure = "throughput_rps", of = { workers = ["cores"] }, at_least = 1.5 }]
    "#;

    #[test]
    fn a_lab_is_read_with_its_defaults() {
        let lab = parse(LAB).unwrap();
        assert_eq!(lab.memory, Some(Bytes(4 << 30)));
        assert_eq!((lab.full.repeats, lab.quick.repeats), (3, 1));
        assert_eq!((lab.arrivals, lab.timeout_s), (Arrivals::Uniform, 30.0));
        let workers: Vec<u16> = lab.runs[0].workers.iter().map(|count| count.on(8)).collect();
        assert_eq!(workers, [1, 8]);
        assert_eq!(lab.runs[0].threads, [Count::Number(1)]);
    }

    #[test]
    fn what_a_user_edited_wrongly_is_named() {
        for (from, to, expected) in [
            ("clients = [40]", "clientz = [40]", "unknown field `clientz`"),
            ("[1, \"cores\"]", "[1, \"core\"]", "a whole number, or \"cores\""),
            ("clients = [40]\n        [[quick", "[[quick", "have no load"),
            ("\"4GiB\"", "\"4 geese\"", "4 geese"),
            (", at_least = 1.5", "", "neither at_least nor at_most"),
            ("\"throughput_rps\"", "\"thruput\"", "'thruput', which is no figure"),
            ("\"throughput_rps\"", "\"cpu_cores GET /\"", "which is no figure"),
            ("title = \"t\"", "", "title"),
            ("[\"GET /\"]", "[\"GO /\"]", "the target 'GO /'"),
            ("ready = \"/\"", "ready = \"/\"\ncores = 0.0", "cores is not above zero"),
            ("ready = \"/\"", "ready = \"/\"\ntimeout_s = -1.0", "timeout_s is not above zero"),
            ("repeats = 3", "repeats = 0", "duration_s or repeats is 0"),
            ("[1, \"cores\"]", "[0, 2]", "the runs of GET / have no workers"),
            ("[1, \"cores\"]", "[1]\nthreads = []", "the runs of GET / have no threads"),
            ("clients = [40]", "clients = [0, 40]", "have no clients"),
            ("clients = [40]", "rate_rps = [20.0, -5.0]", "a rate_rps that is not above zero"),
            ("clients = [40]", "clients = [40]\nthink_s = -0.07", "a think_s below zero"),
        ] {
            let error = parse(&LAB.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
