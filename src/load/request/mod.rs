//! Requests as bytes, made once before the load begins. One that holds variables is kept in pieces,
//! and put together each time it is sent.
//!
//! In: targets. Out: what is written to a connection, and which target is next. Must not know
//! connections.

mod mix;
mod template;
mod variables;

use super::error::LoadError;
use crate::terms::{ConnectionMode, Target};
pub use mix::Mix;
pub use template::{Component, Pieces, Template};
pub use variables::{Values, Variables};

/// A request ready to be sent.
#[derive(Debug)]
pub struct Request {
    content: Content,
    /// Its reply has no body.
    pub is_head: bool,
    /// Sending it twice does no more than sending it once (RFC 9110, section 9.2.2).
    pub is_idempotent: bool,
}

/// What is sent: the same each time, or put together each time.
#[derive(Debug)]
pub enum Content {
    Same(Vec<u8>),
    Template(Template),
}

impl Content {
    /// A head and a body, either of which may be empty.
    pub fn new(head: Pieces, body: Pieces, values: &Values) -> Self {
        match (head.as_text(), body.as_text()) {
            (Some(head), Some(body)) => Self::Same([head, body].concat()),
            _ => Self::Template(Template::new(head, body, values)),
        }
    }

    /// A target's body alone.
    ///
    /// # Errors
    /// A variable that is unknown.
    pub fn of_body(target: &Target, values: &Values) -> Result<Self, String> {
        Ok(Self::new(Pieces::default(), body(target, values)?, values))
    }

    /// All of it, if it is the same each time.
    #[inline]
    pub fn same(&self) -> Option<&[u8]> {
        match self {
            Self::Same(bytes) => Some(bytes),
            Self::Template(_) => None,
        }
    }

    /// As it is sent with request `number` of the load, put together in `spare` if need be.
    pub fn render<'a>(&'a self, number: u64, spare: &'a mut Vec<u8>) -> &'a [u8] {
        match self {
            Self::Same(bytes) => bytes,
            Self::Template(template) => {
                template.render(number, &[], spare);
                spare
            }
        }
    }
}

/// Headers of ours that a target's own header of the same name replaces.
pub const USER_AGENT: &str = concat!("sweetspot/", env!("CARGO_PKG_VERSION"));

impl Request {
    /// # Errors
    /// A part that could not stand in a request without changing its meaning (line ends, spaces),
    /// or a variable that is unknown.
    pub fn new(
        target: &Target,
        host: &str,
        mode: ConnectionMode,
        values: &Values,
    ) -> Result<Self, LoadError> {
        check(target, host)?;
        let refuse = |what| LoadError::Plan(format!("target '{target}': {what}"));
        let body = body(target, values).map_err(refuse)?;
        let head = head(target, host, mode, &body, values).map_err(refuse)?;
        let content = Content::new(head, body, values);
        let idempotent = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];
        Ok(Self {
            content,
            is_head: target.method == "HEAD",
            is_idempotent: idempotent.contains(&target.method.as_str()),
        })
    }

    /// How it is put together, if it differs each time it is sent.
    #[inline]
    pub fn template(&self) -> Option<&Template> {
        match &self.content {
            Content::Same(_) => None,
            Content::Template(template) => Some(template),
        }
    }

    /// What is sent; `rendered` is what its template made, if it has one.
    #[inline]
    pub fn bytes<'a>(&'a self, rendered: &'a [u8]) -> &'a [u8] {
        match &self.content {
            Content::Same(bytes) => bytes,
            Content::Template(_) => rendered,
        }
    }

    /// Most bytes that it can have.
    #[inline]
    pub fn longest(&self) -> usize {
        match &self.content {
            Content::Same(bytes) => bytes.len(),
            Content::Template(template) => template.longest(),
        }
    }
}

/// A body that is no text holds no variables.
fn body(target: &Target, values: &Values) -> Result<Pieces, String> {
    let mut body = Pieces::default();
    match std::str::from_utf8(&target.body) {
        Ok(text) => body.push(text, Component::Body, values)?,
        Err(_) => body.push_text(&target.body),
    }
    Ok(body)
}

