//! Variables for the app as people write them: `NAME=value`.

use thiserror::Error;

/// A text that is no variable. Values may be secret and are not repeated here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariableError {
    #[error(
        "without a '=' a variable's value is taken from sweetspot's own environment, which has \
         none of that name; set it there, or write for example RAILS_LOG_LEVEL=warn"
    )]
    NotInherited,
    #[error(
        "'{name}' is no variable's name; letters, digits and '_' may stand in it, no digit first"
    )]
    Name { name: String },
    #[error("the value of {name} contains a zero byte")]
    Value { name: String },
}

/// Reads `NAME=value`, or `NAME`, whose value is what our own environment has: `inherited`.
///
/// # Errors
/// As [`VariableError`] says.
pub fn parse_variable(
    text: &str,
    inherited: impl Fn(&str) -> Option<String>,
) -> Result<(String, String), VariableError> {
    match text.split_once('=') {
        Some((name, value)) => check_variable(name.trim(), value),
        None => {
            let value = inherited(text.trim()).ok_or(VariableError::NotInherited)?;
            check_variable(text.trim(), &value)
        }
    }
}

/// A variable from its two parts.
///
/// # Errors
/// As [`VariableError`] says.
pub fn check_variable(name: &str, value: &str) -> Result<(String, String), VariableError> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || !is_name {
        return Err(VariableError::Name { name: name.to_string() });
    }
    if value.contains('\0') {
        return Err(VariableError::Value { name: name.to_string() });
    }
    Ok((name.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_variable(text: &str) -> Result<(String, String), VariableError> {
        let ours = |name: &str| (name == "API_KEY").then(|| "k=1".to_string());
        super::parse_variable(text, ours)
    }

    #[test]
    fn a_name_alone_has_the_value_that_we_have() {
        let parsed = parse_variable(" API_KEY").unwrap();
        assert_eq!(parsed, ("API_KEY".to_string(), "k=1".to_string()));
    }

    #[test]
    fn variables_are_split_at_the_first_equals_sign() {
        let parsed = parse_variable("URL=db://h?a=1 ").unwrap();
        assert_eq!(parsed, ("URL".to_string(), "db://h?a=1 ".to_string()));
        assert_eq!(parse_variable("EMPTY=").unwrap().1, "");
    }

    #[test]
    fn what_is_no_variable_is_named_without_its_value() {
        for (text, expected) in [
            ("secret", "without a '=' a variable's value is taken from"),
            ("=secret", "'' is no variable's name"),
            ("TWO WORDS=secret", "'TWO WORDS' is no variable's name"),
            ("1ST=secret", "'1ST' is no variable's name"),
            ("A-B=secret", "'A-B' is no variable's name"),
            ("X=sec\0ret", "the value of X contains a zero byte"),
        ] {
            let error = parse_variable(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
            assert!(!error.contains("sec"), "{error}");
        }
    }
}
