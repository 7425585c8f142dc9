//! TLS over a non-blocking socket: ciphertext from and to the kernel, plaintext from and to the
//! holder of the connection. It never waits and knows no HTTP.
//!
//! The library's buffered interface is used. Its unbuffered one was weighed: it decrypts into a new
//! vector and encrypts through one just the same, so a small exchange costs two calls of the kernel
//! and the same work either way; it would only save one copy of long bodies, for a state machine of
//! our own that has to hand the library its bytes back in the right order.
//!
//! Ciphertext is not read by the library, which asks the kernel for 4 KiB at a time, but by us, and
//! handed to it from the loop's buffer.

use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, InvalidMessage};
use thiserror::Error;

use crate::load::socket::{READ_BUFFER, Received, Socket};
use crate::terms::{CertificateFault, TlsTrouble};

/// Ciphertext read at once, into the end of the buffer whose beginning receives the plaintext.
const CIPHERTEXT: usize = 20 * 1024;

/// The longest record that the library takes, with its header.
const LONGEST_RECORD: usize = 5 + (1 << 14) + 2048;

// All that one read makes readable, the rest of a record from earlier reads included, has room in
// the buffer: the poller knows nothing of plaintext that stays behind in the library.
const _: () = assert!(LONGEST_RECORD + CIPHERTEXT <= READ_BUFFER - CIPHERTEXT);

/// TLS over one socket, which every call is given.
#[derive(Debug)]
pub struct TlsLayer {
    connection: ClientConnection,
    /// The server must have agreed to the protocol that was offered (HTTP/2), or it is no use.
    must_agree: bool,
    /// A request has been taken. What a server says before it was asked stays with the library
    /// until then, so that no reply is ever seen before its request was sent.
    has_sent: bool,
    /// The server has said that no more will come.
    has_closed: bool,
    failure: Option<rustls::Error>,
}

/// Why there is no TLS, or no more of it.
#[derive(Debug, Error)]
enum Broken {
    #[error(transparent)]
    Protocol(rustls::Error),
    #[error("the server closed the connection in the TLS handshake")]
    Closed,
    #[error("the server does not speak HTTP/2")]
    NotAgreed,
}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        Self::new(io::ErrorKind::InvalidData, broken)
    }
}

/// What an error says of TLS; `None` when it is about something else.
pub fn trouble(error: &io::Error) -> Option<TlsTrouble> {
    let error = match error.get_ref()?.downcast_ref::<Broken>()? {
        Broken::Closed => return Some(TlsTrouble::Closed),
        Broken::NotAgreed => return Some(TlsTrouble::NoHttp2),
        Broken::Protocol(error) => error,
    };
    let why = error.to_string();
    Some(match error {
        rustls::Error::InvalidCertificate(error) => {
            TlsTrouble::Certificate { fault: fault(error), why }
        }
        rustls::Error::AlertReceived(_) => TlsTrouble::Alert { why },
        rustls::Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => TlsTrouble::NotTls,
        _ => TlsTrouble::Other { why },
    })
}

/// What is wrong with a certificate that was not accepted; `None` when it is nothing common.
fn fault(error: &CertificateError) -> Option<CertificateFault> {
    match error {
        CertificateError::UnknownIssuer => Some(CertificateFault::Untrusted),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            Some(CertificateFault::Expired)
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Some(CertificateFault::OtherName)
        }
        _ => None,
    }
}

/// Whether the first bytes of a reply are the beginning of a TLS alert, with which a server answers
/// a request that did not come through TLS.
pub fn is_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x15, 0x03])
}

