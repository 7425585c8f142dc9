//! What was measured of load generators, a row a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::common::rows::Rows;

/// One run of one tool. Seconds, bytes, requests per second.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {
    pub case: String,
    pub tool: String,
    pub round: u32,
    /// How long it was asked to run.
    pub seconds: u64,
    pub state: State,
    pub requests: Option<f64>,
    pub server_requests: Option<f64>,
    pub errors: Option<f64>,
    pub throughput_rps: Option<f64>,
    pub cpu_user_s: Option<f64>,
    pub cpu_system_s: Option<f64>,
    pub cpu_s_per_request: Option<f64>,
    pub cpu_user_s_per_request: Option<f64>,
    pub rss_bytes_max: Option<f64>,
    pub connections: Option<f64>,
    pub latency_s_p50: Option<f64>,
    pub latency_s_p99: Option<f64>,
    pub latency_s_max: Option<f64>,
    pub send_lag_s_p50: Option<f64>,
    pub send_lag_s_p99: Option<f64>,
    pub clean_seconds: Option<f64>,
    pub exact_share: Option<f64>,
    pub exact_share_planned: Option<f64>,
    pub stolen_s: Option<f64>,
    pub wall_s: Option<f64>,
    pub system_calls_per_request: Option<f64>,
    pub instructions_per_request: Option<f64>,
    /// The rate that was asked for.
    pub planned_rps: Option<f64>,
    /// 1 where a tool holds its own figures for the server's, else 0.
    pub valid: Option<f64>,
    /// Seconds of the load after which it said that it was late.
    pub late_said_s: Option<f64>,
    /// What was wrong with the run or stands beside it; empty when nothing.
    pub note: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    #[default]
    Ok,
    /// No figures but what it used: it failed, or its output could not be read.
    Error,
}

impl Row {
    pub fn new(case: &str, tool: &str, round: u32, seconds: u64) -> Self {
        Self { case: case.to_string(), tool: tool.to_string(), round, seconds, ..Self::default() }
    }

    /// Adds a sentence.
    pub fn remark(&mut self, text: &str) {
        let separator = if self.note.is_empty() { "" } else { "; " };
        // A row is a line.
        self.note += &format!("{separator}{text}").replace([',', '\n', '\r'], " ");
    }
}

impl Rows<Row> {
    /// Was this run made, for so long, and did it succeed?
    pub fn has(&self, wanted: &Row) -> bool {
        self.of(&wanted.case, wanted.seconds).iter().any(|row| {
            (&row.tool, row.round) == (&wanted.tool, wanted.round) && row.state == State::Ok
        })
    }

    /// The rows of a case as it is now, with the last word on each run.
    pub fn of(&self, case: &str, seconds: u64) -> Vec<&Row> {
        let mut last: BTreeMap<(&str, u32), &Row> = BTreeMap::new();
        for row in self.iter().filter(|row| row.case == case && row.seconds == seconds) {
            last.insert((row.tool.as_str(), row.round), row);
        }
        last.into_values().collect()
    }
}
