//! Does the diagnosis name what truly sets the limit? Situations made on purpose on real servers,
//! each with its true cause written down beforehand, and controls that must not be mistaken.
//!
//! Run by `make bench-diagnosis`; the variables that change it are those of [`Settings`]. Every
//! size of a situation leaves a record as it is measured, and what is there is not measured again:
//! a run that was cut goes on. Table and sums are printed at the end, and also when it was
//! interrupted. It fails when too few are named right, or one is wrong and sure.

mod beside;
mod child;
mod judge;
mod measure;
mod record;
mod report;
mod site;
mod situation;
mod situations;

use std::fs;
use std::path::PathBuf;

use sweetspot::monitor::host;
use sweetspot::terms::StopSignal;

use record::Record;
use report::{Row, Sums};
use situation::{CORES, Situation, Size};

use crate::common::{Result, interrupt, machine, options, program};

/// How long and what; the defaults are the evidence.
pub struct Settings {
    /// Length of the measured part of a load (`SECONDS`).
    seconds: u64,
    /// Nothing is measured: what was is judged again, whatever program measured it (`JUDGE=1`).
    only_judges: bool,
    /// Where records, rows and the report go (`FOLDER`).
    folder: PathBuf,
}

impl Settings {
    fn from_environment() -> Result<Self> {
        let settings = Self {
            seconds: options::at_least(1, "SECONDS", 6)?,
            only_judges: options::is_on("JUDGE")?,
            folder: options::folder("target/bench-diagnosis")?,
        };
        fs::create_dir_all(settings.records())?;
        Ok(settings)
    }

    fn records(&self) -> PathBuf {
        self.folder.join("records")
    }

    /// What makes two records comparable: the programs, the machine, and how long was measured.
    fn build(&self) -> Result<String> {
        let build = machine::build(env!("CARGO_PKG_VERSION"), &program())?;
        Ok(format!("{build}, {} s", self.seconds))
    }
}

/// One size of a situation.
pub struct Run<'a> {
    situation: &'a Situation,
    size: &'a Size,
    /// Of the size, from 1.
    number: usize,
}

impl Run<'_> {
    /// As its files are called.
    fn name(&self) -> String {
        format!("{}-{}", self.situation.name, self.number)
    }

    fn record(&self, settings: &Settings) -> PathBuf {
        settings.records().join(format!("{}.json", self.name()))
    }
}

pub fn run(arguments: &[&str]) -> Result<()> {
    let settings = Settings::from_environment()?;
    let stop = interrupt::install();
    match arguments {
        [mark, name, number] if *mark == child::MARK => one(&settings, name, number, &stop),
        _ => all(&settings),
    }
}

/// In a process of its own: see child.rs.
fn one(settings: &Settings, name: &str, number: &str, stop: &StopSignal) -> Result<()> {
    let situations = situations::all();
    let mut runs = situations.iter().flat_map(runs);
    let run = runs
        .find(|run| run.situation.name == name && run.number.to_string() == number)
        .ok_or("no such situation")?;
    measure::measure(run.size, settings, stop)?.write(&run.record(settings))
}

/// Measures what is not there yet, and shows what is named.
fn all(settings: &Settings) -> Result<()> {
    let mut situations = situations::all();
    let names: Vec<&str> = situations.iter().map(|one| one.name).collect();
    let wanted = options::names("SITUATIONS", "", &names)?;
    situations.retain(|one| wanted.is_empty() || wanted.iter().any(|name| name == one.name));
    if host::allowed_cores(0).len() < CORES as usize {
        return Err(format!("this takes {CORES} cores").into());
    }
    let build = settings.build()?;
    let mut rows = Vec::new();
    let outcome = situations.iter().flat_map(runs).try_for_each(|run| -> Result<()> {
        let row = row(&run, settings, &build)?;
        eprintln!("bench: {}", row.cells().join(" | "));
        rows.push(row);
        Ok(())
    });
    let version = format!("sweetspot {}", env!("CARGO_PKG_VERSION"));
    let text = report::text(&[version, machine::line()], &rows);
    fs::write(settings.folder.join("report.md"), &text)?;
    fs::write(settings.folder.join("rows.jsonl"), lines(&rows)?)?;
    println!("{text}");
    outcome?;
    Ok(Sums::of(&rows).check()?)
}

fn runs(situation: &Situation) -> impl Iterator<Item = Run<'_>> {
    let sizes = situation.sizes.iter().zip(1..);
    sizes.map(move |(size, number)| Run { situation, size, number })
}

/// What is named, from the record that is there or from a new one.
fn row(run: &Run<'_>, settings: &Settings, build: &str) -> Result<Row> {
    let path = run.record(settings);
    let is_ours = |record: &Record| settings.only_judges || record.build == build;
    if let Some(record) = Record::read(&path).filter(is_ours) {
        return judge::judge(run, &record);
    }
    if settings.only_judges {
        return Ok(judge::unmeasured(run, "it was not measured"));
    }
    interrupt::check()?;
    eprintln!("bench: {} measures {}", run.name(), run.size.text());
    let measured = child::measure(run, settings)?;
    interrupt::check()?;
    match (measured, Record::read(&path)) {
        (Ok(()), Some(record)) => judge::judge(run, &record),
        (Ok(()), None) => Err(format!("{} can't be read back", path.display()).into()),
        (Err(why), _) => Ok(judge::unmeasured(run, &why)),
    }
}

/// A row a line, as JSON.
fn lines(rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    for row in rows {
        text += &serde_json::to_string(row)?;
        text.push('\n');
    }
    Ok(text)
}
