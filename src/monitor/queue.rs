//! The queue of connections that wait until the server accepts them, looked at again and again.
//!
//! In: a port or a unix socket, and a process in whose network it is. Out: how many wait, how many
//! may, and how many were turned away. Reads `/proc` and asks the kernel; connects to nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::sock_diag::{Queue, SockDiag, is_in_our_network};
use super::sockets::{self, ListenAddress, Listener, net_folder};
use super::text;

/// Where the queue is looked up.
enum Source {
    Tcp {
        port: u16,
    },
    /// The kernel is asked by the socket's number, which is looked up when the server has a new
    /// one.
    Unix {
        path: PathBuf,
        inode: Option<u64>,
    },
}

/// The listen queue of one server.
pub(super) struct ListenQueue {
    source: Source,
    /// A process in the network that is meant.
    pid: u32,
    /// `None` where the kernel does not answer, or would answer for another network.
    kernel: Option<SockDiag>,
    backlog: Option<u32>,
    overflows: Option<u64>,
}

impl ListenQueue {
    /// A port goes before a socket: with a proxy in front it is what the clients come to. `None`
    /// without either.
    pub fn open(port: Option<u16>, socket: Option<&Path>, pid: u32) -> Option<Self> {
        let source = match (port, socket) {
            (Some(port), _) => Source::Tcp { port },
            (None, Some(path)) => Source::Unix { path: path.to_path_buf(), inode: None },
            (None, None) => return None,
        };
        let kernel = if is_in_our_network(pid) { answering() } else { None };
        let mut queue = Self { source, pid, kernel, backlog: None, overflows: None };
        queue.overflows = queue.read_overflows();
        Some(queue)
    }

    /// Connections that wait now; `None` when nothing listens or it cannot be seen.
    pub fn waiting(&mut self) -> Option<u32> {
        match (&self.source, &self.kernel) {
            (Source::Tcp { port }, None) => waiting_at(*port, &net_folder(Some(self.pid))),
            _ => self.ask().map(|found| found.waiting),
        }
    }

    /// How many may wait. Asked until a server listens, and then known.
    pub fn backlog(&mut self) -> Option<u32> {
        if self.backlog.is_none() {
            self.backlog = self.ask().map(|found| found.backlog);
        }
        self.backlog
    }

    /// Connections that the kernel turned away since the last call because a queue was full; of
    /// the whole network, as the kernel has no count for one queue. `None` for a unix socket, where
    /// the caller is told at once.
    pub fn overflows(&mut self) -> Option<u64> {
        let now = self.read_overflows();
        let before = std::mem::replace(&mut self.overflows, now);
        Some(now?.saturating_sub(before?))
    }

    fn read_overflows(&self) -> Option<u64> {
        let Source::Tcp { .. } = self.source else { return None };
        text::listen_overflows(&fs::read(net_folder(Some(self.pid)).join("netstat")).ok()?)
    }

    fn ask(&mut self) -> Option<Queue> {
        let kernel = self.kernel.as_mut()?;
        match &mut self.source {
            Source::Tcp { port } => kernel.tcp_queue(*port).ok()?,
            Source::Unix { path, inode } => {
                let number = match *inode {
                    Some(number) => number,
                    None => inode_of(path, self.pid)?,
                };
                let found = kernel.unix_queue(number).ok()?;
                *inode = found.map(|_| number);
                found
            }
        }
    }
}

/// Asks once, as a kernel without the answers shows it only then.
fn answering() -> Option<SockDiag> {
    let mut kernel = SockDiag::open().ok()?;
    kernel.each_tcp_listener(&mut |_| {}).ok()?;
    Some(kernel)
}

/// Over all listeners of the port, from the files of its network. One that cannot be read (the
/// network is gone) is the same as no listener.
fn waiting_at(port: u16, folder: &Path) -> Option<u32> {
    let waiting = |listener: Listener| match listener.address {
        ListenAddress::Tcp { port: own, .. } if own == port => Some(listener.queue.unwrap_or(0)),
        _ => None,
    };
    let (listeners, _) = sockets::read_from(folder);
    listeners.into_iter().filter_map(waiting).reduce(|sum, one| sum + one)
}

fn inode_of(path: &Path, pid: u32) -> Option<u64> {
    let wanted = ListenAddress::Unix(path.to_path_buf());
    let listeners = sockets::listeners(Some(pid)).ok()?;
    listeners.iter().find(|listener| listener.serves(&wanted)).map(|listener| listener.inode)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn the_queue_of_a_port_is_seen_with_its_room_and_what_was_turned_away() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut queue = ListenQueue::open(Some(address.port()), None, own).unwrap();
        assert_eq!(queue.waiting(), Some(0));
        let _waits = TcpStream::connect(address).unwrap();
        assert_eq!(queue.waiting(), Some(1));
        assert!(queue.backlog().is_some_and(|backlog| backlog >= 16));
        assert!(queue.overflows().is_some());
        drop(listener);
        assert_eq!(queue.waiting(), None);
    }

    #[test]
    fn the_queue_of_a_unix_socket_is_seen_also_after_the_server_came_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.sock");
        let mut queue = ListenQueue::open(None, Some(&path), std::process::id()).unwrap();
        assert_eq!((queue.waiting(), queue.overflows()), (None, None));
        for _ in 0..2 {
            let listener = UnixListener::bind(&path).unwrap();
            assert_eq!(queue.waiting(), Some(0));
            let _waits = UnixStream::connect(&path).unwrap();
            assert_eq!(queue.waiting(), Some(1));
            drop(listener);
            assert_eq!(queue.waiting(), None);
            fs::remove_file(&path).unwrap();
        }
        assert!(queue.backlog().is_none(), "nobody listens");
        assert!(ListenQueue::open(None, None, std::process::id()).is_none());
    }
}
