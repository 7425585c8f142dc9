//! A command of the user's, or one of ours, run in a shell: how it ended, and what it printed.
//!
//! In: its text and variables. Out: its end. Processes that it leaves running go on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::place::PlaceError;
use crate::place::child::{end_of, given, in_memory};
use crate::terms::{ProcessEnd, Secrets, StopRequest, StopSignal, Task};

/// Names this program.
const OWN_PROGRAM: &str = "SWEETSPOT";

/// Bytes of what it printed that are kept, the last ones.
const TAIL: u64 = 64 << 10;

/// To say what runs.
const TO_ANSWER: Duration = Duration::from_secs(300);

/// A command to be run.
pub struct Order<'a> {
    pub text: &'a str,
    pub env: &'a BTreeMap<String, String>,
    /// At its standard input; empty: nothing is.
    pub input: &'a str,
    /// It is ended after this time.
    pub patience: Duration,
    /// Its process is written down there before it begins.
    pub known_by: Option<&'a File>,
    /// Receives each line of its standard error as it comes; `None`: what it prints is kept alone.
    pub tell: Option<&'a dyn Fn(&str)>,
}

/// A command that has ended, or was ended.
pub struct Ran {
    /// `None`: its time was over.
    pub end: Option<ProcessEnd>,
    /// What it printed on both its outputs, oldest line first; what was told only where there is
    /// nothing else.
    pub lines: Vec<String>,
}

impl Ran {
    pub fn is_success(&self) -> bool {
        self.end.as_ref().is_some_and(ProcessEnd::is_success)
    }

    pub fn end_in_words(&self) -> String {
        let end = self.end.as_ref();
        end.map_or_else(|| "it did not end in time".to_string(), ToString::to_string)
    }
}

/// Runs a command to its end, for as long as its order says at most, or until the user wants to
/// end at once. One press of Ctrl-C does not reach it: what changes an app is not to be cut off
/// halfway.
///
/// # Errors
/// No shell can be started.
pub fn run(order: &Order<'_>, stop: &StopSignal) -> io::Result<Ran> {
    let mut printed = in_memory("printed")?;
    let mut said = order.tell.map(Said::new).transpose()?;
    let errors = said.as_ref().map_or(&printed, |said| &said.file).try_clone()?;
    let mut child = shell(order.text, order.env, order.known_by)
        .stdin(given(order.input.as_bytes())?)
        .stdout(printed.try_clone()?)
        .stderr(errors)
        .spawn()?;
    let deadline = Instant::now() + order.patience;
    let ended = end_of(&mut child, || {
        said.iter_mut().for_each(Said::hand_on);
        Instant::now() >= deadline || stop.requested() == StopRequest::Now
    })?;
    said.iter_mut().for_each(Said::hand_on_rest);
    let lines = match (tail(&mut printed)?, said) {
        (none, Some(mut said)) if none.is_empty() => tail(&mut said.file)?,
        (lines, _) => lines,
    };
    Ok(Ran { end: ended.map(ProcessEnd::from), lines })
}

/// The last line that a command of ours prints, which changes nothing. `secrets` are masked in what
/// one that fails has printed.
///
/// # Errors
/// It fails, in its own words, or says nothing.
pub fn answer(text: &str, secrets: &Secrets, stop: &StopSignal) -> Result<String, PlaceError> {
    let env = BTreeMap::new();
    let order =
        Order { text, env: &env, input: "", patience: TO_ANSWER, known_by: None, tell: None };
    let ran = run(&order, stop)
        .map_err(|source| PlaceError::Environment { what: Task::StartShell, source })?;
    match ran.lines.last() {
        Some(last) if ran.is_success() => Ok(last.clone()),
        _ => {
            let lines = [secrets.mask_lines(&ran.lines), vec![ran.end_in_words()]].concat();
            let said = lines.join("\n");
            Err(PlaceError::Elsewhere(format!("it could not be asked what runs there:\n{said}")))
        }
    }
}

/// What a command prints on its standard error, handed on line by line.
struct Said<'a> {
    file: File,
    /// Bytes of it that were handed on.
    told: u64,
    tell: &'a dyn Fn(&str),
}

impl<'a> Said<'a> {
    fn new(tell: &'a dyn Fn(&str)) -> io::Result<Self> {
        Ok(Self { file: in_memory("said")?, told: 0, tell })
    }

