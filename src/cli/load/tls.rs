//! `sweetspot load`: arguments for `https://` URLs.

use std::path::PathBuf;

use crate::session::load::TlsOptions;

// No doc comment: clap would take it for the description of the whole command.
#[derive(Debug, clap::Args)]
pub struct TlsArguments {
    /// https: trust the CAs in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cacert: Option<PathBuf>,

    /// https: show this certificate (PEM, with its chain) when the server asks for one
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// https: the private key of --cert (PEM, not encrypted)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// https: accept any certificate of the server's, without checking it
    #[arg(long)]
    insecure: bool,

    /// https: ask for, and check the certificate for, this name instead of the URL's host
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,

    /// https: make a full handshake for every connection instead of resuming sessions
    #[arg(long)]
    no_tls_resumption: bool,
}

impl From<TlsArguments> for TlsOptions {
    fn from(arguments: TlsArguments) -> Self {
        Self {
            ca_file: arguments.cacert,
            certificate: arguments.cert.zip(arguments.key),
            server_name: arguments.sni,
            is_insecure: arguments.insecure,
            is_without_resumption: arguments.no_tls_resumption,
        }
    }
}