fn head(
    target: &Target,
    host: &str,
    mode: ConnectionMode,
    body: &Pieces,
    values: &Values,
) -> Result<Pieces, String> {
    let mut head = Pieces::default();
    head.push_text(format!("{} ", target.method));
    head.push(&target.path, Component::Path, values)?;
    head.push_text(" HTTP/1.1\r\n");
    for (name, value) in own_headers(host, mode) {
        let is_replaced = target.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !is_replaced {
            head.push_text(format!("{name}: {value}\r\n"));
        }
    }
    if says_length(&target.method, target.body.is_empty()) {
        head.push_text("Content-Length: ");
        head.push_length(body);
        head.push_text("\r\n");
    }
    let is_cookie = |name: &str| values.has_cookies && name.eq_ignore_ascii_case("Cookie");
    for (name, value) in target.headers.iter().filter(|(name, _)| !is_cookie(name)) {
        head.push_text(format!("{name}: "));
        head.push(value, Component::Header, values)?;
        head.push_text("\r\n");
    }
    if values.has_cookies {
        // All in one header (RFC 6265, section 5.4).
        let own = target.headers.iter().filter(|(name, _)| is_cookie(name));
        let own: Vec<&str> = own.map(|(_, value)| value.as_str()).collect();
        let own = (!own.is_empty()).then(|| own.join("; "));
        head.push_cookies(own.as_deref(), values)?;
    }
    head.push_text("\r\n");
    Ok(head)
}

/// A method that usually has a body says how long it is even when it is empty; servers may insist.
pub fn says_length(method: &str, is_empty: bool) -> bool {
    !is_empty || ["POST", "PUT", "PATCH"].contains(&method)
}

fn own_headers(host: &str, mode: ConnectionMode) -> Vec<(&'static str, &str)> {
    let mut headers = vec![("Host", host), ("User-Agent", USER_AGENT), ("Accept", "*/*")];
    if mode == ConnectionMode::Fresh {
        headers.push(("Connection", "close"));
    }
    headers
}

fn check(target: &Target, host: &str) -> Result<(), LoadError> {
    let refuse = |what: String| Err(LoadError::Plan(what));
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if !is_word(&target.method) {
        return refuse("the method of a target must be one word, such as GET".into());
    }
    if !is_word(&target.path) || !(target.path.starts_with('/') || target.path == "*") {
        return refuse(format!(
            "the path of target '{target}' must begin with '/' and hold no spaces; write a space \
             as %20"
        ));
    }
    if !is_word(host) {
        return refuse("the host name must hold no spaces or line ends".into());
    }
    for (name, value) in &target.headers {
        let is_name = is_word(name) && !name.contains(':');
        if !is_name || value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
            return refuse(format!(
                "header '{}' must be one line of the form 'Name: value'",
                name.escape_debug()
            ));
        }
        check_header(target, name)?;
    }
    Ok(())
}

/// A second one contradicts the first; servers refuse such requests, or believe either.
const ONCE: [&str; 5] = ["Host", "Content-Type", "Authorization", "User-Agent", "Connection"];

