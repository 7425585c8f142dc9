//! Labs by name or folder: those that are part of the program, and copies that a user has edited.
//!
//! In: what was typed. Out: a lab, or why there is none.

use std::fs;
use std::path::Path;

use thiserror::Error;

use super::file_error::FileError;
use crate::lab::{self, Files, Lab};
use crate::plan::closest;

/// A lab's files are small; a folder that was named by mistake may not be.
const LARGEST_FILE: u64 = 4 << 20;

/// Why there is no such lab.
#[derive(Debug, Error)]
pub enum FindError {
    #[error(
        "there is no lab '{name}'{}; there are: {}; a folder is named with a slash, such as \
         ./{name}",
        close.map(|close| format!(" (did you mean '{close}'?)")).unwrap_or_default(),
        names.join(", "))]
    Unknown { name: String, close: Option<&'static str>, names: Vec<&'static str> },
    #[error("the lab {name} cannot be read: {message}")]
    Unreadable { name: String, message: String },
    #[error(transparent)]
    File(#[from] FileError),
}

/// The lab of this name, or in this folder when the text has a slash in it.
///
/// # Errors
/// There is none, or its files are wrong.
pub fn find(text: &str) -> Result<Lab, FindError> {
    let (name, files) = match text.contains('/') {
        true => {
            let folder = Path::new(text);
            let name = folder
                .canonicalize()
                .ok()
                .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
            (name.unwrap_or_else(|| text.to_string()), read_folder(folder)?)
        }
        false => (text.to_string(), built_in(text)?),
    };
    Lab::read(&name, files)
        .map_err(|message| FindError::Unreadable { name: text.to_string(), message })
}

fn built_in(name: &str) -> Result<Files, FindError> {
    lab::built_in(name).ok_or_else(|| {
        let names = lab::names();
        FindError::Unknown { name: name.to_string(), close: closest(name, &names), names }
    })
}

/// Writes the files of a lab into a new folder, where they can be edited.
///
/// # Errors
/// There is no such lab, the folder is there already, or cannot be written to.
pub fn write(name: &str, folder: &Path) -> Result<(), FindError> {
    let files = built_in(name)?;
    fs::create_dir(folder).map_err(FileError::of("make the folder", folder))?;
    for (path, content) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(FileError::of("make the folder", parent))?;
        fs::write(&path, content).map_err(FileError::of("write", &path))?;
    }
    Ok(())
}

fn read_folder(folder: &Path) -> Result<Files, FindError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(below) = folders.pop() {
        let unseen = FileError::of("look into", &below);
        for entry in fs::read_dir(&below).map_err(&unseen)? {
            let path = entry.map_err(&unseen)?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let unread = FileError::of("read", &path);
            if fs::metadata(&path).map_err(&unread)?.len() > LARGEST_FILE {
                return Err(FindError::Unreadable {
                    name: folder.display().to_string(),
                    message: format!("{} is larger than a lab's files are", path.display()),
                });
            }
            let content = fs::read(&path).map_err(&unread)?;
            files.push((path.strip_prefix(folder).unwrap_or(&path).to_path_buf(), content));
        }
    }
    files.sort();
    Ok(files)
}
