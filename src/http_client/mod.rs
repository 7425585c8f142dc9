//! Asks a server that is not the app's: metrics are sent there, or read.
//!
//! In: a request, and a [`Peer`] whose addresses were looked up and allowed before. Out: the reply,
//! or why there is none. It connects to these addresses and no others, follows no redirect, uses
//! no proxy, tries once, and judges no status.

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ureq::http::{HeaderMap, Request, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, AsSendBody};

/// Who is asked.
#[derive(Clone)]
pub struct Peer {
    /// With its path, and without user, password and query.
    pub url: String,
    /// Those of its host; the first 16 are tried.
    pub addresses: Vec<SocketAddr>,
    /// Sent with each request, never shown.
    pub headers: Vec<(String, String)>,
}

/// How long to wait and how much to read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From connecting to the end of the reply.
    pub time: Duration,
    /// Of the reply's body; the rest is not read.
    pub bytes: u64,
}

/// What was answered, whatever the status.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// As the server wrote it.
    pub retry_after: Option<String>,
    pub body: String,
    /// The body broke off, or is longer than was allowed.
    pub is_cut: bool,
}

impl Reply {
    /// How long it asks to be left alone, as of `now`; `None`: it does not say.
    pub fn asked_wait(&self, now: SystemTime) -> Option<Duration> {
        wait(self.retry_after.as_deref()?, now)
    }
}

/// Seconds, or a date.
fn wait(retry_after: &str, now: SystemTime) -> Option<Duration> {
    if !retry_after.is_empty() && retry_after.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are as long as any wait.
        return Some(Duration::from_secs(retry_after.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(retry_after).ok()?.timestamp();
    let at = SystemTime::from(date);
    Some(at.duration_since(now).unwrap_or_default())
}

impl Peer {
    /// Sends a body.
    ///
    /// # Errors
    /// There was no reply: why, in a few words that hold no header.
    pub fn post(&self, content_type: &str, body: &str, limits: Limits) -> Result<Reply, String> {
        let request = Request::post(&self.url).header("content-type", content_type);
        self.send(request, body, limits)
    }

    /// Asks for what is at the URL's path with this added to it, a query among that.
    ///
    /// # Errors
    /// As [`Self::post`].
    pub fn get(&self, rest: &str, limits: Limits) -> Result<Reply, String> {
        self.send(Request::get(format!("{}{rest}", self.url)), (), limits)
    }

    fn send(
        &self,
        mut request: ureq::http::request::Builder,
        body: impl AsSendBody,
        limits: Limits,
    ) -> Result<Reply, String> {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|error| error.to_string())?;
        let mut reply = self.agent(limits.time).run(request).map_err(|error| why(&error))?;
        let mut bytes = Vec::new();
        // A reply that breaks off says less; its status stands.
        let mut reader = reply.body_mut().as_reader().take(limits.bytes.saturating_add(1));
        let is_whole = reader.read_to_end(&mut bytes).is_ok();
        let is_cut = !is_whole || bytes.len() as u64 > limits.bytes;
        Ok(Reply {
            status: reply.status().as_u16(),
            retry_after: retry_after(reply.headers()),
            body: String::from_utf8_lossy(&bytes).into_owned(),
            is_cut,
        })
    }

    fn agent(&self, patience: Duration) -> Agent {
        let config = Agent::config_builder()
            .timeout_global(Some(patience))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_idle_connections(0)
            .user_agent(concat!("sweetspot/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls(&self.url))
            .build();
        let addresses = Addresses(self.addresses.clone());
        Agent::with_parts(config, DefaultConnector::new(), addresses)
    }
}

fn why(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "it did not answer in time".to_string(),
        other => other.to_string(),
    }
}

fn retry_after(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("retry-after")?.to_str().ok()?.trim().to_string())
}

/// The system's certificates are read only where they are needed.
fn tls(url: &str) -> TlsConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let loaded = match url.starts_with("https:") {
        true => rustls_native_certs::load_native_certs().certs,
        false => Vec::new(),
    };
    let certificates: Vec<Certificate<'static>> =
        loaded.iter().map(|it| Certificate::from_der(it).to_owned()).collect();
    builder.root_certs(RootCerts::new_with_certs(&certificates)).build()
}

/// Answers every question with the addresses that were allowed.
#[derive(Debug)]
struct Addresses(Vec<SocketAddr>);

impl Resolver for Addresses {
    fn resolve(
        &self,
        _: &Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        const MOST: usize = 16;
        let mut found = self.empty();
        self.0.iter().take(MOST).for_each(|address| found.push(*address));
        if self.0.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_that_is_asked_for_is_seconds_or_until_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (text, expected) in [
            ("7", Some(Duration::from_secs(7))),
            ("Tue, 14 Nov 2023 22:13:25 GMT", Some(Duration::from_secs(5))),
            ("Tue, 14 Nov 2023 22:13:00 GMT", Some(Duration::ZERO)),
            ("soon", None),
        ] {
            assert_eq!(wait(text, now), expected, "{text}");
        }
    }
}
