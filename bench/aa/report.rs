//! The table: what was measured, and what the search assumes.

use std::collections::BTreeMap;

use sweetspot::search::{DRIFT_SD_LOG, GUESS_DEGREES, NOISE_SD_LOG, START_SD_LOG};

use super::rows::Row;
use super::spread::Differing;
use crate::common::machine;
use crate::common::rows::Rows;
use crate::common::table::table;
use crate::holds::apps::App;

/// A figure of a window: its name, unit, and value in that unit.
type Figure = (&'static str, fn(&Row) -> f64);

const FIGURES: [Figure; 4] = [
    ("most throughput, requests/s", |row| row.throughput_rps_max),
    ("CPU of a request, ms", |row| 1e3 * row.cpu_s_per_request),
    ("p50, ms", |row| 1e3 * row.latency_s_p50),
    ("p95, ms", |row| 1e3 * row.latency_s_p95),
];

/// Everything, as Markdown.
pub fn of(asked: &str, apps: &[&App], rows: &Rows<Row>) -> String {
    let mut commits: Vec<&str> = rows.iter().map(|row| row.commit.as_str()).collect();
    commits.dedup();
    let head = [
        "app",
        "figure",
        "starts",
        "mean",
        "between starts, %",
        "between windows of a start, %",
        "start noise, %",
        "drift, %",
        "first to last, % (95 %)",
        "neighbours' correlation",
    ];
    let lines = apps.iter().flat_map(|app| {
        let starts = starts(app, rows);
        FIGURES.iter().map(move |figure| line(app, figure, &starts))
    });
    let invalid = rows.iter().filter(|row| !row.is_valid).count();
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    format!(
        "# The same setting, started again and again\n\n{}; rows of commit {}. {asked}; {} \
         windows, {invalid} of them not valid; {failed} requests failed.\n\n{}{}\n\
         Spreads are standard deviations of logarithms. Start noise: what neighbours in time \
         differ by beyond their windows. Drift: what starts differ by beyond neighbours. Of \
         starts that do not depend on each other a correlation lies within 1.96 / sqrt(starts) \
         of 0 in 95 of 100 cases. The search takes what it assumes of \
         both as known from {GUESS_DEGREES} values.\n",
        machine::line(),
        commits.join(", "),
        rows.len(),
        table(&head, lines),
        assumed()
    )
}

/// An app's windows by start, oldest first. A start that lacks one is left out.
fn starts<'a>(app: &App, rows: &'a Rows<Row>) -> Vec<Vec<&'a Row>> {
    let mut starts: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
    for row in rows.of(app.name) {
        starts.entry(row.start).or_default().push(row);
    }
    let most = starts.values().map(Vec::len).max().unwrap_or(0);
    let mut whole: Vec<_> = starts.into_values().filter(|start| start.len() == most).collect();
    whole.sort_by_key(|start| start[0].at_s);
    whole
}

fn line(app: &App, (name, of): &Figure, starts: &[Vec<&Row>]) -> [String; 10] {
    let values = |start: &Vec<&Row>| start.iter().map(|row| of(row)).collect::<Vec<_>>();
    let is_there = |values: &Vec<f64>| values.iter().all(|value| *value > 0.0);
    let values: Vec<Vec<f64>> = starts.iter().map(values).filter(is_there).collect();
    let [app, name] = [app.name, name].map(str::to_string);
    let Some(it) = Differing::of(&values) else {
        let none = || "-".to_string();
        let count = values.len().to_string();
        return [app, name, count, none(), none(), none(), none(), none(), none(), none()];
    };
    let trend = it.trend.map_or("-".to_string(), |trend| {
        let [change, low, high] = [trend.value, trend.low, trend.high].map(|it| 100.0 * it);
        format!("{change:+.1} ({low:+.1} to {high:+.1})")
    });
    [
        app,
        name,
        it.starts.to_string(),
        format!("{:.2}", it.mean),
        percent(it.between_starts),
        percent(it.within_starts),
        percent(it.start_noise),
        percent(it.drift),
        trend,
        format!("{:+.2}", it.neighbours),
    ]
}

/// A last line of the table, of what the search takes for granted.
fn assumed() -> String {
    let [windows, start, drift] = [NOISE_SD_LOG, START_SD_LOG, DRIFT_SD_LOG].map(percent);
    format!("| the search assumes | | | | | {windows} | {start} | {drift} | | |\n")
}

fn percent(ratio: f64) -> String {
    format!("{:.2}", 100.0 * ratio)
}
