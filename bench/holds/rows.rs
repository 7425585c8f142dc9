//! What was measured, a row each.

use serde::{Deserialize, Serialize};
use sweetspot::terms::Configuration;

use crate::common::rows::Rows;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A session of the command.
    #[default]
    Tune,
    /// The rate that it printed, offered to a fresh start.
    Printed,
    /// The lower end of that rate's interval, offered to a fresh start.
    Low,
    /// Nine tenths of that rate, offered to a fresh start.
    NineTenths,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Row {
    pub app: String,
    pub phase: Phase,
    /// Of this phase, from 1.
    pub number: u32,
    /// Both 0: the session chose nothing.
    pub workers: u16,
    pub threads: u16,
    /// Printed or offered, requests/s; 0: the session chose nothing.
    pub rate_rps: f64,
    /// The printed 95 % interval; of sessions alone, as is the next.
    pub low_rps: Option<f64>,
    pub high_rps: Option<f64>,
    /// What a fresh start held at the end of the session.
    pub held_rps: Option<f64>,
    /// Of the whole window; of holds alone, as are the next four.
    pub p95_s: Option<f64>,
    pub failed_ratio: Option<f64>,
    pub requests: Option<u64>,
    pub is_held: Option<bool>,
    /// Cores that neither the server nor the load generator used: whatever else ran on the machine,
    /// and the service that the app waits for.
    pub others_cores: Option<f64>,
    /// By the clock, starts included.
    pub seconds: f64,
    pub commit: String,
    /// What the command or the trial said beside its figures.
    pub notes: String,
}

impl Row {
    /// `None`: the session chose nothing.
    pub fn configuration(&self) -> Option<Configuration> {
        Configuration::new(self.workers, self.threads).ok()
    }
}

impl Rows<Row> {
    pub fn of(&self, app: &str, phase: Phase) -> impl Iterator<Item = &Row> {
        self.iter().filter(move |row| row.app == app && row.phase == phase)
    }

    pub fn find(&self, app: &str, phase: Phase, number: u32) -> Option<&Row> {
        self.of(app, phase).find(|row| row.number == number)
    }
}
