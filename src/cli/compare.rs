//! `sweetspot compare`: arguments.

mod revisions;

use std::path::{Path, PathBuf};

use super::sessions::StoreArgument;
use super::{Exit, UsageError, print, say};
use crate::report::{document, json, junit, outside, page, render};
use crate::session::compare::{CompareError, Question, Source, SourceError, compare};
use crate::session::report::{ReportError, named_file, write_file, write_markdown};
use crate::session::revisions::Range;
use crate::terms::{CompareReport, Standing};

const EXAMPLES: &str = "\
Examples:
  sweetspot compare 3 4                   # two sessions of this folder; 4 is judged against 3
  sweetspot compare 3@current 3@chosen    # two settings of one session, within its blocks
  sweetspot compare before.json last      # a result that 'tune -o json=before.json' wrote
  sweetspot compare 3 4 -o junit=compare.xml -o html=compare.html
  sweetspot compare old/.sweetspot/sweetspot.db:7 last --machines
  sweetspot compare --revisions main..HEAD          # two commits, measured here in turn
  sweetspot compare --revisions main...HEAD --prepare 'bundle install' -o comment=comment.md

Exit codes: 0 better or equivalent; 3 worse; 4 undecided, or not comparable; 1 not measured.";

/// Judges one session, result or revision against another: ratios with intervals, and a verdict
/// for CI.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What it is judged against: a session (3, last, FILE:3), a setting of one (3@2x5, 3@current,
    /// 3@chosen), or a file that 'tune' or 'load' wrote as JSON.
    #[arg(required_unless_present = "revisions", conflicts_with = "revisions")]
    a: Option<Source>,
    /// What is judged.
    #[arg(required_unless_present = "revisions", conflicts_with = "revisions")]
    b: Option<Source>,
    /// Two git revisions of the app instead, such as main..HEAD: both are started side by side and
    /// loaded in turn, for three to six minutes. main...HEAD: from where HEAD left main.
    #[arg(long, value_name = "A..B", conflicts_with = "machines")]
    revisions: Option<Range>,
    /// The machine is what is compared: its CPU and cores may differ. Takes at least three starts
    /// on each side.
    #[arg(long)]
    machines: bool,
    #[command(flatten)]
    store: StoreArgument,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    of_revisions: revisions::OfRevisions,
}

/// How a comparison is shown and written.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Also write the comparison as JUnit XML, for CI (junit=FILE), as a page (html=FILE), as
    /// markdown=FILE or json=FILE, or, only where something changed, as a comment for a pull
    /// request (comment=FILE). Repeatable.
    #[arg(short, long = "output", value_name = "FORMAT=FILE", value_parser = output)]
    outputs: Vec<(FileFormat, PathBuf)>,
    /// Print JSON.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
    /// Print the verdict alone, and no progress.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let report = match (&arguments.revisions, &arguments.a, &arguments.b) {
        (Some(range), ..) => {
            let shows_progress = !arguments.shown.quiet;
            revisions::compare(range, arguments.of_revisions, shows_progress)?
        }
        (None, Some(a), Some(b)) => {
            let store = &arguments.store.path;
            let question = Question { a, b, store, compares_machines: arguments.machines };
            compare(&question).map_err(with_exit_code)?
        }
        _ => unreachable!("clap asks for both where there are no revisions"),
    };
    arguments.shown.show(&report)
}

impl Shown {
    /// Prints and writes a comparison; the exit code is its verdict.
    pub fn show(&self, report: &CompareReport) -> anyhow::Result<Exit> {
        match (self.json, self.quiet) {
            (true, _) => print(json::render(report))?,
            (_, true) => print(outside::paragraph(&document::compare::in_short(report)))?,
            _ => print(render::plain(&document::compare::document(report)))?,
        }
        if !self.quiet {
            document::compare::warnings(report).iter().for_each(|it| say(format!("warning: {it}")));
        }
        for (format, file) in &self.outputs {
            match content(*format, report) {
                Some(content) => write(*format, file, &content)?,
                None => say(format!("nothing changed, so {} was not written", file.display())),
            }
        }
        Ok(exit(report))
    }
}

/// `None`: there is nothing to write, as nothing changed.
fn content(format: FileFormat, report: &CompareReport) -> Option<String> {
    Some(match format {
        FileFormat::Junit => junit::comparison(report),
        FileFormat::Html => page::compare(report, &page::assets()),
        FileFormat::Markdown => render::markdown(&document::compare::document(report)),
        FileFormat::Json => json::render(report),
        FileFormat::Comment => render::markdown(&document::compare::comment(report)?),
    })
}

/// Only Markdown can be a part of what is in the file already, a CI job's summary.
fn write(format: FileFormat, file: &Path, content: &str) -> Result<(), ReportError> {
    match format {
        FileFormat::Markdown | FileFormat::Comment => write_markdown(file, content),
        FileFormat::Junit | FileFormat::Html | FileFormat::Json => write_file(file, content),
    }
}

/// What is written beside what is printed.
#[derive(Debug, Clone, Copy)]
enum FileFormat {
    Junit,
    Markdown,
    Html,
    Json,
    Comment,
}

fn output(text: &str) -> Result<(FileFormat, PathBuf), String> {
    match named_file(text) {
        Some(("junit", file)) => Ok((FileFormat::Junit, file)),
        Some(("markdown", file)) => Ok((FileFormat::Markdown, file)),
        Some(("html", file)) => Ok((FileFormat::Html, file)),
        Some(("json", file)) => Ok((FileFormat::Json, file)),
        Some(("comment", file)) => Ok((FileFormat::Comment, file)),
        _ => Err("write junit=FILE, markdown=FILE, html=FILE, json=FILE or comment=FILE, such as \
                  html=compare.html"
            .into()),
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
        other => UsageError::of(other).into(),
    }
}
