//! Labs by name or folder: those that are part of the program, and copies that a user has edited.
//!
//! In: what was typed. Out: a lab, or why there is none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

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
    #[error("could not {what} {}: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
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
    let failed = |what, path: &Path| {
        let path = path.to_path_buf();
        move |source| FindError::Io { what, path, source }
    };
    fs::create_dir(folder).map_err(failed("make the folder", folder))?;
    for (path, content) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(failed("make the folder", parent))?;
        fs::write(&path, content).map_err(failed("write", &path))?;
    }
    Ok(())
}

fn read_folder(folder: &Path) -> Result<Files, FindError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(below) = folders.pop() {
        let failed = |source| FindError::Io { what: "look into", path: below.clone(), source };
        for entry in fs::read_dir(&below).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let failed = |source| FindError::Io { what: "read", path: path.clone(), source };
            if fs::metadata(&path).map_err(failed)?.len() > LARGEST_FILE {
                return Err(FindError::Unreadable {
                    name: folder.display().to_string(),
                    message: format!("{} is larger than a lab's files are", path.display()),
                });
            }
            let content = fs::read(&path).map_err(failed)?;
            files.push((path.strip_prefix(folder).unwrap_or(&path).to_path_buf(), content));
        }
    }
    files.sort();
    Ok(files)
}
