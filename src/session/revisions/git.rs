//! What git knows of the app's folder: its repository, its revisions, what it leaves out.
//!
//! In: a folder and names of revisions. Out: commits and paths, by the user's own `git`. Changes
//! nothing but the list of worktrees.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::str::FromStr;

use thiserror::Error;

use crate::server::RunAs;

/// Variables by which a hook or a script leads git to another repository than the folder's.
pub const LEADING: [&str; 4] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];

/// How the folders of guardians begin, in which worktrees are made.
const OURS: &str = "sweetspot-";

/// Before each ignored path in what `git status --porcelain` prints.
const IGNORED: &[u8] = b"!! ";

/// Two revisions as they were typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub a: String,
    pub b: String,
    /// A is where B's history left it, rather than what it is now.
    pub is_from_merge_base: bool,
}

/// Why a text names no two revisions.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RangeError {
    #[error("write both revisions, before and after: A..B, such as main..HEAD")]
    NoRange,
    #[error("one side of '{0}' is missing; write both, such as main..HEAD")]
    OneSide(String),
    #[error("'{0}' is no revision; write A..B, such as main..HEAD")]
    NoRevision(String),
}

impl FromStr for Range {
    type Err = RangeError;

    /// Reads `main..HEAD`, or `main...HEAD`, which begins where HEAD's history left main.
    fn from_str(text: &str) -> Result<Self, RangeError> {
        let (a, b) = text.split_once("..").ok_or(RangeError::NoRange)?;
        let (b, is_from_merge_base) = match b.strip_prefix('.') {
            Some(b) => (b, true),
            None => (b, false),
        };
        if a.is_empty() || b.is_empty() {
            return Err(RangeError::OneSide(text.to_string()));
        }
        let is_bad = |side: &&str| side.starts_with(['-', '.']) || side.contains("..");
        match [a, b].into_iter().find(is_bad) {
            Some(side) => Err(RangeError::NoRevision(side.to_string())),
            None => Ok(Self { a: a.to_string(), b: b.to_string(), is_from_merge_base }),
        }
    }
}

/// Why git could not say what was asked; nothing was measured.
#[derive(Debug, Error)]
pub enum GitError {
    #[error(
        "could not run git, by which revisions are found: {0}; install it, on Debian by 'apt \
             install git'"
    )]
    NotRun(#[source] io::Error),
    #[error("{} is in no git repository that could be read, and revisions are git's: {said}",
        folder.display())]
    NoRepository { folder: PathBuf, said: String },
    #[error("there is no revision '{name}' in {}{}", top.display(), bringing(name, *is_shallow))]
    NoRevision { name: String, top: PathBuf, is_shallow: bool },
    #[error("'{a}' and '{b}' have no commit in common{}", as_they_are(a, b, *is_shallow))]
    NoMergeBase { a: String, b: String, is_shallow: bool },
    #[error(
        "'{b}' has no commit that '{a}' lacks, so there is nothing to compare; write {a}..{b} to \
         compare them as they are"
    )]
    NothingNew { a: String, b: String },
    #[error("could not {what}: {said}")]
    Failed { what: &'static str, said: String },
}

/// The command that fetches a revision, where there is one. A clone that is shallow has a part of
/// the history alone: what is counted from a commit, such as `HEAD~1`, needs the rest.
fn bringing(name: &str, is_shallow: bool) -> String {
    let branch = name.strip_prefix("origin/").unwrap_or(name);
    // Nothing on a server has such a name.
    let is_counted = name == "HEAD" || name.contains(['~', '^', '@', ':']);
    let rest = if is_shallow { "--unshallow " } else { "" };
    match (is_counted, is_shallow) {
        (true, true) => "; this clone is shallow: 'git fetch --unshallow' brings the rest".into(),
        (true, false) => String::new(),
        (false, _) => format!(
            "; where it is only on a server, such as in a CI that fetches one commit alone, 'git \
             fetch {rest}origin {branch}:refs/remotes/origin/{branch}' brings it"
        ),
    }
}

fn as_they_are(a: &str, b: &str, is_shallow: bool) -> String {
    match is_shallow {
        true => " in this clone, which is shallow: 'git fetch --unshallow' brings the rest".into(),
        false => format!("; write {a}..{b} to compare them as they are"),
    }
}

/// A commit, by all of its hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit(pub String);

/// As many digits as git shows.
impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get(..10).unwrap_or(&self.0))
    }
}

/// The repository that the app's folder is in.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Its working folder.
    pub top: PathBuf,
    /// The app's folder below it; empty: that is the app's.
    pub below: PathBuf,
    /// Where git keeps what all worktrees share.
    common: PathBuf,
    /// Whose it is, where we are root.
    run_as: Option<RunAs>,
}

