//! The gems that an app's bundle names: `Gemfile.lock` says it exactly.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::app_error::{AppError, read};
use crate::server::{ADAPTERS, Adapter};

/// Gemfiles with their lock files, in the order in which Bundler looks.
const GEMFILES: [(&str, &str); 2] = [("gems.rb", "gems.locked"), ("Gemfile", "Gemfile.lock")];

/// Servers that are not supported yet.
const OTHER_SERVERS: [&str; 6] = ["passenger", "falcon", "pitchfork", "iodine", "agoo", "webrick"];

/// What an app is bundled with.
pub struct Bundle {
    lock: PathBuf,
    gems: BTreeSet<String>,
}

/// The bundle of this folder, or as Bundler has it of the next folder above, up to the root of the
/// repository, where that has a server; `None` without a Gemfile.
///
/// # Errors
/// A Gemfile of its own without a lock file, or one that cannot be read.
pub fn read_bundle(asked: &Path) -> Result<Option<Bundle>, AppError> {
    let found = up_to_the_repository(asked).find_map(|folder| {
        let of = GEMFILES.iter().find(|(gemfile, _)| folder.join(gemfile).is_file());
        of.map(|(gemfile, lock)| (folder, gemfile, lock))
    });
    let Some((folder, gemfile, lock)) = found else { return Ok(None) };
    let (path, is_own) = (folder.join(lock), folder == asked);
    if !path.is_file() && !is_own {
        return Ok(None);
    }
    if !path.is_file() {
        return Err(AppError::NoLock { gemfile: folder.join(gemfile), lock });
    }
    let gems = locked_gems(&read(&path)?);
    let bundle = Bundle { lock: path, gems };
    // One above that has no server is for other tools.
    Ok(Some(bundle).filter(|bundle| is_own || bundle.servers().is_ok()))
}

/// This folder and those above it to the one that git keeps; without one this folder alone, since
/// what lies above belongs to something else.
fn up_to_the_repository(folder: &Path) -> impl Iterator<Item = &Path> {
    let root = folder.ancestors().position(|above| above.join(".git").exists());
    folder.ancestors().take(root.unwrap_or(0) + 1)
}

impl Bundle {
    /// Is this gem in it?
    pub fn has(&self, gem: &str) -> bool {
        self.gems.contains(gem)
    }

    /// The servers that it has, in the order in which we list them; at least one.
    ///
    /// # Errors
    /// None that we know is in it.
    pub fn servers(&self) -> Result<Vec<&'static dyn Adapter>, AppError> {
        let of_ruby = ADAPTERS.iter().copied().filter(|one| one.about().runs_ruby());
        let known: Vec<_> = of_ruby.filter(|adapter| self.has(adapter.name())).collect();
        if !known.is_empty() {
            return Ok(known);
        }
        let evidence = self.lock.clone();
        Err(match OTHER_SERVERS.iter().find(|server| self.has(server)) {
            Some(server) => AppError::UnsupportedServer { evidence, server: server.to_string() },
            None => AppError::ServerNotInBundle { evidence },
        })
    }
}

/// Every gem that is resolved, dependencies of dependencies too: a line of four blanks, the name,
/// and the version in brackets. Six blanks are what a gem needs, not what is installed.
fn locked_gems(lock: &str) -> BTreeSet<String> {
    lock.lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_once(" (").map(|(name, _)| name.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_gemfile_above_counts_within_the_repository() {
        let root = tempfile::tempdir().unwrap();
        let app = root.path().join("apps/api");
        fs::create_dir_all(&app).unwrap();
        fs::write(root.path().join("Gemfile"), "").unwrap();
        fs::write(root.path().join("Gemfile.lock"), "    puma (6.6.0)\n").unwrap();
        assert!(read_bundle(&app).unwrap().is_none());
        fs::create_dir(root.path().join(".git")).unwrap();
        assert!(read_bundle(&app).unwrap().unwrap().has("puma"));
        fs::write(root.path().join("Gemfile.lock"), "    rubocop (1.60.0)\n").unwrap();
        assert!(read_bundle(&app).unwrap().is_none(), "it is for other tools");
        fs::remove_file(root.path().join("Gemfile.lock")).unwrap();
        assert!(read_bundle(&app).unwrap().is_none());
    }

    #[test]
    fn only_what_is_installed_counts_as_a_gem() {
        let lock = "GEM\n  remote: https://gems.test/\n  specs:\n    nio4r (2.5.9)\n    \
                    puma (5.6.5)\n      nio4r (~> 2.0)\n\
                    \x20     unicorn (>= 6)\n\n\
                    PLATFORMS\n  ruby\n\nDEPENDENCIES\n  thin (~> 1.8)\n\n\
                    BUNDLED WITH\n   2.3.15\n";
        let gems: Vec<_> = locked_gems(lock).into_iter().collect();
        assert_eq!(gems, ["nio4r", "puma"]);
    }
}
