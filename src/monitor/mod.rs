//! What the server's processes, its control group and the host used, over time.
//!
//! In: a root process and how to name what is below it. Out: a [`MonitorRecord`]. Reads the operating
//! system only; must not send signals or judge.

use std::time::Instant;

use crate::terms::{MonitorRecord, Role};

/// What to watch.
pub struct Watched {
    /// The server's first process; its descendants are found anew at each look.
    pub root_pid: u32,
    /// `(is root, title) -> role`.
    pub role: Box<dyn Fn(bool, &str) -> Role + Send>,
    /// The loopback port or unix socket whose listen queue is looked at.
    pub port: Option<u16>,
    pub socket: Option<std::path::PathBuf>,
    /// The server's control group folder (version 2, or version 1's cpu controller) when it has its own.
    pub cgroup: Option<std::path::PathBuf>,
}

/// A watcher thread at work.
pub struct Monitor(());

impl Monitor {
    /// Begins to watch; times in the record count from `origin`.
    pub fn start(watched: Watched, origin: Instant) -> Self {
        let _ = (watched, origin);
        unimplemented!("the monitor")
    }

    /// Ends watching and returns what was seen.
    pub fn stop(self) -> MonitorRecord {
        unimplemented!("the monitor")
    }
}
