//! Request headers as people write them: `Name: value`, or `@FILE` with one a line.

use std::fs;

use thiserror::Error;

/// Headers that the load generator sets itself; a second one would change what is measured.
const OURS: &[&str] = &["connection", "content-length", "transfer-encoding"];

/// A text that is no header. Values may be secret and are not repeated here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    #[error("a header needs a ':' after its name; write for example 'Accept: text/html'")]
    NoColon,
    #[error("'{name}' is no header name; letters, digits and '-' may stand in it")]
    Name { name: String },
    #[error("the value of {name} contains a line break or another control character")]
    Value { name: String },
    #[error("{name} is set by the load generator; leave it out (see --connection)")]
    Ours { name: String },
    #[error("{path} could not be read: {why}")]
    File { path: String, why: String },
}

/// What was given, or with `@FILE` that file's lines, but for blank ones and those that begin with
/// `#`: what is typed is seen by everyone on the machine, a file by whom its mode allows.
///
/// # Errors
/// The file cannot be read.
pub fn given_or_read(given: &str) -> Result<Vec<String>, HeaderError> {
    let Some(path) = given.strip_prefix('@') else { return Ok(vec![given.to_string()]) };
    let text = fs::read_to_string(path)
        .map_err(|error| HeaderError::File { path: path.to_string(), why: error.to_string() })?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|it| !it.is_empty() && !it.starts_with('#')).map(str::to_string).collect())
}

/// Reads `Name: value`.
///
/// # Errors
/// As [`HeaderError`] says.
pub fn parse_header(text: &str) -> Result<(String, String), HeaderError> {
    let (name, value) = text.split_once(':').ok_or(HeaderError::NoColon)?;
    check_header(name.trim(), value.trim())
}

/// A header from its two parts.
///
/// # Errors
/// As [`HeaderError`] says.
pub fn check_header(name: &str, value: &str) -> Result<(String, String), HeaderError> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(HeaderError::Name { name: name.to_string() });
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(HeaderError::Value { name: name.to_string() });
    }
    if OURS.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(HeaderError::Ours { name: name.to_string() });
    }
    Ok((name.to_string(), value.to_string()))
}

/// Sets a header; one of the same name, in any case, is replaced.
pub fn set_header(headers: &mut Vec<(String, String)>, header: &(String, String)) {
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(&header.0));
    headers.push(header.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_split_at_the_first_colon() {
        let parsed = parse_header("X-Time:  12:30 ").unwrap();
        assert_eq!(parsed, ("X-Time".to_string(), "12:30".to_string()));
    }

    #[test]
    fn what_is_no_header_is_named_without_its_value() {
        for (text, expected) in [
            ("secret", "a header needs a ':'"),
            (": secret", "'' is no header name"),
            ("Two Words: secret", "'Two Words' is no header name"),
            ("X: sec\r\nret", "the value of X contains a line break"),
            ("connection: secret", "connection is set by the load generator"),
        ] {
            let error = parse_header(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains("sec"), "{error}");
        }
    }

    #[test]
    fn a_file_has_a_header_a_line_and_one_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headers");
        fs::write(&path, "# of staging\nCookie: a=1\r\n\n  X-Key: k\n").unwrap();
        let given = format!("@{}", path.display());
        assert_eq!(given_or_read(&given).unwrap(), ["Cookie: a=1", "X-Key: k"]);
        assert_eq!(given_or_read("X-Key: @k").unwrap(), ["X-Key: @k"]);
        let error = given_or_read("@/no/such/file").unwrap_err().to_string();
        assert!(error.starts_with("/no/such/file could not be read: "), "{error}");
    }

    #[test]
    fn a_header_replaces_the_one_of_the_same_name() {
        let mut headers = vec![("accept".to_string(), "a".to_string())];
        set_header(&mut headers, &("Accept".to_string(), "b".to_string()));
        assert_eq!(headers, [("Accept".to_string(), "b".to_string())]);
    }
}
