//! Where a load goes, as people write it: `http://user:password@host:port/path?query`, or the same
//! with `https`.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::InputError;

/// How the server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// In any case of letters; `None` when it is another.
    fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|known| text.eq_ignore_ascii_case(known.name()))
    }

    /// As it is written in front of `://`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The parts of a URL. Its `Debug` and `Display` leave out user, password and query.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    pub scheme: Scheme,
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
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let (scheme, rest) = match scheme_and_rest(text) {
            None => (Scheme::Http, text),
            Some((scheme, rest)) => match Scheme::parse(scheme) {
                Some(scheme) => (scheme, rest),
                None => {
                    return Err(InputError(format!(
                        "'{scheme}' is no scheme we know; write for example {EXAMPLE}"
                    )));
                }
            },
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(percent_decoded(user)), authority),
            None => (None, authority),
        };
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(scheme.default_port());
        // In a URL the '%' in front of an IPv6 zone is escaped itself (RFC 6874), or not.
        let host = host.replace("%25", "%");
        let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        Ok(Self { scheme, user, host, port, path })
    }

    /// As the `Host` header says it.
    pub fn host_header(&self) -> String {
        // A zone (`fe80::1%eth0`) means something on this machine alone and is not sent.
        let host = match self.host.split_once('%') {
            Some((host, _)) => host,
            None => &self.host,
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }

    /// Whether it names nothing but the server itself.
    pub fn is_bare(&self) -> bool {
        self.path == "/"
    }
}

/// What stands before and behind `://`; `None`: it has no scheme. What stands before it else may be
/// a password, and the rest a URL in a query.
fn scheme_and_rest(text: &str) -> Option<(&str, &str)> {
    let is_scheme =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    text.split_once("://").filter(|(scheme, _)| is_scheme(scheme))
}

/// A URL's text without the user and password in it; `None`: it has none.
pub fn without_user(text: &str) -> Option<String> {
    let rest = scheme_and_rest(text).map_or(text, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let behind = &rest[authority.rfind('@')? + 1..];
    Some(format!("{}{behind}", &text[..text.len() - rest.len()]))
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), InputError> {
    let usage = |what: String| Err(InputError(what));
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or("none"))),
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
    match port.map(str::parse).transpose() {
        Ok(port) if port != Some(0) => Ok((host.to_string(), port)),
        _ => usage(format!("the port of the URL is no number from 1 to 65535; write {EXAMPLE}")),
    }
}

/// The path of a URL; what is none stays as it is.
///
/// # Errors
/// It is on another server than the load's.
pub fn without_server(word: &str, server: &Url) -> Result<String, String> {
    // A path may have a URL in its query (`/login?next=http://…`).
    if word.starts_with('/') || !word.contains("://") {
        return Ok(word.to_string());
    }
    let url = Url::parse(word).map_err(|error| error.to_string())?;
    if (url.scheme, &url.host, url.port) != (server.scheme, &server.host, server.port) {
        return Err(format!(
            "'{url}' is on another server than {server}; run one load for each server"
        ));
    }
    Ok(url.path)
}

/// A path as it may be shown: its query may be secret.
pub fn without_query(path: &str) -> String {
    match path.split_once('?') {
        Some((path, _)) => format!("{path}?…"),
        None => path.to_string(),
    }
}

/// `%40` is `@`; what is no such escape stays as it is.
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = without_query(&self.path);
        write!(f, "{}://{}{path}", self.scheme.name(), self.host_header())
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
            ("https://app.test/x", "app.test", 443, "/x", "app.test"),
            ("HTTPS://[::1]:443", "::1", 443, "/", "[::1]"),
            ("https://app.test:80", "app.test", 80, "/", "app.test:80"),
            ("http://app.test:443", "app.test", 443, "/", "app.test:443"),
            ("http://[fe80::1%eth0]:80/", "fe80::1%eth0", 80, "/", "[fe80::1]"),
            ("app.test/a?b=http://c/", "app.test", 80, "/a?b=http://c/", "app.test"),
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
        let without = Url::parse("me:%+5%zz@app.test/?to=http://x/").unwrap();
        assert_eq!((without.user.as_deref(), &*without.host), (Some("me:%+5%zz"), "app.test"));
        assert_eq!(format!("{url} {url:?}"), "http://app.test/a?… http://app.test/a?…");
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for text in [
            "",
            "http://",
            "ftp://me:secret@host/",
            "httpss://me:secret@host/",
            "https://me:secret@host:0/",
            "http://me:secret@host:0/",
            "http://me:secret@host:99999/",
            "http://me:secret@ho st/",
            "http://me:secret@[::1/",
            "http://me:secret@[::1]80/",
            "me:secret@ho st/?to=http://x/",
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(Url::parse("::1").unwrap_err().to_string().contains("in brackets: [::1]"));
        assert_eq!(Url::parse("https://me:secret@host/a").unwrap().to_string(), "https://host/a");
    }
}
