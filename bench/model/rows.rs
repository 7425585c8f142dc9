//! The trials that were run, one a line of a file.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sweetspot::terms::{Configuration, Machine, TrialSummary};

use crate::Result;

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

pub struct Rows {
    path: PathBuf,
    all: Vec<Row>,
}

impl Rows {
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let all = text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>();
        let all = all.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path: path.to_path_buf(), all })
    }

    pub fn find(&self, workload: &str, kind: Kind, cell: Configuration) -> Option<&Row> {
        let is_it = |row: &&Row| row.kind == kind && row.summary.configuration == cell;
        self.of(workload).find(is_it)
    }

    pub fn of(&self, workload: &str) -> impl Iterator<Item = &Row> {
        self.all.iter().filter(move |row| row.workload == workload)
    }

    pub fn add(&mut self, row: Row) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&row)?)?;
        let trial = &row.summary;
        eprintln!(
            "{} {} {:?}: {:.1}/s, p95 {:.1} ms",
            row.workload,
            trial.configuration,
            row.kind,
            trial.summary.throughput_rps,
            trial.summary.latency_s.p95 * 1e3
        );
        self.all.push(row);
        Ok(())
    }
}
