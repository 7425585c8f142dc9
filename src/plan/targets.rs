//! A file of targets: one a line as `--target` spells it, blank lines and `#` comments allowed.

use std::fs;
use std::path::Path;

use super::error::{Origin, PlanError};
use crate::terms::Target;

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
        targets.push(line.parse::<Target>().map_err(|problem| PlanError::Value {
            at: Origin::Targets { path: path.to_path_buf(), line: index + 1 },
            value: None,
            problem: Box::new(problem.into()),
        })?);
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
