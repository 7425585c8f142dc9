//! Non-blocking stream sockets, and why one could not be had.
//!
//! What is done for every request goes to the kernel by the library's own system calls: the C
//! library's are cancellation points, which costs some thirty instructions a call.

use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::net::{RecvFlags, SendFlags};

/// An address in the kernel's form, made once.
#[derive(Clone)]
pub struct Remote {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
    is_unix: bool,
    is_loopback_v4: bool,
}

impl Remote {
    /// An internet address.
    pub fn tcp(address: SocketAddr) -> Self {
        let is_loopback_v4 = matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback());
        let (storage, length) = internet(address);
        Self { storage, length, is_unix: false, is_loopback_v4 }
    }

    /// A unix socket; `None` when the path is longer than the kernel takes.
    pub fn unix(path: &Path) -> Option<Self> {
        let bytes = OsStr::as_bytes(path.as_os_str());
        // SAFETY: all-zero is a valid value of this plain structure.
        let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
        // One byte stays for the final zero.
        if bytes.len() >= address.sun_path.len() {
            return None;
        }
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        let (storage, length) = stored(address);
        Some(Self { storage, length, is_unix: true, is_loopback_v4: false })
    }

    pub fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// Every address in 127.0.0.0/8 is ours to connect from.
    pub fn is_loopback_v4(&self) -> bool {
        self.is_loopback_v4
    }
}

fn internet(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: all-zero is a valid value of this plain structure.
            let mut raw: libc::sockaddr_in = unsafe { mem::zeroed() };
            raw.sin_family = libc::AF_INET as libc::sa_family_t;
            raw.sin_port = v4.port().to_be();
            raw.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            stored(raw)
        }
        SocketAddr::V6(v6) => {
            // SAFETY: all-zero is a valid value of this plain structure.
            let mut raw: libc::sockaddr_in6 = unsafe { mem::zeroed() };
            raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            raw.sin6_port = v6.port().to_be();
            raw.sin6_flowinfo = v6.flowinfo();
            raw.sin6_addr.s6_addr = v6.ip().octets();
            raw.sin6_scope_id = v6.scope_id();
            stored(raw)
        }
    }
}

fn stored<T>(address: T) -> (libc::sockaddr_storage, libc::socklen_t) {
    const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    // SAFETY: the storage is large enough and aligned for every kind of address (asserted above).
    let storage = unsafe {
        storage.as_mut_ptr().cast::<T>().write(address);
        storage.assume_init()
    };
    (storage, size_of::<T>() as libc::socklen_t)
}

/// A connected or connecting socket; closed when dropped.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    stamps_arrivals: bool,
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Socket {
    /// Begins to connect, from `source` when one is given; sending tells when it is done. On
    /// loopback it mostly is at once.
    ///
    /// # Errors
    /// No descriptor or local port is left; a unix socket refuses, or its queue is full
    /// (`WouldBlock`).
    pub fn connect(remote: &Remote, source: Option<Ipv4Addr>) -> io::Result<Self> {
        let family = libc::c_int::from(remote.storage.ss_family);
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointer is passed.
        let fd = checked(unsafe { libc::socket(family, kind, 0) })?;
        // SAFETY: a descriptor that was just made and that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let socket = Self { fd, stamps_arrivals: false };
        if let Some(source) = source {
            socket.bind(source)?;
        }
        let address = (&raw const remote.storage).cast::<libc::sockaddr>();
        // SAFETY: the address lives through the call and is as long as said.
        match checked(unsafe { libc::connect(socket.as_raw_fd(), address, remote.length) }) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(socket),
        }
    }

    /// Connects from this address, leaving the choice of a port to `connect`, which can share ports
    /// between destinations.
    fn bind(&self, source: Ipv4Addr) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)?;
        let (storage, length) = internet(SocketAddr::from((source, 0)));
        let address = (&raw const storage).cast::<libc::sockaddr>();
        // SAFETY: the address lives through the call and is as long as said.
        checked(unsafe { libc::bind(self.as_raw_fd(), address, length) }).map(drop)
    }

    /// Requests that do not fit into one segment must not wait for an acknowledgement.
    ///
    /// # Errors
    /// It is a unix socket.
    pub fn set_no_delay(&self) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY)
    }

    /// Closing will end the connection with a reset, so that it leaves nothing behind.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn reset_when_closed(&self) -> io::Result<()> {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let length = size_of::<libc::linger>() as libc::socklen_t;
        let value = (&raw const linger).cast::<libc::c_void>();
        let (level, option) = (libc::SOL_SOCKET, libc::SO_LINGER);
        // SAFETY: the value lives through the call and is as long as said.
        checked(unsafe { libc::setsockopt(self.as_raw_fd(), level, option, value, length) })
            .map(drop)
    }

    /// From now on [`receive_stamped`](Self::receive_stamped) says when bytes arrived, if the
    /// kernel will tell.
    pub fn stamp_arrivals(&mut self) {
        if !self.stamps_arrivals {
            self.stamps_arrivals = self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS).is_ok();
        }
    }

    fn set(&self, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
        let on: libc::c_int = 1;
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        let value = (&raw const on).cast::<libc::c_void>();
        // SAFETY: the value lives through the call and is as long as said.
        checked(unsafe { libc::setsockopt(self.as_raw_fd(), level, option, value, length) })
            .map(drop)
    }

    /// Sends what the kernel takes now.
    ///
    /// # Errors
    /// `WouldBlock` while connecting or when the buffer is full; otherwise why the connection
    /// failed.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // Without the flag a closed peer would raise SIGPIPE.
        Ok(rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL)?)
    }

    /// As [`send`](Self::send), several pieces at once.
    ///
    /// # Errors
    /// The same.
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: all-zero is a valid value of this plain structure.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = pieces.as_ptr().cast_mut().cast::<libc::iovec>();
        // Its type differs between C libraries.
        message.msg_iovlen = pieces.len() as _;
        // SAFETY: an `IoSlice` is laid out as the kernel's own; both it and its bytes live through
        // the call, which writes to neither.
        counted(unsafe { libc::sendmsg(self.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
    }

    /// Reads what there is; 0 at the end.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing yet; otherwise why the connection failed.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?.0)
    }

    /// As [`receive`](Self::receive), with the wall clock's time at which the last of these bytes
    /// reached this machine, in nanoseconds since 1970, if that was asked for and the kernel knows.
    ///
    /// # Errors
    /// The same.
    #[inline]
    pub fn receive_stamped(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        match self.stamps_arrivals {
            true => self.receive_with_stamp(buffer),
            false => Ok((self.receive(buffer)?, None)),
        }
    }

    fn receive_with_stamp(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut control = Control([0; CONTROL_SPACE]);
        // SAFETY: all-zero is a valid value of this plain structure.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_SPACE as _;
        // SAFETY: all that the message points to lives through the call and is as long as said.
        let count = counted(unsafe { libc::recvmsg(self.as_raw_fd(), &raw mut message, 0) })?;
        Ok((count, stamp(&message)))
    }

    /// Drops up to `count` bytes inside the kernel, without copying them; 0 at the end. Only TCP
    /// does so: on other sockets the same flag asks for the length of a message.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn discard(&self, count: usize) -> io::Result<usize> {
        let nowhere = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: with MSG_TRUNC on TCP nothing is written to the buffer.
        counted(unsafe { libc::recv(self.as_raw_fd(), nowhere, count, libc::MSG_TRUNC) })
    }
}

