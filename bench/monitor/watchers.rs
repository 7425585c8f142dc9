//! Who watches, and what it costs.
//!
//! In: the root of what is watched. Out: CPU time as a share of one core.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sweetspot::monitor::{Monitor, Watched, cpu_clock_ns};
use sweetspot::terms::Role;

use super::crowd::PROCESSES;
use crate::common::Result;
use crate::common::process::Kept;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    Sweetspot,
    /// Of the machine alone: cores, disks, network, pages, system.
    Dstat,
    /// CPU and context switches of each process.
    Pidstat,
    /// CPU and context switches of each thread, which is what our figures come from.
    PidstatThreads,
}

/// Getting going is left out: opening files, or starting an interpreter.
const BEFORE: Duration = Duration::from_secs(1);

impl Watcher {
    pub const ALL: [Self; 4] = [Self::Sweetspot, Self::Dstat, Self::Pidstat, Self::PidstatThreads];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Sweetspot => "sweetspot: clocks and run delay 10/s, states 2/s, switches 1/s",
            Self::Dstat => "dstat 1 (the machine alone)",
            Self::Pidstat => "pidstat -u -w 1 (processes)",
            Self::PidstatThreads => "pidstat -u -w -t 1 (threads)",
        }
    }

    fn command(&self) -> &'static [&'static str] {
        match self {
            Self::Sweetspot => &[],
            Self::Dstat => &["dstat", "1"],
            Self::Pidstat => &["pidstat", "-u", "-w", "1"],
            Self::PidstatThreads => &["pidstat", "-u", "-w", "-t", "1"],
        }
    }

    /// False, and said so, when its program is not installed.
    pub fn is_there(&self) -> bool {
        let Some(program) = self.command().first() else { return true };
        let found = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok();
        if !found {
            println!("{program} is not installed and left out");
        }
        found
    }

    /// Its CPU time over `seconds`, as a share of one core.
    pub fn cost(&self, root: u32, seconds: Duration) -> Result<f64> {
        match self {
            Self::Sweetspot => {
                let watched = Watched::processes(vec![root], Box::new(|_| Role::Worker));
                let monitor = Monitor::start(watched, Instant::now());
                // Nothing else runs in this program meanwhile.
                let share = share(std::process::id(), seconds)?;
                let record = monitor.stop();
                let last = record.seconds.iter().rev().nth(1).ok_or("nothing was watched")?;
                if last.processes.len() <= PROCESSES {
                    return Err(format!("{} processes were seen", last.processes.len()).into());
                }
                Ok(share)
            }
            _ => {
                let [program, arguments @ ..] = self.command() else { return Ok(0.0) };
                let mut command = Command::new(program);
                command.args(arguments).stdin(Stdio::null());
                command.stdout(Stdio::null()).stderr(Stdio::null());
                share(Kept::start(&mut command)?.0.id(), seconds)
            }
        }
    }
}

fn share(pid: u32, seconds: Duration) -> Result<f64> {
    thread::sleep(BEFORE);
    let clock = || cpu_clock_ns(pid).ok_or("the watcher has ended");
    let (before, began) = (clock()?, Instant::now());
    thread::sleep(seconds);
    Ok((clock()? - before) as f64 / began.elapsed().as_nanos() as f64)
}
