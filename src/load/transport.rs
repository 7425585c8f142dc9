//! What requests and replies go through: a socket, or TLS over one.
//!
//! Errors are the operating system's, but for three kinds: `WouldBlock`; `InvalidData`, TLS failed;
//! `UnexpectedEof`, the connection ended without TLS saying so.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use super::socket::Socket;
use super::tls::TlsStream;

/// See the head of this file. TLS is kept elsewhere, so that plain connections stay small.
#[derive(Debug)]
pub enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// What was read at once; none at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    pub count: usize,
    /// More is probably there already.
    pub has_more: bool,
    /// When the last of it reached this machine, where that is known; see
    /// [`Socket::receive_stamped`].
    pub stamp: Option<u64>,
}

impl AsRawFd for Transport {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Plain(socket) => socket.as_raw_fd(),
            Self::Tls(stream) => stream.as_raw_fd(),
        }
    }
}

impl Transport {
    /// See [`Socket::set_no_delay`].
    ///
    /// # Errors
    /// It is a unix socket.
    pub fn set_no_delay(&self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.set_no_delay(),
            Self::Tls(stream) => stream.socket().set_no_delay(),
        }
    }

    /// See [`Socket::stamp_arrivals`].
    pub fn stamp_arrivals(&mut self) {
        match self {
            Self::Plain(socket) => socket.stamp_arrivals(),
            Self::Tls(stream) => stream.socket_mut().stamp_arrivals(),
        }
    }

    /// See [`Socket::reset_when_closed`].
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn reset_when_closed(&self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.reset_when_closed(),
            Self::Tls(stream) => stream.socket().reset_when_closed(),
        }
    }

    /// Sends what can be taken now, and says how much that was.
    ///
    /// # Errors
    /// `WouldBlock` while connecting, in the TLS handshake, or when the buffer is full; otherwise
    /// why the connection failed.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(stream) => stream.send(bytes),
        }
    }

    /// Sends what was taken before and has not left yet; only TLS has such bytes.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }

    /// Bytes were taken that have not left yet.
    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.has_unsent(),
        }
    }

    /// After a send that would block: whether it waits for room in the kernel, and not for the
    /// server's part of a handshake.
    pub fn awaits_room(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(stream) => stream.has_unsent(),
        }
    }

    /// What was just read made it possible or necessary to send something: the handshake is over,
    /// or has to be answered.
    pub fn wants_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.has_unsent() || stream.awaits_first_request(),
        }
    }

    /// The end has been read already, behind what was last received: no poller will report it.
    pub fn has_ended(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.has_ended(),
        }
    }

    /// Reads what there is. The buffer is as large as the loop's.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing yet; otherwise why the connection failed.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        match self {
            Self::Plain(socket) => {
                let (count, stamp) = socket.receive_stamped(buffer)?;
                Ok(Received { count, has_more: count == buffer.len(), stamp })
            }
            Self::Tls(stream) => stream.receive(buffer),
        }
    }

    /// See [`Socket::discard`].
    ///
    /// # Errors
    /// As [`receive`](Self::receive); TLS has to look at every byte and can't.
    pub fn discard(&self, count: usize) -> io::Result<Received> {
        match self {
            Self::Plain(socket) => {
                socket.discard(count).map(|count| Received { count, has_more: true, stamp: None })
            }
            Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
