//! Where a load's results go: `-o FORMAT` and `-o FORMAT=FILE`.
//!
//! In: what was typed. Out: files that are known to be writable before any load is sent, and are
//! written when it is over or as it goes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::{UsageError, print};
use crate::files;
use crate::report::load::{About, Format, LoadResult, Report, Sinks};
use crate::report::terminal::standard_output;

/// A format and where it goes; to standard output without a file.
#[derive(Debug, Clone)]
pub struct Output {
    pub format: Format,
    pub file: Option<PathBuf>,
}

impl Output {
    /// For messages.
    fn name(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => "standard output".to_string(),
        }
    }
}

/// Reads `json` or `json=result.json`.
///
/// # Errors
/// With the way out: an unknown format, or no file after `=`.
pub fn parse(text: &str) -> Result<Output, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("no file after '='; write for example json=result.json".into()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let format = Format::find(name)
        .ok_or_else(|| format!("'{name}' is no format; write one of {}", names().join(", ")))?;
    Ok(Output { format, file })
}

fn names() -> Vec<&'static str> {
    Format::ALL.iter().map(|(name, _)| *name).collect()
}

/// All that was asked for: `--json` is one more, and without any it is text.
///
/// # Errors
/// Two that would be mixed up in one place.
pub fn of(typed: &[Output], is_json: bool) -> Result<Vec<Output>, UsageError> {
    let to_standard_output = |report| Output { format: Format::Report(report), file: None };
    let mut outputs = typed.to_vec();
    let json = to_standard_output(Report::Json);
    let has_json =
        outputs.iter().any(|output| output.format == json.format && output.file.is_none());
    if is_json && !has_json {
        outputs.push(json);
    }
    if outputs.is_empty() {
        outputs.push(to_standard_output(Report::Text));
    }
    match outputs.iter().enumerate().find_map(|(at, one)| clash(one, &outputs[at + 1..])) {
        Some(message) => Err(UsageError { message }),
        None => Ok(outputs),
    }
}

/// Says which of the others goes where this one goes.
fn clash(one: &Output, others: &[Output]) -> Option<String> {
    let place = |output: &Output| output.file.as_deref().map(same_however_spelled);
    let other = others.iter().find(|other| place(other) == place(one))?;
    let (first, second) = (one.format.name(), other.format.name());
    Some(match &one.file {
        None => format!(
            "both {first} and {second} would go to standard output; give one a file, such as -o \
             {second}=FILE"
        ),
        Some(file) => format!(
            "both {first} and {second} would go to {}; give each a file of its own",
            file.display()
        ),
    })
}

/// `a` and `./a` are one file. Links are not looked through.
fn same_however_spelled(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
}

/// A load may take long, and its result must not be lost for a mistyped folder: looks before it
/// begins. What a file holds stays there until there is a new result.
pub fn check_writable(outputs: &[Output]) -> anyhow::Result<()> {
    for file in outputs.iter().filter_map(|output| output.file.as_ref()) {
        // The reader of a pipe would take the first closing for the end.
        if file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            continue;
        }
        files::open_to_add(file)
            .map(drop)
            .with_context(|| not_opened(&file.display().to_string()))?;
    }
    Ok(())
}

fn not_opened(name: &str) -> String {
    format!("could not open {name} for the result; no load was sent")
}

/// The streams among them, opened: the load is about to begin.
pub fn open_streams(outputs: &[Output], about: &About) -> anyhow::Result<Sinks> {
    let mut sinks = Sinks::default();
    for output in outputs {
        let Format::Stream(stream) = output.format else { continue };
        let out: Box<dyn Write + Send> = match &output.file {
            None => Box::new(standard_output()),
            Some(file) => Box::new(File::create(file).with_context(|| not_opened(&output.name()))?),
        };
        sinks
            .add(stream, about, output.name(), out)
            .context("could not begin an output; no load was sent")?;
    }
    Ok(sinks)
}

/// Writes the reports, and what the streams still hold. One that fails must not keep the others
/// from being written.
pub fn write(outputs: &[Output], sinks: Sinks, result: &LoadResult<'_>) -> anyhow::Result<()> {
    let streams = sinks.finish().into_iter().map(|failure| Err(failure.into()));
    let reports = outputs.iter().filter_map(|output| match output.format {
        Format::Report(report) => Some(write_text(output, &report.render(result))),
        Format::Stream(_) => None,
    });
    let written: Vec<anyhow::Result<()>> = streams.chain(reports).collect();
    written.into_iter().collect()
}

/// Prints a report, or replaces its file by it.
pub fn write_text(output: &Output, text: &str) -> anyhow::Result<()> {
    match &output.file {
        None => print(text).context("could not print the result"),
        Some(file) => files::replace(file, text.as_bytes())
            .with_context(|| format!("could not write the result to {}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(typed: &[&str], is_json: bool) -> Result<Vec<Output>, UsageError> {
        let typed: Vec<Output> = typed.iter().map(|text| parse(text).unwrap()).collect();
        of(&typed, is_json)
    }

    fn places(outputs: &[Output]) -> Vec<String> {
        outputs.iter().map(|one| format!("{} {}", one.format.name(), one.name())).collect()
    }

    #[test]
    fn every_format_is_read_with_and_without_a_file() {
        for (name, format) in Format::ALL {
            assert_eq!(parse(name).unwrap().format, *format);
            let with_file = parse(&format!("{name}=a=b")).unwrap();
            assert_eq!(with_file.file.as_deref(), Some(Path::new("a=b")), "{name}");
        }
        let error = parse("xml").unwrap_err();
        assert!(error.ends_with("wrk, ab, k6, junit, prometheus"), "{error}");
        assert!(parse("json=").unwrap_err().contains("no file after '='"));
    }

    #[test]
    fn text_is_printed_unless_something_else_was_asked_for() {
        assert_eq!(places(&outputs(&[], false).unwrap()), ["text standard output"]);
        assert_eq!(places(&outputs(&[], true).unwrap()), ["json standard output"]);
        assert_eq!(places(&outputs(&["json"], true).unwrap()), ["json standard output"]);
        assert_eq!(
            places(&outputs(&["hlog=a", "wrk"], false).unwrap()),
            ["hlog a", "wrk standard output"]
        );
    }

    #[test]
    fn two_that_go_to_one_place_are_refused() {
        for (typed, is_json, expected) in [
            (&["text", "csv"][..], false, "both text and csv would go to standard output"),
            (&["text"], true, "both text and json would go to standard output"),
            (&["ab=x", "text", "wrk=./x"], false, "both ab and wrk would go to x;"),
        ] {
            let error = outputs(typed, is_json).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