impl Repository {
    /// The one that holds the folder.
    ///
    /// # Errors
    /// There is no git, or no repository that this user may read.
    pub fn find(folder: &Path, run_as: Option<RunAs>) -> Result<Self, GitError> {
        let ask = |what: &str| {
            let output = git(folder, run_as.as_ref(), &["rev-parse", what])?;
            match output.status.success() {
                true => Ok(path(line(&output.stdout))),
                false => {
                    let said = said(&output);
                    Err(GitError::NoRepository { folder: folder.to_path_buf(), said })
                }
            }
        };
        let (top, below) = (ask("--show-toplevel")?, ask("--show-prefix")?);
        // It may be relative to the folder.
        let common = folder.join(ask("--git-common-dir")?);
        Ok(Self { top, below, common, run_as })
    }

    /// The commit that a name means. A branch that only `origin` has goes by its own name: a CI's
    /// clone has no other branch than the one that was pushed.
    ///
    /// # Errors
    /// It means none here.
    pub fn commit(&self, name: &str) -> Result<Commit, GitError> {
        for name in [name, &format!("refs/remotes/origin/{name}")] {
            let of_commit = format!("{name}^{{commit}}");
            let output = self.git(&["rev-parse", "--verify", "--quiet", &of_commit])?;
            if output.status.success() {
                return Ok(commit(&output));
            }
        }
        let (name, top, is_shallow) = (name.to_string(), self.top.clone(), self.is_shallow()?);
        Err(GitError::NoRevision { name, top, is_shallow })
    }

    /// Has it only the newest commits, as many a CI fetches them?
    fn is_shallow(&self) -> Result<bool, GitError> {
        let output = self.git(&["rev-parse", "--is-shallow-repository"])?;
        Ok(line(&output.stdout) == b"true")
    }

    /// The commits of both sides.
    ///
    /// # Errors
    /// A name means none, their histories have none in common, or B lies in A's past.
    pub fn commits(&self, range: &Range) -> Result<[Commit; 2], GitError> {
        let (a, b) = (self.commit(&range.a)?, self.commit(&range.b)?);
        if !range.is_from_merge_base {
            return Ok([a, b]);
        }
        let output = self.git(&["merge-base", &a.0, &b.0])?;
        let names = || (range.a.clone(), range.b.clone());
        if !output.status.success() {
            let ((a, b), is_shallow) = (names(), self.is_shallow()?);
            return Err(GitError::NoMergeBase { a, b, is_shallow });
        }
        let base = commit(&output);
        // B is a commit of A's past.
        if base == b && a != b {
            let (a, b) = names();
            return Err(GitError::NothingNew { a, b });
        }
        Ok([base, b])
    }

    /// Files of the working folder that are not as they were last committed, new ones among them.
    ///
    /// # Errors
    /// git fails.
    pub fn changed_files(&self) -> Result<usize, GitError> {
        let what = "look for changes";
        let changed = self.ok(what, &["diff", "--name-only", "-z", "HEAD"])?;
        let new = self.ok(what, &["ls-files", "-z", "--others", "--exclude-standard"])?;
        Ok(parts(&changed.stdout).count() + parts(&new.stdout).count())
    }

