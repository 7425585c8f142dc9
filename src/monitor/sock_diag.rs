//! What the kernel tells of sockets when it is asked by netlink, as sock_diag(7) describes: queues
//! of listeners, and which socket is connected to which.
//!
//! In: questions. Out: numbers of sockets and addresses. Sees the network that this process is in,
//! and of that only connections that stand, not the thousands that have ended; opens no connection.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::net::netlink;

use super::netlink::{DUMPS_ALL, Netlink, attribute, read_u16_be, read_u32};

/// A listener's queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Queue {
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// How many may.
    pub backlog: u32,
}

/// The two ends of a connection, as one of its sockets sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ends {
    pub own: SocketAddr,
    pub other: SocketAddr,
}

impl Ends {
    /// Both ends as the socket at the other end sees them.
    pub fn turned(self) -> Self {
        Self { own: self.other, other: self.own }
    }
}

/// A TCP socket on which something listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TcpListening {
    pub address: SocketAddr,
    pub queue: Queue,
    pub user: u32,
    pub inode: u64,
}

/// Asks the kernel.
pub(super) struct SockDiag {
    kernel: Netlink,
}

const BY_FAMILY: u16 = 20;
/// States of TCP, as bits.
const ESTABLISHED: u32 = 1 << 1;
const LISTENS: u32 = 1 << 10;
/// What is wanted of unix sockets, and the attributes in which it comes.
const SHOW_PEER: u32 = 0x4;
const SHOW_QUEUE: u32 = 0x10;
const PEER: u16 = 2;
const QUEUE: u16 = 4;
/// Lengths of the fixed parts of answers; attributes follow.
const UNIX_ANSWER: usize = 16;
const INET_ANSWER: usize = 72;

impl SockDiag {
    /// # Errors
    /// The kernel was built without it, or a sandbox forbids it.
    pub fn open() -> io::Result<Self> {
        Ok(Self { kernel: Netlink::open(netlink::SOCK_DIAG)? })
    }

    /// The queues of all listeners on a TCP port together; `None` when nobody listens.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn tcp_queue(&mut self, port: u16) -> io::Result<Option<Queue>> {
        let mut found: Option<Queue> = None;
        self.each_tcp_listener(&mut |listener| {
            if listener.address.port() == port {
                let sum = found.get_or_insert_default();
                sum.waiting += listener.queue.waiting;
                sum.backlog = sum.backlog.saturating_add(listener.queue.backlog);
            }
        })?;
        Ok(found)
    }

    /// Hands all that listens on TCP to `each`. The kernel looks through these alone, while its
    /// files in `/proc/net` go through every connection as well.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn each_tcp_listener(&mut self, each: &mut dyn FnMut(TcpListening)) -> io::Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.ask(&inet_request(family, LISTENS), DUMPS_ALL, &mut |answer| {
                if let Some(listener) = listening(answer) {
                    each(listener);
                }
            })?;
        }
        Ok(())
    }

    /// The queue of a listening unix socket, by its inode; `None` when there is no such socket.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn unix_queue(&mut self, inode: u64) -> io::Result<Option<Queue>> {
        let mut found = None;
        let asked = self.ask(&unix_request(inode as u32, SHOW_QUEUE), 0, &mut |answer| {
            found = attribute(answer, UNIX_ANSWER, QUEUE).and_then(|queue| {
                Some(Queue { waiting: read_u32(queue, 0)?, backlog: read_u32(queue, 4)? })
            });
        });
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            result => result.map(|()| found),
        }
    }

    /// Connected unix sockets: each one's inode with that of the socket at the other end.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn unix_peers(&mut self) -> io::Result<HashMap<u64, u64>> {
        let mut peers = HashMap::new();
        self.ask(&unix_request(0, SHOW_PEER), DUMPS_ALL, &mut |answer| {
            let peer = attribute(answer, UNIX_ANSWER, PEER).and_then(|peer| read_u32(peer, 0));
            if let (Some(own), Some(peer)) = (read_u32(answer, 4), peer) {
                peers.insert(u64::from(own), u64::from(peer));
            }
        })?;
        Ok(peers)
    }

    /// Established TCP connections, by the inode of the socket.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn tcp_connections(&mut self) -> io::Result<HashMap<u64, Ends>> {
        let mut connections = HashMap::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.ask(&inet_request(family, ESTABLISHED), DUMPS_ALL, &mut |answer| {
                if let (Some(ends), Some(inode)) = (ends(answer), read_u32(answer, 68)) {
                    connections.insert(u64::from(inode), ends);
                }
            })?;
        }
        Ok(connections)
    }

    fn ask(&mut self, body: &[u8], flags: u16, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.kernel.ask(BY_FAMILY, flags, body, each)
    }
}

