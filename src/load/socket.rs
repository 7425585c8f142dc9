//! Non-blocking stream sockets, and why one could not be had.
//!
//! What is done for every request goes to the kernel by rustix's own system calls: the C library's
//! are cancellation points, which costs some thirty instructions a call.

use std::io::{self, IoSlice};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, sockopt,
};

use crate::terms::RequestError;

/// Most bytes read at once.
pub const READ_BUFFER: usize = 64 * 1024;

/// What was read at once; none at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    pub count: usize,
    /// More is probably there already.
    pub has_more: bool,
    /// The wall clock's time at which the last of it reached this machine, in nanoseconds since
    /// 1970; only where that was asked for, after [`Socket::stamp_arrivals`], and if the kernel
    /// knows.
    pub stamp: Option<u64>,
}

/// Where to connect to.
#[derive(Debug, Clone)]
pub enum Remote {
    Tcp(SocketAddr),
    Unix(SocketAddrUnix),
}

impl Remote {
    /// Every address in 127.0.0.0/8 is ours to connect from.
    pub fn is_loopback_v4(&self) -> bool {
        matches!(self, Self::Tcp(SocketAddr::V4(address)) if address.ip().is_loopback())
    }
}

/// A connected or connecting socket; closed when dropped.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    stamps_arrivals: bool,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// Begins to connect, from `source` when one is given; sending shows when it is done. On
    /// loopback it mostly is at once.
    ///
    /// # Errors
    /// No descriptor or local port is left; a unix socket refuses, or its queue is full
    /// (`WouldBlock`).
    pub fn connect(remote: &Remote, source: Option<Ipv4Addr>) -> io::Result<Self> {
        let family = match remote {
            Remote::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Remote::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Remote::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
        let socket = Self { fd, stamps_arrivals: false };
        if let Some(source) = source {
            // The choice of a port is left to `connect`, which can share ports between
            // destinations.
            socket.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)?;
            net::bind(&socket.fd, &SocketAddr::from((source, 0)))?;
        }
        let connected = match remote {
            Remote::Tcp(address) => net::connect(&socket.fd, address),
            Remote::Unix(address) => net::connect(&socket.fd, address),
        };
        match connected {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
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
        Ok(sockopt::set_socket_linger(&self.fd, Some(Duration::ZERO))?)
    }

    /// From now on the kernel notes when bytes arrive, if it can, so that
    /// [`receive`](Self::receive) and [`discard`](Self::discard) can say so.
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
        let set = unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, option, value, length) };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Sends what the kernel takes now.
    ///
    /// # Errors
    /// `WouldBlock` while connecting or when the buffer is full; otherwise why the connection
    /// failed.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // Without the flag a closed peer would raise SIGPIPE.
        Ok(net::send(&self.fd, bytes, SendFlags::NOSIGNAL)?)
    }

    /// Sends what the kernel takes now of several pieces.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(net::sendmsg(&self.fd, pieces, &mut control, SendFlags::NOSIGNAL)?)
    }

    /// Reads what there is. `uses_stamp`: the time of its arrival is wanted, which costs a little.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing yet; otherwise why the connection failed.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8], uses_stamp: bool) -> io::Result<Received> {
        let most = buffer.len();
        let (count, stamp) = if uses_stamp && self.stamps_arrivals {
            let piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: most };
            // SAFETY: the piece is the buffer, which lives through the call.
            unsafe { self.receive_with_stamp(piece, 0)? }
        } else {
            (net::recv(&self.fd, &mut *buffer, RecvFlags::empty())?.0, None)
        };
        Ok(Received { count, has_more: count == most, stamp })
    }

    /// Reads what there is, and when it arrived.
    ///
    /// # Safety
    /// The kernel may write to all of the piece, unless `flags` have it drop what there is.
    unsafe fn receive_with_stamp(
        &self,
        mut piece: libc::iovec,
        flags: libc::c_int,
    ) -> io::Result<(usize, Option<u64>)> {
        let mut control = Control([0; CONTROL_SPACE]);
        // SAFETY: all-zero is a valid value of this plain structure.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_SPACE as _;
        let message_at = &raw mut message;
        // SAFETY: all that the message points to lives through the call and is as long as said, or
        // is not written to, as the caller promises.
        let received = unsafe { libc::recvmsg(self.fd.as_raw_fd(), message_at, flags) };
        Ok((counted(received)?, stamp(&message)))
    }

    /// Drops up to `most` bytes inside the kernel, without copying them. Only TCP does so: on other
    /// sockets the same flag asks for the length of a message. `uses_stamp` as for
    /// [`receive`](Self::receive).
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn discard(&self, most: usize, uses_stamp: bool) -> io::Result<Received> {
        let nowhere = std::ptr::null_mut::<libc::c_void>();
        let (count, stamp) = if uses_stamp && self.stamps_arrivals {
            let piece = libc::iovec { iov_base: nowhere, iov_len: most };
            // SAFETY: with MSG_TRUNC on TCP nothing is written to the piece.
            unsafe { self.receive_with_stamp(piece, libc::MSG_TRUNC)? }
        } else {
            let fd = self.fd.as_raw_fd();
            // SAFETY: with MSG_TRUNC on TCP nothing is written to the buffer.
            let dropped = unsafe { libc::recv(fd, nowhere, most, libc::MSG_TRUNC) };
            (counted(dropped)?, None)
        };
        Ok(Received { count, has_more: count == most, stamp })
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
#[inline]
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

#[inline]
fn counted(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// What an operating system's error means for a request.
pub fn error_class(error: &io::Error) -> RequestError {
    match error.raw_os_error().unwrap_or(0) {
        libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED | libc::ENOTCONN => RequestError::Reset,
        libc::ETIMEDOUT => RequestError::Timeout,
        // Ours: no port, address, descriptor or memory.
        libc::EADDRNOTAVAIL
        | libc::EADDRINUSE
        | libc::EMFILE
        | libc::ENFILE
        | libc::ENOBUFS
        | libc::ENOSPC
        | libc::ENOMEM => RequestError::AddressUnavailable,
        // Nothing listens there, or there is no way there.
        _ => RequestError::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    use super::*;

    fn until_ready<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                other => return other,
            }
        }
    }

    /// Both ends of a connection.
    fn connected() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
        let socket = Socket::connect(&remote, None).unwrap();
        (socket, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_can_be_dropped_in_the_kernel_without_losing_those_behind_them() {
        for stamps_arrivals in [false, true] {
            let (mut socket, mut peer) = connected();
            if stamps_arrivals {
                socket.stamp_arrivals();
            }
            peer.write_all(&[b'x'; 1000]).unwrap();
            peer.write_all(b"end").unwrap();
            let mut left = 1000;
            while left > 0 {
                left -= until_ready(|| socket.discard(left, true)).unwrap().count;
            }
            let mut buffer = [0; 16];
            let read = until_ready(|| socket.receive(&mut buffer, true)).unwrap();
            assert_eq!(&buffer[..read.count], b"end");
        }
    }

    #[test]
    fn more_is_there_only_where_all_came_that_was_asked_for() {
        for uses_stamp in [false, true] {
            let (mut socket, mut peer) = connected();
            socket.stamp_arrivals();
            // One segment: all of it is there at once.
            peer.write_all(&[b'x'; 1000]).unwrap();
            let dropped = until_ready(|| socket.discard(400, uses_stamp)).unwrap();
            assert_eq!((dropped.count, dropped.has_more), (400, true));
            let read = socket.receive(&mut [0; 100], uses_stamp).unwrap();
            assert_eq!((read.count, read.has_more), (100, true));
            let dropped = socket.discard(501, uses_stamp).unwrap();
            assert_eq!((dropped.count, dropped.has_more), (500, false));
            let nothing = socket.discard(1, uses_stamp).unwrap_err();
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
            drop(peer);
            let end = until_ready(|| socket.discard(10, uses_stamp)).unwrap();
            assert_eq!((end.count, end.has_more), (0, false));
        }
    }

    #[test]
    fn bytes_carry_the_time_at_which_they_arrived_where_it_is_asked_for() {
        let (mut socket, mut peer) = connected();
        socket.stamp_arrivals();
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        // The kernel begins to look at its clock a moment after it was asked to, and where all
        // cores are busy that moment is long.
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(30) {
            let before = wall();
            peer.write_all(b"xyz").unwrap();
            let mut buffer = [0; 1];
            let read = until_ready(|| socket.receive(&mut buffer, true)).unwrap();
            assert_eq!((read.count, buffer[0]), (1, b'x'));
            let dropped = socket.discard(1, true).unwrap();
            let unasked = socket.receive(&mut buffer, false).unwrap();
            assert_eq!((unasked.stamp, buffer[0]), (None, b'z'));
            if let Some(stamp) = read.stamp {
                assert!((before..=wall()).contains(&stamp), "{before} {stamp}");
                assert_eq!(dropped.stamp, Some(stamp), "they came together");
                return;
            }
        }
        panic!("never a time");
    }

    #[test]
    fn a_loopback_server_can_be_reached_from_any_loopback_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
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
    fn a_port_without_a_listener_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
        drop(listener);
        let socket = Socket::connect(&remote, None).unwrap();
        let error = until_ready(|| socket.send(b"hi")).unwrap_err();
        assert_eq!(error_class(&error), RequestError::Refused);
    }
}
