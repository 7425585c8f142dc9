//! Bytes between the HTTP/2 library, which wants a stream to read from and write to, and the loop,
//! which owns the socket.
//!
//! The loop feeds in what arrived and sends what the library wrote. Reading never waits: the loop
//! polls the library whenever it has fed it.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The library writes no more while this many bytes wait for the socket.
const MOST_UNSENT: usize = 1 << 20;

/// Both ends of it; a clone is the same pipe.
#[derive(Debug, Clone, Default)]
pub struct Pipe(Rc<RefCell<Ends>>);

#[derive(Debug, Default)]
struct Ends {
    /// Arrived and not read by the library yet.
    arrived: BytesMut,
    /// Written by the library and not sent yet.
    unsent: BytesMut,
    /// Nothing more will arrive.
    is_over: bool,
}

impl Pipe {
    /// Bytes arrived.
    pub fn feed(&self, bytes: &[u8]) {
        self.0.borrow_mut().arrived.extend_from_slice(bytes);
    }

    /// The connection has ended.
    pub fn end(&self) {
        self.0.borrow_mut().is_over = true;
    }

    /// Whether something waits to be sent.
    pub fn has_unsent(&self) -> bool {
        !self.0.borrow().unsent.is_empty()
    }

    /// Bytes that wait to be sent.
    #[cfg(fuzzing)]
    pub fn unsent(&self) -> usize {
        self.0.borrow().unsent.len()
    }

    /// Sends what waits, as far as `send` takes it, and returns how much that was.
    ///
    /// # Errors
    /// Those of `send`, except that it would block.
    pub fn send(&self, mut send: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
        let unsent = &mut self.0.borrow_mut().unsent;
        let mut sent = 0;
        while !unsent.is_empty() {
            match send(unsent) {
                Ok(count) => {
                    unsent.advance(count);
                    sent += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut ends = self.0.borrow_mut();
        if ends.arrived.is_empty() {
            return if ends.is_over { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        let count = ends.arrived.len().min(buffer.remaining());
        buffer.put_slice(&ends.arrived[..count]);
        ends.arrived.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let unsent = &mut self.0.borrow_mut().unsent;
        if unsent.len() >= MOST_UNSENT {
            return Poll::Pending;
        }
        unsent.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
