//! TLS as the command line asks for it, and what is said when it fails.
//!
//! In: options, and what the engine noticed. Out: settings, a line of description, doubts.

use super::LoadVerbError;
use crate::load::{TlsOptions, TlsSettings};
use crate::plan::traffic::{Scheme, Url};
use crate::terms::{ErrorCounts, LoadDoubt, LoadRun, Warning};

/// For `https://`; reads the files named.
///
/// # Errors
/// Options that say something about TLS for a URL without it, or that cannot be used.
pub fn settings(options: &TlsOptions, url: &Url) -> Result<Option<TlsSettings>, LoadVerbError> {
    match url.scheme {
        Scheme::Https => {
            // The interface behind an address is our own affair and stands in no certificate.
            let host = url.host.split('%').next().unwrap_or_default();
            Ok(Some(TlsSettings::new(host, options)?))
        }
        Scheme::Http if *options == TlsOptions::default() => Ok(None),
        Scheme::Http => Err(LoadVerbError::Usage(
            "--cacert, --cert, --key, --insecure, --sni and --no-tls-resumption are for https:// \
             URLs; write https://, or leave them out"
                .into(),
        )),
    }
}

/// What is done and not done about certificates and sessions.
pub fn describe(options: &TlsOptions) -> String {
    let trusted = match &options.ca_file {
        _ if options.is_insecure => "the server's certificate is not checked (--insecure)".into(),
        Some(file) => format!("trusting the CAs in {}", file.display()),
        None => "trusting this system's CAs".to_string(),
    };
    let mut text = format!("TLS, {trusted}");
    if let Some(name) = &options.server_name {
        text += &format!(", asking for {name}");
    }
    if let Some((certificate, _)) = &options.certificate {
        text += &format!(", showing {}", certificate.display());
    }
    if options.is_without_resumption {
        text += ", a full handshake for every connection";
    }
    text
}

/// What went wrong with TLS when requests failed for it.
pub fn warning(run: &LoadRun, errors: &ErrorCounts) -> Option<Warning> {
    let trouble = run.tls_trouble.clone().filter(|_| errors.tls + errors.malformed > 0)?;
    Some(LoadDoubt::TlsFailed { trouble }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_tls_are_refused_without_it() {
        let url = |text| Url::parse(text).unwrap();
        let insecure = TlsOptions { is_insecure: true, ..TlsOptions::default() };
        assert!(settings(&TlsOptions::default(), &url("http://app.test")).unwrap().is_none());
        for text in ["https://app.test", "https://[::1]:9", "https://[fe80::1%eth0]:9"] {
            assert!(settings(&insecure, &url(text)).unwrap().is_some(), "{text}");
        }
        let error = settings(&insecure, &url("app.test")).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("write https://"), "{error}");
    }

    #[test]
    fn that_nothing_is_checked_is_said() {
        let insecure = TlsOptions { is_insecure: true, ..TlsOptions::default() };
        assert_eq!(
            describe(&insecure),
            "TLS, the server's certificate is not checked (--insecure)"
        );
        assert_eq!(describe(&TlsOptions::default()), "TLS, trusting this system's CAs");
        let all = TlsOptions {
            ca_file: Some("ca.pem".into()),
            certificate: Some(("own.pem".into(), "own.key".into())),
            server_name: Some("app.test".into()),
            is_without_resumption: true,
            is_insecure: false,
        };
        assert_eq!(
            describe(&all),
            "TLS, trusting the CAs in ca.pem, asking for app.test, showing own.pem, a full \
             handshake for every connection"
        );
    }
}
