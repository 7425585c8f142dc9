//! What has to be in the scratch folder before a server is started.
//!
//! In: a recipe. Out: its files, and no socket of an earlier server's.

use std::io;
use std::path::Path;

use super::error::environment;
use crate::place::PlaceError;
use crate::server::{Listen, Recipe, Upstream};
use crate::terms::Task;

/// Writes a recipe's files. Also takes away the sockets of an earlier server that could not: not
/// every server opens one that is there.
///
/// # Errors
/// The folder cannot be written to.
pub fn write(recipe: &Recipe, scratch: &Path) -> Result<(), PlaceError> {
    if let Upstream::Http(places) = &recipe.upstream {
        for place in places {
            if let Listen::Socket(path) = place
                && let Err(error) = std::fs::remove_file(path)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(environment(
                    Task::RemoveFile { path: path.display().to_string() },
                    error,
                ));
            }
        }
    }
    for (name, content) in &recipe.files {
        let path = scratch.join(name);
        std::fs::write(&path, content).map_err(|error| {
            environment(Task::WriteFile { path: path.display().to_string() }, error)
        })?;
    }
    Ok(())
}
