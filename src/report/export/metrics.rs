//! Results as metrics: names, units, labels and values, whatever form they are sent in.
//!
//! In: a session or a load. Out: [`Metric`]s, in a fixed order. Base units. Computes only.

use super::load::LoadResult;
use crate::report::story::Story;
use crate::terms::{
    Configuration, Decision, LatencySummary, LoadSummary, TrialPurpose, Verdict, code,
};

/// What a value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    RequestsPerSecond,
    Seconds,
    Bytes,
    Ratio,
    /// Of what the name says.
    Count,
    /// Always 1: the labels say it.
    Info,
}

/// A value with what tells it from the metric's others.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

/// A distribution: some quantiles, ascending; the sum and count of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    pub labels: Vec<(&'static str, String)>,
    pub quantiles: Vec<(f64, f64)>,
    pub sum: f64,
    pub count: u64,
}

/// The values of one name.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Points(Vec<Point>),
    Distributions(Vec<Distribution>),
}

/// One name with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// In words with `_` between them, without unit and prefix.
    pub name: &'static str,
    pub unit: Unit,
    pub help: &'static str,
    pub values: Values,
}

/// The labels that every value of a source has.
type Labels = Vec<(&'static str, String)>;

/// Metrics under construction, without those that have no value.
struct Metrics {
    common: Labels,
    all: Vec<Metric>,
}

impl Metrics {
    fn one(&mut self, name: &'static str, unit: Unit, help: &'static str, value: Option<f64>) {
        self.some(name, unit, help, value.map(|value| (Vec::new(), value)));
    }

    fn some(
        &mut self,
        name: &'static str,
        unit: Unit,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let points: Vec<Point> = values
            .into_iter()
            .map(|(labels, value)| Point { labels: self.labelled(labels), value })
            .collect();
        if !points.is_empty() {
            self.all.push(Metric { name, unit, help, values: Values::Points(points) });
        }
    }

    /// A figure and the bounds of its interval, under a name each: their sum would mean nothing.
    fn bounded(
        &mut self,
        names: [&'static str; 3],
        unit: Unit,
        helps: [&'static str; 3],
        values: &[(Labels, f64, Option<[f64; 2]>)],
    ) {
        let of = |figure: fn(f64, Option<[f64; 2]>) -> Option<f64>| {
            values.iter().filter_map(move |(labels, value, interval)| {
                Some((labels.clone(), figure(*value, *interval)?))
            })
        };
        self.some(names[0], unit, helps[0], of(|value, _| Some(value)));
        self.some(names[1], unit, helps[1], of(|_, interval| interval.map(|it| it[0])));
        self.some(names[2], unit, helps[2], of(|_, interval| interval.map(|it| it[1])));
    }

    fn distributions(&mut self, name: &'static str, help: &'static str, all: Vec<Distribution>) {
        let labelled = |it: Distribution| Distribution { labels: self.labelled(it.labels), ..it };
        let all: Vec<Distribution> = all.into_iter().map(labelled).collect();
        if !all.is_empty() {
            let values = Values::Distributions(all);
            self.all.push(Metric { name, unit: Unit::Seconds, help, values });
        }
    }

    fn labelled(&self, labels: Labels) -> Labels {
        self.common.iter().cloned().chain(labels).collect()
    }
}

/// A session's: its decision, each setting that was measured, and the latencies that confirm it.
pub fn of_session(story: &Story) -> Vec<Metric> {
    let mut metrics = Metrics { common: vec![("app", story.app.clone())], all: Vec::new() };
    session(story, &mut metrics);
    if let Some(decision) = &story.decision {
        decided(story, decision, &mut metrics);
    }
    settings(story, &mut metrics);
    verified(story, &mut metrics);
    metrics.all
}

fn session(story: &Story, metrics: &mut Metrics) {
    let mut labels = vec![("server", story.server.clone()), ("slo", story.goals.to_string())];
    labels.extend(story.stored.as_ref().map(|it| ("session", it.session.to_string())));
    metrics.some("session", Unit::Info, "The session that these values are from.", [(labels, 1.0)]);
    let started = story.stored.as_ref().and_then(|it| it.started_at.parse().ok());
    let started = started.map(|at: jiff::Timestamp| at.as_second() as f64);
    let help = "When the session began, in seconds since 1970.";
    metrics.one("session_start_time", Unit::Seconds, help, started);
    let help = "From the session's start to its end.";
    metrics.one("session_duration", Unit::Seconds, help, Some(story.elapsed_s));
    let help = "Time of the session under load.";
    metrics.one("session_load", Unit::Seconds, help, Some(story.load_s));
    let trials = story.trials.len() as f64;
    metrics.one("session_trials", Unit::Count, "Trials of the session.", Some(trials));
    let warnings = story.warnings.len() as f64;
    metrics.one("session_warnings", Unit::Count, "Doubts about the session.", Some(warnings));
    let decided = f64::from(u8::from(story.decision.is_some()));
    let help = "Whether the session ended with a decision, 1 or 0.";
    metrics.one("session_decided", Unit::Count, help, Some(decided));
}

fn setting(workers: u16, threads: u16) -> Labels {
    vec![("workers", workers.to_string()), ("threads", threads.to_string())]
}

fn decided(story: &Story, decision: &Decision, metrics: &mut Metrics) {
    let chosen = setting(decision.workers, decision.threads);
    let role = |name: &str, mut labels: Labels| {
        labels.push(("setting", name.to_string()));
        labels
    };
    let help = "The workers and threads to run.";
    metrics.some("decision", Unit::Info, help, [(chosen.clone(), 1.0)]);
    let limit = vec![("limit", code(&decision.limit.kind))];
    let help = "What sets the limit of the chosen setting.";
    metrics.some("limit", Unit::Info, help, [(limit.clone(), 1.0)]);
    let help = "How sure it is what sets the limit, 0 to 1.";
    metrics.some("limit_confidence", Unit::Ratio, help, [(limit, decision.limit.confidence)]);
    let (capacity, interval) = (decision.capacity_rps, decision.capacity_rps_interval);
    let mut capacities = vec![(role("chosen", chosen), capacity, Some(interval))];
    capacities.extend(story.current.iter().filter_map(|now| {
        let labels = role("current", setting(now.workers, now.threads));
        Some((labels, now.capacity_rps?, now.capacity_rps_interval))
    }));
    let helps = [
        "The highest arrival rate that meets the goal, of the chosen and of the current setting.",
        "Lower bound of the capacity's 95 % interval.",
        "Upper bound of the capacity's 95 % interval.",
    ];
    let names = ["capacity", "capacity_low", "capacity_high"];
    metrics.bounded(names, Unit::RequestsPerSecond, helps, &capacities);
    let gain = decision.gain_ratio.map(|it| (Vec::new(), it, decision.gain_ratio_interval));
    let helps = [
        "Capacity of the chosen setting divided by that of the current one.",
        "Lower bound of the gain's 95 % interval.",
        "Upper bound of the gain's 95 % interval.",
    ];
    let names = ["gain", "gain_low", "gain_high"];
    metrics.bounded(names, Unit::Ratio, helps, gain.as_slice());
    let help = "The rate to run the chosen setting at day to day.";
    metrics.one("operating_rate", Unit::RequestsPerSecond, help, Some(decision.operating_rps));
    let memory = decision.memory_bytes.map(|bytes| bytes as f64);
    metrics.one("memory", Unit::Bytes, "Memory of the chosen setting.", memory);
    let connections = Some(decision.database_connections).filter(|count| *count > 0);
    let help = "Database connections that the chosen setting can hold at once.";
    metrics.one("database_connections", Unit::Count, help, connections.map(f64::from));
    latencies(story, metrics);
}

/// Of the trials that confirmed the chosen setting's capacity.
fn latencies(story: &Story, metrics: &mut Metrics) {
    let confirmed = story.trials.iter().filter(|trial| {
        trial.purpose == TrialPurpose::Confirm
            && trial.valid
            && trial.variant.is_as_it_is()
            && Some(trial.configuration) == story.chosen()
    });
    let all = confirmed.map(|trial| {
        let mut labels = setting_of(trial.configuration);
        labels.push(("trial", trial.id.to_string()));
        distribution(labels, &trial.summary)
    });
    let help = "From when a request was due to its last byte, in each trial that confirmed the \
                chosen setting.";
    metrics.distributions("confirmed_latency", help, all.collect());
}

fn setting_of(configuration: Configuration) -> Labels {
    setting(configuration.workers.get(), configuration.threads.get())
}

fn distribution(labels: Labels, summary: &LoadSummary) -> Distribution {
    let LatencySummary { mean, p50, p75, p90, p95, p99, p999, max, .. } = summary.latency_s;
    let quantiles =
        [(0.5, p50), (0.75, p75), (0.9, p90), (0.95, p95), (0.99, p99), (0.999, p999), (1.0, max)];
    // Requests that were never sent count among the latencies with the time given up.
    let count = summary.due;
    Distribution { labels, quantiles: quantiles.to_vec(), sum: mean * count as f64, count }
}

/// Each setting that was measured.
fn settings(story: &Story, metrics: &mut Metrics) {
    let intervals = story.intervals();
    let capacities: Vec<_> = story
        .capacities()
        .into_iter()
        .map(|(at, capacity)| (setting_of(at), capacity, intervals.get(&at).copied()))
        .collect();
    let helps = [
        "The highest arrival rate that meets the goal, of each setting whose trials tell it.",
        "Lower bound of the capacity's 95 % interval, where the setting was confirmed.",
        "Upper bound of the capacity's 95 % interval, where the setting was confirmed.",
    ];
    let names = ["setting_capacity", "setting_capacity_low", "setting_capacity_high"];
    metrics.bounded(names, Unit::RequestsPerSecond, helps, &capacities);
    let measured: std::collections::BTreeSet<Configuration> =
        story.trials.iter().map(|trial| trial.configuration).collect();
    let memory =
        measured.into_iter().filter_map(|at| Some((setting_of(at), story.memory_of(at)? as f64)));
    let help = "Memory of each setting at the end of its last trial.";
    metrics.some("setting_memory", Unit::Bytes, help, memory);
}

fn verified(story: &Story, metrics: &mut Metrics) {
    let Some(found) = &story.verification else { return };
    let is_right = match found.verdict {
        Verdict::Yes => Some(1.0),
        Verdict::No => Some(0.0),
        Verdict::Undecided => None,
    };
    let labels = || vec![("verified_session", found.session.to_string())];
    let value = is_right.map(|value| (labels(), value));
    let help = "Whether the session's recommendation is still right, 1 or 0; absent while that is \
                undecided.";
    metrics.some("recommendation_right", Unit::Count, help, value);
    let ratio = found.ratio.map(|ratio| (labels(), ratio, found.ratio_interval));
    let helps = [
        "What the recommended setting holds now, divided by what it held then.",
        "Lower bound of its 95 % interval.",
        "Upper bound of its 95 % interval.",
    ];
    let names = ["recommendation", "recommendation_low", "recommendation_high"];
    metrics.bounded(names, Unit::Ratio, helps, ratio.as_slice());
}

/// One load's.
pub fn of_load(result: &LoadResult<'_>) -> Vec<Metric> {
    let summary = result.summary;
    let common = vec![("server", result.about.server.clone())];
    let mut metrics = Metrics { common, all: Vec::new() };
    let rate = Unit::RequestsPerSecond;
    metrics.one("load_offered", rate, "Requests due a second.", summary.offered_load_rps);
    let clients = summary.clients.map(f64::from);
    metrics.one("load_clients", Unit::Count, "Clients of the closed model.", clients);
    let help = "Good replies a second.";
    metrics.one("load_throughput", rate, help, Some(summary.throughput_rps));
    let help = "Good replies within the goal a second.";
    metrics.one("load_goodput", rate, help, summary.goodput_rps);
    let help = "The measured part, without the warm-up.";
    metrics.one("load_duration", Unit::Seconds, help, Some(summary.duration_s));
    let requests = [
        ("due", summary.due),
        ("sent", summary.sent),
        ("completed", summary.completed),
        ("failed", summary.failed()),
    ];
    let requests =
        requests.map(|(state, count)| (vec![("state", state.to_string())], count as f64));
    metrics.some("load_requests", Unit::Count, "Requests by what became of them.", requests);
    let replies = summary.status.iter();
    let replies = replies.map(|(code, count)| (vec![("status", code.clone())], *count as f64));
    metrics.some("load_replies", Unit::Count, "Replies by status.", replies);
    let errors = summary.errors.by_class();
    let errors = errors.map(|(class, count)| (vec![("class", code(&class))], count as f64));
    metrics.some("load_errors", Unit::Count, "Errors by class.", errors);
    let help = "From when a request was due to its last byte.";
    metrics.distributions("load_latency", help, vec![distribution(Vec::new(), summary)]);
    let lag = Some(summary.send_lag_s.p99);
    let help = "How late requests left, 99th percentile.";
    metrics.one("load_send_lag_p99", Unit::Seconds, help, lag);
    let help = "Whether the result is valid: 0 when the generator or the machine set the limit.";
    metrics.one("load_valid", Unit::Count, help, Some(f64::from(u8::from(summary.valid))));
    let met = summary.slo.as_ref().and_then(|slo| Some((slo.goals.to_string(), slo.met?)));
    let met = met.map(|(text, met)| (vec![("slo", text)], f64::from(u8::from(met))));
    let help = "Whether the goal was met, 1 or 0; absent while that is undecided.";
    metrics.some("load_goal_met", Unit::Count, help, met);
    metrics.all
}
