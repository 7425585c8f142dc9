//! Does what `tune` prints hold on real servers? Small apps on Puma, each with something that real
//! apps do beside computing and waiting: a whole session of the command, and then what it printed,
//! offered to fresh starts of its choice: the printed rate twice, the lower end of its interval
//! once; and nine tenths of the printed rate as often as is asked for.
//!
//! Run by `make bench-holds`. Every session and every hold is a row of `rows.csv`, and one that is
//! there already is not measured again: a run that was cut off goes on where it stopped. Rows of
//! another goal, budget or length are put aside.

pub mod apps;
mod measure;
mod report;
mod rows;

use std::fs;
use std::path::PathBuf;

use apps::App;
use rows::Row;
use sweetspot::terms::Slo;

use crate::common::options::{self, at_least, number};
use crate::common::rows::Rows;
use crate::common::{Result, bars, interrupt};

/// How long and what; the defaults are the evidence.
pub struct Sizes {
    /// What a session is given (`BUDGET`). Below two minutes it has no time to hold its choice.
    budget: String,
    /// What must hold (`SLO`).
    slo: Slo,
    /// How many more fresh starts are offered nine tenths of the printed rate (`REDEPLOYED`).
    redeployed: u32,
    /// How long a rate is offered after the warm-up, seconds (`HOLD`).
    hold_s: u64,
    /// Draws how large their requests are (`SCALED`, a seed).
    scaled: Option<u64>,
    /// Which, in this order (`APPS`).
    apps: Vec<&'static App>,
    /// Where rows, sessions and the report go (`FOLDER`).
    folder: PathBuf,
}

impl Sizes {
    fn from_environment() -> Result<Self> {
        Ok(Self {
            budget: options::text("BUDGET", "4m"),
            slo: options::text("SLO", "p95<200ms,errors<1%").parse()?,
            redeployed: number("REDEPLOYED", 0)?,
            hold_s: at_least(1, "HOLD", 120)?,
            scaled: options::seed("SCALED")?,
            apps: apps::wanted("")?,
            folder: options::folder("target/bench-holds")?,
        })
    }
}

pub fn run() -> Result<()> {
    let sizes = Sizes::from_environment()?;
    let scaled = sizes.scaled.map_or(String::new(), |seed| format!(", scaled by seed {seed}"));
    let Sizes { slo, budget, hold_s, .. } = &sizes;
    let asked = format!("{slo}, budget {budget}, holds of {hold_s} s{scaled}");
    let mut rows = Rows::of_build(&sizes.folder.join("rows.csv"), &asked)?;
    let measured = measure(&sizes, &mut rows);
    let bars = report::bars(&sizes.apps, &rows);
    let text = report::of(&asked, &sizes, &rows, &bars);
    fs::write(sizes.folder.join("report.md"), &text)?;
    println!("{text}");
    measured?;
    bars::check(&bars)
}

/// An app that cannot be measured does not keep the others from it.
fn measure(sizes: &Sizes, rows: &mut Rows<Row>) -> Result<()> {
    let stop = interrupt::install();
    let mut failed = Vec::new();
    for app in &sizes.apps {
        let measured = measure::app(app, sizes, rows, &stop);
        interrupt::check()?;
        if let Err(error) = measured {
            eprintln!("{}: {error}", app.name);
            failed.push(app.name);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("not all was measured of {}", failed.join(", ")).into()),
    }
}
