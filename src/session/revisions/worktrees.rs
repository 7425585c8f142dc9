//! Two worktrees, a folder each, ready for their servers to start in.
//!
//! In: a repository and two commits. Out: folders in a scratch folder of our own. They are gone
//! when this is dropped; should we be killed, the guardian removes the folder, and the next
//! comparison has git forget them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::error::{Named, RevisionsError};
use super::git::{LEADING, Repository};
use super::shared;
use super::variables::{Folders, OwnVariables};
use crate::place::PlaceError;
use crate::place::local::services::Services;
use crate::place::local::{OWN_PROGRAM, scratch_places};
use crate::server::{self, App, CommandLine, RunAs};
use crate::session::lab::PREPARATION;
use crate::terms::{CompareNote, StopSignal, Task};

/// A checkout that takes longer has stopped.
const CHECKOUT: Duration = Duration::from_secs(600);

/// What each revision writes for itself: files of the process that runs, caches, logs.
const OWN: [&str; 2] = ["tmp", "log"];
/// Files on whose way their folders are made, for servers that expect them.
const KEPT: [&str; 2] = ["tmp/pids/.keep", "log/.keep"];
/// Stores of ours.
const NOT_THE_APPS: &str = ".sweetspot";
/// Folders that a command which installs gems begins with: the settings by which Bundler finds
/// them, and those that are there. It changes the settings, adds what a lock file names, and may
/// take away what that does not name (`BUNDLE_CLEAN`).
const BUNDLED: [&str; 2] = [".bundle", "vendor/bundle"];
/// In a folder of Composer's packages: what finds an app's classes from where it lies itself, links
/// followed.
const LOADER: &str = "composer/autoload_real.php";
/// Paths in one command: how long it may be is limited.
const COPIED_AT_ONCE: usize = 200;

