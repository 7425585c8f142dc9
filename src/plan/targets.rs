//! Which requests are sent, with which headers.
//!
//! In: what was typed, the plan file, a file of targets (one a line as `--target` spells it, blank
//! lines and `#` comments allowed), and what the app needs. Reads the file.

use std::fs;
use std::path::Path;

use super::error::{Origin, PlanError};
use super::header::{given_or_read, parse_header, set_header};
use super::options::Key;
use super::rails;
use super::settings::{Settings, Sourced, hidden};
use crate::server::App;
use crate::terms::{PlanSource, Target};

/// The requests, headers among them.
pub struct Asked {
    pub targets: Sourced<Vec<Target>>,
    /// Where the headers were found; of several places the one that comes before the others.
    pub headers: PlanSource,
}

/// `--target` and `--targets` together, or else those of the plan file, or else `GET /`; with the
/// headers that go to all of them.
///
/// # Errors
/// A target or a header that is none, or a file of targets that cannot be read.
pub fn targets(settings: &Settings<'_>, app: &App) -> Result<Asked, PlanError> {
    let (typed, file) = (settings.typed, settings.file.as_ref());
    let mut targets = Vec::new();
    for given in settings.typed_all(Key::Target) {
        targets.push(given.read_secret(str::parse::<Target>)?.value);
    }
    let mut source = PlanSource::Flag;
    let in_file = file.and_then(|file| file.targets.as_ref());
    if targets.is_empty() && !typed.has(Key::Targets) {
        source = PlanSource::Default;
        if let Some(in_file) = in_file {
            targets.extend(in_file.value.iter().cloned());
            source = PlanSource::PlanFile { line: in_file.line };
        }
    }
    let list = settings.path(Key::Targets);
    if let Some(list) =
        list.filter(|list| list.source == PlanSource::Flag || !typed.has(Key::Target))
    {
        targets.extend(read_targets(&list.value)?);
        source = list.source;
    }
    if targets.is_empty() {
        targets.push(Target::get("/"));
    }
    let targets = Sourced { value: targets, source };
    with_headers(targets, settings, app)
}

/// A target's own header comes before one of the plan file for all; one that was typed before both;
/// what the app needs comes last.
fn with_headers(
    mut targets: Sourced<Vec<Target>>,
    settings: &Settings<'_>,
    app: &App,
) -> Result<Asked, PlanError> {
    let common = settings.file.as_ref().and_then(|file| file.headers.as_ref());
    let mut typed = Vec::new();
    for given in settings.typed_all(Key::Header) {
        for line in given.read_secret(given_or_read)?.value {
            typed.push(parse_header(&line).map_err(|error| given.hidden_problem(error))?);
        }
    }
    let source = match common {
        _ if !typed.is_empty() => PlanSource::Flag,
        Some(common) => PlanSource::PlanFile { line: common.line },
        None if targets.value.iter().all(|target| target.headers.is_empty()) => PlanSource::App,
        None => targets.source.clone(),
    };
    let mut of_all = rails::headers(app);
    common.iter().flat_map(|it| &it.value).for_each(|header| set_header(&mut of_all, header));
    for target in &mut targets.value {
        let mut headers = of_all.clone();
        for header in target.headers.iter().chain(&typed) {
            set_header(&mut headers, header);
        }
        target.headers = headers;
    }
    Ok(Asked { targets, headers: source })
}

/// Reads a file of targets, in the order written; at least one.
///
/// # Errors
/// The file cannot be read, a line is no target, or there is none.
pub fn read_targets(path: &Path) -> Result<Vec<Target>, PlanError> {
    let text = fs::read_to_string(path)
        .map_err(|source| PlanError::Unreadable { path: path.to_path_buf(), source })?;
    parse_targets(&text, path)
}

fn parse_targets(text: &str, path: &Path) -> Result<Vec<Target>, PlanError> {
    let mut targets = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // A '#' cannot stand in a request's path, so a comment may also follow a target.
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = || Origin::Targets { path: path.to_path_buf(), line: index + 1 };
        targets.push(line.parse::<Target>().map_err(|problem| hidden(at(), problem))?);
    }
    if targets.is_empty() {
        return Err(PlanError::NoTargets { path: path.to_path_buf() });
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_one_a_line_between_comments() {
        let text = "# the mix\n\nGET / weight=8\n/orders # the list\r\nPOST /orders weight=2\n";
        let targets = parse_targets(text, Path::new("mix")).unwrap();
        let weights: Vec<_> = targets.iter().map(|t| (t.to_string(), t.weight)).collect();
        assert_eq!(
            weights,
            [
                ("GET / (weight 8)".to_string(), 8),
                ("GET /orders".to_string(), 1),
                ("POST /orders (weight 2)".to_string(), 2)
            ]
        );
    }

    #[test]
    fn a_line_that_is_no_target_is_named_by_its_number() {
        let error = parse_targets("GET /\n\nGRAB /\n", Path::new("mix")).unwrap_err().to_string();
        assert!(error.starts_with("mix line 3: 'GRAB' is no method"), "{error}");
    }

    #[test]
    fn a_file_without_targets_is_refused() {
        let error = parse_targets("# nothing yet\n", Path::new("mix")).unwrap_err().to_string();
        assert!(error.starts_with("mix names no target"), "{error}");
    }
}
