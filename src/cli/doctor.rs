//! `sweetspot doctor`: arguments.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use super::{Exit, UsageError};
use crate::report::doctor_text;
use crate::session::doctor::{self, DoctorSettings};
use crate::terms::FindingState;

/// Checks whether this machine is fit to measure on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exits with 1 when something is bad. Example:\n  sweetspot doctor --json")]
pub struct Arguments {
    /// The app's folder, whose tools are looked for.
    #[arg(value_name = "FOLDER", default_value = ".")]
    app: PathBuf,
    /// Under one and a half seconds, with coarser figures.
    #[arg(long)]
    quick: bool,
    /// The file that sessions are stored in.
    #[arg(long, value_name = "FILE", default_value = ".sweetspot/sweetspot.db")]
    store: PathBuf,
    /// An array of findings, for scripts.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let Arguments { app, quick, store, json } = arguments;
    if !app.is_dir() {
        let message =
            format!("{} is no folder; name the app's, or none for this one", app.display());
        return Err(UsageError { message }.into());
    }
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty());
    let store = folder.map_or_else(|| PathBuf::from("."), PathBuf::from);
    let findings = doctor::check(&DoctorSettings { quick, app, store });
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &findings).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", doctor_text::table(&findings, has_colour()))?;
    }
    let is_bad = findings.iter().any(|finding| finding.state == FindingState::Bad);
    Ok(if is_bad { Exit::CouldNotMeasure } else { Exit::Done })
}

/// Colours only on a terminal, and not when the user asked for none (<https://no-color.org>).
pub(super) fn has_colour() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !is_refused
}