/// Two worktrees.
pub struct Worktrees {
    repository: Repository,
    made: Vec<PathBuf>,
    /// What git is told to ignore, below the working folder.
    ignored: Vec<PathBuf>,
    /// What of it a worktree has links to.
    linked: BTreeSet<PathBuf>,
    // Dropped after the worktrees are removed: it is what removes their folder otherwise.
    services: Services,
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
        let (made, ignored, linked) = (Vec::new(), Vec::new(), BTreeSet::new());
        Ok(Self { repository, made, ignored, linked, services })
    }

    /// Checks a side out into a folder of this name, with what the app needs and git does not
    /// have. `is_prepared`: a command will make what is in ignored folders. The app's folder in
    /// there comes back.
    ///
    /// # Errors
    /// It cannot be checked out; git says why.
    pub fn add(
        &mut self,
        name: &str,
        side: &Named,
        is_prepared: bool,
    ) -> Result<PathBuf, RevisionsError> {
        let of_side = |error| side.place(error);
        let at = self.services.folder().join(name);
        self.made.push(at.clone());
        let arguments = self.repository.add_worktree(&at, &side.commit);
        let what = Task::CheckOut { commit: side.commit.to_string() };
        let folder = self.repository.top.clone();
        self.run(what.clone(), arguments, folder, BTreeMap::new(), CHECKOUT).map_err(of_side)?;
        self.take_over(&at, side, &what, is_prepared)?;
        let below = Path::new(name).join(&self.repository.below);
        let app = self.services.folder().join(&below);
        let is_missing = |kept: &&str| app.is_dir() && !app.join(kept).exists();
        for kept in KEPT.into_iter().filter(is_missing) {
            self.services.write_file(&below.join(kept), b"").map_err(of_side)?;
        }
        Ok(app)
    }

    /// Gives a worktree what the working folder has and git does not. Copies are made by a command,
    /// which reads and writes as the app's user.
    fn take_over(
        &mut self,
        at: &Path,
        side: &Named,
        what: &Task,
        is_prepared: bool,
    ) -> Result<(), RevisionsError> {
        let top = self.repository.top.clone();
        let mut copied: Vec<String> = Vec::new();
        let mut linked: Vec<PathBuf> = Vec::new();
        self.ignored = self.repository.ignored()?;
        let parts = |path: &PathBuf| match is_prepared {
            true => vec![path.clone()],
            false => parts(path, &top),
        };
        for path in self.ignored.iter().flat_map(parts) {
            match taken(&path, &top, is_prepared) {
                Taken::Linked => linked.push(path),
                Taken::Copied if is_there(&at.join(&path)) => {}
                // The guardian takes text: a name that is none is left out.
                Taken::Copied => copied.extend(path.to_str().map(str::to_string)),
                Taken::LeftOut => {}
            }
        }
        for paths in copied.chunks(COPIED_AT_ONCE) {
            let words = ["cp", "-RHp", "--parents", "--"].into_iter().map(str::to_string);
            let to = at.display().to_string();
            let arguments = words.chain(paths.iter().cloned()).chain([to]).collect();
            self.run(what.clone(), arguments, top.clone(), BTreeMap::new(), CHECKOUT)
                .map_err(|error| side.place(error))?;
        }
        // Only now: a copy's folder is made by the app's user.
        for path in linked {
            match link(&top.join(&path), &at.join(&path)) {
                Ok(is_made) => self.linked.extend(is_made.then_some(path)),
                Err(source) => return Err(RevisionsError::Link { path, source }),
            }
        }
        Ok(())
    }

    /// The variables by which an app in the folder of this name would be led to the working
    /// folder's files, leading to its own. `given`: the user's for the app.
    pub fn own_variables(&self, name: &str, given: &BTreeMap<String, String>) -> OwnVariables {
        let own = self.services.folder().join(name);
        let folders = self.folders(&own);
        let as_text = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        folders.own_variables(given, std::env::vars_os().filter_map(as_text))
    }

    /// What the app in the folder of this name is started from, where that is the working folder's.
    pub fn shared_start(&self, name: &str, app: &App) -> Option<PathBuf> {
        shared::start(app, self.folders(&self.services.folder().join(name)))
    }

    /// What to know of the code of the working folder that worktrees have by their links.
    pub fn shared_code(&self) -> Option<CompareNote> {
        let folders = self.folders(self.services.folder());
        let shared = shared::code(folders, self.below(), &self.linked);
        let paths: Vec<_> = shared.iter().map(|path| path.display().to_string()).collect();
        (!paths.is_empty()).then_some(CompareNote::CodeShared { paths })
    }

    fn folders<'a>(&'a self, own: &'a Path) -> Folders<'a> {
        Folders { top: &self.repository.top, own, ignored: &self.ignored }
    }

    /// The app's folder below the repository's top.
    pub fn below(&self) -> &Path {
        &self.repository.below
    }

    /// Runs a command of the user's in a revision's folder, as the app will run: with the variables
    /// that the user gave, and the revision's own.
    ///
    /// # Errors
    /// It fails; its last lines say why.
    pub fn prepare(
        &mut self,
        command: &str,
        folder: &Path,
        given: &BTreeMap<String, String>,
        own: OwnVariables,
    ) -> Result<(), PlaceError> {
        let shell = ["sh", "-c", command].map(str::to_string);
        let named =
            server::environments(given).into_iter().map(|(name, it)| format!("{name}={it}"));
        let words = ["env".to_string()].into_iter().chain(named).chain(shell);
        let what = Task::RunSetup { command: command.to_string() };
        self.services.set_public(own.inherited);
        let env = given.clone().into_iter().chain(own.all).collect();
        self.run(what, words.collect(), folder.to_path_buf(), env, PREPARATION)
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

/// What becomes of an ignored path in a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Linked,
    /// The user's command writes to what it finds, and through a link it would write to the working
    /// folder; and what looks for code from where it lies would find the working folder's.
    Copied,
    LeftOut,
}

/// `is_prepared`: a command will make what is in ignored folders.
fn taken(path: &Path, top: &Path, is_prepared: bool) -> Taken {
    let has = |name: &str| path.components().any(|it| it == Component::Normal(OsStr::new(name)));
    if OWN.into_iter().chain([NOT_THE_APPS]).any(has) {
        return Taken::LeftOut;
    }
    let at = top.join(path);
    if !is_prepared {
        return if is_loader(&at) { Taken::Copied } else { Taken::Linked };
    }
    let is_within = |name: &str| path.ancestors().any(|it| it.ends_with(name));
    match at.is_dir() {
        true if BUNDLED.into_iter().any(is_within) => Taken::Copied,
        // A link that leads nowhere cannot be copied.
        false if at.exists() => Taken::Copied,
        _ => Taken::LeftOut,
    }
}

