//! `sweetspot compare`: arguments.

use std::path::PathBuf;

use super::sessions::StoreArgument;
use super::{Exit, UsageError};
use crate::report::{document, json, junit, outside, page, render};
use crate::session::compare::{CompareError, Question, Source, SourceError, compare};
use crate::session::report::{named_file, write_file};
use crate::terms::{CompareReport, Standing};

const EXAMPLES: &str = "\
Examples:
  sweetspot compare 3 4                   # two sessions of this folder; 4 is judged against 3
  sweetspot compare 3@current 3@chosen    # two settings of one session, within its blocks
  sweetspot compare before.json last      # a result that 'tune -o json=before.json' wrote
  sweetspot compare 3 4 -o junit=compare.xml -o html=compare.html
  sweetspot compare old/.sweetspot/sweetspot.db:7 last --machines

Exit codes: 0 better or equivalent; 3 worse; 4 undecided, or not comparable.";

/// Judges one session or result against another: ratios with intervals, and a verdict for CI.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What it is judged against: a session (3, last, FILE:3), a setting of one (3@2x5, 3@current,
    /// 3@chosen), or a file that 'tune' or 'load' wrote as JSON.
    a: Source,
    /// What is judged.
    b: Source,
    /// The machine is what is compared: its CPU and cores may differ. Takes at least three starts
    /// on each side.
    #[arg(long)]
    machines: bool,
    #[command(flatten)]
    store: StoreArgument,
    #[command(flatten)]
    shown: Shown,
}

/// How a comparison is shown and written.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Also write the comparison as JUnit XML, for CI (junit=FILE), as a page (html=FILE), or as
    /// markdown=FILE or json=FILE. Repeatable.
    #[arg(short, long = "output", value_name = "FORMAT=FILE", value_parser = output)]
    outputs: Vec<(FileFormat, PathBuf)>,
    /// Print JSON.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print the verdict alone.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let question = Question {
        a: &arguments.a,
        b: &arguments.b,
        store: &arguments.store.path,
        compares_machines: arguments.machines,
    };
    let report = compare(&question).map_err(with_exit_code)?;
    arguments.shown.show(&report)
}

impl Shown {
    /// Prints and writes a comparison; the exit code is its verdict.
    pub fn show(&self, report: &CompareReport) -> anyhow::Result<Exit> {
        match (self.json, self.quiet) {
            (true, _) => print!("{}", json::render(report)),
            (_, true) => print!("{}", outside::paragraph(&document::compare::in_short(report))),
            _ => print!("{}", render::plain(&document::compare::document(report))),
        }
        for (format, file) in &self.outputs {
            let content = match format {
                FileFormat::Junit => junit::comparison(report),
                FileFormat::Html => page::compare(report, &page::assets()),
                FileFormat::Markdown => render::markdown(&document::compare::document(report)),
                FileFormat::Json => json::render(report),
            };
            write_file(file, &content)?;
        }
        Ok(exit(report))
    }
}

/// What is written beside what is printed.
#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Junit,
    Html,
    Markdown,
    Json,
}

fn output(text: &str) -> Result<(FileFormat, PathBuf), String> {
    match named_file(text) {
        Some(("junit", file)) => Ok((FileFormat::Junit, file)),
        Some(("html", file)) => Ok((FileFormat::Html, file)),
        Some(("markdown", file)) => Ok((FileFormat::Markdown, file)),
        Some(("json", file)) => Ok((FileFormat::Json, file)),
        _ => Err("write junit=FILE, html=FILE, markdown=FILE or json=FILE, such as \
                  html=compare.html"
            .to_string()),
    }
}

fn exit(report: &CompareReport) -> Exit {
    match report.change {
        Some(Standing::Better | Standing::Equivalent) => Exit::Done,
        Some(Standing::Worse) => Exit::NotMet,
        Some(Standing::Undecided) | None => Exit::Invalid,
    }
}

/// What cannot be compared is the user's to correct; a store that cannot be read need not be.
fn with_exit_code(error: CompareError) -> anyhow::Error {
    match error {
        CompareError::Source(SourceError::Session(error)) => super::sessions::with_exit_code(error),
        other => UsageError { message: other.to_string() }.into(),
    }
}
