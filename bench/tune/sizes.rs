//! How long and how often, from environment variables.

use std::path::PathBuf;

use sweetspot::terms::Configuration;

use crate::Result;
use crate::environment::number;
use crate::workload::{WORKLOADS, Workload};

/// With less, no window fits behind the burst that a capacity begins with.
const SECONDS_LEAST: u64 = 15;
const USUAL_WORKLOADS: &str = "nothing cpu mixed io";

/// The defaults are the evidence.
pub struct Sizes {
    /// Load of one capacity of the grid (`SECONDS_PER_CELL`), and how many on fresh starts of each
    /// cell (`REPLICATES`).
    pub seconds_per_cell: u64,
    pub replicates: u32,
    pub tunes: u32,
    /// What a tune is given (`TUNE_BUDGET`).
    pub tune_budget: String,
    pub blocks: u32,
    /// Load of one capacity of a block (`BLOCK_SECONDS`).
    pub block_seconds: u64,
    pub workers: Vec<u16>,
    pub threads: Vec<u16>,
    /// Which, in this order (`WORKLOADS`).
    pub workloads: Vec<&'static Workload>,
    /// Where rows, results and the report go.
    pub folder: PathBuf,
    /// Nothing is measured (`JUDGE=1`).
    pub only_judges: bool,
}

impl Sizes {
    pub fn from_environment() -> Result<Self> {
        let text = |name, default: &str| std::env::var(name).unwrap_or(default.to_string());
        Ok(Self {
            seconds_per_cell: seconds("SECONDS_PER_CELL", 60)?,
            replicates: number("REPLICATES", 3)?,
            tunes: number("TUNES", 2)?,
            // Less than an eighth of 12 cells x 3 x 60 s: a capacity ends when it is clear.
            tune_budget: text("TUNE_BUDGET", "4m"),
            blocks: number("BLOCKS", 6)?,
            block_seconds: seconds("BLOCK_SECONDS", 30)?,
            workers: counts("WORKERS", &text("WORKERS", "1,2,4"))?,
            threads: counts("THREADS", &text("THREADS", "1,2,4,8"))?,
            workloads: workloads(&text("WORKLOADS", USUAL_WORKLOADS))?,
            folder: PathBuf::from(text("FOLDER", "target/bench-tune")),
            only_judges: number("JUDGE", 0)? == 1,
        })
    }

    /// Every cell, a row of workers after the other.
    pub fn cells(&self) -> Vec<Configuration> {
        let all = self.workers.iter().flat_map(|&w| self.threads.iter().map(move |&t| (w, t)));
        all.filter_map(|(w, t)| Configuration::new(w, t).ok()).collect()
    }
}

fn seconds(name: &str, default: u64) -> Result<u64> {
    match number(name, default)? {
        few if few < SECONDS_LEAST => {
            let least = format!("{name}: {few} s are too few to measure a capacity in");
            Err(format!("{least}; at least {SECONDS_LEAST} are needed").into())
        }
        enough => Ok(enough),
    }
}

/// A zero, of which no server could be made, is refused here rather than left out.
fn counts(name: &str, text: &str) -> Result<Vec<u16>> {
    let one = |part: &str| part.trim().parse().ok().filter(|count| *count > 0);
    let all: Option<Vec<u16>> = text.split(',').map(one).collect();
    all.ok_or_else(|| format!("{name}: '{text}' is no list such as 1,2,4").into())
}

/// A mistyped name must not look like a result.
fn workloads(text: &str) -> Result<Vec<&'static Workload>> {
    let is_between = |c: char| c == ',' || c.is_whitespace();
    let names = text.split(is_between).filter(|name| !name.is_empty());
    let find = |name: &str| {
        let there = WORKLOADS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let found = WORKLOADS.iter().find(|one| one.name == name);
        found.ok_or_else(|| format!("WORKLOADS: '{name}' is none; there are {there}").into())
    };
    names.map(find).collect()
}
