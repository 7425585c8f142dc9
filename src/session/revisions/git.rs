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
    #[error(
        "there is no revision '{name}' in {}; where it is only on a server, such as in a CI that \
         fetches one commit alone, 'git fetch origin {name}' brings it",
        top.display()
    )]
    NoRevision { name: String, top: PathBuf },
    #[error("'{a}' and '{b}' have no commit in common; write {a}..{b} to compare them as they are")]
    NoMergeBase { a: String, b: String },
    #[error("could not {what}: {said}")]
    Failed { what: &'static str, said: String },
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

    /// The commit that a name means.
    ///
    /// # Errors
    /// It means none here.
    pub fn commit(&self, name: &str) -> Result<Commit, GitError> {
        let of_commit = format!("{name}^{{commit}}");
        let output = self.git(&["rev-parse", "--verify", "--quiet", &of_commit])?;
        match output.status.success() {
            true => Ok(commit(&output)),
            false => Err(GitError::NoRevision { name: name.to_string(), top: self.top.clone() }),
        }
    }

    /// The commits of both sides.
    ///
    /// # Errors
    /// A name means none, or their histories have none in common.
    pub fn commits(&self, range: &Range) -> Result<[Commit; 2], GitError> {
        let (a, b) = (self.commit(&range.a)?, self.commit(&range.b)?);
        if !range.is_from_merge_base {
            return Ok([a, b]);
        }
        let output = self.git(&["merge-base", &a.0, &b.0])?;
        match output.status.success() {
            true => Ok([commit(&output), b]),
            false => Err(GitError::NoMergeBase { a: range.a.clone(), b: range.b.clone() }),
        }
    }

    /// Files of the working folder that are not as they were last committed.
    ///
    /// # Errors
    /// git fails.
    pub fn changed_files(&self) -> Result<usize, GitError> {
        let output = self.ok("look for changes", &["diff", "--name-only", "-z", "HEAD"])?;
        Ok(paths(&output.stdout).count())
    }

    /// What the working folder has and git is told to ignore, below its top: files, and folders all
    /// of which is ignored.
    ///
    /// # Errors
    /// git fails.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        let arguments =
            ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let output = self.ok("list what git ignores", &arguments)?;
        Ok(paths(&output.stdout).collect())
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
fn paths(text: &[u8]) -> impl Iterator<Item = PathBuf> {
    text.split(|byte| *byte == 0).filter(|it| !it.is_empty()).map(path)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
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
}