fn check_header(target: &Target, name: &str) -> Result<(), LoadError> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if is("Content-Length") || is("Transfer-Encoding") {
        return Err(LoadError::Plan(format!(
            "header '{name}' cannot be given: requests are sent with the length of their body"
        )));
    }
    let count = target.headers.iter().filter(|(given, _)| is(given)).count();
    if count > 1 && ONCE.iter().any(|once| is(once)) {
        return Err(LoadError::Plan(format!(
            "header '{name}' is given {count} times; a request has it once"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &Target, host: &str, mode: ConnectionMode) -> Result<Request, LoadError> {
        Request::new(target, host, mode, &Values::default())
    }

    fn text(target: &Target, mode: ConnectionMode) -> String {
        let request = request(target, "app.test:80", mode).unwrap();
        assert!(request.template().is_none(), "it is the same each time");
        String::from_utf8(request.bytes(&[]).to_vec()).unwrap()
    }

    #[test]
    fn a_request_is_what_a_plain_client_sends() {
        assert_eq!(
            text(&Target::get("/a?b=1"), ConnectionMode::KeepAlive),
            format!(
                "GET /a?b=1 HTTP/1.1\r\nHost: app.test:80\r\n\
                 User-Agent: {USER_AGENT}\r\nAccept: */*\r\n\r\n"
            )
        );
        assert!(text(&Target::get("/"), ConnectionMode::Fresh).contains("Connection: close\r\n"));
    }

    #[test]
    fn given_headers_replace_ours_and_bodies_have_a_length() {
        let target = Target {
            method: "POST".into(),
            headers: vec![("host".into(), "other".into()), ("X-A".into(), "1".into())],
            body: b"hello".to_vec(),
            ..Target::get("/")
        };
        let text = text(&target, ConnectionMode::KeepAlive);
        assert!(text.contains("host: other\r\nX-A: 1\r\n\r\nhello"), "{text}");
        assert!(text.contains("Content-Length: 5\r\n"));
        assert!(!text.contains("app.test"));
        let empty = Target { method: "PUT".into(), ..Target::get("/") };
        assert!(self::text(&empty, ConnectionMode::KeepAlive).contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn nothing_can_be_smuggled_into_a_request() {
        let with_header = |name: &str, value: &str| Target {
            headers: vec![(name.into(), value.into())],
            ..Target::get("/")
        };
        for target in [
            Target::get("/a b"),
            Target::get("/a\r\nX: y"),
            Target::get("relative"),
            Target { method: "GE T".into(), ..Target::get("/") },
            with_header("X", "a\r\nY: b"),
            with_header("X:", "a"),
            with_header("", "a"),
        ] {
            assert!(request(&target, "app", ConnectionMode::Fresh).is_err(), "{target}");
        }
        assert!(request(&Target::get("/"), "a\r\nb", ConnectionMode::Fresh).is_err());
    }

    #[test]
    fn headers_that_would_contradict_the_body_or_each_other_are_refused() {
        let refusal = |headers: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
            let headers = headers.iter().map(own).collect();
            let target = Target { headers, ..Target::get("/") };
            let made = request(&target, "app", ConnectionMode::KeepAlive);
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refusal(&[("content-length", "9")]).contains("the length of their body"));
        assert!(refusal(&[("Transfer-Encoding", "chunked")]).contains("'Transfer-Encoding'"));
        assert!(refusal(&[("Host", "a"), ("host", "b")]).contains("given 2 times"));
        assert_eq!(refusal(&[("Cookie", "a=1"), ("Cookie", "b=2"), ("Host", "a")]), "");
    }

    #[test]
    fn a_request_with_variables_is_put_together_with_the_length_of_its_body() {
        let target = Target {
            method: "POST".into(),
            headers: vec![("X-Id".into(), "{{seq}}".into())],
            body: b"{\"n\":{{seq}}}".to_vec(),
            ..Target::get("/orders/{{seq}}")
        };
        let request = request(&target, "app", ConnectionMode::KeepAlive).unwrap();
        let mut buffer = Vec::new();
        for (number, length) in [(9, 7), (10, 8), (0, 7)] {
            request.template().unwrap().render(number, &[], &mut buffer);
            let text = std::str::from_utf8(request.bytes(&buffer)).unwrap();
            assert_eq!(
                text,
                format!(
                    "POST /orders/{number} HTTP/1.1\r\nHost: app\r\nUser-Agent: {USER_AGENT}\r\n\
                     Accept: */*\r\nContent-Length: {length}\r\nX-Id: {number}\r\n\r\n\
                     {{\"n\":{number}}}"
                )
            );
        }
    }

    #[test]
    fn a_clients_cookies_follow_the_targets_own_in_one_header() {
        let values = Values { has_cookies: true, ..Values::default() };
        let headers = vec![("cookie".into(), "a=1".into()), ("X-A".into(), "1".into())];
        let with_own = Target { headers, ..Target::get("/") };
        for (target, cookies, expected) in [
            (&with_own, "", "X-A: 1\r\nCookie: a=1\r\n\r\n"),
            (&with_own, "b=2; c=3", "X-A: 1\r\nCookie: a=1; b=2; c=3\r\n\r\n"),
            (&Target::get("/"), "b=2", "Accept: */*\r\nCookie: b=2\r\n\r\n"),
            (&Target::get("/"), "", "Accept: */*\r\n\r\n"),
        ] {
            let request = Request::new(target, "app", ConnectionMode::KeepAlive, &values).unwrap();
            let mut buffer = Vec::new();
            request.template().unwrap().render(0, cookies.as_bytes(), &mut buffer);
            let text = String::from_utf8(buffer).unwrap();
            assert!(text.ends_with(expected), "{text}");
        }
    }

    #[test]
    fn an_unknown_variable_is_told_with_its_target() {
        let error = request(&Target::get("/a?b={{c}}"), "app", ConnectionMode::Fresh);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("target 'GET /a?…': {{c}} is no variable"), "{error}");
        let binary = Target { body: b"\xff{{c}}".to_vec(), ..Target::get("/") };
        let request = request(&binary, "app", ConnectionMode::Fresh).unwrap();
        assert!(request.template().is_none(), "a body that is no text holds no variables");
    }
}
