//! What is named on the command line as one side of a comparison: a session, a setting of one, or a
//! file with a result.
//!
//! In: text. Out: a [`Source`], and opened a [`Subject`]. Must not measure.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use crate::report::Story;
use crate::report::facts::without_sentences;
use crate::report::json::{TuneReport, story_of};
use crate::session::report::{ReportError, Which, replay};
use crate::store::Store;
use crate::terms::{CapacitySummary, Configuration, LoadSummary};

/// One side, as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As it was typed.
    pub text: String,
    place: Place,
    pub setting: Setting,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// `None`: the store that the command uses.
    Session {
        store: Option<PathBuf>,
        which: Which,
    },
    File(PathBuf),
}

/// Which of a session's settings is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Nothing was named: the recommended one, and the current one besides.
    Recommended,
    /// `@chosen`
    Chosen,
    /// `@current`
    Current,
    /// `@2x5`
    Of(Configuration),
}

/// Why a side cannot be read; always what was typed, or the file that it names.
#[derive(Debug, Error)]
pub enum SourceError {
    #[error(transparent)]
    Session(#[from] ReportError),
    #[error("could not read {path}: {source}")]
    Unreadable {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "{path} holds no result: {why}; name a file that 'tune' or 'load' wrote with -o json=FILE, \
         or a session by its number"
    )]
    NoResult { path: String, why: String },
    #[error("'{text}' names nothing to compare; write a session's number, 'last', or a file")]
    Empty { text: String },
}

/// One side, read.
#[derive(Debug, Clone)]
pub enum Subject {
    Session(Box<Story>),
    Load(Box<LoadSummary>),
    Capacity(Box<CapacitySummary>),
}

impl FromStr for Source {
    type Err = SourceError;

    /// Reads `3`, `last`, `3@2x5`, `other.db:3`, or a file's path.
    fn from_str(text: &str) -> Result<Self, SourceError> {
        let setting = text.rsplit_once('@').and_then(|(rest, at)| Some((rest, setting(at)?)));
        let (rest, setting) = setting.unwrap_or((text, Setting::Recommended));
        if rest.is_empty() {
            return Err(SourceError::Empty { text: text.to_string() });
        }
        let place = match (rest.parse::<Which>(), rest.rsplit_once(':')) {
            (Ok(which), _) => Place::Session { store: None, which },
            (_, Some((store, which))) if which.parse::<Which>().is_ok() => {
                Place::Session { store: Some(PathBuf::from(store)), which: which.parse()? }
            }
            _ => Place::File(PathBuf::from(rest)),
        };
        Ok(Self { text: text.to_string(), place, setting })
    }
}

/// `2x5`, `2` (workers of one thread), `chosen` or `current`.
fn setting(text: &str) -> Option<Setting> {
    match text {
        "chosen" => return Some(Setting::Chosen),
        "current" => return Some(Setting::Current),
        _ => {}
    }
    let (workers, threads) = text.split_once('x').unwrap_or((text, "1"));
    let count = |text: &str| text.trim().parse::<u16>().ok();
    Configuration::new(count(workers)?, count(threads)?).ok().map(Setting::Of)
}

impl Source {
    /// A session of the store that the command uses, and nothing that names a file.
    pub fn is_of_own_store(&self) -> bool {
        matches!(self.place, Place::Session { store: None, .. })
    }

    /// Reads what was named; `store` is the one that sessions without one are in.
    ///
    /// # Errors
    /// It is not there, or holds nothing that can be compared.
    pub fn open(&self, store: &Path) -> Result<Subject, SourceError> {
        match &self.place {
            Place::Session { store: own, which } => {
                let store = Store::open_existing(own.as_deref().unwrap_or(store));
                let store = store.map_err(ReportError::from)?;
                Ok(Subject::Session(Box::new(replay(&store, *which)?)))
            }
            Place::File(path) => read(path),
        }
    }
}

fn read(path: &Path) -> Result<Subject, SourceError> {
    let shown = path.display().to_string();
    let text =
        fs::read(path).map_err(|source| SourceError::Unreadable { path: shown.clone(), source })?;
    subject(&text).map_err(|why| SourceError::NoResult { path: shown, why })
}

/// Tells the three kinds of results apart by fields that only one has.
fn subject(text: &[u8]) -> Result<Subject, String> {
    let is_wrong = |error: serde_json::Error| error.to_string();
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|error| format!("it is no JSON ({error})"))?;
    if value.get("trials").is_some() {
        let report: TuneReport = without_sentences(value).map_err(is_wrong)?;
        return Ok(Subject::Session(Box::new(story_of(&report))));
    }
    if value.get("conclusion").is_some() && value.get("arrivals").is_some() {
        let found = without_sentences(value).map_err(is_wrong)?;
        return Ok(Subject::Capacity(Box::new(found)));
    }
    if value.get("throughput_rps").is_some() {
        let load = without_sentences(value).map_err(is_wrong)?;
        return Ok(Subject::Load(Box::new(load)));
    }
    Err("it has none of the fields of a result".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SessionId;

    fn read(text: &str) -> Source {
        text.parse().unwrap()
    }

    #[test]
    fn sessions_settings_stores_and_files_are_told_apart() {
        let three = |store: Option<&str>| Place::Session {
            store: store.map(PathBuf::from),
            which: Which::Id(SessionId(3)),
        };
        let at = |w, t| Setting::Of(Configuration::new(w, t).unwrap());
        for (text, place, setting) in [
            ("3", three(None), Setting::Recommended),
            ("3@2x5", three(None), at(2, 5)),
            ("3@4", three(None), at(4, 1)),
            ("3@current", three(None), Setting::Current),
            ("old/s.db:3@chosen", three(Some("old/s.db")), Setting::Chosen),
            ("a@b.json", Place::File("a@b.json".into()), Setting::Recommended),
            ("c:d.json@2x5", Place::File("c:d.json".into()), at(2, 5)),
        ] {
            assert_eq!((read(text).place, read(text).setting), (place, setting), "{text}");
        }
        assert_eq!(read("last").place, Place::Session { store: None, which: Which::Last });
        assert!("".parse::<Source>().is_err() && "@2x5".parse::<Source>().is_err());
    }

    #[test]
    fn what_is_no_result_says_why() {
        for (text, why) in [("no", "no JSON"), ("[]", "fields"), (r#"{"trials": 3}"#, "missing")] {
            let said = subject(text.as_bytes()).unwrap_err();
            assert!(said.contains(why) || said.contains("invalid"), "{text}: {said}");
        }
    }
}
