//! What is watched: many processes with threads, each this program itself.
//!
//! In: how they spend their time. Out: a tree of processes that ends with its handle, or with us.

use std::hint::black_box;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::Result;
use crate::common::bonds::Bonds;
use crate::common::process::Kept;

pub const PROCESSES: usize = 64;
pub const THREADS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each thread wakes twice a second for a moment: a server with little to do.
    Quiet,
    /// All threads want a core all the time.
    Busy,
    /// As quiet, each process with memory of its own.
    Large,
}

const MEMORY: usize = 8 << 20;

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Quiet => "each thread awake twice a second",
            Self::Busy => "all of them runnable all the time",
            Self::Large => "each process with 8 MiB of its own",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Busy => "busy",
            Self::Large => "large",
        }
    }
}

/// Runs until dropped.
pub struct Crowd {
    root: Kept,
}

impl Crowd {
    /// `group_files`: files of a control group that each process writes itself into.
    pub fn start(kind: Kind, group_files: Option<Vec<PathBuf>>) -> Result<Self> {
        let mut command = part(&["root", kind.name()])?;
        command.stdout(Stdio::piped());
        let files = group_files.unwrap_or_default();
        // SAFETY: the writes open and close a file each, and this program has one thread yet.
        unsafe {
            command.pre_exec(move || files.iter().try_for_each(|file| std::fs::write(file, "0")));
        }
        let mut root = Kept::start(&mut command)?;
        // It says a line when all are there.
        let mut line = String::new();
        let stdout = root.0.stdout.take().ok_or("no output")?;
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line)?;
        if line.trim() != "ready" {
            return Err(format!("the watched processes did not start: '{}'", line.trim()).into());
        }
        Ok(Self { root })
    }

    pub fn root(&self) -> u32 {
        self.root.0.id()
    }
}

/// A part of it, which ends with its parent.
fn part(words: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("monitor").args(words).stdout(Stdio::null());
    Bonds::for_life(Vec::new()).bind(&mut command);
    Ok(command)
}

/// What a process of it does; ends only by being killed.
pub fn be(words: &[&str]) -> Result<()> {
    match words {
        ["root", kind] => {
            let mut members = Vec::new();
            for _ in 0..PROCESSES {
                members.push(part(&["member", kind])?.spawn()?);
            }
            println!("ready");
            rest()
        }
        ["member", kind] => member(kind),
        _ => Err("a crowd is started by the bench".into()),
    }
}

fn member(kind: &str) -> Result<()> {
    let memory = if kind == "large" { vec![1u8; MEMORY] } else { Vec::new() };
    for _ in 1..THREADS {
        let is_busy = kind == "busy";
        thread::spawn(move || live(is_busy));
    }
    black_box(&memory);
    live(kind == "busy");
    Ok(())
}

fn live(is_busy: bool) {
    loop {
        let end = Instant::now() + Duration::from_micros(100);
        while is_busy || Instant::now() < end {
            black_box(0);
        }
        thread::sleep(Duration::from_millis(500));
    }
}

fn rest() -> ! {
    loop {
        thread::park();
    }
}
