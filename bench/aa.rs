//! How much does the same differ from itself? One setting of some of the apps of `bench/holds`,
//! started afresh again and again, the apps in turn, so that the starts of each are spread over the
//! whole time. Each start is measured twice.
//!
//! Run by `make bench-aa`. The windows of a start are rows of `rows.csv` once it is over; starts
//! that are there are not measured again: a run that was cut off goes on where it stopped. Rows of
//! another setting or length are put aside.

mod measure;
mod report;
mod rows;
mod spread;

use std::fs;
use std::path::PathBuf;

use sweetspot::terms::Configuration;

use rows::Row;

use crate::common::options::{self, at_least};
use crate::common::rows::Rows;
use crate::common::{Result, interrupt};
use crate::holds::apps::{self, App};

/// How often and how long; the defaults are the evidence.
pub struct Sizes {
    /// Of each app (`STARTS`).
    starts: u32,
    /// Length of each window (`SECONDS`).
    seconds: u64,
    /// Which, in this order (`APPS`).
    apps: Vec<&'static App>,
    setting: Configuration,
    /// Where rows and the report go (`FOLDER`).
    folder: PathBuf,
}

impl Sizes {
    fn from_environment() -> Result<Self> {
        Ok(Self {
            starts: at_least(1, "STARTS", 30)?,
            seconds: at_least(1, "SECONDS", 8)?,
            apps: apps::wanted("plain tails pool collection")?,
            setting: Configuration::new(2, 4)?,
            folder: options::folder("target/bench-aa")?,
        })
    }
}

pub fn run() -> Result<()> {
    let sizes = Sizes::from_environment()?;
    let asked = format!("{}, loads of {} s", sizes.setting, sizes.seconds);
    let mut rows: Rows<Row> = Rows::of_build(&sizes.folder.join("rows.csv"), &asked)?;
    let measured = measure::all(&sizes, &mut rows, &interrupt::install());
    let text = report::of(&asked, &sizes.apps, &rows);
    fs::write(sizes.folder.join("report.md"), &text)?;
    println!("{text}");
    measured
}