impl TlsLayer {
    /// Nothing is sent before the first [`send`](Self::send). `must_agree`: the server has to agree
    /// to the protocol that is offered.
    ///
    /// # Errors
    /// No random numbers, or a name that cannot be asked for.
    pub fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        must_agree: bool,
    ) -> io::Result<Self> {
        let connection = ClientConnection::new(config, name).map_err(Broken::Protocol)?;
        Ok(Self { connection, must_agree, has_sent: false, has_closed: false, failure: None })
    }

    /// Encrypts and sends; carries on the handshake as long as there is one.
    ///
    /// # Errors
    /// `WouldBlock` in the handshake, or when earlier bytes have not left yet; otherwise why the
    /// connection failed.
    // Never inline: plain connections, the usual ones, would carry its code along.
    #[inline(never)]
    pub fn send(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        if self.connection.is_handshaking() {
            self.flush(socket)?;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.must_agree && self.connection.alpn_protocol().is_none() {
            return Err(Broken::NotAgreed.into());
        }
        // What has not left yet is waited for, which bounds it. Only the last words of the
        // handshake are left to go out together with the first request.
        if self.has_sent {
            self.flush(socket)?;
        }
        let count = self.connection.writer().write(bytes)?;
        self.has_sent = true;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(count),
        }
    }

    /// Sends what is encrypted and has not left yet.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Outgoing(socket))?;
        }
        Ok(())
    }

    /// Something is encrypted and has not left yet.
    pub fn has_unsent(&self) -> bool {
        self.connection.wants_write()
    }

    /// The handshake is over and nothing has been sent yet.
    pub fn awaits_first_request(&self) -> bool {
        !self.has_sent && !self.has_ended() && !self.connection.is_handshaking()
    }

    /// Reads what there is, and answers what belongs to the handshake. The buffer is as large as
    /// the loop's; `uses_stamp`: the time of arrival is wanted.
    ///
    /// # Errors
    /// `WouldBlock` when there is no plaintext yet; `InvalidData` when TLS failed; `UnexpectedEof`
    /// when the connection ended without the notice that TLS gives of a proper end. Any machine on
    /// the way can end a connection but cannot forge that notice: a reply whose end is that of its
    /// connection may have been cut off.
    // Never inline, as `send`.
    #[inline(never)]
    pub fn receive(
        &mut self,
        socket: &Socket,
        buffer: &mut [u8],
        uses_stamp: bool,
    ) -> io::Result<Received> {
        let (plaintext, ciphertext) = buffer.split_at_mut(buffer.len() - CIPHERTEXT);
        let kept = self.take_plaintext(plaintext);
        if kept > 0 {
            return Ok(Received { count: kept, has_more: true, stamp: None });
        }
        if self.has_ended() {
            return self.end();
        }
        let Received { count, has_more, stamp } = socket.receive(ciphertext, uses_stamp)?;
        if count == 0 {
            return Err(self.cut_off());
        }
        let filled = self.decrypt(socket, &ciphertext[..count], plaintext);
        if filled > 0 {
            return Ok(Received { count: filled, has_more: has_more || self.has_ended(), stamp });
        }
        if self.has_ended() {
            return self.end();
        }
        if self.connection.is_handshaking() {
            self.flush(socket)?;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Hands all of the ciphertext to the library, up to the end of what the server says, and
    /// returns how much plaintext that made.
    fn decrypt(&mut self, socket: &Socket, mut ciphertext: &[u8], plaintext: &mut [u8]) -> usize {
        let mut filled = 0;
        while !ciphertext.is_empty() && !self.has_ended() {
            if let Err(failure) = self.take_in(&mut ciphertext) {
                self.failure = Some(failure);
                // The alert says why to the server; whether it arrives changes nothing.
                drop(self.flush(socket));
            }
            filled += self.take_plaintext(&mut plaintext[filled..]);
        }
        filled
    }

    /// The library takes a few KiB at a time.
    fn take_in(&mut self, ciphertext: &mut &[u8]) -> Result<(), rustls::Error> {
        let taken = self.connection.read_tls(ciphertext);
        if !matches!(taken, Ok(count) if count > 0) {
            // Its buffers are bounded: a handshake message beyond all measure, or much said before
            // it was asked for.
            return Err(rustls::Error::General("more data than TLS allows at this point".into()));
        }
        self.has_closed = self.connection.process_new_packets()?.peer_has_closed();
        Ok(())
    }

    fn take_plaintext(&mut self, buffer: &mut [u8]) -> usize {
        if !self.has_sent {
            return 0;
        }
        // Its errors only say that there is none; why, is known from elsewhere.
        self.connection.reader().read(buffer).unwrap_or(0)
    }

    /// The server has said that no more will come, or TLS failed.
    pub fn has_ended(&self) -> bool {
        self.has_closed || self.failure.is_some()
    }

    fn end(&mut self) -> io::Result<Received> {
        match self.failure.take() {
            Some(failure) => {
                self.has_closed = true;
                Err(Broken::Protocol(failure).into())
            }
            None if self.connection.is_handshaking() => Err(Broken::Closed.into()),
            None => Ok(Received { count: 0, has_more: false, stamp: None }),
        }
    }

    /// The connection ended and TLS did not say so.
    fn cut_off(&mut self) -> io::Error {
        self.has_closed = true;
        match self.connection.is_handshaking() {
            true => Broken::Closed.into(),
            false => io::ErrorKind::UnexpectedEof.into(),
        }
    }

    /// Ends a connection that is given up as TLS wants it, unless it has ended already.
    pub fn close(&mut self, socket: &Socket) {
        if !self.has_ended() && !self.connection.is_handshaking() {
            self.connection.send_close_notify();
            // A full buffer or a broken connection: then it ends without.
            drop(self.flush(socket));
        }
    }
}

/// The way out for ciphertext.
struct Outgoing<'a>(&'a Socket);

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match pieces {
            [only] => self.0.send(only),
            several => self.0.send_vectored(several),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_told_apart() {
        for (error, expected) in [
            (CertificateError::UnknownIssuer, Some(CertificateFault::Untrusted)),
            (CertificateError::Expired, Some(CertificateFault::Expired)),
            (CertificateError::NotValidForName, Some(CertificateFault::OtherName)),
            (CertificateError::Revoked, None),
        ] {
            let broken = Broken::Protocol(rustls::Error::InvalidCertificate(error));
            let Some(TlsTrouble::Certificate { fault, why }) = trouble(&broken.into()) else {
                panic!("not about the certificate");
            };
            assert_eq!(fault, expected, "{why}");
        }
    }
}