/// The kernel answers for the network of whoever asks: is that also this process's?
pub(super) fn is_in_our_network(pid: u32) -> bool {
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let (own, other) = (network("self"), network(&pid.to_string()));
    own.is_some() && own == other
}

/// `struct inet_diag_req_v2`: all TCP sockets of a family in some states.
fn inet_request(family: i32, states: u32) -> [u8; 56] {
    let mut request = [0; 56];
    request[0] = family as u8;
    request[1] = libc::IPPROTO_TCP as u8;
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// `struct unix_diag_req`: one socket, or all when dumped.
fn unix_request(inode: u32, show: u32) -> [u8; 24] {
    let mut request = [0; 24];
    request[0] = libc::AF_UNIX as u8;
    request[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    request[8..12].copy_from_slice(&inode.to_ne_bytes());
    request[12..16].copy_from_slice(&show.to_ne_bytes());
    // No cookie: whichever socket has this number now.
    request[16..24].fill(0xff);
    request
}

/// Both addresses in a `struct inet_diag_msg`.
fn ends(answer: &[u8]) -> Option<Ends> {
    if answer.len() < INET_ANSWER {
        return None;
    }
    let is_version_4 = i32::from(answer[0]) == libc::AF_INET;
    let address = |at: usize| -> Option<IpAddr> {
        if is_version_4 {
            let octets: [u8; 4] = answer[at..at + 4].try_into().ok()?;
            return Some(Ipv4Addr::from(octets).into());
        }
        let octets: [u8; 16] = answer[at..at + 16].try_into().ok()?;
        // A socket of both versions sees a version 4 address inside one of version 6.
        Some(Ipv6Addr::from(octets).to_canonical())
    };
    let own = SocketAddr::new(address(8)?, read_u16_be(answer, 4)?);
    let other = SocketAddr::new(address(24)?, read_u16_be(answer, 6)?);
    Some(Ends { own, other })
}

fn listening(answer: &[u8]) -> Option<TcpListening> {
    let queue = Queue { waiting: read_u32(answer, 56)?, backlog: read_u32(answer, 60)? };
    let inode = u64::from(read_u32(answer, 68)?);
    Some(TcpListening { address: ends(answer)?.own, queue, user: read_u32(answer, 64)?, inode })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn inode(fd: RawFd) -> u64 {
        let link = std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    #[test]
    fn the_queue_of_a_tcp_listener_is_counted_with_its_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _waiting = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        let mut kernel = SockDiag::open().unwrap();
        let queue = kernel.tcp_queue(address.port()).unwrap().unwrap();
        assert_eq!(queue.waiting, 2);
        assert!(queue.backlog >= 16, "{queue:?}");
        drop(listener);
        assert_eq!(kernel.tcp_queue(address.port()).unwrap(), None);
    }

    #[test]
    fn the_queue_of_a_unix_listener_is_counted_too() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("a.sock")).unwrap();
        let _waiting = UnixStream::connect(folder.path().join("a.sock")).unwrap();
        let mut kernel = SockDiag::open().unwrap();
        let queue = kernel.unix_queue(inode(listener.as_raw_fd())).unwrap().unwrap();
        assert_eq!(queue.waiting, 1);
        assert_eq!(kernel.unix_queue(u64::from(u32::MAX)).unwrap(), None);
    }

    #[test]
    fn both_ends_of_a_connection_are_found_from_one() {
        let mut kernel = SockDiag::open().unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let peers = kernel.unix_peers().unwrap();
        assert_eq!(peers[&inode(one.as_raw_fd())], inode(other.as_raw_fd()));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let connections = kernel.tcp_connections().unwrap();
        let of_client = connections[&inode(client.as_raw_fd())];
        assert_eq!(of_client.own, client.local_addr().unwrap());
        assert_eq!(connections[&inode(server.as_raw_fd())], of_client.turned());
    }

    #[test]
    fn a_torn_answer_is_left_out() {
        assert_eq!(ends(&[2; 71]), None);
        assert_eq!(listening(&[2; 71]), None);
    }
}
