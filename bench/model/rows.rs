//! The trials that were run, a row each; and the cells that they are of.

use serde::{Deserialize, Serialize};
use sweetspot::terms::{Configuration, Machine, TrialSummary};

use crate::common::rows::Rows;
use crate::common::workload::cells;

/// The cells that the model is fitted to: few and many workers and threads.
const FITTED: [(u16, u16); 4] = [(1, 1), (1, 8), (2, 3), (4, 1)];

/// Every cell.
pub fn grid() -> Vec<Configuration> {
    cells(&[1, 2, 3, 4], &[1, 3, 8])
}

pub fn is_fitted(cell: Configuration) -> bool {
    FITTED.contains(&(cell.workers.get(), cell.threads.get()))
}

/// Which trial of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One client.
    Unloaded,
    /// All it can take.
    Saturated,
    /// At half, and at four fifths, of what it took.
    Half,
    Most,
    /// All it can take, once more: a number for each round.
    Block(u32),
}

/// One trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub workload: String,
    pub kind: Kind,
    pub machine: Machine,
    /// The load generator ran on the server's cores.
    pub is_shared: bool,
    pub summary: TrialSummary,
}

impl Row {
    pub fn got_through_rps(&self) -> f64 {
        self.summary.summary.got_through_rps()
    }
}

impl Rows<Row> {
    pub fn find(&self, workload: &str, kind: Kind, cell: Configuration) -> Option<&Row> {
        let is_it = |row: &&Row| row.kind == kind && row.summary.configuration == cell;
        self.of(workload).find(is_it)
    }

    pub fn of(&self, workload: &str) -> impl Iterator<Item = &Row> {
        self.iter().filter(move |row| row.workload == workload)
    }
}
