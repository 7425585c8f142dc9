//! Where a load goes, as people write it: `http://user:password@host:port/path?query`.

use std::fmt;

use super::LoadVerbError;

/// The parts of a URL. Its `Debug` and `Display` leave out user, password and query.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// `user:password`, percent-decoded.
    pub user: Option<String>,
    /// A name or an address; IPv6 without its brackets.
    pub host: String,
    pub port: u16,
    /// With its query; begins with `/`.
    pub path: String,
}

const EXAMPLE: &str = "http://127.0.0.1:9292/";

impl Url {
    /// Reads a URL; `http://` may be left out.
    ///
    /// # Errors
    /// Another scheme, no host, a bad port. The text itself is not repeated: it may hold a
    /// password.
    pub fn parse(text: &str) -> Result<Self, LoadVerbError> {
        let usage = |what: &str| LoadVerbError::Usage(what.to_string());
        let rest = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err(usage(
                    "https is not supported yet; aim at the app server itself, behind whatever \
                     ends TLS",
                ));
            }
            Some((scheme, _)) => {
                return Err(LoadVerbError::Usage(format!(
                    "'{scheme}' is no scheme we know; write for example {EXAMPLE}"
                )));
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(percent_decoded(user)), authority),
            None => (None, authority),
        };
        let (host, port) = host_and_port(authority)?;
        // In a URL the '%' in front of an IPv6 zone is escaped itself (RFC 6874), or not.
        let host = host.replace("%25", "%");
        let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        Ok(Self { user, host, port, path })
    }

    /// As the `Host` header says it.
    pub fn host_header(&self) -> String {
        // A zone (`fe80::1%eth0`) means something on this machine alone and is not sent.
        let host = match self.host.split_once('%') {
            Some((host, _)) => host,
            None => &self.host,
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
    }

    /// Whether it names nothing but the server itself.
    pub fn is_bare(&self) -> bool {
        self.path == "/"
    }
}

fn host_and_port(authority: &str) -> Result<(String, u16), LoadVerbError> {
    let usage = |what: String| Err(LoadVerbError::Usage(what));
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => return usage("the IPv6 address lacks its ']'".into()),
        }
    } else {
        if authority.parse::<std::net::Ipv6Addr>().is_ok() {
            return usage(format!("an IPv6 address stands in brackets: [{authority}]"));
        }
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    let is_host = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:%".contains(&b));
    if !is_host {
        return usage(format!("the URL names no host; write for example {EXAMPLE}"));
    }
    match port.map_or(Ok(80), str::parse) {
        Ok(port) if port > 0 => Ok((host.to_string(), port)),
        _ => usage(format!("the port of the URL is no number from 1 to 65535; write {EXAMPLE}")),
    }
}

/// `%40` is `@`; what is no such escape stays as it is.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        match escape.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                decoded.push(byte);
                at += 3;
            }
            _ => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next().unwrap_or("/");
        let query = if self.path.contains('?') { "?…" } else { "" };
        write!(f, "http://{}{path}{query}", self.host_header())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        for (text, host, port, path, header) in [
            ("http://localhost:9292/", "localhost", 9292, "/", "localhost:9292"),
            ("localhost", "localhost", 80, "/", "localhost"),
            ("127.0.0.1:3000/a/b?c=d#e", "127.0.0.1", 3000, "/a/b?c=d", "127.0.0.1:3000"),
            ("HTTP://app.test?q=a@b", "app.test", 80, "/?q=a@b", "app.test"),
            ("http://[::1]:80/x", "::1", 80, "/x", "[::1]"),
            ("http://[::1]", "::1", 80, "/", "[::1]"),
            ("http://[fe80::1%eth0]:80/", "fe80::1%eth0", 80, "/", "[fe80::1]"),
            ("http://[fe80::1%25eth0]:9/", "fe80::1%eth0", 9, "/", "[fe80::1]:9"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!(
                (url.host.as_str(), url.port, url.path.as_str()),
                (host, port, path),
                "{text}"
            );
            assert_eq!(url.host_header(), header, "{text}");
            assert_eq!(url.user, None);
        }
    }

    #[test]
    fn user_and_password_are_decoded_and_never_shown() {
        let url = Url::parse("http://me:p%40ss:w@app.test/a?token=t0k").unwrap();
        assert_eq!(url.user.as_deref(), Some("me:p@ss:w"));
        assert_eq!(format!("{url} {url:?}"), "http://app.test/a?… http://app.test/a?…");
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for text in [
            "",
            "http://",
            "ftp://me:secret@host/",
            "https://me:secret@host/",
            "http://me:secret@host:0/",
            "http://me:secret@host:99999/",
            "http://me:secret@ho st/",
            "http://me:secret@[::1/",
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(Url::parse("::1").unwrap_err().to_string().contains("in brackets: [::1]"));
        assert!(Url::parse("https://host/").unwrap_err().to_string().contains("not supported yet"));
    }
}
