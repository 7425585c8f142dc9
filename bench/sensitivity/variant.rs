//! The program with one source changed: a copy of the tree, built apart, that plays at the zoo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Result;
use crate::zoo::SESSIONS_FILE;
use crate::zoo::figures::{self, Totals};

/// A copy of the tracked files.
pub struct Tree {
    root: PathBuf,
    build: PathBuf,
}

impl Tree {
    pub fn copied(folder: &Path) -> Result<Self> {
        let folder = fs::canonicalize(folder)?;
        let tree = Self { root: folder.join("tree"), build: folder.join("build") };
        let listed = Command::new("git").args(["ls-files", "-z"]).output()?;
        let listed = String::from_utf8(listed.stdout)?;
        for path in listed.split_terminator('\0').map(Path::new).filter(|path| path.is_file()) {
            tree.write(path, &fs::read(path)?)?;
        }
        Ok(tree)
    }

    /// What the sessions come to with this text for a source.
    ///
    /// # Errors
    /// It does not build, or the sessions did not end; the command's own words are above.
    pub fn play(&self, path: &Path, text: &str, sessions: u32, seed: u64) -> Result<Totals> {
        self.write(path, text.as_bytes())?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        let of = ["bench", "--locked", "--bench", "bench", "--quiet", "--manifest-path"];
        let sessions_file = self.root.join(SESSIONS_FILE);
        let _ = fs::remove_file(&sessions_file);
        // It ends with an error where a bar is missed, which is for the zoo to say.
        command
            .args(of)
            .arg(self.root.join("Cargo.toml"))
            .args(["--", "zoo"])
            .env("CARGO_TARGET_DIR", &self.build)
            .env("SESSIONS", sessions.to_string())
            .env("SEED", seed.to_string())
            .stdout(Stdio::null())
            .status()?;
        let lines = fs::read_to_string(&sessions_file)
            .map_err(|error| format!("no sessions with {}: {error}", path.display()))?;
        let all =
            lines.lines().map(serde_json::from_str).collect::<serde_json::Result<Vec<_>>>()?;
        figures::totals(&all).ok_or_else(|| "no session recommended anything".into())
    }

    /// Only what differs, so that nothing else is built again.
    fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let there = self.root.join(path);
        if fs::read(&there).is_ok_and(|old| old == content) {
            return Ok(());
        }
        fs::create_dir_all(there.parent().unwrap_or(&self.root))?;
        Ok(fs::write(there, content)?)
    }
}
