//! A process of the bench's that must not outlive what holds it.

use std::process::{Child, Command};

use super::Result;

/// Ended when it is dropped.
pub struct Kept(pub Child);

impl Kept {
    pub fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().display().to_string();
        let child = command.spawn();
        Ok(Self(child.map_err(|error| format!("could not start {program}: {error}"))?))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // It may have ended by itself; what is not there can't be ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What a process said last; `None`: nothing.
pub fn last_line(said: &str) -> Option<&str> {
    said.lines().rev().map(str::trim).find(|line| !line.is_empty())
}
