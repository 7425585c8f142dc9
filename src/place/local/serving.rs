//! What the processes of the running server are: who watches them is told so, and workers can be
//! counted.
//!
//! In: the server that runs. Out: its processes' roles. Only looks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::boot::LOOK;
use super::started::Part;
use super::{Local, Running, processes};
use crate::monitor::{self, RoleOf, Serving, StatsSource, Watched};
use crate::server::{self, Stats};
use crate::terms::{ProcessFacts, Role, ServerEnd};

/// A worker that has ended should be replaced by then: forked, not yet loaded.
const TO_REPLACE: Duration = Duration::from_secs(2);

impl Local {
    /// The processes that serve now, as the adapter tells them, also where they made themselves
    /// independent of those that we started; none while no server runs.
    pub fn workers(&self) -> Vec<u32> {
        let Some(running) = &self.running else { return Vec::new() };
        let roots = running.processes.running(Part::Server);
        let below = processes::descendants(self.link.guardian());
        let pids: Vec<u32> = below.into_iter().map(|process| process.pid).collect();
        let serving = self.serving(running).among(&pids);
        let role = self.role_of(running);
        let is_worker = |pid: &u32| {
            let title = monitor::title(*pid);
            let (is_root, serves) = (roots.contains(pid), serving.contains(pid));
            let process = ProcessFacts { is_root, title: &title, serves };
            // What has ended has no title and holds nothing.
            !title.is_empty() && role(process) == Role::Worker
        };
        pids.into_iter().filter(is_worker).collect()
    }

    /// Notes how many workers there are, now that the server is as it was asked for.
    pub(super) fn count_workers(&mut self) {
        let workers = self.workers().len();
        if let Some(running) = &mut self.running {
            running.workers = workers;
        }
    }

    /// Says so when fewer workers are left than there were when the server was ready, and no other
    /// comes in their place: what was measured was not the configuration that was asked for. The
    /// processes of a user's own command may come and go as it likes.
    pub(super) fn lost_workers(&self) -> Option<ServerEnd> {
        let running = self.running.as_ref()?;
        if self.settings.app.command.is_some() {
            return None;
        }
        let (expected, deadline) = (running.workers, Instant::now() + TO_REPLACE);
        loop {
            let left = self.workers().len();
            if left >= expected {
                return None;
            }
            if Instant::now() >= deadline || self.stop.is_raised() {
                let (left, expected) = (left as u64, expected as u64);
                return Some(ServerEnd::WorkersLost { left, expected });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What the monitor has to know of the running server.
    pub(super) fn watched(&self, running: &Running) -> Watched {
        Watched {
            roots: running.processes.pids(),
            adopter: Some(self.link.guardian()),
            role: self.role_of(running),
            port: Some(running.address.port()),
            socket: running.socket.clone(),
            cgroup: self.link.group.cpu.clone(),
            group: self.link.group.watched(),
            probe: self.probe_socket(),
            stats: self.stats(running),
        }
    }

    /// Where the processes of a probed app tell what they count, to whoever listens; only one can.
    /// `None` without a probe.
    pub fn probe_socket(&self) -> Option<PathBuf> {
        self.settings.app.is_probed.then(|| server::probe_socket(&self.link.scratch))
    }

    /// Where the server says something of its workers itself. Only with a probe: asking costs the
    /// server a little, too.
    fn stats(&self, running: &Running) -> Option<StatsSource> {
        let (adapter, asked) = (self.settings.adapter, running.stats.as_ref()?);
        let read = Box::new(move |body: &str| adapter.read_stats(body));
        let Stats { socket, path } = asked.clone();
        self.settings.app.is_probed.then_some(StatsSource { socket, path, read })
    }

    fn serving(&self, running: &Running) -> Serving {
        Serving::new(Some(running.address.port()), running.socket.clone())
    }

    fn role_of(&self, running: &Running) -> RoleOf {
        let (adapter, configuration) = (self.settings.adapter, running.configuration);
        let proxy = self.settings.app.proxy;
        Box::new(move |process| server::role(proxy, adapter, configuration, process))
    }
}
