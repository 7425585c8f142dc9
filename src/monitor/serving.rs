//! Which of a server's processes serve, where no title says so: those that hold a socket on which
//! it listens, and have no child that does.
//!
//! In: where it listens, and its processes. Out: those that serve. Reads `/proc`; must not know
//! what the processes are.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::sockets::{self, ListenAddress};
use super::tree::parent;

/// Looks at the listening sockets of a server's processes. What holds one is taken to keep it, so
/// that a process is looked into only until then.
#[derive(Debug, Default)]
pub struct Serving {
    port: Option<u16>,
    socket: Option<PathBuf>,
    /// With their parents.
    holders: HashMap<u32, Option<u32>>,
}

impl Serving {
    /// Of a server on this loopback port, or on this unix socket, or on both through a proxy.
    pub fn new(port: Option<u16>, socket: Option<PathBuf>) -> Self {
        Self { port, socket, holders: HashMap::new() }
    }

    /// Those of these processes that serve.
    pub fn among(&mut self, pids: &[u32]) -> HashSet<u32> {
        if self.port.is_none() && self.socket.is_none() {
            return HashSet::new();
        }
        self.holders.retain(|pid, _| pids.contains(pid));
        let unknown: Vec<u32> =
            pids.iter().copied().filter(|pid| !self.holders.contains_key(pid)).collect();
        // Whichever still lives shows the network that they all see.
        let listeners = unknown.iter().find_map(|pid| sockets::listeners(Some(*pid)).ok());
        if let Some(listeners) = listeners {
            let ours = listeners.iter().filter(|one| self.is_ours(&one.address));
            let inodes = ours.map(|listener| listener.inode).collect();
            // A process that may not be looked into, or has ended, is as one that holds nothing.
            let holds = |pid: &u32| sockets::holds(*pid, &inodes).unwrap_or(false);
            self.holders.extend(unknown.into_iter().filter(holds).map(|pid| (pid, parent(pid))));
        }
        leaves(&self.holders)
    }

    fn is_ours(&self, address: &ListenAddress) -> bool {
        match address {
            ListenAddress::Tcp { port, .. } => self.port == Some(*port),
            ListenAddress::Unix(path) => self.socket.as_ref() == Some(path),
        }
    }
}

/// Those that are nobody's parent.
fn leaves(holders: &HashMap<u32, Option<u32>>) -> HashSet<u32> {
    let parents: HashSet<u32> = holders.values().copied().flatten().collect();
    holders.keys().copied().filter(|pid| !parents.contains(pid)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_master_serves_nothing_once_its_workers_hold_the_socket() {
        let holders = HashMap::from([(10, Some(1)), (11, Some(10)), (12, Some(10))]);
        assert_eq!(leaves(&holders), HashSet::from([11, 12]));
        assert_eq!(leaves(&HashMap::from([(10, Some(1))])), HashSet::from([10]));
    }

    #[test]
    fn the_holder_of_a_port_is_found_and_forgotten_with_the_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = std::process::id();
        let mut serving = Serving::new(Some(listener.local_addr().unwrap().port()), None);
        assert_eq!(serving.among(&[own, 1]), HashSet::from([own]));
        assert_eq!(serving.among(&[1]), HashSet::new());
        let mut nowhere = Serving::default();
        assert_eq!(nowhere.among(&[own]), HashSet::new());
    }
}
