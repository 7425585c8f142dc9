//! Opens connections to the server's addresses in turn, and names the errors that end them.

use std::io;
use std::net::Ipv4Addr;

use super::http2;
use super::socket::{Remote, Socket};
use super::tls::{self, TlsSettings};
use super::transport::Transport;
use crate::terms::{RequestError, TlsTrouble};

/// The loopback addresses that are connected from, the usual one besides.
const LOOPBACK_SOURCES: std::ops::RangeInclusive<u8> = 2..=17;

/// Opens the connections of one loop.
pub struct Dialer {
    remotes: Vec<Remote>,
    next_remote: usize,
    /// Where to connect from once the usual loopback address has no ports left.
    loopback_source: Option<Ipv4Addr>,
    tls: Option<TlsSettings>,
    /// The first that was met.
    pub tls_trouble: Option<TlsTrouble>,
}

impl Dialer {
    /// `remotes`: at least one. Loops of different `index` begin at different ones.
    pub fn new(remotes: &[Remote], index: u16, tls: Option<TlsSettings>) -> Self {
        let (remotes, next_remote) = (remotes.to_vec(), usize::from(index));
        Self { remotes, next_remote, loopback_source: None, tls, tls_trouble: None }
    }

    #[inline]
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The kernel can drop bytes of a reply unseen: they are plain, and it is TCP.
    #[inline]
    pub fn can_discard(&self) -> bool {
        self.tls.is_none() && !self.remotes.iter().any(|remote| matches!(remote, Remote::Unix(_)))
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// As [`Socket::connect`].
    pub fn open(&mut self) -> io::Result<Transport> {
        let socket = self.open_socket()?;
        let tls = self.tls.as_ref().map(TlsSettings::open).transpose()?;
        Ok(Transport::new(socket, tls))
    }

    fn open_socket(&mut self) -> io::Result<Socket> {
        self.next_remote = (self.next_remote + 1) % self.remotes.len();
        let remote = &self.remotes[self.next_remote];
        let source = self.loopback_source.filter(|_| remote.is_loopback_v4());
        let opened = Socket::connect(remote, source);
        let Err(error) = &opened else { return opened };
        if !remote.is_loopback_v4() || error.raw_os_error() != Some(libc::EADDRNOTAVAIL) {
            return opened;
        }
        // All ports of this source are in use or waiting out their minute; the next one has its
        // own.
        let last = source.map_or(1, |source| source.octets()[3]);
        let next = if LOOPBACK_SOURCES.contains(&(last + 1)) { last + 1 } else { 2 };
        let next = Ipv4Addr::new(127, 0, 0, next);
        self.loopback_source = Some(next);
        Socket::connect(remote, Some(next))
    }

    /// The class of a transport's error. The first that is about TLS is also kept in words.
    pub fn classify(&mut self, error: &io::Error) -> RequestError {
        if self.tls_trouble.is_none() {
            self.tls_trouble = tls::trouble(error);
        }
        match error.kind() {
            io::ErrorKind::InvalidData => RequestError::Tls,
            // Without TLS's notice of a proper end a reply that ends with its connection may lack a
            // part, and one that ends by itself does.
            io::ErrorKind::UnexpectedEof => RequestError::ClosedEarly,
            _ => super::socket::error_class(error),
        }
    }

    /// The first bytes of what is no reply: which other protocol they are of is kept in words too.
    pub fn note_protocol(&mut self, bytes: &[u8], is_http2: bool) {
        let trouble = match is_http2 {
            _ if self.tls.is_some() => None,
            _ if tls::is_alert(bytes) => Some(TlsTrouble::Unasked),
            true => bytes.starts_with(b"HTTP/1.").then_some(TlsTrouble::NoHttp2),
            false => http2::is_greeting(bytes).then_some(TlsTrouble::OnlyHttp2),
        };
        self.tls_trouble = self.tls_trouble.take().or(trouble);
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::SocketAddrUnix;

    use super::*;
    use crate::load::tls::TlsOptions;

    #[test]
    fn bytes_are_dropped_unseen_on_plain_tcp_only() {
        let tcp = Remote::Tcp("127.0.0.1:1".parse().unwrap());
        let unix = Remote::Unix(SocketAddrUnix::new("/socket").unwrap());
        let options = TlsOptions { is_insecure: true, ..TlsOptions::default() };
        let tls = TlsSettings::new("localhost", &options).unwrap();
        for (remotes, tls, expected) in [
            (vec![tcp.clone()], None, true),
            (vec![tcp.clone()], Some(tls), false),
            (vec![unix.clone()], None, false),
            (vec![tcp, unix], None, false),
        ] {
            assert_eq!(Dialer::new(&remotes, 0, tls).can_discard(), expected, "{remotes:?}");
        }
    }
}
