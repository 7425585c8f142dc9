//! The evidence for `tune` on real servers: for each workload a full grid of capacities, then the
//! command itself several times, then the grid's best and what was chosen measured again, in turn,
//! on fresh starts.
//!
//! Run by `make bench-tune`. Every row is appended to `rows.csv` as it is measured, and one that is
//! there already is not measured again: a run that was cut off goes on where it stopped. `JUDGE=1`
//! measures nothing and reports what is there.

pub mod capacity;
mod judge;
mod measure;
mod report;
mod rows;
mod site;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use judge::Judged;
use rows::Row;
use sweetspot::terms::Configuration;

use crate::common::options::{self, at_least, number};
use crate::common::rows::Rows;
use crate::common::workload::{WORKLOADS, Workload, cells};
use crate::common::{Result, bars, interrupt, machine};

/// With less, no window fits behind the burst that a capacity begins with.
const SECONDS_LEAST: u64 = 15;

/// How long and how often; the defaults are the evidence.
pub struct Sizes {
    /// Load of one capacity of the grid (`SECONDS_PER_CELL`), and how many on fresh starts of each
    /// cell (`REPLICATES`).
    seconds_per_cell: u64,
    replicates: u32,
    tunes: u32,
    /// What a tune is given (`TUNE_BUDGET`).
    tune_budget: String,
    blocks: u32,
    /// Load of one capacity of a block (`BLOCK_SECONDS`).
    block_seconds: u64,
    workers: Vec<u16>,
    threads: Vec<u16>,
    /// What of the processor the server gets, by quota (`CPUS`); empty: all.
    cpus: String,
    /// Which, in this order (`WORKLOADS`).
    workloads: Vec<&'static Workload>,
    /// Where rows, results and the report go.
    folder: PathBuf,
    /// Nothing is measured (`JUDGE=1`).
    only_judges: bool,
}

impl Sizes {
    fn from_environment() -> Result<Self> {
        let names = WORKLOADS.each_ref().map(|one| one.name);
        let wanted = options::names("WORKLOADS", "nothing cpu mixed io", &names)?;
        let workload = |name: &String| WORKLOADS.iter().find(|one| one.name == name);
        Ok(Self {
            seconds_per_cell: at_least(SECONDS_LEAST, "SECONDS_PER_CELL", 60)?,
            replicates: number("REPLICATES", 3)?,
            tunes: number("TUNES", 2)?,
            // Less than an eighth of 12 cells x 3 x 60 s: a capacity ends when it is clear.
            tune_budget: options::text("TUNE_BUDGET", "4m"),
            blocks: number("BLOCKS", 6)?,
            block_seconds: at_least(SECONDS_LEAST, "BLOCK_SECONDS", 30)?,
            workers: counts("WORKERS", "1,2,4")?,
            threads: counts("THREADS", "1,2,4,8")?,
            cpus: options::text("CPUS", ""),
            workloads: wanted.iter().filter_map(workload).collect(),
            folder: options::folder("target/bench-tune")?,
            only_judges: options::is_on("JUDGE")?,
        })
    }

    fn cells(&self) -> Vec<Configuration> {
        cells(&self.workers, &self.threads)
    }
}

/// A zero, of which no server could be made, is refused here rather than left out.
fn counts(name: &str, default: &str) -> Result<Vec<u16>> {
    let text = options::text(name, default);
    let one = |part: &str| part.trim().parse().ok().filter(|count| *count > 0);
    let all: Option<Vec<u16>> = text.split(',').map(one).collect();
    all.ok_or_else(|| format!("{name}: '{text}' is no list such as 1,2,4").into())
}

pub fn run() -> Result<()> {
    let sizes = Sizes::from_environment()?;
    let mut rows = Rows::open(&sizes.folder.join("rows.csv"))?;
    let measured = match sizes.only_judges {
        true => Ok(()),
        false => measure(&sizes, &mut rows),
    };
    let judged: Vec<Judged> = WORKLOADS.iter().filter_map(|one| Judged::of(one, &rows)).collect();
    let grounds = fs::read_to_string(grounds_path(&sizes.folder)).unwrap_or_default();
    let bars: Vec<bars::Bar> = judged.iter().flat_map(Judged::bars).collect();
    let text = report::of(&judged, &grounds, &bars);
    fs::write(sizes.folder.join("report.md"), &text)?;
    println!("{text}");
    measured?;
    bars::check(&bars)
}

/// A workload that cannot be measured does not keep the others from it.
fn measure(sizes: &Sizes, rows: &mut Rows<Row>) -> Result<()> {
    let stop = interrupt::install();
    note_grounds(sizes)?;
    let mut failed = Vec::new();
    for workload in &sizes.workloads {
        let measured = measure::workload(workload, sizes, rows, &stop);
        interrupt::check()?;
        if let Err(error) = measured {
            eprintln!("{}: {error}", workload.name);
            failed.push(workload.name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not all was measured of {}", failed.join(", ")).into()),
    }
}

/// Notes on what is measured now: a run that goes on may do so with another commit.
fn note_grounds(Sizes { folder, cpus, .. }: &Sizes) -> Result<()> {
    let path = grounds_path(folder);
    let share =
        if cpus.is_empty() { String::new() } else { format!(", the server limited to {cpus}") };
    let now = machine::line() + &share + "\n";
    if !fs::read_to_string(&path).unwrap_or_default().ends_with(&now) {
        OpenOptions::new().create(true).append(true).open(&path)?.write_all(now.as_bytes())?;
    }
    Ok(())
}

fn grounds_path(folder: &Path) -> PathBuf {
    folder.join("measured-on.txt")
}
