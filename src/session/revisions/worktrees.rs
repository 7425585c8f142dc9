//! Two worktrees, a folder each, ready for their servers to start in.
//!
//! In: a repository and two commits. Out: folders in a scratch folder of our own. They are gone
//! when this is dropped; should we be killed, the guardian removes the folder, and the next
//! comparison has git forget them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::git::{Commit, GitError, LEADING, Repository};
use crate::place::PlaceError;
use crate::place::local::services::Services;
use crate::place::local::{OWN_PROGRAM, scratch_places};
use crate::server::{CommandLine, RunAs};
use crate::session::lab::PRODUCTION;
use crate::terms::{StopSignal, Task};

/// A checkout that takes longer has stopped.
const CHECKOUT: Duration = Duration::from_secs(600);
/// Compiling gems and assets takes minutes.
const PREPARATION: Duration = Duration::from_secs(1800);

/// What each revision writes for itself: files of the process that runs, caches, logs.
const OWN: [&str; 2] = ["tmp", "log"];
/// Files on whose way their folders are made, for servers that expect them.
const KEPT: [&str; 2] = ["tmp/pids/.keep", "log/.keep"];
/// Stores of ours.
const NOT_THE_APPS: &str = ".sweetspot";
/// A command that installs what a lock file names adds to these, and takes nothing away.
const ADDED_TO: [&str; 2] = [".bundle", "vendor/bundle"];

/// Two worktrees.
pub struct Worktrees {
    repository: Repository,
    made: Vec<PathBuf>,
    // Dropped after the worktrees are removed: it is what removes their folder otherwise.
    services: Services,
}

/// Why a revision has no folder to start in.
#[derive(Debug)]
pub enum WorktreeError {
    Place(PlaceError),
    Git(GitError),
    /// What the app needs and git does not have could not be linked to.
    Link {
        path: PathBuf,
        source: io::Error,
    },
}

impl From<PlaceError> for WorktreeError {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}

impl Worktrees {
    /// A folder without any worktree yet.
    ///
    /// # Errors
    /// There is nowhere to make it.
    pub fn begin(
        repository: Repository,
        run_as: Option<RunAs>,
        stop: StopSignal,
    ) -> Result<Self, PlaceError> {
        repository.forget_abandoned();
        let places = scratch_places();
        let services = Services::begin(Path::new(OWN_PROGRAM), &places, run_as, stop)?;
        Ok(Self { repository, made: Vec::new(), services })
    }

    /// Checks a commit out into a folder of this name, with what the app needs and git does not
    /// have. `is_prepared`: a command will make what is in ignored folders. The app's folder in
    /// there comes back.
    ///
    /// # Errors
    /// It cannot be checked out; git says why.
    pub fn add(
        &mut self,
        name: &str,
        commit: &Commit,
        is_prepared: bool,
    ) -> Result<PathBuf, WorktreeError> {
        let at = self.services.folder().join(name);
        self.made.push(at.clone());
        let arguments = self.repository.add_worktree(&at, commit);
        let what = Task::CheckOut { commit: commit.to_string() };
        let folder = self.repository.top.clone();
        self.run(what, arguments, folder, BTreeMap::new(), CHECKOUT)?;
        for path in self.repository.ignored().map_err(WorktreeError::Git)? {
            if is_linked(&path, &self.repository.top, is_prepared) {
                link(&self.repository.top.join(&path), &at.join(&path))
                    .map_err(|source| WorktreeError::Link { path, source })?;
            }
        }
        let below = Path::new(name).join(&self.repository.below);
        let app = self.services.folder().join(&below);
        let is_missing = |kept: &&str| app.is_dir() && !app.join(kept).exists();
        for kept in KEPT.into_iter().filter(is_missing) {
            self.services.write_file(&below.join(kept), b"")?;
        }
        Ok(app)
    }

    /// The app's folder below the repository's top.
    pub fn below(&self) -> &Path {
        &self.repository.below
    }

    /// Runs a command of the user's in a revision's folder, as the app will run.
    ///
    /// # Errors
    /// It fails; its last lines say why.
    pub fn prepare(
        &mut self,
        command: &str,
        folder: &Path,
        env: &BTreeMap<String, String>,
    ) -> Result<(), PlaceError> {
        let shell = ["sh", "-c", command];
        let words = ["env"].into_iter().chain(PRODUCTION).chain(shell).map(str::to_string);
        let what = Task::RunSetup { command: command.to_string() };
        self.run(what, words.collect(), folder.to_path_buf(), env.clone(), PREPARATION)
    }

    fn run(
        &mut self,
        what: Task,
        arguments: Vec<String>,
        folder: PathBuf,
        env: BTreeMap<String, String>,
        patience: Duration,
    ) -> Result<(), PlaceError> {
        let env_removed = LEADING.map(str::to_string).to_vec();
        let command = CommandLine { arguments, env: env.into(), env_removed, folder };
        self.services.run_within(what, command, patience)
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        self.made.iter().for_each(|at| self.repository.remove_worktree(at));
    }
}

/// Is an ignored path taken over into a worktree?
fn is_linked(path: &Path, top: &Path, is_prepared: bool) -> bool {
    let has = |name: &str| path.components().any(|it| it == Component::Normal(OsStr::new(name)));
    if OWN.into_iter().chain([NOT_THE_APPS]).any(has) {
        return false;
    }
    let is_added_to = || ADDED_TO.iter().any(|it| path.ends_with(it));
    !is_prepared || !top.join(path).is_dir() || is_added_to()
}

/// A link to what the working folder has, where the revision has not its own.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(folder) = at.parent() {
        std::fs::create_dir_all(folder)?;
    }
    symlink(to, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_packages_are_linked_and_what_a_running_app_writes_is_its_own() {
        let top = tempfile::tempdir().unwrap();
        for folder in ["node_modules", "vendor/bundle", "public/assets"] {
            std::fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        for (path, alone, prepared) in [
            (".env", true, true),
            ("config/master.key", true, true),
            ("db/production.sqlite3", true, true),
            ("vendor/bundle", true, true),
            ("node_modules", true, false),
            ("public/assets", true, false),
            ("tmp", false, false),
            ("log/production.log", false, false),
            ("web/tmp/cache", false, false),
            (".sweetspot", false, false),
        ] {
            let linked = [false, true].map(|it| is_linked(Path::new(path), top.path(), it));
            assert_eq!(linked, [alone, prepared], "{path}");
        }
    }

    #[test]
    fn a_link_takes_the_place_of_nothing_that_the_revision_has() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("theirs"), "theirs").unwrap();
        std::fs::write(at("own"), "own").unwrap();
        link(&at("theirs"), &at("own")).unwrap();
        link(&at("theirs"), &at("config/key")).unwrap();
        assert_eq!(std::fs::read(at("own")).unwrap(), b"own");
        assert_eq!(std::fs::read(at("config/key")).unwrap(), b"theirs");
    }
}