    /// What the working folder has and git is told to ignore, below its top: files, and folders
    /// that are ignored by their own names. `ls-files --directory` would name a new folder with
    /// code in it as well, where one of its files is ignored.
    ///
    /// # Errors
    /// git fails.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        let status = ["--no-optional-locks", "status", "--porcelain", "-z", "--no-renames"];
        let of = ["--ignored=matching", "--untracked-files=all", "--ignore-submodules=all"];
        let output = self.ok("list what git ignores", &[&status[..], &of].concat())?;
        let ignored = parts(&output.stdout).filter_map(|entry| entry.strip_prefix(IGNORED));
        // A folder has a slash at its end, with which no link can be made.
        Ok(ignored.map(|entry| path(entry).components().collect()).collect())
    }

    /// Has the commit other repositories in it?
    ///
    /// # Errors
    /// There is no git.
    pub fn has_submodules(&self, commit: &Commit) -> Result<bool, GitError> {
        let modules = format!("{}:.gitmodules", commit.0);
        Ok(self.git(&["cat-file", "-e", &modules])?.status.success())
    }

    /// The command that makes a worktree of a commit. The user's hooks are the working folder's
    /// own.
    pub fn add_worktree(&self, at: &Path, commit: &Commit) -> Vec<String> {
        let top = self.top.display().to_string();
        let at = at.display().to_string();
        let words = ["git", "-C", &top, "-c", "core.hooksPath=/dev/null"];
        let add = ["worktree", "add", "--quiet", "--detach", &at, &commit.0];
        words.into_iter().chain(add).map(str::to_string).collect()
    }

    /// Removes a worktree, or what git remembers of one that is gone.
    pub fn remove_worktree(&self, at: &Path) {
        // Where git cannot, its folder is removed all the same, and the next comparison asks again.
        let _ = self.git(&["worktree", "remove", "--force", &at.display().to_string()]);
    }

    /// Has git forget worktrees of ours that went with a comparison that was killed. Those of the
    /// user's are not touched, whether they are there or not.
    pub fn forget_abandoned(&self) {
        // Without any there is no such folder.
        let Ok(known) = fs::read_dir(self.common.join("worktrees")) else { return };
        for known in known.flatten() {
            let Ok(text) = fs::read(known.path().join("gitdir")) else { continue };
            let link = path(line(&text));
            let Some(worktree) = link.parent() else { continue };
            let name = worktree.parent().and_then(Path::file_name).map(OsStrExt::as_bytes);
            let is_ours = name.is_some_and(|name| name.starts_with(OURS.as_bytes()));
            if is_ours && !worktree.exists() {
                self.remove_worktree(worktree);
            }
        }
    }

    fn git(&self, arguments: &[&str]) -> Result<Output, GitError> {
        git(&self.top, self.run_as.as_ref(), arguments)
    }

    fn ok(&self, what: &'static str, arguments: &[&str]) -> Result<Output, GitError> {
        let output = self.git(arguments)?;
        match output.status.success() {
            true => Ok(output),
            false => Err(GitError::Failed { what, said: said(&output) }),
        }
    }
}

/// As whoever owns the repository: git trusts nobody else's.
fn git(folder: &Path, run_as: Option<&RunAs>, arguments: &[&str]) -> Result<Output, GitError> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for name in LEADING {
        command.env_remove(name);
    }
    if let Some(user) = run_as {
        command.uid(user.uid).gid(user.gid).envs(user.env());
    }
    command.output().map_err(GitError::NotRun)
}

/// The last line that it printed about what is wrong.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.is_empty());
    last.map_or_else(|| format!("git ended with {}", output.status), str::to_string)
}

fn commit(output: &Output) -> Commit {
    Commit(String::from_utf8_lossy(line(&output.stdout)).into_owned())
}

