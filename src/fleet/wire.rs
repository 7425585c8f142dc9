//! Messages over a connection: a line of JSON each.
//!
//! In: a stream. Out: messages. Lines are bounded, so that whoever connects cannot fill the memory.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes: a second whose three distributions have a bucket each for all of an hour is half of this.
const LONGEST_LINE: u64 = 4 << 20;

/// Who doesn't take what it is sent for this long is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends messages; several threads may.
#[derive(Clone)]
pub struct Writer(Arc<Mutex<TcpStream>>);

impl Writer {
    /// # Errors
    /// The connection is gone.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
        line.push(b'\n');
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

impl Writer {
    /// Ends the connection, both ways.
    pub fn close(&self) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(stream.shutdown(Shutdown::Both));
    }
}

/// Both ways of a connection, without delay.
///
/// # Errors
/// The connection is gone.
pub fn open(stream: TcpStream) -> io::Result<(Receiver, Writer)> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let reading = stream.try_clone()?;
    Ok((Receiver(BufReader::new(reading)), Writer(Arc::new(Mutex::new(stream)))))
}

/// Receives messages.
pub struct Receiver(BufReader<TcpStream>);

impl Receiver {
    /// Waits at most this long for each from now on; `None`: as long as it takes.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn wait_at_most(&self, time: Option<Duration>) -> io::Result<()> {
        self.0.get_ref().set_read_timeout(time)
    }

    /// The next message; `None` when the other side has ended it.
    ///
    /// # Errors
    /// The connection broke, or what came is no message.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        let length = self.0.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_slice(&line).map(Some).map_err(io::Error::other)
    }
}
