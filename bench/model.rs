//! The evidence for the model: grids of workers x threads on real servers, of which four cells are
//! fitted to and the others predicted; and whether the configuration that the model alone would
//! choose is as good as the best of the grid.
//!
//! Run by `make bench-model`. Every trial is appended to `trials.jsonl` as it ends, and one that is
//! there already is not run again: a run that was cut off goes on where it stopped. `JUDGE=1`
//! measures nothing and judges what is there.

#[path = "common/environment.rs"]
mod environment;
#[path = "common/interrupt.rs"]
mod interrupt;
#[path = "model/judge.rs"]
mod judge;
#[path = "common/machine.rs"]
mod machine;
#[path = "model/measure.rs"]
mod measure;
#[path = "model/report.rs"]
mod report;
#[path = "model/rows.rs"]
mod rows;
#[path = "common/trial.rs"]
mod trial;
#[path = "model/workload.rs"]
mod workload;

use std::fs;
use std::path::PathBuf;

use environment::number;
use judge::Judged;
use rows::Rows;
use workload::WORKLOADS;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // Cargo asks every bench with `--bench`, and tests it without.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let stop = interrupt::install();
    let folder = std::env::var_os("FOLDER").map_or("target/bench-model".into(), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let mut rows = Rows::open(&folder.join("trials.jsonl"))?;
    let seconds = number("SECONDS", 6)?;
    let blocks = number("BLOCKS", 4)?;
    let mut judged = Vec::new();
    for workload in &WORKLOADS {
        if number("JUDGE", 0)? == 0 {
            measure::grid(workload, seconds, &mut rows, &stop)?;
            let contenders = judge::contenders(workload, &rows)?;
            measure::blocks(workload, contenders, blocks, seconds, &mut rows, &stop)?;
        }
        judged.push(Judged::of(workload, &rows)?);
    }
    let text = report::of(&judged, seconds);
    fs::write(folder.join("report.md"), &text)?;
    println!("{text}");
    Ok(())
}
