//! Requests as HTTP/2 says them, made once before the load begins.
//!
//! In: targets. Out: header blocks, and bodies. Must not know streams.

use super::hpack::{Encoder, Field, share_table, write_name, write_text};
use crate::load::error::LoadError;
use crate::load::request::{Component, Content, Pieces, USER_AGENT, Values, says_length};
use crate::terms::Target;

/// Headers that belong to one connection, or that HTTP/2 says in another way (RFC 9113, section
/// 8.2.2).
const NOT_SENT: [&str; 6] =
    ["host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// One target's requests.
#[derive(Debug)]
pub struct Http2Request {
    parts: Vec<Part>,
    body: Content,
    /// Its reply has no body.
    pub is_head: bool,
}

/// One field of a request.
#[derive(Debug)]
enum Part {
    Same(Field),
    /// With variables in its value.
    Varying {
        name: String,
        value: Content,
    },
    /// How long a body is that varies.
    Length,
    /// The target's own cookies, and those that its client was given.
    Cookies(Option<Content>),
}

/// Room for what differs from request to request, used again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    value: Vec<u8>,
    body: Vec<u8>,
}

impl Http2Request {
    /// The request of a target that a valid HTTP/1 request was made from already.
    ///
    /// # Errors
    /// A variable that is unknown.
    pub fn new(
        target: &Target,
        scheme: &str,
        host: &str,
        values: &Values,
    ) -> Result<Self, LoadError> {
        let refuse = |what| LoadError::Plan(format!("target '{target}': {what}"));
        let body = Content::of_body(target, values).map_err(refuse)?;
        let parts = parts(target, scheme, host, &body, values).map_err(refuse)?;
        Ok(Self { parts, body, is_head: target.method == "HEAD" })
    }

    /// Chooses what is sent once a connection, and named from then on; see [`share_table`]. Each
    /// request comes with its weight.
    pub fn share_table(requests: &mut [Self], weights: &[u32]) -> u8 {
        let of_each = requests.iter_mut().zip(weights);
        let fields = of_each.flat_map(|(request, weight)| {
            request.parts.iter_mut().filter_map(move |part| match part {
                Part::Same(field) => Some((*weight, field)),
                _ => None,
            })
        });
        share_table(fields)
    }

    /// Writes the header block of request `number` of the load. `cookies` are those of its client.
    /// Returns the body.
    pub fn write<'a>(
        &'a self,
        number: u64,
        cookies: &[u8],
        encoder: &mut Encoder,
        scratch: &'a mut Scratch,
        out: &mut Vec<u8>,
    ) -> &'a [u8] {
        let Scratch { value: spare, body: spare_body } = scratch;
        let body = self.body.render(number, spare_body);
        encoder.begin(out);
        for part in &self.parts {
            match part {
                Part::Same(field) => encoder.write(field, out),
                Part::Varying { name, value } => {
                    write_name(name, out);
                    write_text(value.render(number, spare), out);
                }
                Part::Length => {
                    write_name("content-length", out);
                    write_text(body.len().to_string().as_bytes(), out);
                }
                Part::Cookies(own) => {
                    let own = own.as_ref().map_or(&[][..], |own| own.render(number, spare));
                    write_cookies(own, cookies, out);
                }
            }
        }
        body
    }

    /// The whole body, where it is the same each time; the rest of another is kept by its stream.
    pub fn same_body(&self) -> Option<&[u8]> {
        self.body.same()
    }
}

/// All cookies in one field; none without any.
fn write_cookies(own: &[u8], given: &[u8], out: &mut Vec<u8>) {
    match (own, given) {
        ([], []) => {}
        (one, []) | ([], one) => {
            write_name("cookie", out);
            write_text(one, out);
        }
        (own, given) => {
            write_name("cookie", out);
            write_text(&[own, b"; ", given].concat(), out);
        }
    }
}

fn parts(
    target: &Target,
    scheme: &str,
    host: &str,
    body: &Content,
    values: &Values,
) -> Result<Vec<Part>, String> {
    let own = |wanted: &'static str| {
        let is_it = move |given: &&(String, String)| given.0.eq_ignore_ascii_case(wanted);
        target.headers.iter().filter(is_it).map(|(_, value)| value.as_str())
    };
    let host = own("host").next().unwrap_or(host);
    let mut parts = vec![
        Part::Same(Field::new(":method", target.method.as_bytes())),
        Part::Same(Field::new(":scheme", scheme.as_bytes())),
        part(":authority", host, Component::Header, values)?,
        part(":path", &target.path, Component::Path, values)?,
    ];
    for (name, value) in [("user-agent", USER_AGENT), ("accept", "*/*")] {
        if own(name).next().is_none() {
            parts.push(Part::Same(Field::new(name, value.as_bytes())));
        }
    }
    match body.same() {
        Some(body) if says_length(&target.method, body.is_empty()) => {
            let length = body.len().to_string();
            parts.push(Part::Same(Field::new("content-length", length.as_bytes())));
        }
        Some(_) => {}
        None => parts.push(Part::Length),
    }
    for (name, value) in &target.headers {
        let name = name.to_ascii_lowercase();
        let is_cookie = values.has_cookies && name == "cookie";
        if !is_cookie && !NOT_SENT.contains(&name.as_str()) {
            parts.push(part(&name, value, Component::Header, values)?);
        }
    }
    if values.has_cookies {
        let own: Vec<&str> = own("cookie").collect();
        let own = (!own.is_empty()).then(|| content(&own.join("; "), Component::Header, values));
        parts.push(Part::Cookies(own.transpose()?));
    }
    Ok(parts)
}

fn part(name: &str, value: &str, component: Component, values: &Values) -> Result<Part, String> {
    let value = content(value, component, values)?;
    Ok(match value.same() {
        Some(text) => Part::Same(Field::new(name, text)),
        None => Part::Varying { name: name.into(), value },
    })
}

fn content(text: &str, component: Component, values: &Values) -> Result<Content, String> {
    let mut pieces = Pieces::default();
    pieces.push(text, component, values)?;
    Ok(Content::new(pieces, Pieces::default(), values))
}
