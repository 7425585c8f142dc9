//! Each size of a situation is measured by a process of its own, which is this program again: so
//! one can be confined, find another nginx on its PATH, or fail, and the others know nothing of it.
//!
//! In: what is to be measured. Out: a record in its file, or why there is none.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use sweetspot::monitor::host;

use super::situation::Beside;
use super::{Run, Settings, site};
use crate::common::Result;
use crate::common::bonds::Bonds;
use crate::common::process::last_line;

/// The first argument of such a process; its situation and the number of the size follow.
pub const MARK: &str = "__measure";

/// Measures in a process of its own. The inner error says why it could not.
pub fn measure(run: &Run<'_>, settings: &Settings) -> Result<std::result::Result<(), String>> {
    let said = settings.records().join(format!("{}.stderr", run.name()));
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["diagnosis", MARK])
        .arg(run.situation.name)
        .arg(run.number.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&said)?);
    // Not for certain: it has to end what it has started.
    let mut bonds = Bonds { end: Signal::TERM, ..Bonds::for_life(Vec::new()) };
    match run.size.beside {
        Beside::OneCore => {
            bonds.cores = host::allowed_cores(0).into_iter().take(1).collect();
            bonds.stays_behind = true;
        }
        Beside::FewConnections(count) => {
            command.env("PATH", path_with_our_nginx()?);
            command.env("NGINX_CONNECTIONS", count.to_string());
        }
        Beside::Nothing | Beside::Busy(_) | Beside::Asleep | Beside::StandingStill => {}
    }
    bonds.bind(&mut command);
    let status = command.status()?;
    if status.success() {
        return Ok(Ok(()));
    }
    let said = fs::read_to_string(said).unwrap_or_default();
    Ok(Err(format!("{status}: {}", last_line(&said).unwrap_or("it said nothing"))))
}

/// The one that keeps its settings' connections few stands before the real one, which it starts.
fn path_with_our_nginx() -> Result<OsString> {
    let ours = site::app_folder("few-connections");
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([ours].into_iter().chain(std::env::split_paths(&path)))?)
}
