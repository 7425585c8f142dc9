//! What `sweetspot report` does: a stored session replayed into files.
//!
//! In: a store, a session, and the reports wanted. Out: those files, each whole or not at all. Must
//! not measure.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use super::predict;
use crate::files;
use crate::report::{self, Format, NamedForm, Stored, Story, Style, csv};
use crate::store::{SessionId, SessionRow, Store, StoreError, StoreErrorKind};
use crate::terms::{SessionDoubt, SessionState};

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
    #[error("no file after '='; write for example {text}FILE")]
    NoFile { text: String },
    #[error(
        "both {first} and {second} would go to standard output; give one a file: {second}=PATH"
    )]
    TwoOnStandardOutput { first: &'static str, second: &'static str },
    #[error("both {first} and {second} would go to {path}; give each a file of its own")]
    TwoInOneFile { first: &'static str, second: &'static str, path: String },
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

/// One report wanted: its format, and a file, a folder or (`None`) standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output<F = Format> {
    pub format: F,
    pub path: Option<PathBuf>,
}

impl<F: NamedForm> FromStr for Output<F> {
    type Err = ReportError;

    /// Reads `markdown=report.md`, or `markdown` for standard output.
    fn from_str(text: &str) -> Result<Self, ReportError> {
        let named = named_file(text);
        let name = named.as_ref().map_or(text, |(name, _)| name);
        let Some(format) = F::find(name) else {
            if text.strip_suffix('=').and_then(F::find).is_some() {
                return Err(ReportError::NoFile { text: text.to_string() });
            }
            let known: Vec<&str> = F::ALL.iter().map(|(name, _)| *name).collect();
            let (text, known) = (text.to_string(), known.join(", "));
            return Err(ReportError::BadFormat { text, known });
        };
        Ok(Self { format, path: named.map(|(_, path)| path) })
    }
}

impl Output {
    /// The folder that every table goes into, a file each: CSV alone, where the path ends with a
    /// slash or is a folder that is there.
    fn folder(&self) -> Option<&PathBuf> {
        let path = self.path.as_ref().filter(|_| self.format == Format::Csv)?;
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir();
        is_folder.then_some(path)
    }

    /// # Errors
    /// It cannot be written: what was there is as it was.
    fn write_to(&self, path: &Path, story: &Story, style: Style) -> io::Result<()> {
        if let Some(folder) = self.folder() {
            let tables = csv::tables(story);
            let files: Vec<(&str, &str)> =
                tables.iter().map(|table| (table.file, table.content.as_str())).collect();
            return files::replace_all(folder, &files);
        }
        let plain = Style { language: style.language, ..Style::PLAIN };
        let content = rendered(story, self.format, plain);
        match self.format {
            Format::Markdown => put_markdown(path, &content, job_summary().as_deref()),
            _ => files::replace(path, content.as_bytes()),
        }
    }
}

/// `FORMAT=FILE` taken apart; `None` where a part of it is missing.
pub fn named_file(text: &str) -> Option<(&str, PathBuf)> {
    let (name, file) = text.split_once('=')?;
    (!file.is_empty()).then(|| (name, PathBuf::from(file)))
}

/// A file that a person named, whole or not at all.
///
/// # Errors
/// [`ReportError::Write`]: what was there is as it was.
pub fn write_file(path: &Path, content: &str) -> Result<(), ReportError> {
    files::replace(path, content.as_bytes()).map_err(|source| could_not_write(path, source))
}

/// As [`write_file`] for Markdown, which is added to a CI job's summary where the file is that.
///
/// # Errors
/// [`ReportError::Write`]: what was there is as it was.
pub fn write_markdown(path: &Path, content: &str) -> Result<(), ReportError> {
    let written = put_markdown(path, content, job_summary().as_deref());
    written.map_err(|source| could_not_write(path, source))
}

fn could_not_write(path: &Path, source: io::Error) -> ReportError {
    ReportError::Write { path: path.display().to_string(), source }
}

/// Adds Markdown to the file of summaries, and replaces any other.
fn put_markdown(path: &Path, content: &str, job_summary: Option<&Path>) -> io::Result<()> {
    match job_summary == Some(path) {
        true => files::append(path, content.as_bytes()),
        false => files::replace(path, content.as_bytes()),
    }
}

/// The file in which the steps of a CI job put their summaries, one after the other; `None` outside
/// of one.
fn job_summary() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from)
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

/// The session meant where 'last' is the newest that looked for a setting itself: one that verifies
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
    let mut story = begun(store, &row);
    store.each_event(row.id, 0, |_, event| {
        story.take(&event?);
        Ok(())
    })?;
    Ok(with_head(story, row))
}