/// Room for one time and its header.
// SAFETY: only computes.
const CONTROL_SPACE: usize =
    unsafe { libc::CMSG_SPACE(size_of::<libc::timespec>() as libc::c_uint) } as usize;

/// Aligned as the kernel's headers are.
#[repr(align(8))]
struct Control([u8; CONTROL_SPACE]);

/// The time that came beside a message.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the message was just filled by the kernel; its headers lie within its control bytes.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message).as_ref()?;
        let is_time =
            header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS;
        if !is_time {
            return None;
        }
        let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
        Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn counted(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// What an operating system's error means for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFailure {
    /// Nobody listens there, or there is no way there.
    Refused,
    Reset,
    TimedOut,
    /// Ours: no port, address, descriptor or memory.
    AddressUnavailable,
}

impl From<&io::Error> for SocketFailure {
    fn from(error: &io::Error) -> Self {
        match error.raw_os_error().unwrap_or(0) {
            libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED | libc::ENOTCONN => Self::Reset,
            libc::ETIMEDOUT => Self::TimedOut,
            libc::EADDRNOTAVAIL
            | libc::EADDRINUSE
            | libc::EMFILE
            | libc::ENFILE
            | libc::ENOBUFS
            | libc::ENOSPC
            | libc::ENOMEM => Self::AddressUnavailable,
            _ => Self::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn until_ready(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                other => return other,
            }
        }
    }

    #[test]
    fn bytes_can_be_dropped_in_the_kernel_without_losing_those_behind_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::tcp(listener.local_addr().unwrap());
        let socket = Socket::connect(&remote, None).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(&[b'x'; 1000]).unwrap();
        peer.write_all(b"end").unwrap();
        let mut left = 1000;
        while left > 0 {
            left -= until_ready(|| socket.discard(left)).unwrap();
        }
        let mut buffer = [0; 16];
        let count = until_ready(|| socket.receive(&mut buffer)).unwrap();
        assert_eq!(&buffer[..count], b"end");
    }

    #[test]
    fn bytes_carry_the_time_at_which_they_arrived() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::tcp(listener.local_addr().unwrap());
        let mut socket = Socket::connect(&remote, None).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        socket.stamp_arrivals();
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        // The kernel begins to look at its clock a moment after it was asked to.
        for _ in 0..10_000 {
            let before = wall();
            peer.write_all(b"x").unwrap();
            let mut buffer = [0; 4];
            let mut stamp = None;
            let count = until_ready(|| {
                let (count, at) = socket.receive_stamped(&mut buffer)?;
                stamp = at;
                Ok(count)
            });
            assert_eq!((count.unwrap(), buffer[0]), (1, b'x'));
            if let Some(stamp) = stamp {
                assert!((before..=wall()).contains(&stamp), "{before} {stamp}");
                return;
            }
        }
        panic!("never a time");
    }

    #[test]
    fn a_loopback_server_can_be_reached_from_any_loopback_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::tcp(listener.local_addr().unwrap());
        assert!(remote.is_loopback_v4());
        let source = Ipv4Addr::new(127, 0, 0, 7);
        let socket = Socket::connect(&remote, Some(source)).unwrap();
        let (mut peer, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), source);
        assert_eq!(until_ready(|| socket.send(b"hi")).unwrap(), 2);
        let mut buffer = [0; 2];
        peer.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"hi");
    }

    #[test]
    fn a_port_where_nobody_listens_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::tcp(listener.local_addr().unwrap());
        drop(listener);
        let socket = Socket::connect(&remote, None).unwrap();
        let error = until_ready(|| socket.send(b"hi")).unwrap_err();
        assert_eq!(SocketFailure::from(&error), SocketFailure::Refused);
    }

    #[test]
    fn a_path_too_long_for_a_unix_socket_is_noticed() {
        assert!(Remote::unix(Path::new(&"x".repeat(200))).is_none());
        assert!(Remote::unix(Path::new("/tmp/short")).is_some());
    }
}