/// The path, or what is in there where that is a folder of Composer's packages.
fn parts(path: &Path, top: &Path) -> Vec<PathBuf> {
    let at = top.join(path);
    match fs::read_dir(&at) {
        Ok(inside) if at.join(LOADER).is_file() => {
            inside.flatten().map(|entry| path.join(entry.file_name())).collect()
        }
        _ => vec![path.to_path_buf()],
    }
}

/// Composer's loader, or a file beside it, which calls it.
fn is_loader(at: &Path) -> bool {
    let is_beside = at.parent().is_some_and(|folder| folder.join(LOADER).is_file());
    is_beside && (at.is_file() || at.ends_with("composer"))
}

/// A link to what the working folder has, where the revision has not its own; was one made?
fn link(to: &Path, at: &Path) -> io::Result<bool> {
    if is_there(at) {
        return Ok(false);
    }
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    symlink(to, at).map(|()| true)
}

/// A link that leads nowhere is there too.
fn is_there(at: &Path) -> bool {
    at.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_gems_are_linked_or_copied_and_what_a_running_app_writes_is_its_own() {
        let top = tempfile::tempdir().unwrap();
        for file in [
            ".bundle/config",
            ".env",
            "config/master.key",
            "node_modules/it/index.js",
            "public/assets/it.css",
            "vendor/acme/it/it.php",
            "vendor/autoload.php",
            "vendor/bundle/ruby/it.rb",
            "vendor/composer/autoload_real.php",
        ] {
            let path = top.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        symlink("nowhere", top.path().join("gone.key")).unwrap();
        for (path, alone, prepared) in [
            (".env", Taken::Linked, Taken::Copied),
            ("config/master.key", Taken::Linked, Taken::Copied),
            (".bundle", Taken::Linked, Taken::Copied),
            (".bundle/config", Taken::Linked, Taken::Copied),
            ("vendor/bundle", Taken::Linked, Taken::Copied),
            ("vendor/bundle/ruby", Taken::Linked, Taken::Copied),
            ("node_modules", Taken::Linked, Taken::LeftOut),
            ("public/assets", Taken::Linked, Taken::LeftOut),
            ("gone.key", Taken::Linked, Taken::LeftOut),
            ("tmp", Taken::LeftOut, Taken::LeftOut),
            ("log/production.log", Taken::LeftOut, Taken::LeftOut),
            ("web/tmp/cache", Taken::LeftOut, Taken::LeftOut),
            (".sweetspot", Taken::LeftOut, Taken::LeftOut),
            ("vendor/autoload.php", Taken::Copied, Taken::Copied),
            ("vendor/composer", Taken::Copied, Taken::LeftOut),
            ("vendor/acme", Taken::Linked, Taken::LeftOut),
        ] {
            let found = [false, true].map(|it| taken(Path::new(path), top.path(), it));
            assert_eq!(found, [alone, prepared], "{path}");
        }
        let all = |path: &str| BTreeSet::from_iter(parts(Path::new(path), top.path()));
        let packages = ["acme", "autoload.php", "bundle", "composer"];
        let packages = packages.map(|name| Path::new("vendor").join(name));
        assert_eq!(all("vendor"), BTreeSet::from(packages));
        assert_eq!(all("node_modules"), BTreeSet::from([PathBuf::from("node_modules")]));
    }

    #[test]
    fn a_link_takes_the_place_of_nothing_that_the_revision_has() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("theirs"), "theirs").unwrap();
        fs::write(at("own"), "own").unwrap();
        assert!(!link(&at("theirs"), &at("own")).unwrap());
        assert!(link(&at("theirs"), &at("config/key")).unwrap());
        assert_eq!(fs::read(at("own")).unwrap(), b"own");
        assert_eq!(fs::read(at("config/key")).unwrap(), b"theirs");
    }
}
