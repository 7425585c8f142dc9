//! `--pod-template`: a file of the user's that says what the pods of an image are to be like.
//!
//! In: the settings. Out: what is taken over of it. Reads the file.

use std::fs;

use super::error::PlanError;
use super::options::Key;
use super::settings::Settings;
use crate::place::kubernetes::Template;

/// What pods are to be like; `None`: no file says it. `container`: the name of the one that runs
/// the app, where that was given.
///
/// # Errors
/// The file cannot be read, describes no pods or several, or has no such container.
pub fn pod_template(
    settings: &Settings<'_>,
    container: Option<&str>,
) -> Result<Option<Template>, PlanError> {
    let Some(file) = settings.path(Key::PodTemplate) else { return Ok(None) };
    let path = file.value;
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(PlanError::Unreadable { path, source }),
    };
    match Template::read(&text, container) {
        Ok(template) => Ok(Some(template)),
        Err(source) => Err(PlanError::PodTemplate { path, source }),
    }
}
