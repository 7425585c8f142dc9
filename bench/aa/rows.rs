//! What was measured, a row a window.

use serde::{Deserialize, Serialize};

use crate::common::rows::Rows;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub app: String,
    /// Of the app, from 1.
    pub start: u32,
    /// Of the start, from 1.
    pub window: u32,
    /// When the window ended, seconds since 1970.
    pub at_s: u64,
    /// What clients that send again at once got, requests/s.
    pub throughput_rps_max: f64,
    /// What was offered then; the same for all windows of an app.
    pub rate_rps: f64,
    /// At that rate: CPU of all the server's processes by good replies, and latencies.
    pub cpu_s_per_request: f64,
    pub latency_s_p50: f64,
    pub latency_s_p95: f64,
    /// Of the requests at that rate.
    pub failed: u64,
    /// Of both loads.
    pub is_valid: bool,
    pub commit: String,
}

impl Rows<Row> {
    /// An app's windows, oldest first.
    pub fn of(&self, app: &str) -> impl Iterator<Item = &Row> {
        self.iter().filter(move |row| row.app == app)
    }
}
