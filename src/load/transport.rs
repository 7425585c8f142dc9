//! What requests and replies go through: a socket, or TLS over one.
//!
//! Errors are the operating system's, but for three kinds: `WouldBlock`; `InvalidData`, TLS failed;
//! `UnexpectedEof`, the connection ended without TLS saying so.

use std::io;

use super::socket::{Received, Socket};
use super::tls::TlsLayer;

/// A socket, with or without TLS over it. What belongs to TLS is boxed, so that plain connections
/// stay small.
#[derive(Debug)]
pub struct Transport {
    pub socket: Socket,
    tls: Option<Box<TlsLayer>>,
}

impl Transport {
    pub fn new(socket: Socket, tls: Option<TlsLayer>) -> Self {
        Self { socket, tls: tls.map(Box::new) }
    }

    #[inline]
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Sends what can be taken now, and says how much that was.
    ///
    /// # Errors
    /// `WouldBlock` while connecting, in the TLS handshake, or when the buffer is full; otherwise
    /// why the connection failed.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.send(bytes),
            Some(tls) => tls.send(&self.socket, bytes),
        }
    }

    /// Sends what was taken before and has not left yet; only TLS has such bytes.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.flush(&self.socket))
    }

    /// Bytes were taken that have not left yet.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// After a send that would block: whether it waits for room in the kernel, and not for the
    /// server's part of a handshake.
    pub fn awaits_room(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.has_unsent())
    }

    /// What was just read made it possible or necessary to send something: the handshake is over,
    /// or has to be answered.
    #[inline]
    pub fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent() || tls.awaits_first_request())
    }

    /// The end has been read already, behind what was last received: no poller will report it.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_ended())
    }

    /// Reads what there is. With TLS the buffer has to be as large as the loop's. `uses_stamp`: the
    /// time of its arrival is wanted.
    ///
    /// # Errors
    /// `WouldBlock` when there is nothing yet; otherwise why the connection failed.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], uses_stamp: bool) -> io::Result<Received> {
        match &mut self.tls {
            None => self.socket.receive(buffer, uses_stamp),
            Some(tls) => tls.receive(&self.socket, buffer, uses_stamp),
        }
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.socket);
        }
    }
}
