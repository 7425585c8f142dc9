//! Listening sockets: how many connections wait in their queue, and which processes hold them.
//!
//! In: a port, an address or a path. Out: queue depth, pids. Reads `/proc/net` and `/proc/PID/fd`;
//! must not connect to anything.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::open_files::open_files;
use super::sock_diag::{SockDiag, is_in_our_network};
use super::text;

/// Where a server listens, as users write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// `:3000` (any address), `localhost:3000` or `127.0.0.1:3000`.
    Tcp { at: TcpAddress, port: u16 },
    /// `/run/app.sock`.
    Unix(PathBuf),
}

/// Which of a machine's addresses are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpAddress {
    Any,
    /// `localhost`: 127.0.0.1 and ::1, of which a server may have either.
    Localhost,
    One(IpAddr),
}

impl TcpAddress {
    /// True when connections to it arrive at a socket that listens on `own`.
    fn leads_to(self, own: IpAddr) -> bool {
        let is_meant = match self {
            Self::Any => true,
            Self::Localhost => own == Ipv4Addr::LOCALHOST || own == Ipv6Addr::LOCALHOST,
            Self::One(wanted) => own == wanted,
        };
        is_meant || own.is_unspecified()
    }
}

/// Text that is no address to listen on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no address; write :3000, 127.0.0.1:3000, [::1]:3000 or the path of a unix socket"
)]
pub struct ListenAddressError(String);

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let error = || ListenAddressError(text.to_string());
        let plain = text.trim().trim_start_matches("tcp://");
        if let Some(path) = plain.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(error()) } else { Ok(Self::Unix(path.into())) };
        }
        if plain.contains('/') {
            return Ok(Self::Unix(plain.into()));
        }
        let (host, port) = plain.rsplit_once(':').unwrap_or(("", plain));
        let port = port.parse().ok().filter(|&port| port > 0).ok_or_else(error)?;
        let at = match host.trim_start_matches('[').trim_end_matches(']') {
            "" | "*" => TcpAddress::Any,
            "localhost" => TcpAddress::Localhost,
            host => TcpAddress::One(host.parse().map_err(|_| error())?),
        };
        Ok(Self::Tcp { at, port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { at: TcpAddress::Any, port } => write!(f, ":{port}"),
            Self::Tcp { at: TcpAddress::Localhost, port } => write!(f, "localhost:{port}"),
            Self::Tcp { at: TcpAddress::One(ip), port } => SocketAddr::new(*ip, *port).fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// One listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub address: ListenAddress,
    pub inode: u64,
    /// Connections that wait to be accepted; the kernel does not say so of unix sockets here.
    pub queue: Option<u32>,
    /// The user whose process made it; not known of unix sockets.
    pub user: Option<u32>,
}

/// Reads a row of `/proc/net/tcp` or `tcp6`; `Some(None)` is a socket that does not listen.
fn tcp_row(row: &[u8]) -> Option<Option<Listener>> {
    let mut fields = text::fields(row).skip(1);
    let local = fields.next()?;
    let _remote = fields.next()?;
    if fields.next()? != b"0A" {
        return Some(None);
    }
    let colon = memchr::memchr(b':', local)?;
    let (address, port) = (ip_address(&local[..colon])?, hexadecimal(&local[colon + 1..])? as u16);
    let queues = fields.next()?;
    let queue = hexadecimal(&queues[memchr::memchr(b':', queues)? + 1..])? as u32;
    // Behind the queues stand timer and retransmits, then the user, a timeout and the inode.
    let user = text::number(fields.nth(2)?)? as u32;
    let inode = text::number(fields.nth(1)?)?;
    let address = ListenAddress::Tcp { at: TcpAddress::One(address), port };
    Some(Some(Listener { address, inode, queue: Some(queue), user: Some(user) }))
}

/// The kernel prints the address as 32-bit words in the machine's byte order.
fn ip_address(digits: &[u8]) -> Option<IpAddr> {
    let word = |chunk: &[u8]| hexadecimal(chunk).map(|word| (word as u32).to_ne_bytes());
    match digits.len() {
        8 => Some(IpAddr::V4(word(digits)?.into())),
        32 => {
            let mut octets = [0u8; 16];
            for (place, chunk) in octets.chunks_mut(4).zip(digits.chunks(8)) {
                place.copy_from_slice(&word(chunk)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(octets)))
        }
        _ => None,
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Reads a row of `/proc/net/unix`; sockets that do not listen or have no name are `None`.
fn unix_row(row: &[u8]) -> Option<Listener> {
    const LISTENS: u64 = 0x10000;
    let mut fields = text::fields(row);
    let flags = hexadecimal(fields.nth(3)?)?;
    let inode = text::number(fields.nth(2)?)?;
    let name = fields.next()?;
    if flags & LISTENS == 0 {
        return None;
    }
    // A path may hold spaces, so take the rest of the line.
    let start = name.as_ptr().addr() - row.as_ptr().addr();
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(&row[start..]));
    Some(Listener { address: ListenAddress::Unix(path), inode, queue: None, user: None })
}

/// Adds the listeners of one `/proc/net/tcp` file. The kernel lists them before all other sockets,
/// so reading ends there: thousands of closed connections may follow.
fn tcp_listeners(file: impl Read, found: &mut Vec<Listener>) -> io::Result<()> {
    for row in BufReader::with_capacity(4096, file).split(b'\n').skip(1) {
        match tcp_row(&row?) {
            Some(Some(listener)) => found.push(listener),
            Some(None) => break,
            None => {}
        }
    }
    Ok(())
}

/// Everything that listens, in the network that process `pid` sees.
///
/// # Errors
/// None of the files below `/proc/PID/net` can be read.
pub fn listeners(pid: Option<u32>) -> io::Result<Vec<Listener>> {
    let folder = net_folder(pid);
    let mut failure = None;
    let is_ours = pid.is_none_or(is_in_our_network);
    let mut found = is_ours.then(asked_for).and_then(Result::ok).unwrap_or_else(|| {
        let (found, error) = read_from(&folder);
        failure = error;
        found
    });
    if let Ok(unix) = fs::read(folder.join("unix")) {
        found.extend(text::lines(&unix).skip(1).filter_map(unix_row));
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// All TCP listeners of our own network, from the kernel.
fn asked_for() -> io::Result<Vec<Listener>> {
    let mut found = Vec::new();
    SockDiag::open()?.each_tcp_listener(&mut |one| {
        let (ip, port) = (one.address.ip(), one.address.port());
        found.push(Listener {
            address: ListenAddress::Tcp { at: TcpAddress::One(ip), port },
            inode: one.inode,
            queue: Some(one.queue.waiting),
            user: Some(one.user),
        });
    })?;
    Ok(found)
}

/// All TCP listeners of the network that a folder shows, and why the first of its files could not
/// be read.
pub(super) fn read_from(folder: &Path) -> (Vec<Listener>, Option<io::Error>) {
    let mut found = Vec::new();
    let mut failure = None;
    for name in ["tcp", "tcp6"] {
        let read = File::open(folder.join(name)).and_then(|file| tcp_listeners(file, &mut found));
        // A machine without IPv6 has no tcp6.
        failure = failure.or(read.err().filter(|_| name == "tcp"));
    }
    (found, failure)
}

pub(super) fn net_folder(pid: Option<u32>) -> PathBuf {
    match pid {
        Some(pid) => PathBuf::from(format!("/proc/{pid}/net")),
        None => PathBuf::from("/proc/self/net"),
    }
}

impl Listener {
    /// True when connections to `wanted` arrive here.
    pub fn serves(&self, wanted: &ListenAddress) -> bool {
        use ListenAddress::{Tcp, Unix};
        match (&self.address, wanted) {
            (Tcp { at: TcpAddress::One(own), port: own_port }, Tcp { at, port }) => {
                own_port == port && at.leads_to(*own)
            }
            (Unix(own), Unix(path)) => {
                own == path || fs::canonicalize(path).is_ok_and(|full| *own == full)
            }
            _ => false,
        }
    }
}

/// The processes that hold any of these sockets, in no particular order.
///
/// # Errors
/// `/proc` cannot be listed.
pub fn holders(inodes: &BTreeSet<u64>) -> io::Result<Vec<u32>> {
    let mut pids = super::tree::all_pids()?;
    // One that is another user's, or has ended in the meantime, shows nothing.
    pids.retain(|&pid| holds(pid, inodes).unwrap_or(false));
    Ok(pids)
}

pub(super) fn holds(pid: u32, inodes: &BTreeSet<u64>) -> io::Result<bool> {
    Ok(open_files(pid)?.flatten().any(|inode| inodes.contains(&inode)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "  \
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when \
        retrnsmt   uid  timeout inode\n   \
        0: 0100007F:0BB8 00000000:0000 0A 00000000:00000003 00:00000000 00000000  1000        0 \
        4711 1 000000004869df2e 100 0 0 10 0\n   \
        1: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 \
        1119 1 000000004869df2e 100 0 0 10 0\n   \
        2: 0100007F:0BB8 0100007F:9C40 06 00000000:00000000 03:00001770 00000000     0        0 \
        0 3 0000000000000000\n";

    fn read(file: impl Read) -> Vec<Listener> {
        let mut found = Vec::new();
        tcp_listeners(file, &mut found).unwrap();
        found
    }

    #[test]
    fn listening_rows_give_address_queue_user_and_inode() {
        let first = Listener {
            address: "127.0.0.1:3000".parse().unwrap(),
            inode: 4711,
            queue: Some(3),
            user: Some(1000),
        };
        assert_eq!(read(TCP.as_bytes())[0], first);
        assert_eq!(read(TCP.as_bytes())[1].address.to_string(), "0.0.0.0:2024");
    }

    #[test]
    fn rows_that_fall_across_two_reads_are_read_whole() {
        for size in [160, 200, 333] {
            let (first, second) = TCP.as_bytes().split_at(size);
            assert_eq!(read(first.chain(second)), read(TCP.as_bytes()), "{size} at first");
        }
    }

    #[test]
    fn reading_ends_at_the_first_socket_that_does_not_listen() {
        let late = TCP.lines().nth(1).unwrap();
        assert_eq!(read(format!("{TCP}{late}\n").as_bytes()).len(), 2);
    }

    #[test]
    fn version_6_addresses_are_read_word_by_word() {
        let loopback = ip_address(b"00000000000000000000000001000000").unwrap();
        assert_eq!(loopback, IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(ip_address(b"0100"), None);
    }

    #[test]
    fn unix_sockets_that_listen_are_told_by_their_flag() {
        let listens = b"0000000091: 00000002 00000000 00010000 0001 01 20815 /run/my app/puma.sock";
        let found = unix_row(listens).unwrap();
        assert_eq!(found.address, ListenAddress::Unix("/run/my app/puma.sock".into()));
        assert_eq!(found.inode, 20815);
        let connected = b"0000000091: 00000003 00000000 00000000 0001 03 20816 /run/x.sock";
        assert_eq!(unix_row(connected), None);
        assert_eq!(unix_row(b"00000000917b: 00000003 00000000 00000000 0001 03  1116"), None);
    }

    #[test]
    fn addresses_are_read_as_users_write_them() {
        let any = ListenAddress::Tcp { at: TcpAddress::Any, port: 3000 };
        for text in [":3000", "3000", "*:3000", "tcp://:3000"] {
            assert_eq!(text.parse(), Ok(any.clone()), "{text}");
        }
        for text in ["[::1]:80", "127.0.0.1:80", "localhost:80", ":80"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        assert_eq!("unix:///a b".parse(), Ok(ListenAddress::Unix("/a b".into())));
        for text in ["", ":", ":0", "host:99", ":70000", "unix:"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn a_listener_on_every_address_serves_each_of_them() {
        let everywhere = &read(TCP.as_bytes())[1];
        assert!(everywhere.serves(&"127.0.0.1:2024".parse().unwrap()));
        assert!(everywhere.serves(&":2024".parse().unwrap()));
        let loopback = &read(TCP.as_bytes())[0];
        assert!(!loopback.serves(&"10.0.0.1:3000".parse().unwrap()));
        assert!(!loopback.serves(&":3001".parse().unwrap()));
    }

    #[test]
    fn localhost_is_both_addresses_of_loopback() {
        let localhost: ListenAddress = "localhost:3000".parse().unwrap();
        for (own, expected) in [
            ("127.0.0.1:3000", true),
            ("[::1]:3000", true),
            ("0.0.0.0:3000", true),
            ("[::]:3000", true),
            ("127.0.0.2:3000", false),
            ("10.0.0.1:3000", false),
            ("[::1]:3001", false),
        ] {
            let address = own.parse().unwrap();
            let listener = Listener { address, inode: 1, queue: None, user: None };
            assert_eq!(listener.serves(&localhost), expected, "{own}");
        }
    }
}
