//! `sweetspot.toml`: which keys it has, of which types, on which lines. What the values mean is
//! looked at by `resolve`, in the same way as for flags.

mod knob;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Origin, PlanError, Problem};
use super::header::{check_header, set_header};
use super::options::{Form, Key};
use super::suggest::closest;
use super::variable::check_variable;
use super::written_knob::Written;
use crate::terms::{Slo, Target, TargetError};

/// The name under which a plan is looked for.
pub const FILE_NAME: &str = "sweetspot.toml";

const TARGET_KEYS: [&str; 6] = ["method", "path", "weight", "slo", "headers", "body"];

/// Something of the file with the line it stands on, from 1.
#[derive(Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub line: usize,
}

/// What a plan file says. No `Debug`: values of headers and variables may be
/// secret.
#[derive(Default)]
pub struct PlanFile {
    /// As people would type it.
    pub path: PathBuf,
    /// The settings as text, as if they had been typed.
    pub values: BTreeMap<Key, Located<String>>,
    /// `[[target]]`, in the order written; not empty.
    pub targets: Option<Located<Vec<Target>>>,
    /// Sent with every request.
    pub headers: Option<Located<Vec<(String, String)>>>,
    /// Variables for the app.
    pub env: Option<Located<Vec<(String, String)>>>,
    /// `[[knob]]`, in the order written.
    pub knobs: Vec<Located<Written>>,
}

impl PlanFile {
    /// A setting that stands on this line.
    pub fn at(&self, key: Key, line: usize) -> Origin {
        Origin::Plan { path: self.path.clone(), line, key: key.name().to_string() }
    }
}

/// Reads the plan file `path` names; errors call it `shown`.
///
/// # Errors
/// It cannot be read, is no TOML, or has unknown keys or wrong types.
pub fn read(path: &Path, shown: &Path) -> Result<PlanFile, PlanError> {
    let text = fs::read_to_string(path)
        .map_err(|source| PlanError::Unreadable { path: shown.to_path_buf(), source })?;
    parse(&text, shown)
}

/// Reads a plan file's text.
///
/// # Errors
/// It is no TOML, or has unknown keys or wrong types.
pub fn parse(text: &str, path: &Path) -> Result<PlanFile, PlanError> {
    let reader = Reader { text, path };
    let table = DeTable::parse(text).map_err(|error| PlanError::Syntax {
        path: path.to_path_buf(),
        line: reader.line(&error.span().unwrap_or_default()),
        message: error.message().to_string(),
    })?;
    let mut file = PlanFile { path: path.to_path_buf(), ..PlanFile::default() };
    for entry in reader.entries(table.get_ref(), None, &known_keys())? {
        let key = Key::ALL.iter().copied().find(|key| key.in_file() == Some(entry.key));
        match key.expect("every known key is an option's") {
            Key::Target => file.targets = Some(reader.targets(&entry)?),
            Key::Header => file.headers = Some(reader.headers(&entry)?),
            Key::Env => file.env = Some(reader.variables(&entry)?),
            Key::Knob => file.knobs = reader.knobs(&entry)?,
            key => drop(file.values.insert(key, reader.setting(key, &entry)?)),
        }
    }
    Ok(file)
}

/// The settings, and after them the tables by their names.
fn known_keys() -> Vec<&'static str> {
    let is_table = |key: &&Key| matches!(key.row().form, Form::Table(_));
    let (mut tables, settings) = Key::ALL.iter().partition::<Vec<&Key>, _>(is_table);
    tables.sort_by_key(|key| key.in_file());
    settings.into_iter().chain(tables).filter_map(|key| key.in_file()).collect()
}

/// A key with its value.
struct Entry<'a> {
    /// As it is known, with `-`.
    key: &'static str,
    line: usize,
    value: &'a Spanned<DeValue<'a>>,
}

struct Reader<'t> {
    text: &'t str,
    path: &'t Path,
}

