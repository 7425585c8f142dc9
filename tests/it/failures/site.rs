//! An app in a folder of its own and `sweetspot` at work there.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use sweetspot::store::Store;
use sweetspot::terms::{Event, EventKind, TrialSummary};

use super::nothing_left::NothingLeft;
use crate::process::{Ended, kill, write_files};
use crate::turn::Turn;

/// Longer than any of these tunes takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

const WAITING: &[(&str, &str)] = &[
    ("config.ru", "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n"),
    ("config/puma.rb", "threads 1, 1\n"),
];

/// A folder with an app in it, a home, and a place for scratch folders. Fails when anything is left
/// of what ran there. At most six are there at a time, or one that has the machine to itself.
pub struct Site {
    pub nothing_left: NothingLeft,
    folder: tempfile::TempDir,
    _turn: Turn,
}

impl Site {
    /// For an app that does little. Others may be beside it, as nothing is asked of the machine's
    /// speed.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::build(files, crate::turn::little())
    }

    /// For an app that works as hard as it can, while nothing is asked of the machine's speed.
    pub fn working(files: &[(&str, &str)]) -> Self {
        Self::build(files, crate::turn::share())
    }

    /// For several servers that work as hard as they can: hardly another is beside it.
    pub fn crowded() -> Self {
        Self::build(&[], crate::turn::most())
    }

    fn build(files: &[(&str, &str)], turn: Turn) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nothing_left = NothingLeft::of(&folder.path().canonicalize().unwrap());
        let site = Self { nothing_left, folder, _turn: turn };
        set_mode(site.folder.path(), 0o755);
        for name in ["app", "home", "tmp"] {
            fs::create_dir(site.path(name)).unwrap();
        }
        write_files(&site.path("app"), files);
        site
    }

    /// An app that answers everything with what these lines of Ruby return.
    pub fn answering(body: &str) -> Self {
        Self::new(&[("config.ru", &format!("run ->(env) {{ {body} }}\n"))])
    }

    /// An app whose capacity doesn't depend on how busy the machine is, with one thread today.
    pub fn waiting() -> Self {
        Self::new(WAITING)
    }

    /// Two with the app of [`Site::waiting`], for what measures both at the same time.
    pub fn two_waiting() -> [Self; 2] {
        [crate::turn::little(), crate::turn::little()].map(|turn| Self::build(WAITING, turn))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("app/.sweetspot/sweetspot.db")
    }

    /// The command in the app's folder, with everything it writes below this site.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_sweetspot")), arguments)
    }

    pub fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path("app")).stdin(Stdio::null());
        command.env("TMPDIR", self.path("tmp")).env("HOME", self.path("home"));
        // Tests take turns among themselves.
        command.env("LC_ALL", "C.UTF-8").env("SWEETSPOT_LOCK", "");
        for name in ["SECRET_KEY_BASE", "WEB_CONCURRENCY", "PUMA_MAX_THREADS", "RACK_ENV"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_command(self.command(arguments))
    }

    #[track_caller]
    pub fn run_command(&self, command: Command) -> Ended {
        let ended = Running::begin(command).end();
        self.nothing_left.check();
        ended
    }

    /// What a stored session measured, oldest first.
    pub fn trials(&self) -> Vec<TrialSummary> {
        trials(&self.store())
    }
}

/// All trials of the newest session in a store that has any.
pub fn trials(store: &Path) -> Vec<TrialSummary> {
    let store = Store::open_existing(store).unwrap();
    let trials = |events: Vec<Event>| -> Vec<TrialSummary> {
        let summary = |event: Event| match event.kind {
            EventKind::TrialFinished { summary, .. } => Some(*summary),
            _ => None,
        };
        events.into_iter().filter_map(summary).collect()
    };
    let mut sessions = store.sessions().unwrap();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.id.0));
    let all = sessions.iter().map(|session| trials(store.events(session.id).unwrap()));
    all.into_iter().find(|trials| !trials.is_empty()).unwrap_or_default()
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The workers and threads of a JSON object that has them.
pub fn configuration(of: &Value) -> (u64, u64) {
    let number = |name: &str| of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"));
    (number("workers"), number("threads"))
}

/// The command at work; ended for certain when this is dropped.
pub struct Running {
    child: Child,
    /// Lines of standard error as they come.
    lines: Receiver<String>,
    stderr: String,
    stdout: Option<JoinHandle<String>>,
}

impl Running {
    pub fn begin(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            while stderr.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // Whoever listened may have failed.
                drop(sender.send(String::from_utf8_lossy(&line).into_owned()));
                line.clear();
            }
        });
        let stdout = std::thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, lines, stderr: String::new(), stdout: Some(stdout) }
    }

    /// Waits for a line of standard error that contains this; false when it does not come in time
    /// or the command has ended before.
    pub fn wait_for(&mut self, text: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.stderr.push_str(&line);
                    if line.contains(text) {
                        return true;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        assert!(self.wait_for(text, PATIENCE), "'{text}' was not seen in:\n{}", self.stderr);
    }

    /// What it has said on standard error so far.
    pub fn stderr(&self) -> &str {
        &self.stderr
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        kill(self.pid(), signal);
    }

    /// True once it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it ends.
    #[track_caller]
    pub fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    #[track_caller]
    pub fn end_within(mut self, patience: Duration) -> Ended {
        let deadline = Instant::now() + patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() >= deadline {
                let so_far: String = self.lines.try_iter().collect();
                panic!("it has not ended; so far:\n{}{so_far}", self.stderr);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // The guardian holds no end of these pipes, so they close.
        let stdout = self.stdout.take().unwrap().join().unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.stderr.push_str(&line);
        }
        Ended { code: status.code(), stdout, stderr: std::mem::take(&mut self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
