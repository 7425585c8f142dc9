//! `sweetspot doctor`: arguments.

use std::io::Write;
use std::path::PathBuf;

use super::sessions::StoreArgument;
use super::{Exit, UsageError};
use crate::report::document;
use crate::report::terminal::Channel;
use crate::session::doctor::{self, DoctorSettings};
use crate::terms::FindingState;

const EXAMPLES: &str = "\
Exits with 1 when something is bad.

Examples:
  sweetspot doctor
  sweetspot doctor --quick --json";

/// Checks whether this machine is fit to measure on.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The app's folder, whose tools are looked for.
    #[arg(value_name = "FOLDER", default_value = ".")]
    app: PathBuf,
    /// Under one and a half seconds, with coarser figures.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    store: StoreArgument,
    /// Print JSON: an array of findings.
    #[arg(long)]
    json: bool,
    /// Print only what is not in order.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let Arguments { app, quick, store, json, quiet } = arguments;
    if !app.is_dir() {
        let message =
            format!("{} is no folder; name the app's, or none for this one", app.display());
        return Err(UsageError { message }.into());
    }
    let folder = store.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let store = folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut findings = doctor::check(&DoctorSettings { quick, app, store });
    let is_bad = findings.iter().any(|finding| finding.state == FindingState::Bad);
    if quiet {
        findings.retain(|finding| finding.state != FindingState::Ok);
    }
    let findings = document::doctor::in_words(findings);
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &findings).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else if !(quiet && findings.is_empty()) {
        let has_colour = Channel::standard_output().style.colour;
        write!(out, "{}", document::doctor::table(&findings, has_colour))?;
    }
    Ok(if is_bad { Exit::CouldNotMeasure } else { Exit::Done })
}
