//! The evidence for `tune` on real servers: for each workload a full grid of capacities, then the
//! command itself several times, then the grid's best and what was chosen measured again, in turn,
//! on fresh starts.
//!
//! Run by `make bench-tune`. Every row is appended to `rows.csv` as it is measured, and one that is
//! there already is not measured again: a run that was cut off goes on where it stopped. `JUDGE=1`
//! measures nothing and reports what is there.

#[path = "common/bonds.rs"]
mod bonds;
#[path = "tune/capacity.rs"]
mod capacity;
#[path = "tune/command.rs"]
mod command;
#[path = "common/environment.rs"]
mod environment;
#[path = "common/interrupt.rs"]
mod interrupt;
#[path = "tune/judge.rs"]
mod judge;
#[path = "common/machine.rs"]
mod machine;
#[path = "tune/measure.rs"]
mod measure;
#[path = "tune/report.rs"]
mod report;
#[path = "tune/rows.rs"]
mod rows;
#[path = "tune/site.rs"]
mod site;
#[path = "tune/sizes.rs"]
mod sizes;
#[path = "common/trial.rs"]
mod trial;
#[path = "tune/workload.rs"]
mod workload;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use judge::Judged;
use rows::Rows;
use sizes::Sizes;
use workload::WORKLOADS;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // Cargo asks every bench with `--bench`, and tests it without.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let sizes = Sizes::from_environment()?;
    fs::create_dir_all(&sizes.folder)?;
    let mut rows = Rows::open(&sizes.folder.join("rows.csv"))?;
    let measured = match sizes.only_judges {
        true => Ok(()),
        false => measure(&sizes, &mut rows),
    };
    let judged: Vec<Judged> =
        WORKLOADS.iter().filter_map(|one| Judged::of(one, &rows, &sizes.folder)).collect();
    let grounds = fs::read_to_string(grounds_path(&sizes.folder)).unwrap_or_default();
    let text = report::of(&judged, &grounds);
    fs::write(sizes.folder.join("report.md"), &text)?;
    println!("{text}");
    measured
}

/// A workload that cannot be measured does not keep the others from it.
fn measure(sizes: &Sizes, rows: &mut Rows) -> Result<()> {
    let stop = interrupt::install();
    note_grounds(&sizes.folder)?;
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
fn note_grounds(folder: &Path) -> Result<()> {
    let path = grounds_path(folder);
    let now = format!("commit {}; {}\n", machine::commit(), machine::hardware().join("; "));
    if !fs::read_to_string(&path).unwrap_or_default().ends_with(&now) {
        OpenOptions::new().create(true).append(true).open(&path)?.write_all(now.as_bytes())?;
    }
    Ok(())
}

fn grounds_path(folder: &Path) -> PathBuf {
    folder.join("measured-on.txt")
}

/// The command as users run it.
fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sweetspot"))
}
