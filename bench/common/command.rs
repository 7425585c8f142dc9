//! `sweetspot tune` itself, run as a user would.
//!
//! In: a tuned app and a seed. Out: what the command printed as JSON, kept in a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sweetspot::terms::TuneResult;

use super::bonds::Bonds;
use super::tuned::Tuned;
use super::{Result, interrupt, program};

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Its result, and how long it took by the clock. `json`: where the result is kept, with the store
/// and what went to standard error beside it.
///
/// # Errors
/// The bench was interrupted, or the command printed no result; its own words say why.
pub fn tune(tuned: &Tuned, json: &Path, seed: u32) -> Result<(TuneResult, Duration)> {
    if let Some(folder) = json.parent() {
        fs::create_dir_all(folder)?;
    }
    let said = json.with_extension("stderr");
    let store = json.with_extension("db");
    let mut command = Command::new(program());
    command
        .args(["tune", "--json", "--fresh-session"])
        .args(tuned.arguments())
        .args(["--seed".into(), seed.to_string()])
        .args([OsString::from("--store"), store.into_os_string()])
        .stdin(Stdio::null())
        .stdout(File::create(json)?)
        .stderr(File::create(&said)?)
        // Ctrl-C is the bench's to hear: it asks the command to end, once.
        .process_group(0);
    // Should the bench be killed, so is the command, and its own guardian ends what it started.
    Bonds::for_life(Vec::new()).bind(&mut command);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("could not start tune: {error}"))?;
    let status = wait(&mut child)?;
    interrupt::check()?;
    let took = start.elapsed();
    let text = fs::read_to_string(json)?;
    let result = serde_json::from_str(&text).map_err(|error| {
        let said = fs::read_to_string(&said).unwrap_or_default();
        format!("tune, {status}: {error}\n{said}")
    })?;
    Ok((result, took))
}

fn wait(child: &mut Child) -> Result<std::process::ExitStatus> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !is_asked && interrupt::check().is_err() {
            // SAFETY: no pointer is passed. The child was not waited for, so that its pid can
            // belong to nobody else.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
            is_asked = true;
        }
        std::thread::sleep(LOOK);
    }
}
