//! Which processes beside the server serve it: those that one of its processes has a connection to.
//!
//! In: ids of processes. Out: yes, no, or not to be seen. Reads `/proc/PID/fd` and asks the kernel;
//! opens no connection.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use super::open_files::open_files;
use super::sock_diag::{SockDiag, is_in_our_network};

/// Knows what it found: a connection seen once counts for good.
#[derive(Default)]
pub(super) struct Connections {
    kernel: Option<SockDiag>,
    serving: HashSet<u32>,
    /// Those that had none when last looked at, and when that was.
    strangers: HashMap<u32, Instant>,
}

/// Looking goes through all sockets of the server, so a "no" stands for a while.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl Connections {
    /// Has one of these processes of the server a connection to `other`? `None` when that cannot
    /// be seen.
    pub fn lead_to(&mut self, other: u32, server: &[u32]) -> Option<bool> {
        if self.serving.contains(&other) {
            return Some(true);
        }
        let looked_at = self.strangers.get(&other);
        if looked_at.is_some_and(|then| then.elapsed() < LOOK_AGAIN) {
            return Some(false);
        }
        let found = self.look(other, server).ok()?;
        if found {
            self.serving.insert(other);
        } else {
            self.strangers.insert(other, Instant::now());
        }
        Some(found)
    }

    fn look(&mut self, other: u32, server: &[u32]) -> io::Result<bool> {
        // The kernel answers for the network of whoever asks, and shows a container's no sockets.
        if !is_in_our_network(other) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let theirs = sockets_of(other)?;
        let mut ours = HashSet::new();
        for pid in server {
            // One that has ended has none; one that may not be looked into hides all.
            match sockets_of(*pid) {
                Ok(sockets) => ours.extend(sockets),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                Err(_) => {}
            }
        }
        let kernel = match &mut self.kernel {
            Some(kernel) => kernel,
            none => none.insert(SockDiag::open()?),
        };
        let peers = kernel.unix_peers()?;
        if theirs.iter().filter_map(|own| peers.get(own)).any(|peer| ours.contains(peer)) {
            return Ok(true);
        }
        let connections = kernel.tcp_connections()?;
        let far_ends: HashSet<_> =
            ours.iter().filter_map(|own| connections.get(own)).map(|ends| ends.turned()).collect();
        Ok(theirs.iter().filter_map(|own| connections.get(own)).any(|own| far_ends.contains(own)))
    }
}

/// Numbers of the sockets that a process has open.
fn sockets_of(pid: u32) -> io::Result<HashSet<u64>> {
    Ok(open_files(pid)?.flatten().collect())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_found_from_its_two_processes() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _server = listener.accept().unwrap();
        let mut connections = Connections::default();
        assert_eq!(connections.lead_to(own, &[own]), Some(true));
        // Nobody has this id, as it is above the largest.
        assert_eq!(connections.lead_to(1 << 23, &[own]), None);
    }
}
