//! Environment variables that change how a bench runs.

use std::path::PathBuf;
use std::str::FromStr;

use super::Result;

/// # Errors
/// The variable is set to something else than such a number.
pub fn number<T: FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => text.parse().map_err(|_| format!("{name}: '{text}' is no such number").into()),
        Err(_) => Ok(default),
    }
}

/// # Errors
/// It is no number, or less than `least`.
pub fn at_least<T: FromStr + PartialOrd + std::fmt::Display>(
    least: T,
    name: &str,
    default: T,
) -> Result<T> {
    match number(name, default)? {
        few if few < least => Err(format!("{name}: {few} is too few, at least {least}").into()),
        enough => Ok(enough),
    }
}

/// A seed, where there is one.
///
/// # Errors
/// It is no number.
pub fn seed(name: &str) -> Result<Option<u64>> {
    let is_set = std::env::var_os(name).is_some();
    is_set.then(|| number(name, 0)).transpose()
}

/// Whether the variable is 1.
pub fn is_on(name: &str) -> Result<bool> {
    Ok(number(name, 0)? == 1)
}

pub fn text(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_string())
}

/// `FOLDER`, made where it is missing.
pub fn folder(default: &str) -> Result<PathBuf> {
    let folder = std::env::var_os("FOLDER").map_or_else(|| default.into(), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// What a variable names, in its order, with commas or spaces between; empty where neither it nor
/// the default names any.
///
/// # Errors
/// One is not among those that are `there`: a mistyped name must not look like a result.
pub fn names(variable: &str, default: &str, there: &[&str]) -> Result<Vec<String>> {
    let text = text(variable, default);
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|it| !it.is_empty());
    let names: Vec<String> = words.map(str::to_string).collect();
    match names.iter().find(|name| !there.contains(&name.as_str())) {
        Some(name) => {
            let there = there.join(", ");
            Err(format!("{variable}: '{name}' is none; there are {there}").into())
        }
        None => Ok(names),
    }
}