impl Reader<'_> {
    /// From 1.
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    fn origin(&self, entry: &Entry<'_>) -> Origin {
        Origin::Plan { path: self.path.to_path_buf(), line: entry.line, key: entry.key.to_string() }
    }

    /// A table's entries in the order written, their keys checked.
    fn entries<'a>(
        &self,
        table: &'a DeTable<'a>,
        name: Option<&'static str>,
        known: &[&'static str],
    ) -> Result<Vec<Entry<'a>>, PlanError> {
        let mut in_order: Vec<_> = table.iter().collect();
        in_order.sort_by_key(|(key, _)| key.span().start);
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for (written, value) in in_order {
            let line = self.line(&written.span());
            let path = self.path.to_path_buf();
            let dashed = written.get_ref().replace('_', "-");
            let Some(key) = known.iter().copied().find(|key| *key == dashed) else {
                return Err(PlanError::UnknownKey {
                    path,
                    line,
                    key: written.get_ref().to_string(),
                    table: name,
                    close: closest(&dashed, known),
                    known: known.to_vec(),
                });
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(PlanError::RepeatedKey { path, line, key });
            }
            entries.push(Entry { key, line, value });
        }
        Ok(entries)
    }

    fn setting(&self, key: Key, entry: &Entry<'_>) -> Result<Located<String>, PlanError> {
        let value = entry.value.get_ref();
        let row = key.row();
        let text = match row.form {
            Form::Number | Form::Price => {
                number_text(value).or_else(|| value.as_str().map(str::to_string))
            }
            Form::Counts => list_text(value, whole_text),
            Form::Sizes => list_text(value, number_text),
            Form::Switch => value.as_bool().map(|is_on| is_on.to_string()),
            _ => value.as_str().map(str::to_string),
        };
        match text {
            Some(value) => Ok(Located { value, line: entry.line }),
            None => Err(self.wrong_type(entry, value, format!("a value such as {}", row.example))),
        }
    }

    fn wrong_type(&self, at: &Entry<'_>, found: &DeValue<'_>, expected: String) -> PlanError {
        PlanError::Type { at: self.origin(at), found: described(found), expected }
    }

    fn problem(&self, at: &Entry<'_>, problem: impl Into<Problem>) -> PlanError {
        PlanError::Value { at: self.origin(at), value: None, problem: Box::new(problem.into()) }
    }

    fn text<'a>(&self, entry: &Entry<'a>, expected: &str) -> Result<&'a str, PlanError> {
        let value = entry.value.get_ref();
        value.as_str().ok_or_else(|| self.wrong_type(entry, value, expected.to_string()))
    }

    fn headers(&self, entry: &Entry<'_>) -> Result<Located<Vec<(String, String)>>, PlanError> {
        let expected = || "a table such as { Accept = \"text/html\" }".to_string();
        let found = entry.value.get_ref();
        let table = found.as_table().ok_or_else(|| self.wrong_type(entry, found, expected()))?;
        let mut in_order: Vec<_> = table.iter().collect();
        in_order.sort_by_key(|(name, _)| name.span().start);
        let mut headers = Vec::new();
        for (name, value) in in_order {
            let at = Entry { key: entry.key, line: self.line(&name.span()), value };
            let text = self.text(&at, "a text such as \"text/html\"")?;
            let header = check_header(name.get_ref(), text);
            set_header(&mut headers, &header.map_err(|error| self.problem(&at, error))?);
        }
        Ok(Located { value: headers, line: entry.line })
    }

    fn variables(&self, entry: &Entry<'_>) -> Result<Located<Vec<(String, String)>>, PlanError> {
        let expected = || "a table such as { RAILS_LOG_LEVEL = \"warn\" }".to_string();
        let found = entry.value.get_ref();
        let table = found.as_table().ok_or_else(|| self.wrong_type(entry, found, expected()))?;
        let mut in_order: Vec<_> = table.iter().collect();
        in_order.sort_by_key(|(name, _)| name.span().start);
        let mut variables = Vec::new();
        for (name, value) in in_order {
            let at = Entry { key: entry.key, line: self.line(&name.span()), value };
            let found = value.get_ref();
            let text = found.as_str().map(str::to_string).or_else(|| number_text(found));
            let text = text.ok_or_else(|| {
                self.wrong_type(&at, found, "a text such as \"warn\", or a number".to_string())
            })?;
            let variable = check_variable(name.get_ref(), &text);
            variables.push(variable.map_err(|error| self.problem(&at, error))?);
        }
        Ok(Located { value: variables, line: entry.line })
    }

    fn targets(&self, entry: &Entry<'_>) -> Result<Located<Vec<Target>>, PlanError> {
        let expected = || "written as [[target]], or as a list such as [\"GET /\"]".to_string();
        let found = entry.value.get_ref();
        let list = found.as_array().ok_or_else(|| self.wrong_type(entry, found, expected()))?;
        let mut targets = Vec::new();
        for element in list {
            let at = Entry { key: entry.key, line: self.line(&element.span()), value: element };
            targets.push(match element.get_ref() {
                DeValue::String(text) => {
                    text.parse().map_err(|error: TargetError| self.problem(&at, error))?
                }
                DeValue::Table(table) => self.target(&at, table)?,
                other => return Err(self.wrong_type(&at, other, expected())),
            });
        }
        if targets.is_empty() {
            return Err(PlanError::NoTargets { path: self.path.to_path_buf() });
        }
        Ok(Located { value: targets, line: entry.line })
    }

    fn target(&self, at: &Entry<'_>, table: &DeTable<'_>) -> Result<Target, PlanError> {
        let entries = self.entries(table, Some(at.key), &TARGET_KEYS)?;
        let find = |key: &str| entries.iter().find(|entry| entry.key == key);
        let path = find("path").ok_or_else(|| PlanError::MissingKey {
            path: self.path.to_path_buf(),
            line: at.line,
            key: "path",
        })?;
        let method_at = find("method");
        let method =
            method_at.map_or(Ok("GET"), |entry| self.text(entry, "a text such as \"GET\""))?;
        let path_text = self.text(path, "a text such as \"/orders\"")?;
        let mut target = Target::new(method, path_text).map_err(|error| {
            let is_method = matches!(error, TargetError::Method { .. });
            self.problem(method_at.filter(|_| is_method).unwrap_or(path), error)
        })?;
        if let Some(entry) = find("weight") {
            let found = entry.value.get_ref();
            let number = found.as_integer().and_then(integer).ok_or_else(|| {
                self.wrong_type(entry, found, "a whole number such as 3".to_string())
            })?;
            target = u32::try_from(number)
                .map_err(|_| TargetError::Weight { text: number.to_string() })
                .and_then(|weight| target.with_weight(weight))
                .map_err(|error| self.problem(entry, error))?;
        }
        if let Some(entry) = find("slo") {
            let text = self.text(entry, "a text such as \"p95<2s,errors<1%\"")?;
            let slo = text.parse::<Slo>().map_err(|error| self.problem(entry, error))?;
            target.slo = Some(slo);
        }
        if let Some(entry) = find("headers") {
            target.headers = self.headers(entry)?.value;
        }
        if let Some(entry) = find("body") {
            target.body = self.text(entry, "a text such as \"a=1\"")?.as_bytes().to_vec();
        }
        Ok(target)
    }
}

fn integer(value: &toml::de::DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(value.as_str(), value.radix()).ok()
}

fn whole_text(value: &DeValue<'_>) -> Option<String> {
    value.as_integer().and_then(integer).map(|number| number.to_string())
}

fn number_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Float(number) => Some(number.as_str().to_string()),
        _ => whole_text(value),
    }
}

/// A list as `1,2,4`, whose elements `number` reads, or one of them alone.
fn list_text(
    value: &DeValue<'_>,
    number: impl Fn(&DeValue<'_>) -> Option<String>,
) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Array(list) => {
            let numbers: Option<Vec<String>> =
                list.iter().map(|element| number(element.get_ref())).collect();
            Some(numbers?.join(","))
        }
        one => number(one),
    }
}

fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests;
