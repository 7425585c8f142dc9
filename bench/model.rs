//! The evidence for the model: grids of workers x threads on real servers, of which four cells are
//! fitted to and the others predicted; and whether the configuration that the model alone would
//! choose is as good as the best of the grid.
//!
//! Run by `make bench-model`. Every trial is appended to `trials.jsonl` as it ends, and one that is
//! there already is not run again: a run that was cut off goes on where it stopped. `JUDGE=1`
//! measures nothing and judges what is there.

mod judge;
mod measure;
mod report;
mod rows;

use std::fs;

use judge::Judged;

use crate::common::options::{self, number};
use crate::common::rows::Rows;
use crate::common::workload::{MODEL_APP, WORKLOADS};
use crate::common::{Result, bars, interrupt};

pub fn run() -> Result<()> {
    let stop = interrupt::install();
    let folder = options::folder("target/bench-model")?;
    let mut rows = Rows::open(&folder.join("trials.jsonl"))?;
    let (seconds, blocks) = (number("SECONDS", 6)?, number("BLOCKS", 4)?);
    let mut judged = Vec::new();
    for workload in WORKLOADS.iter().filter(|one| one.app == MODEL_APP) {
        if !options::is_on("JUDGE")? {
            measure::grid(workload, seconds, &mut rows, &stop)?;
            let contenders = judge::contenders(workload, &rows)?;
            measure::blocks(workload, contenders, blocks, seconds, &mut rows, &stop)?;
        }
        judged.push(Judged::of(workload, &rows)?);
    }
    let bars = report::bars(&judged);
    let text = report::of(&judged, &bars, seconds);
    fs::write(folder.join("report.md"), &text)?;
    println!("{text}");
    bars::check(&bars)
}
