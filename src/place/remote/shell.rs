//! A shell where the app runs, which says once a second what that uses.
//!
//! In: the user's command that gives such a shell. Out: a record of each load.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::command;
use crate::place::child;
use crate::place::watching::{self, Watching};
use crate::terms::{BlindSpot, Configuration, MonitorRecord, Secrets};

/// A shell that looks; ended when it is dropped.
pub struct Shell {
    child: Child,
    watching: Watching,
    /// The last line that it, or what leads to it, printed as an error.
    said: Arc<Mutex<String>>,
}

impl Shell {
    /// Begins to look.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn begin(observe: &str, configuration: Configuration, cores: f64) -> io::Result<Self> {
        let mut child = command::shell(observe, &BTreeMap::new(), None)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = pipes else {
            unreachable!("all three are pipes, as asked for")
        };
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let watching = Watching::of(lines, configuration, cores);
        let said = Arc::new(Mutex::new(String::new()));
        let saying = Arc::clone(&said);
        thread::spawn(move || {
            let lines = BufReader::new(errors).lines().map_while(Result::ok);
            for line in lines.filter(|line| !line.trim().is_empty()) {
                *saying.lock().unwrap_or_else(PoisonError::into_inner) = line;
            }
        });
        let shell = Self { child, watching, said };
        // Read to its end the script goes on, and nothing more is to come. What takes no script has
        // said why.
        let _ = input.write_all(watching::script().as_bytes());
        Ok(shell)
    }

    /// Nothing more is seen.
    pub fn is_over(&self) -> bool {
        self.watching.is_over()
    }

    /// What was seen of a load that began at `origin` and is over now; where that is nothing, why.
    pub fn record(&self, origin: Instant, secrets: &Secrets) -> MonitorRecord {
        let mut record = self.watching.record(origin);
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if record.seconds.is_empty() && !said.is_empty() {
            let said = secrets.mask_lines(&[said]).concat();
            record.blind_spots.push(BlindSpot::NoShell { said }.into());
        }
        record
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        child::end(&mut self.child);
    }
}
