//! Certificates that are made for one test, and servers that speak TLS with them.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    HandshakeKind, RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion,
};
use sweetspot::load::TlsOptions;
use tempfile::TempDir;

use super::server::{Connection, Server, read_request};

/// A CA of a test's own, with a folder for its files.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
    folder: TempDir,
}

/// A certificate that a CA has signed, and its key.
pub struct Identity {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
}

impl Authority {
    pub fn new() -> Self {
        Self::named("a CA of the tests")
    }

    /// Two of the same name would be taken for each other.
    pub fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), certificate, folder: tempfile::tempdir().unwrap() }
    }

    /// A certificate for a name or address.
    pub fn identity(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "one of the tests");
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate, key }
    }

    /// A file in the CA's folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The certificate and key of an identity as files.
    pub fn files(&self, identity: &Identity) -> (PathBuf, PathBuf) {
        let certificate = self.file("own.pem", &identity.certificate.pem());
        (certificate, self.file("own.key", &identity.key.serialize_pem()))
    }

    /// The CA's own certificate as a file.
    pub fn ca_file(&self) -> PathBuf {
        self.file("ca.pem", &self.certificate.pem())
    }

    /// Trusts this CA and nobody else.
    pub fn trusted(&self) -> TlsOptions {
        TlsOptions { ca_file: Some(self.ca_file()), ..TlsOptions::default() }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        Arc::new(roots)
    }
}

impl Identity {
    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.der().clone()]
    }

    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }

    /// A server that shows this certificate and speaks these versions.
    pub fn server(&self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(versions).unwrap().with_no_client_auth();
        builder.with_single_cert(self.chain(), self.private_key()).unwrap()
    }

    /// One that serves only clients with a certificate of this CA's.
    pub fn demanding_server(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        authority: &Authority,
    ) -> ServerConfig {
        let verifier =
            WebPkiClientVerifier::builder_with_provider(authority.roots(), provider()).build();
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_protocol_versions(versions).unwrap();
        let builder = builder.with_client_cert_verifier(verifier.unwrap());
        builder.with_single_cert(self.chain(), self.private_key()).unwrap()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a server saw of TLS.
#[derive(Default)]
pub struct Handshakes {
    pub full: AtomicUsize,
    pub resumed: AtomicUsize,
    /// The name asked for and the protocol agreed on in the last; empty when there is none.
    pub agreed: Mutex<(String, String)>,
}

impl Handshakes {
    fn note(&self, session: &ServerConnection) {
        match session.handshake_kind() {
            Some(HandshakeKind::Resumed) => self.resumed.fetch_add(1, Ordering::SeqCst),
            _ => self.full.fetch_add(1, Ordering::SeqCst),
        };
        let name = session.server_name().unwrap_or_default().to_string();
        let protocol = String::from_utf8_lossy(session.alpn_protocol().unwrap_or_default());
        *self.agreed.lock().unwrap() = (name, protocol.into_owned());
    }

    /// Full and resumed ones.
    pub fn counts(&self) -> (usize, usize) {
        (self.full.load(Ordering::SeqCst), self.resumed.load(Ordering::SeqCst))
    }
}

/// A server that speaks TLS on a loopback port of its own.
pub struct TlsServer {
    pub server: Server,
    pub handshakes: Arc<Handshakes>,
}

/// One TLS connection as a behaviour sees it.
pub struct Session<'a> {
    tls: ServerConnection,
    connection: &'a mut Connection,
}

impl TlsServer {
    /// Serves every connection whose handshake succeeds with `behaviour`.
    pub fn start(
        config: ServerConfig,
        behaviour: impl Fn(&mut Session<'_>) + Send + Sync + 'static,
    ) -> Self {
        let (config, handshakes) = (Arc::new(config), Arc::new(Handshakes::default()));
        let seen = Arc::clone(&handshakes);
        let server = Server::start(move |connection| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A failure has been said to the client as an alert.
            if tls.complete_io(&mut connection.stream).is_ok() {
                seen.note(&tls);
                behaviour(&mut Session { tls, connection });
            }
        });
        Self { server, handshakes }
    }

    /// Answers every request with this, and ends properly.
    pub fn answering(config: ServerConfig, reply: impl Into<Vec<u8>>) -> Self {
        let reply = reply.into();
        Self::start(config, move |session| {
            while session.request() {
                session.send(&reply);
            }
            session.say_goodbye();
        })
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.server.address)
    }
}

impl Session<'_> {
    fn stream(&mut self) -> impl Read + Write {
        rustls::Stream::new(&mut self.tls, &mut self.connection.stream)
    }

    /// Reads the next request with its body; false at the connection's end.
    pub fn request(&mut self) -> bool {
        read_request(&mut self.stream()).is_some()
    }

    /// Sends, and doesn't mind a peer that has gone.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        drop(self.stream().write_all(bytes.as_ref()));
    }

    /// Sends in packets of a byte each.
    pub fn send_bytewise(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
        for byte in self.ciphertext() {
            self.connection.send([byte]);
        }
    }

    /// Sends, and says in the same packet that nothing more will come.
    pub fn send_last(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
        self.tls.send_close_notify();
        let ciphertext = self.ciphertext();
        self.connection.send(ciphertext);
    }

    /// All that waits to be sent.
    fn ciphertext(&mut self) -> Vec<u8> {
        let mut ciphertext = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut ciphertext).unwrap();
        }
        ciphertext
    }

    /// Says nothing more until the peer closes or the test is over.
    pub fn hang(&mut self) {
        self.connection.hang();
    }

    /// Says that nothing more will come.
    pub fn say_goodbye(&mut self) {
        self.tls.send_close_notify();
        drop(self.tls.write_tls(&mut self.connection.stream));
    }
}