    /// Hands on the lines that are new and whole, at most [`TAIL`] bytes of them.
    fn hand_on(&mut self) {
        let new = self.new_bytes();
        if let Some(length) = whole(&new) {
            self.hand_on_these(&new[..length]);
        }
    }

    /// Hands on all that is left of a command that has ended, whose last line may have no end. What
    /// a daemon of its prints from now on is not waited for.
    fn hand_on_rest(&mut self) {
        let end = self.length();
        while self.told < end {
            let new = self.new_bytes();
            if new.is_empty() {
                return;
            }
            self.hand_on_these(&new[..whole(&new).unwrap_or(new.len())]);
        }
    }

    /// Those that come next.
    fn hand_on_these(&mut self, bytes: &[u8]) {
        self.told += bytes.len() as u64;
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.for_each(|line| (self.tell)(line));
    }

    /// What was not handed on yet, at most [`TAIL`] bytes of it. Read in place: the command writes
    /// on where the file's own position is.
    fn new_bytes(&self) -> Vec<u8> {
        let mut new = vec![0; self.length().saturating_sub(self.told).min(TAIL) as usize];
        // What cannot be read now is kept, and read later.
        let read = self.file.read_at(&mut new, self.told).unwrap_or(0);
        new.truncate(read);
        new
    }

    /// Bytes that were printed.
    fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |it| it.len())
    }
}

/// How many of these bytes can be handed on: whole lines, or as much of a longer one as is read at
/// once. `None`: the line goes on.
fn whole(bytes: &[u8]) -> Option<usize> {
    let last = bytes.iter().rposition(|byte| *byte == b'\n');
    last.map(|last| last + 1).or((bytes.len() as u64 == TAIL).then_some(bytes.len()))
}

/// A shell for a command, in a session of its own: without a terminal, so that what would ask
/// there, such as ssh for a password, fails at once and says why. `known_by`, where its process is
/// written down, has to be open until it has been started.
pub fn shell(text: &str, env: &BTreeMap<String, String>, known_by: Option<&File>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]).envs(env);
    // Ours need it, under whatever name it is typed.
    command.env(OWN_PROGRAM, own_program());
    let known_by = known_by.map(AsRawFd::as_raw_fd);
    let begin = move || {
        rustix::process::setsid()?;
        known_by.map_or(Ok(()), write_down)
    };
    // SAFETY: setsid, getpid and pwrite may be called between fork and exec, and nothing else is.
    unsafe { command.pre_exec(begin) };
    command
}

/// This program's file; where another has taken its place since, the one that runs.
fn own_program() -> PathBuf {
    let found = std::env::current_exe().ok().filter(|file| file.is_file());
    found.unwrap_or_else(|| format!("/proc/{}/exe", std::process::id()).into())
}

/// Writes this process's id, ten digits long, to the beginning of a file. Allocates nothing.
fn write_down(file: RawFd) -> io::Result<()> {
    let mut digits = [b'0'; 10];
    let mut left = rustix::process::getpid().as_raw_nonzero().get();
    for digit in digits.iter_mut().rev() {
        *digit += (left % 10) as u8;
        left /= 10;
    }
    // SAFETY: as `shell` demands it, the file is open in the parent until this process runs.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    rustix::io::pwrite(file, &digits, 0)?;
    Ok(())
}

