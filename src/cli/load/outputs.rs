//! Where a load's results go: `-o FORMAT` and `-o FORMAT=FILE`.
//!
//! In: what was typed. Out: files that are known to be writable before any load is sent, and are
//! written when it is over or as it goes.

use std::fs::File;
use std::io::Write;

use anyhow::Context;

use crate::cli::{UsageError, print};
use crate::files;
use crate::report::load::{About, Format, LoadResult, Report, Sinks};
use crate::report::terminal::standard_output;
use crate::session::report;

/// A format and the file that it goes to; without one to standard output.
pub type Output = report::Output<Format>;

/// Where it goes, for messages.
fn name(output: &Output) -> String {
    match &output.path {
        Some(file) => file.display().to_string(),
        None => "standard output".to_string(),
    }
}

/// All that was asked for: `--json` is one more, and without any it is text.
///
/// # Errors
/// Two that would be mixed up in one place.
pub fn of(typed: &[Output], is_json: bool) -> Result<Vec<Output>, UsageError> {
    let to_standard_output = |report| Output { format: Format::Report(report), path: None };
    let mut outputs = typed.to_vec();
    let json = to_standard_output(Report::Json);
    if is_json && !outputs.contains(&json) {
        outputs.push(json);
    }
    if outputs.is_empty() {
        outputs.push(to_standard_output(Report::Text));
    }
    report::check(&outputs).map_err(UsageError::of)?;
    Ok(outputs)
}

/// A load may take long, and its result must not be lost for a mistyped folder: looks before it
/// begins. What a file holds stays there until there is a new result.
pub fn check_writable(outputs: &[Output]) -> anyhow::Result<()> {
    for file in outputs.iter().filter_map(|output| output.path.as_ref()) {
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
        let out: Box<dyn Write + Send> = match &output.path {
            None => Box::new(standard_output()),
            Some(file) => Box::new(File::create(file).with_context(|| not_opened(&name(output)))?),
        };
        sinks
            .add(stream, about, name(output), out)
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
    match &output.path {
        None => print(text).context("could not print the result"),
        Some(file) => files::replace(file, text.as_bytes())
            .with_context(|| format!("could not write the result to {}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::report::NamedForm;

    fn outputs(typed: &[&str], is_json: bool) -> Result<Vec<Output>, UsageError> {
        let typed: Vec<Output> = typed.iter().map(|text| text.parse().unwrap()).collect();
        of(&typed, is_json)
    }

    fn places(outputs: &[Output]) -> Vec<String> {
        outputs.iter().map(|one| format!("{} {}", one.format.name(), name(one))).collect()
    }

    #[test]
    fn every_format_is_read_with_and_without_a_file() {
        for (name, format) in Format::ALL {
            assert_eq!(name.parse::<Output>().unwrap().format, *format);
            let with_file = format!("{name}=a=b").parse::<Output>().unwrap();
            assert_eq!(with_file.path.as_deref(), Some(Path::new("a=b")), "{name}");
        }
        let refused = |text: &str| text.parse::<Output>().unwrap_err().to_string();
        let error = refused("xml");
        assert!(error.starts_with("'xml' is no report; write FORMAT or FORMAT=PATH"), "{error}");
        assert!(error.ends_with("wrk, ab, k6, junit, prometheus"), "{error}");
        assert_eq!(refused("json="), "no file after '='; write for example json=FILE");
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