/// The first line.
fn line(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// Each ends in a zero.
fn parts(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == 0).filter(|it| !it.is_empty())
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_range_has_two_sides_and_three_dots_begin_where_the_histories_parted() {
        let range = |text: &str| text.parse::<Range>();
        let (a, b) = ("main".to_string(), "HEAD".to_string());
        let of = |is_from_merge_base| Range { a: a.clone(), b: b.clone(), is_from_merge_base };
        assert_eq!(range("main..HEAD"), Ok(of(false)));
        assert_eq!(range("main...HEAD"), Ok(of(true)));
        assert_eq!(range("HEAD"), Err(RangeError::NoRange));
        for text in ["..HEAD", "main..", "..", "..."] {
            assert_eq!(range(text), Err(RangeError::OneSide(text.to_string())), "{text}");
        }
        for text in ["--output=x..HEAD", "a..b..c", "a....b"] {
            assert!(matches!(range(text), Err(RangeError::NoRevision(_))), "{text}");
        }
    }

    /// Runs git as somebody, whose commits it makes.
    fn run(folder: &Path, arguments: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let output = git(folder, None, &[&who[..], arguments].concat()).expect("git is needed");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// A repository that ignores these, with one commit on main; the files lie in its folder and
    /// are not committed.
    fn repository(ignores: &str, files: &[&str]) -> (TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &["init", "-q", "-b", "main"]);
        fs::write(folder.path().join(".gitignore"), ignores).unwrap();
        run(folder.path(), &["add", "-A"]);
        run(folder.path(), &["commit", "-q", "-m", "first"]);
        for path in files.iter().map(|file| folder.path().join(file)) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = Repository::find(folder.path(), None).unwrap();
        (folder, found)
    }

    #[test]
    fn an_ignored_folder_can_be_linked_to_and_a_new_one_is_not_ignored_for_one_of_its_files() {
        let ignores = "node_modules/\n/vendor/*\n*.key\n";
        let files = [
            "node_modules/it/index.js",
            "vendor/bundle/it.rb",
            "new/code.rb",
            "new/inside/master.key",
            "new/node_modules/it/index.js",
            "kept/two words.key",
        ];
        let (_folder, repository) = repository(ignores, &files);
        let mut ignored = repository.ignored().unwrap();
        ignored.sort();
        // As paths they are equal with and without a slash at the end; as text they are not.
        let texts: Vec<_> = ignored.iter().map(|path| path.to_str().unwrap()).collect();
        let expected = [
            "kept/two words.key",
            "new/inside/master.key",
            "new/node_modules",
            "node_modules",
            "vendor/bundle",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn new_files_are_changes_that_are_not_committed_and_ignored_ones_are_not() {
        let (folder, repository) = repository("*.key\n", &["new/code.rb", "new/master.key"]);
        assert_eq!(repository.changed_files().unwrap(), 1);
        fs::write(folder.path().join(".gitignore"), "*.key\n*.pem\n").unwrap();
        assert_eq!(repository.changed_files().unwrap(), 2);
    }

    #[test]
    fn three_dots_need_a_commit_of_b_that_a_lacks() {
        let (folder, repository) = repository("", &[]);
        run(folder.path(), &["branch", "old"]);
        run(folder.path(), &["commit", "-q", "--allow-empty", "-m", "second"]);
        let commits = |text: &str| repository.commits(&text.parse().unwrap());
        let [old, main] = ["old", "main"].map(|name| repository.commit(name).unwrap());
        assert_ne!(old, main);
        let error = commits("main...old").unwrap_err();
        assert_eq!(
            error.to_string(),
            "'old' has no commit that 'main' lacks, so there is nothing to compare; write \
             main..old to compare them as they are"
        );
        assert_eq!(commits("old...main").unwrap(), [old.clone(), main.clone()]);
        assert_eq!(commits("main..old").unwrap(), [main.clone(), old]);
        assert_eq!(commits("main...HEAD").unwrap(), [main.clone(), main]);
    }

    #[test]
    fn a_branch_that_only_origin_has_goes_by_its_own_name() {
        let (folder, origin) = repository("", &[]);
        run(folder.path(), &["branch", "topic"]);
        let clone = tempfile::tempdir().unwrap();
        let url = format!("file://{}", folder.path().display());
        run(clone.path(), &["clone", "-q", "--branch", "topic", &url, "."]);
        let cloned = Repository::find(clone.path(), None).unwrap();
        assert_eq!(cloned.commit("main").unwrap(), origin.commit("main").unwrap());
        assert!(matches!(cloned.commit("nowhere"), Err(GitError::NoRevision { .. })));
    }

    /// The command that an error names.
    fn command_of(error: &GitError) -> Option<String> {
        let text = error.to_string();
        let command = text.split('\'').find(|part| part.starts_with("git fetch"));
        command.map(str::to_string)
    }

    #[test]
    fn the_command_that_a_clone_needs_is_named_and_brings_what_is_missing() {
        let (folder, _) = repository("", &[]);
        run(folder.path(), &["checkout", "-q", "-b", "topic"]);
        run(folder.path(), &["commit", "-q", "--allow-empty", "-m", "second"]);
        let url = format!("file://{}", folder.path().display());
        let clone = |more: &[&str]| {
            let clone = tempfile::tempdir().unwrap();
            let of_topic = ["--branch", "topic", url.as_str(), "."];
            run(clone.path(), &[&["clone", "-q"][..], more, &of_topic].concat());
            let cloned = Repository::find(clone.path(), None).unwrap();
            (clone, cloned)
        };
        let fetch = |at: &TempDir, command: &str| {
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            run(at.path(), &words);
        };
        let range = |text: &str| text.parse::<Range>().unwrap();

        let (_whole, cloned) = clone(&[]);
        assert_eq!(command_of(&cloned.commit("HEAD~9").unwrap_err()), None);
        let missing = command_of(&cloned.commit("origin/v1.4").unwrap_err()).unwrap();
        assert_eq!(missing, "git fetch origin v1.4:refs/remotes/origin/v1.4");

        let (shallow, cloned) = clone(&["--depth", "1"]);
        let missing = command_of(&cloned.commits(&range("HEAD~1..HEAD")).unwrap_err()).unwrap();
        assert_eq!(missing, "git fetch --unshallow");
        let missing = command_of(&cloned.commits(&range("origin/main...HEAD")).unwrap_err());
        let main = "git fetch --unshallow origin main:refs/remotes/origin/main";
        assert_eq!(missing.as_deref(), Some(main));
        // With both of them, but not the commit that they have in common.
        fetch(&shallow, &main.replace("--unshallow", "--depth 1"));
        let missing = command_of(&cloned.commits(&range("origin/main...HEAD")).unwrap_err());
        assert_eq!(missing.as_deref(), Some("git fetch --unshallow"));
        fetch(&shallow, main);
        let [base, head] = cloned.commits(&range("origin/main...HEAD")).unwrap();
        assert_eq!([base, head], cloned.commits(&range("HEAD~1..HEAD")).unwrap());
    }
}
