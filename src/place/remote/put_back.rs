//! An app elsewhere is put back by its session's own command: in the end, or by the note of a
//! session that was cut off.
//!
//! In: a note. Out: what the command printed. The note is gone once it has done it, and stays where
//! it has not.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::command::{self, Order};
use super::note::{self, Note, NoteError};
use crate::place::PlaceError;
use crate::terms::{BOOT_TIMEOUT_MOST, Secrets, StopRequest, StopSignal};

/// To put it back; and where the user wants to end at once.
const PATIENCE: Duration = Duration::from_secs(900);
const PATIENCE_AT_ONCE: Duration = Duration::from_secs(180);

/// Between two looks whether a command that was left has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The variable that tells a command which puts an app back where its session ran it.
const FOLDER: &str = "SWEETSPOT_FOLDER";

/// What was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBack {
    /// Where the app answers.
    pub url: String,
    /// What the command printed that did it.
    pub said: Vec<String>,
}

/// Runs the command, and removes the note of it. The press that ended the session does not end
/// this, and no other does. What it printed; the error: with how it ended. `tell`: as of any
/// command ([`Order`]).
pub fn put_back(
    note: Note,
    (restore, env): (&str, &BTreeMap<String, String>),
    stop: &StopSignal,
    tell: Option<&dyn Fn(&str)>,
) -> Result<Vec<String>, Vec<String>> {
    let patience = match stop.requested() {
        StopRequest::Now => PATIENCE_AT_ONCE,
        StopRequest::None | StopRequest::Finish => PATIENCE,
    };
    let known_by = Some(note.command());
    let order = Order { text: restore, env, input: "", patience, known_by, tell };
    let ran = command::run(&order, &StopSignal::default());
    let ran = ran.map_err(|error| vec![error.to_string()])?;
    if ran.is_success() {
        return note.remove().map(|()| ran.lines).map_err(|error| vec![error.to_string()]);
    }
    let end = ran.end_in_words();
    Err([ran.lines, vec![end]].concat())
}

/// Puts back what a session that was cut off has left, by the note beside its store. `None`:
/// nothing was left. `secrets` are masked in what the command prints;
/// `tell` is told the process that is waited for, where that session's last command still runs.
///
/// # Errors
/// That session or its command goes on, or the command that puts it back fails: with what it
/// printed.
pub fn restore(
    store: &Path,
    secrets: &Secrets,
    stop: &StopSignal,
    tell: &mut dyn FnMut(u32),
) -> Result<Option<PutBack>, PlaceError> {
    let left = Note::take_up(&note::beside(store)).map_err(in_words)?;
    let Some((note, written)) = left else { return Ok(None) };
    await_command(&note, stop, tell)?;
    let there = written.folder.map(|folder| (FOLDER.to_string(), folder));
    let restore = match &there {
        Some(_) => format!("cd -- \"${FOLDER}\" || exit\n{}", written.restore),
        None => written.restore,
    };
    let env = there.into_iter().collect();
    let said = put_back(note, (&restore, &env), stop, None).map_err(|lines| {
        PlaceError::Elsewhere(format!(
            "the app at {} could not be put back:\n{}",
            written.url,
            secrets.mask_lines(&lines).join("\n")
        ))
    })?;
    Ok(Some(PutBack { url: written.url, said: secrets.mask_lines(&said) }))
}

/// Waits until nothing changes the app any more.
fn await_command(
    note: &Note,
    stop: &StopSignal,
    tell: &mut dyn FnMut(u32),
) -> Result<(), PlaceError> {
    let began = Instant::now();
    let mut is_told = false;
    while let Some(pid) = note.command_left() {
        if !std::mem::replace(&mut is_told, true) {
            tell(pid);
        }
        if stop.is_raised() {
            return Err(PlaceError::Stopped);
        }
        if began.elapsed() > BOOT_TIMEOUT_MOST {
            let why = format!(
                "a command of the session that was cut off still changes the app (process {pid}); \
                 end it, and put the app back then"
            );
            return Err(PlaceError::Elsewhere(why));
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

/// The error of a note, as a place's.
pub fn in_words(error: NoteError) -> PlaceError {
    PlaceError::Elsewhere(error.to_string())
}
