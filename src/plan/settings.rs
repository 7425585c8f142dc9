//! One setting, whether it was typed as a flag or stands in the plan file: flags come first.

use crate::terms::PlanSource;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{Origin, PlanError, Problem};
use super::file::{self, FILE_NAME, PlanFile};
use super::options::{Key, Typed};
use super::suggest::closest;

/// A value with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: PlanSource,
}

impl<T> Sourced<T> {
    /// A value that was not given.
    pub fn default(value: T) -> Self {
        Self { value, source: PlanSource::Default }
    }
}

/// The values of what is or is not.
pub const SWITCH: [(&str, bool); 2] = [("true", true), ("false", false)];

/// On the command line.
pub fn flag(key: Key) -> Origin {
    Origin::Flag { name: key.name() }
}

/// The error of a value that may be secret.
pub fn hidden(at: Origin, problem: impl Into<Problem>) -> PlanError {
    PlanError::Value { at, value: None, problem: Box::new(problem.into()) }
}

/// A setting's text as it was given.
pub struct Given<'a> {
    text: &'a str,
    at: Origin,
}

impl Given<'_> {
    /// Where it came from, as it is printed.
    pub fn source(&self) -> PlanSource {
        source_of(&self.at)
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        self.text
    }

    /// The error that this value is.
    pub fn problem(&self, problem: impl Into<Problem>) -> PlanError {
        PlanError::Value {
            at: self.at.clone(),
            value: Some(self.text.to_string()),
            problem: Box::new(problem.into()),
        }
    }

    /// The error that this value is, without the value, which may be secret.
    pub fn hidden_problem(&self, problem: impl Into<Problem>) -> PlanError {
        hidden(self.at.clone(), problem)
    }

    /// Reads the value.
    pub fn read<T, E: Into<Problem>>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Sourced<T>, PlanError> {
        let value = parse(self.text).map_err(|error| self.problem(error))?;
        Ok(Sourced { value, source: self.source() })
    }

    /// Reads a value that may hold a secret: an error does not repeat it.
    pub fn read_secret<T, E: Into<Problem>>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Sourced<T>, PlanError> {
        let value = parse(self.text).map_err(|error| self.hidden_problem(error))?;
        Ok(Sourced { value, source: self.source() })
    }

    /// Reads a whole number.
    pub fn number(&self, least: u64, most: u64) -> Result<Sourced<u64>, PlanError> {
        self.read(|text| {
            let digits = Some(text.trim()).filter(|text| !text.starts_with('+'));
            let number = digits.and_then(|text| text.parse().ok());
            number.filter(|n| (least..=most).contains(n)).ok_or(Problem::Number { least, most })
        })
    }

    /// Reads one of several words.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Result<Sourced<T>, PlanError> {
        self.read(|text| {
            let found = choices.iter().find(|(name, _)| *name == text.trim());
            found.map(|(_, value)| *value).ok_or_else(|| {
                let choices: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
                Problem::Choice { close: closest(text, &choices), choices }
            })
        })
    }
}

/// Where a value at this place is said to come from.
pub fn source_of(at: &Origin) -> PlanSource {
    match at {
        Origin::Flag { .. } | Origin::Targets { .. } => PlanSource::Flag,
        Origin::Plan { line, .. } => PlanSource::PlanFile { line: *line },
    }
}

/// All settings given.
pub struct Settings<'a> {
    pub typed: &'a Typed,
    pub file: Option<PlanFile>,
    /// The folder that the plan file stands in, or that was named in its place, or the current
    /// one.
    pub plan_folder: PathBuf,
    /// The current folder.
    pub folder: &'a Path,
}

impl<'a> Settings<'a> {
    /// Finds and reads the plan file.
    ///
    /// # Errors
    /// A plan that was named does not exist; one that exists is wrong.
    pub fn find(typed: &'a Typed, folder: &'a Path) -> Result<Self, PlanError> {
        let named = typed.plan.as_deref();
        let path = folder.join(named.unwrap_or(Path::new("")));
        let is_folder = fs::metadata(&path).map(|found| found.is_dir()).map_err(|source| {
            let path = named.unwrap_or(folder).to_path_buf();
            match source.kind() {
                std::io::ErrorKind::NotFound => PlanError::NoPlan { path },
                _ => PlanError::Unreadable { path, source },
            }
        })?;
        let (path, plan_folder) = match is_folder {
            true => (path.join(FILE_NAME), path),
            false => (path.clone(), path.parent().unwrap_or(folder).to_path_buf()),
        };
        let shown = path.strip_prefix(folder).unwrap_or(&path).to_path_buf();
        let file = match is_folder && !path.exists() {
            true => None,
            false => Some(file::read(&path, &shown)?),
        };
        Ok(Self { typed, file, plan_folder, folder })
    }

    /// A setting that is text.
    pub fn get(&self, key: Key) -> Option<Given<'_>> {
        self.typed_all(key).next().or_else(|| self.in_file(key))
    }

    /// All that was typed of a setting, in the order typed.
    pub fn typed_all(&self, key: Key) -> impl Iterator<Item = Given<'_>> {
        self.typed.all(key).iter().map(move |text| Given { text, at: flag(key) })
    }

    /// What `read` makes of a setting, where it was given.
    ///
    /// # Errors
    /// As `read` says.
    pub fn value<T>(
        &self,
        key: Key,
        read: impl FnOnce(&Given<'_>) -> Result<Sourced<T>, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        self.get(key).map(|given| read(&given).map(|it| it.value)).transpose()
    }

    /// A setting that is a path, absolute: what was typed counts from the current folder, what
    /// stands in a plan file from that file's folder.
    pub fn path(&self, key: Key) -> Option<Sourced<PathBuf>> {
        if let Some(path) = self.typed.paths.get(&key) {
            return Some(Sourced { value: self.folder.join(path), source: PlanSource::Flag });
        }
        let given = self.in_file(key)?;
        Some(Sourced { value: self.plan_folder.join(given.text), source: given.source() })
    }

    /// Any value of these is wrong; it is not repeated, since that of a command may be secret.
    ///
    /// # Errors
    /// One of them was given.
    pub fn refuse(&self, keys: &[Key], problem: impl Into<Problem>) -> Result<(), PlanError> {
        if let Some(key) = keys.iter().find(|key| self.typed.paths.contains_key(*key)) {
            return Err(hidden(flag(*key), problem));
        }
        match keys.iter().find_map(|key| self.get(*key)) {
            Some(given) => Err(given.hidden_problem(problem)),
            None => Ok(()),
        }
    }

    /// Where a setting that has this source was written.
    pub fn origin(&self, key: Key, source: &PlanSource) -> Origin {
        match (source, &self.file) {
            (PlanSource::PlanFile { line }, Some(file)) => file.at(key, *line),
            _ => flag(key),
        }
    }

    fn in_file(&self, key: Key) -> Option<Given<'_>> {
        let file = self.file.as_ref()?;
        let entry = file.values.get(&key)?;
        Some(Given { text: &entry.value, at: file.at(key, entry.line) })
    }
}