fn tail(file: &mut File) -> io::Result<Vec<String>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.trim_end().to_string());
    Ok(lines.filter(|line| !line.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::thread;

    use super::*;

    fn run_with(text: &str, patience: Duration, stop: &StopSignal) -> Ran {
        let env = BTreeMap::from([("WORKERS".to_string(), "3".to_string())]);
        let order =
            Order { text, env: &env, input: "given\n", patience, known_by: None, tell: None };
        run(&order, stop).unwrap()
    }

    fn run_for(text: &str, patience: Duration) -> Ran {
        run_with(text, patience, &StopSignal::default())
    }

    #[test]
    fn how_it_ended_and_what_it_printed_are_told() {
        let ran = run_for("echo $WORKERS; echo no >&2; exit 7", Duration::from_secs(20));
        assert_eq!(ran.end, Some(ProcessEnd::ExitStatus(7)));
        assert_eq!(
            (ran.lines.as_slice(), ran.is_success()),
            (&["3".into(), "no".into()][..], false)
        );
        assert!(run_for("true", Duration::from_secs(20)).is_success());
        let killed = run_for("kill -9 $$", Duration::from_secs(20));
        assert_eq!(killed.end, Some(ProcessEnd::Signal(9)));
        assert_eq!(run_for("cat", Duration::from_secs(20)).lines, ["given"]);
    }

    #[test]
    fn an_answer_is_the_last_line_and_one_that_fails_is_told_in_its_own_words() {
        let of = |text: &str| answer(text, &Secrets::default(), &StopSignal::default());
        assert_eq!(of("echo noise; echo abc123").unwrap(), "abc123");
        for (text, expected) in [
            ("echo no way there; exit 75", ":\nno way there\nexit status 75"),
            ("true", ":\nexit status 0"),
        ] {
            let Err(PlaceError::Elsewhere(said)) = of(text) else { panic!("{text}") };
            assert!(said.ends_with(expected), "{said}");
        }
    }

    #[test]
    fn what_it_says_meanwhile_is_told_before_it_ends_and_line_by_line() {
        let told = RefCell::new(Vec::new());
        let folder = tempfile::tempdir().unwrap();
        let go = folder.path().join("go");
        // Who is told the first line lets it go on.
        let tell = |line: &str| {
            told.borrow_mut().push(line.to_string());
            std::fs::write(&go, "").unwrap();
        };
        let text = format!(
            "echo out; echo first >&2; printf half >&2; \
             until [ -e {} ]; do sleep 0.02; done; echo ' and half' >&2; exit 3",
            go.display()
        );
        let order = Order {
            text: &text,
            env: &BTreeMap::new(),
            input: "",
            patience: Duration::from_secs(20),
            known_by: None,
            tell: Some(&tell),
        };
        let ran = run(&order, &StopSignal::default()).unwrap();
        assert_eq!(ran.end, Some(ProcessEnd::ExitStatus(3)));
        assert_eq!(told.into_inner(), ["first", "half and half"]);
        assert_eq!(ran.lines, ["out"]);
    }

    #[test]
    fn a_line_longer_than_is_read_at_once_and_one_without_an_end_are_told_too() {
        let told = RefCell::new(Vec::new());
        let tell = |line: &str| told.borrow_mut().push(line.to_string());
        let order = Order {
            text: "echo out; head -c 70000 /dev/zero | tr '\\0' x >&2; echo >&2; seq 20000 >&2; \
                   printf last >&2",
            env: &BTreeMap::new(),
            input: "",
            patience: Duration::from_secs(20),
            known_by: None,
            tell: Some(&tell),
        };
        let ran = run(&order, &StopSignal::default()).unwrap();
        assert_eq!((ran.is_success(), ran.lines), (true, vec!["out".to_string()]));
        let told = told.into_inner();
        assert_eq!((told[0].len(), told[1].len()), (TAIL as usize, 70_000 - TAIL as usize));
        let numbers = told[2..told.len() - 1].iter().map(String::as_str);
        assert!(numbers.eq((1..=20_000).map(|number| number.to_string())));
        assert_eq!(told.last().unwrap(), "last");
    }

    #[test]
    fn one_that_takes_too_long_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let text = format!("sleep 600 & echo $! >{}; echo began; wait", pid.display());
        let ran = run_for(&text, Duration::from_secs(3));
        assert_eq!((ran.end, ran.lines), (None, vec!["began".to_string()]));
        let pid = std::fs::read_to_string(pid).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // Whoever adopts it may not have waited for it yet.
        let has_ended = || state().map_or(true, |stat| stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !has_ended() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(has_ended());
    }

    #[test]
    fn a_daemon_that_it_leaves_is_not_waited_for_and_a_second_press_ends_it() {
        let began = Instant::now();
        let ran = run_for("sleep 30 & echo up", Duration::from_secs(20));
        assert!(ran.is_success() && began.elapsed() < Duration::from_secs(15));
        let stop = StopSignal::default();
        stop.raise();
        stop.raise();
        assert_eq!(run_with("sleep 600", Duration::from_secs(600), &stop).end, None);
    }
}
