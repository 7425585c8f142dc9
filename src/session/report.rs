//! What `sweetspot report` does: a stored session replayed into files.
//!
//! In: a store, a session, and the reports wanted. Out: those files, each whole or not at all. Must
//! not measure.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use crate::report::{self, Format, Stored, Story, Style};
use crate::store::{SessionId, SessionRow, Store, StoreError};
use crate::terms::SessionState;

/// Why a report could not be made.
#[derive(Debug, Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the store {path} holds no session yet; 'sweetspot tune' makes one")]
    NoSession { path: String },
    #[error("could not write the report {path}: {source}")]
    Write {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Standard output is gone, such as in `sweetspot … | head`.
    #[error("could not write to standard output: {0}")]
    Output(#[source] io::Error),
    #[error("'{text}' is no session; give its number or 'last'")]
    BadSession { text: String },
    #[error("'{text}' is no report; write FORMAT or FORMAT=PATH with a format of {known}")]
    BadFormat { text: String, known: String },
    #[error("only one report can go to standard output; give the others a file: {format}=PATH")]
    TwoOnStandardOutput { format: &'static str },
}

/// Which session is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The newest.
    Last,
    Id(SessionId),
}

impl FromStr for Which {
    type Err = ReportError;

    fn from_str(text: &str) -> Result<Self, ReportError> {
        match (text, text.parse::<i64>()) {
            ("last", _) => Ok(Self::Last),
            (_, Ok(id)) if id > 0 => Ok(Self::Id(SessionId(id))),
            _ => Err(ReportError::BadSession { text: text.to_string() }),
        }
    }
}

/// One report wanted: its format, and a file or (`None`) standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub format: Format,
    pub path: Option<PathBuf>,
}

impl FromStr for Output {
    type Err = ReportError;

    /// Reads `markdown=report.md`, or `markdown` for standard output.
    fn from_str(text: &str) -> Result<Self, ReportError> {
        let (name, path) = match text.split_once('=') {
            Some((name, path)) => (name, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let is_unnamed = path.as_ref().is_some_and(|path| path.as_os_str().is_empty());
        match Format::find(name) {
            Some(format) if !is_unnamed => Ok(Self { format, path }),
            _ => Err(ReportError::BadFormat { text: text.to_string(), known: known_formats() }),
        }
    }
}

/// `text, markdown, json, csv`.
fn known_formats() -> String {
    Format::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The row of the session meant.
///
/// # Errors
/// No such session, or the file cannot be read.
pub fn find(store: &Store, which: Which) -> Result<SessionRow, ReportError> {
    let rows = store.sessions()?;
    match which {
        Which::Last => rows
            .into_iter()
            .next()
            .ok_or_else(|| ReportError::NoSession { path: store.path().display().to_string() }),
        Which::Id(id) => match rows.into_iter().find(|row| row.id == id) {
            Some(row) => Ok(row),
            // Reading its events says what is wrong, in the store's own words.
            None => Err(store.events(id).err().map_or_else(
                || ReportError::BadSession { text: id.0.to_string() },
                ReportError::Store,
            )),
        },
    }
}

/// The same session, where 'last' is the newest that looked for a setting itself: one that verifies
/// another tried two settings only.
///
/// # Errors
/// The file cannot be read.
pub fn tuned(store: &Store, which: Which) -> Result<Which, ReportError> {
    if which != Which::Last {
        return Ok(which);
    }
    let rows = store.sessions()?;
    let tuned = rows.iter().find(|row| row.verifies.is_none());
    Ok(tuned.map_or(which, |row| Which::Id(row.id)))
}

/// The session put together from its stored events.
///
/// # Errors
/// No such session, or the file cannot be read.
pub fn replay(store: &Store, which: Which) -> Result<Story, ReportError> {
    let row = find(store, which)?;
    let stored = Stored {
        session: row.id.0,
        store: store.path().display().to_string(),
        started_at: row.started_at,
    };
    let mut story = report::fold(&store.events(row.id)?, Some(stored));
    // A program that was killed before its first event still left its head.
    if story.app.is_empty() {
        story.app = row.head.app;
        story.server = row.head.server;
    }
    Ok(story)
}

/// Writes each report; `stdout` gets the one without a file. Returns the files written.
///
/// # Errors
/// A file cannot be written: those before it are, and it is as it was.
pub fn write(
    story: &Story,
    outputs: &[Output],
    stdout: &mut dyn Write,
    style: Style,
) -> Result<Vec<PathBuf>, ReportError> {
    check(outputs)?;
    let mut written = Vec::new();
    for output in outputs {
        match &output.path {
            Some(path) => {
                let plain = Style { language: style.language, ..Style::PLAIN };
                let text = output.format.render(story, plain);
                replace_file(path, text.as_bytes()).map_err(|source| ReportError::Write {
                    path: path.display().to_string(),
                    source,
                })?;
                written.push(path.clone());
            }
            None => {
                let text = output.format.render(story, style);
                stdout
                    .write_all(text.as_bytes())
                    .and_then(|()| stdout.flush())
                    .map_err(ReportError::Output)?;
            }
        }
    }
    Ok(written)
}

/// Refuses what cannot be written together, before anything is measured or written.
///
/// # Errors
/// Two reports for standard output.
pub fn check(outputs: &[Output]) -> Result<(), ReportError> {
    match outputs.iter().filter(|output| output.path.is_none()).nth(1) {
        Some(second) => Err(ReportError::TwoOnStandardOutput {
            format: Format::ALL
                .iter()
                .find(|(_, format)| *format == second.format)
                .map_or("FORMAT", |(name, _)| *name),
        }),
        None => Ok(()),
    }
}

/// What should be said beside a report of this session; `None` when it ended well.
pub fn remark(story: &Story) -> Option<&'static str> {
    match story.state {
        SessionState::Running => {
            Some("this session has not ended: the report shows it as far as it went")
        }
        _ if !story.trials.is_empty() && story.trials.iter().all(|trial| !trial.valid) => {
            Some("no trial of this session is valid: the report concludes nothing")
        }
        _ => None,
    }
}

/// Puts `content` in the place of the file, whole or not at all: it is written beside it and
/// renamed. What is no regular file (a pipe, `/dev/stdout`) is written to as it is.
fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(content);
    }
    // A link keeps pointing where it pointed.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(beside);
    let result = write_and_rename(&beside, &path, content);
    if result.is_err() {
        // It may never have been made; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    result
}

fn write_and_rename(beside: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(beside, path)
}