/// The session put together from as much of it as can be read, for people to look at: a warning
/// says what could not.
///
/// # Errors
/// No such session, or nothing of it can be read.
pub fn replay_readable(store: &Store, which: Which) -> Result<Story, ReportError> {
    let row = find(store, which)?;
    let (mut story, mut readable_events) = (begun(store, &row), 0);
    let mut first = row.fault.clone();
    store.each_event(row.id, 0, |_, event| {
        match event {
            Ok(event) => {
                story.take(&event);
                readable_events += 1;
            }
            Err(error) => {
                first.get_or_insert(error);
            }
        }
        Ok(())
    })?;
    let mut story = with_head(story, row);
    let Some(error) = first else { return Ok(story) };
    if readable_events == 0 {
        return Err(error.into());
    }
    let (is_newer, error) = (error.kind == StoreErrorKind::Newer, error.to_string());
    let doubt = match is_newer {
        true => SessionDoubt::StoreNewer { error, readable_events },
        false => SessionDoubt::StoreDamaged { error, readable_events },
    };
    story.warnings.insert(0, doubt.into());
    Ok(story)
}

/// Where a session lies.
pub fn stored(store: &Store, row: &SessionRow) -> Stored {
    Stored {
        session: row.id.0,
        store: store.path().display().to_string(),
        started_at: row.started_at.clone(),
    }
}

fn begun(store: &Store, row: &SessionRow) -> Story {
    Story { stored: Some(stored(store, row)), ..Story::default() }
}

fn with_head(mut story: Story, row: SessionRow) -> Story {
    // A program that was killed before its first event still left its head.
    if story.app.is_empty() {
        story.app = row.head.app;
        story.server = row.head.server;
    }
    story
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
                let done = output.write_to(path, story, style);
                done.map_err(|source| could_not_write(path, source))?;
                written.push(path.clone());
            }
            None => {
                let text = rendered(story, output.format, style);
                stdout
                    .write_all(text.as_bytes())
                    .and_then(|()| stdout.flush())
                    .map_err(ReportError::Output)?;
            }
        }
    }
    Ok(written)
}

/// A page carries predictions along for its sliders, which are the model's to make.
fn rendered(story: &Story, format: Format, style: Style) -> String {
    match format {
        Format::Html => {
            let predict = predict::usual_table(story);
            report::page::render(story, predict.as_ref(), &report::page::assets(), style.language)
        }
        format => format.render(story, style),
    }
}

/// Refuses what cannot be written together, before anything is measured or written.
///
/// # Errors
/// Two reports for standard output, or for one file.
pub fn check<F: NamedForm>(outputs: &[Output<F>]) -> Result<(), ReportError> {
    let mut shown = outputs.iter().filter(|output| output.path.is_none());
    if let (Some(first), Some(second)) = (shown.next(), shown.next()) {
        let (first, second) = (first.format.name(), second.format.name());
        return Err(ReportError::TwoOnStandardOutput { first, second });
    }
    let place = |output: &Output<F>| output.path.as_deref().map(same_however_spelled);
    let clash = outputs.iter().enumerate().find_map(|(at, one)| {
        let path = one.path.as_ref()?.display().to_string();
        let other = outputs[at + 1..].iter().find(|other| place(other) == place(one))?;
        let (first, second) = (one.format.name(), other.format.name());
        Some(ReportError::TwoInOneFile { first, second, path })
    });
    clash.map_or(Ok(()), Err)
}

/// `a` and `./a` are one file. Links are not looked through.
fn same_however_spelled(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_report_goes_where_another_one_goes() {
        let said = |texts: &[&str]| {
            let outputs: Vec<Output> = texts.iter().map(|text| text.parse().unwrap()).collect();
            check(&outputs).map_err(|error| error.to_string())
        };
        assert_eq!(said(&["html=a", "markdown=b", "text", "csv=c/"]), Ok(()));
        let expected = "both html and markdown would go to a; give each a file of its own";
        assert_eq!(said(&["html=a", "text=b", "markdown=./a"]).unwrap_err(), expected);
        assert!(said(&["csv=c/", "csv=c"]).is_err());
        assert!(said(&["text", "html=a", "csv"]).unwrap_err().contains("standard output"));
    }

    #[test]
    fn markdown_is_added_to_a_jobs_summary_and_replaces_any_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let [summary, page] = ["summary.md", "page.md"].map(|name| folder.path().join(name));
        for text in ["one\n", "two\n"] {
            put_markdown(&summary, text, Some(&summary)).unwrap();
            put_markdown(&page, text, Some(&summary)).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!([read(&summary), read(&page)], ["one\n\ntwo\n", "two\n"]);
        put_markdown(&summary, "three\n", None).unwrap();
        assert_eq!(read(&summary), "three\n", "outside of a job");
    }
}
