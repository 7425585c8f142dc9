//! The program as users run it, and processes that end with their test.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How the program ended and what it printed.
#[derive(Debug)]
pub struct Ended {
    /// `None`: by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let [stdout, stderr] = [output.stdout, output.stderr];
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(stdout), stderr: text(stderr) }
    }
}

impl Ended {
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Everything printed has each of these; line breaks don't matter.
    #[track_caller]
    pub fn assert_says(&self, parts: &[&str]) {
        let all = format!("{} {}", self.stdout, self.stderr);
        let words = flat(&all);
        for part in parts {
            assert!(words.contains(part), "'{part}' is missing in:\n{all}");
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// The program in a folder, whatever language the machine speaks.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweetspot"));
    command.current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    // Tests take turns among themselves.
    command.env("SWEETSPOT_LOCK", "");
    command
}

/// A copy of the program in `folder`, which any user may run.
///
/// `install` writes it, not this process: a child that another test starts at this moment inherits
/// what is open here, and a file that is open for writing cannot be run.
pub fn copy_of_program(folder: &Path) -> PathBuf {
    let copy = folder.join("sweetspot");
    let mut install = Command::new("install");
    install.args(["-m", "755", env!("CARGO_BIN_EXE_sweetspot")]).arg(&copy);
    assert!(install.status().unwrap().success());
    copy
}

pub fn ended(command: &mut Command) -> Ended {
    command.output().unwrap().into()
}

/// Runs the program in `folder` to its end.
pub fn sweetspot(folder: &Path, arguments: &[&str]) -> Ended {
    ended(program(folder).args(arguments))
}

/// A process that is ended when it is dropped, and whether it leads a group that ends with it.
pub struct Kept(pub Child, bool);

impl Kept {
    pub fn start(command: &mut Command) -> Self {
        let program = command.get_program().display().to_string();
        Self(command.spawn().unwrap_or_else(|error| panic!("{program} is needed: {error}")), false)
    }

    /// In a process group of its own.
    pub fn lead(command: &mut Command) -> Self {
        let mut kept = Self::start(command.process_group(0));
        kept.1 = true;
        kept
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: i32) {
        kill(self.pid(), signal);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.1 {
            // SAFETY: two integers; a group of our own, whose leader has not been waited for.
            unsafe { libc::kill(-self.pid().cast_signed(), libc::SIGKILL) };
        }
        // Both fail only when it has been waited for already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Signals a process that the test started and has just seen; it may have ended since.
pub fn kill(pid: u32, signal: i32) {
    // SAFETY: takes two integers.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// Waits for a condition, and fails when it does not come about.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A port where nobody listens.
pub fn unused_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// An app in a folder of its own.
pub fn app(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), files);
    folder
}

/// Files in a folder, with the folders that they need.
pub fn write_files(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

/// The checkout.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a script by a shell in a folder. It writes programs, too: what this process has open for
/// writing while another test forks can't be run ("text file busy").
#[track_caller]
pub fn in_shell(folder: &Path, script: &str, arguments: &[&str]) {
    let mut shell = Command::new("sh");
    shell.args(["-euc", script, "sh"]).args(arguments).env("PROJECT", project());
    ended(shell.current_dir(folder)).assert_code(0);
}

/// A script of ours, and its arguments, on a machine that has the programs of this folder alone.
pub fn script_on(programs: &Path, words: &[&str]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(words).env_clear().env("PATH", programs).stdin(Stdio::null());
    shell
}

/// A text without line breaks.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text between two marks.
#[track_caller]
pub fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let from = text.find(begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    let to = text[from..].find(end).unwrap_or_else(|| panic!("no {end}"));
    &text[from..from + to]
}

/// Codes of the warnings of a result in JSON.
pub fn codes(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().unwrap().iter();
    warnings.map(|warning| warning["code"].as_str().unwrap()).collect()
}

/// Tests that take minutes and of which others try the most part: `make test-long` says that they
/// are to be run.
pub fn long_ones_are_wanted() -> bool {
    std::env::var_os("SWEETSPOT_LONG").is_some()
}
