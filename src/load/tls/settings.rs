//! What TLS is to be like: from what was asked for to what every connection is opened with.
//!
//! Reads the files named and the system's CA certificates, once, before any load is sent.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedCipherSuite,
};

use super::layer::TlsLayer;
use crate::load::error::LoadError;

/// What is offered to the server, as it is registered (RFC 7301).
const HTTP_1: &[u8] = b"http/1.1";
const HTTP_2: &[u8] = b"h2";

/// Sessions remembered by a loop; of one server the library keeps a few.
const REMEMBERED_SESSIONS: usize = 64;

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The CAs to trust (PEM), instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate with its chain (PEM), and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The name that the server is asked for and has to prove, instead of the URL's host.
    pub server_name: Option<String>,
    /// Any certificate is accepted, and nothing of it is checked.
    pub is_insecure: bool,
    /// Every connection makes a full handshake.
    pub is_without_resumption: bool,
}

/// What connections are opened with, once a loop has made it its own; cheap to clone.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    resumes: bool,
}

impl TlsSettings {
    /// For the server of this name or address.
    ///
    /// # Errors
    /// A file or name that cannot be used, named with the way out.
    pub fn new(host: &str, options: &TlsOptions) -> Result<Self, LoadError> {
        let name = options.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_string()).map_err(|_| {
            LoadError::Plan(format!(
                "'{name}' is no name that a certificate can be for; give the one it is for with \
                 --sni NAME"
            ))
        })?;
        let resumes = !options.is_without_resumption;
        Ok(Self { config: Arc::new(config(options)?), name, resumes })
    }

    /// These settings with a memory of sessions of their own (loops share nothing while they run),
    /// for HTTP/2 or for HTTP/1.
    pub(in crate::load) fn for_a_loop(&self, speaks_http2: bool) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        let protocol = if speaks_http2 { HTTP_2 } else { HTTP_1 };
        config.alpn_protocols = vec![protocol.to_vec()];
        config.resumption = match self.resumes {
            true => Resumption::in_memory_sessions(REMEMBERED_SESSIONS),
            false => Resumption::disabled(),
        };
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// Begins TLS for a connected or connecting socket.
    ///
    /// # Errors
    /// As [`TlsLayer::new`].
    pub(in crate::load) fn open(&self) -> io::Result<TlsLayer> {
        let must_agree = self.config.alpn_protocols.iter().any(|protocol| protocol == HTTP_2);
        TlsLayer::new(Arc::clone(&self.config), self.name.clone(), must_agree)
    }
}

fn config(options: &TlsOptions) -> Result<ClientConfig, LoadError> {
    let provider = Arc::new(provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| LoadError::Plan(format!("could not set up TLS: {error}")))?;
    let builder = if options.is_insecure {
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        let verifier = Arc::new(AcceptsAnyCertificate { schemes });
        builder.dangerous().with_custom_certificate_verifier(verifier)
    } else {
        builder.with_root_certificates(roots(options.ca_file.as_deref())?)
    };
    let Some((certificate, key)) = &options.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let (chain, private_key) = (certificates(certificate)?, private_key(key)?);
    builder.with_client_auth_cert(chain, private_key).map_err(|error| {
        LoadError::Plan(format!(
            "the certificate {} and the key {} cannot be used together ({error}); give a \
             certificate and the key that it was made for",
            certificate.display(),
            key.display()
        ))
    })
}

/// The library's, with the suites that cost least first: most servers take the client's first. With
/// ten rounds instead of fourteen and a hash that processors have instructions for, they are also
/// what browsers ask for first.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    let is_cheap = |suite: &SupportedCipherSuite| {
        let name = suite.suite().as_str().unwrap_or_default();
        name.ends_with("AES_128_GCM_SHA256")
    };
    // Stable: otherwise the order stays, newer versions before older ones.
    provider.cipher_suites.sort_by_key(|suite| (!is_tls13(suite), !is_cheap(suite)));
    provider
}

fn is_tls13(suite: &SupportedCipherSuite) -> bool {
    suite.tls13().is_some()
}

/// The CAs to trust.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = ca_file else {
        // A few that cannot be read or are of a kind unknown to us are no reason to trust none.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(LoadError::Plan(
                "this system has no CA certificates to check the server's by; install the package \
                 ca-certificates, name a CA with --cacert FILE, or trust any with --insecure"
                    .into(),
            ));
        }
        return Ok(roots);
    };
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| {
            let file = file.display();
            LoadError::Plan(format!(
                "a certificate in {file} cannot be a CA ({error}); name the CA's own"
            ))
        })?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let bytes = read(file)?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        found => {
            let why = found.err().map(|error| format!(" ({error})")).unwrap_or_default();
            Err(LoadError::Plan(format!(
                "{} holds no certificate in PEM format{why}; it has a line '-----BEGIN \
                 CERTIFICATE-----' ('openssl x509 -inform der' makes it from DER)",
                file.display()
            )))
        }
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, LoadError> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|error| {
        LoadError::Plan(format!(
            "{} holds no private key in PEM format ({error}); it has a line '-----BEGIN PRIVATE \
             KEY-----', and must not be encrypted ('openssl pkey' takes the passphrase away)",
            file.display()
        ))
    })
}

fn read(file: &Path) -> Result<Vec<u8>, LoadError> {
    std::fs::read(file).map_err(|error| {
        LoadError::Plan(format!("could not read {}: {error}; check the path", file.display()))
    })
}

/// Accepts whatever certificate a server shows, even one that it has no key for.
#[derive(Debug)]
struct AcceptsAnyCertificate {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for AcceptsAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(options: &TlsOptions) -> String {
        TlsSettings::new("app.test", options).unwrap_err().to_string()
    }

    #[test]
    fn the_cheapest_suite_of_each_version_is_asked_for_first() {
        let suites = provider().cipher_suites;
        let names: Vec<&str> = suites.iter().filter_map(|suite| suite.suite().as_str()).collect();
        assert_eq!(names[0], "TLS13_AES_128_GCM_SHA256");
        let first_of_tls12 = suites.iter().position(|suite| !is_tls13(suite)).unwrap();
        assert!(names[first_of_tls12].ends_with("AES_128_GCM_SHA256"), "{names:?}");
        assert!(suites[first_of_tls12..].iter().all(|suite| !is_tls13(suite)));
        assert_eq!(suites.len(), ring::default_provider().cipher_suites.len(), "none is lost");
    }

    #[test]
    fn files_and_names_that_cannot_be_used_are_named_with_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("no.pem");
        std::fs::write(&file, "neither certificate nor key").unwrap();
        let missing = folder.path().join("missing.pem");
        let with_ca = |file: &Path| TlsOptions { ca_file: Some(file.into()), ..Default::default() };
        assert!(refusal(&with_ca(&missing)).contains("missing.pem: No such file"));
        let text = refusal(&with_ca(&file));
        assert!(text.contains("no.pem holds no certificate in PEM format; it has"), "{text}");
        let certificate = Some((file.clone(), file));
        let text = refusal(&TlsOptions { certificate, is_insecure: true, ..Default::default() });
        assert!(text.contains("no.pem holds no certificate"), "{text}");
        let server_name = Some("no name".to_string());
        let text = refusal(&TlsOptions { server_name, is_insecure: true, ..Default::default() });
        assert!(text.contains("'no name'") && text.contains("--sni"), "{text}");
    }
}
