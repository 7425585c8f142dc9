//! The processes that were started for one server, and how those that have ended did.
//!
//! In: process ids and what the guardian says of them. Out: who still runs. Only keeps count.

use crate::terms::{ProcessEnd, ServerEnd};

/// What a process was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Server,
    /// Stands in front; stopped first.
    Proxy,
}

struct One {
    pid: u32,
    part: Part,
    /// How it ended, once it has.
    ended: Option<ProcessEnd>,
}

/// The processes started, in this order.
#[derive(Default)]
pub struct StartedProcesses {
    all: Vec<One>,
}

impl StartedProcesses {
    pub fn add(&mut self, pid: u32, part: Part) {
        self.all.push(One { pid, part, ended: None });
    }

    /// Somebody else's end is none of ours.
    pub fn note_end(&mut self, pid: u32, how: &ProcessEnd) {
        if let Some(one) = self.all.iter_mut().find(|one| one.pid == pid) {
            one.ended.get_or_insert_with(|| how.clone());
        }
    }

    /// Those that run.
    pub fn running(&self, part: Part) -> Vec<u32> {
        let running = self.all.iter().filter(|one| one.part == part && one.ended.is_none());
        running.map(|one| one.pid).collect()
    }

    /// All, ended or not, the server's own first.
    pub fn pids(&self) -> Vec<u32> {
        self.all.iter().map(|one| one.pid).collect()
    }

    /// How the first that ended did; with several, which one. A server with a part missing is not
    /// the server that was asked for.
    pub fn ended(&self) -> Option<ServerEnd> {
        let of = self.all.iter().filter(|one| one.part == Part::Server).count() as u64;
        (1..).zip(&self.all).find_map(|(process, one)| {
            let how = one.ended.clone()?;
            Some(match one.part {
                Part::Proxy => ServerEnd::ProxyEnded { how },
                Part::Server if of == 1 => ServerEnd::ProcessEnded { how },
                Part::Server => ServerEnd::PartEnded { process, of, how },
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_ended_is_named_among_several() {
        let mut processes = StartedProcesses::default();
        processes.add(10, Part::Server);
        assert_eq!(processes.ended(), None);
        processes.note_end(99, &ProcessEnd::ExitStatus(7));
        assert_eq!(processes.ended(), None, "it was none of ours");
        processes.note_end(10, &ProcessEnd::ExitStatus(1));
        processes.note_end(10, &ProcessEnd::ExitStatus(2));
        let how = ProcessEnd::ExitStatus(1);
        assert_eq!(processes.ended(), Some(ServerEnd::ProcessEnded { how: how.clone() }));
        processes.add(11, Part::Server);
        processes.add(12, Part::Proxy);
        assert_eq!(processes.ended(), Some(ServerEnd::PartEnded { process: 1, of: 2, how }));
        assert_eq!(processes.running(Part::Server), [11]);
        assert_eq!(processes.running(Part::Proxy), [12]);
        assert_eq!(processes.pids(), [10, 11, 12]);
    }

    #[test]
    fn a_proxy_that_ended_is_called_that() {
        let mut processes = StartedProcesses::default();
        processes.add(10, Part::Server);
        processes.add(11, Part::Proxy);
        let how = ProcessEnd::Signal(9);
        processes.note_end(11, &how);
        assert_eq!(processes.ended(), Some(ServerEnd::ProxyEnded { how }));
    }
}
