//! What was measured for `tune`, a row each.

use serde::{Deserialize, Serialize};
use sweetspot::terms::Configuration;

use crate::common::Result;
use crate::common::rows::Rows;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A capacity of a cell.
    Grid,
    /// What the command chose.
    Tune,
    /// A capacity of a contender, measured again.
    Blocks,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub workload: String,
    pub phase: Phase,
    /// From 1.
    pub round: u32,
    /// Both 0: a tune that chose nothing.
    pub workers: u16,
    pub threads: u16,
    /// Requests/s with the 95 % interval; 0: there is none, or it could not be measured.
    pub capacity_rps: f64,
    pub low_rps: f64,
    pub high_rps: f64,
    /// By the clock, starts included.
    pub seconds: f64,
    /// Under load.
    pub load_s: f64,
    /// The load that it was given, or the tune's budget.
    pub asked_s: f64,
}

impl Row {
    /// `None`: a tune that chose nothing.
    pub fn configuration(&self) -> Option<Configuration> {
        Configuration::new(self.workers, self.threads).ok()
    }
}

impl Rows<Row> {
    pub fn of(&self, workload: &str, phase: Phase) -> impl Iterator<Item = &Row> {
        self.iter().filter(move |row| row.workload == workload && row.phase == phase)
    }

    pub fn has(&self, workload: &str, phase: Phase, round: u32, cell: Configuration) -> bool {
        let mut rows = self.of(workload, phase).filter(|row| row.round == round);
        rows.any(|row| row.configuration() == Some(cell))
    }

    /// # Errors
    /// Capacities of another length are there: their sums would mean nothing.
    pub fn check_asked(&self, workload: &str, phase: Phase, asked_s: u64) -> Result<()> {
        let mut others = self.of(workload, phase).filter(|row| row.asked_s != asked_s as f64);
        let Some(row) = others.next() else { return Ok(()) };
        let there = format!("{workload} has capacities of {} s a cell", row.asked_s);
        let file = self.path().display();
        Err(format!("{file}: {there}, not {asked_s}; go on with these, or in another FOLDER")
            .into())
    }
}
