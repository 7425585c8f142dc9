//! Takes a line of an access log apart.
//!
//! In: a line in the combined or common format, or a JSON object. Out: what was asked. Must not
//! trust it: the senders of requests wrote parts of it.

use std::borrow::Cow;

use memchr::{memchr, memmem};
use serde_json::{Map, Value};

use super::time;

/// A request as a log records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Upper case.
    pub method: String,
    /// Path and query, such as can stand in a request.
    pub path: String,
    /// Nanoseconds since 1970; `None` when it was not asked for.
    pub at: Option<i64>,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Entry(Entry),
    /// The line is understood, but what was asked is no request: a `-`, or bytes of another
    /// protocol.
    NoRequest,
    NotUnderstood,
}

/// Reads a line that is not blank. One without a time is not understood if `wants_time`.
pub fn parse(line: &[u8], wants_time: bool) -> Line {
    let parsed = match line.first() {
        Some(b'{') => parse_json(line, wants_time),
        _ => parse_text(line, wants_time),
    };
    parsed.unwrap_or(Line::NotUnderstood)
}

/// `host ident user [time] "request" status bytes` and whatever follows.
fn parse_text(line: &[u8], wants_time: bool) -> Option<Line> {
    let time_at = memchr(b'[', line)? + 1;
    let time_end = time_at + memchr(b']', &line[time_at..])?;
    let at = match wants_time {
        true => Some(time::parse(std::str::from_utf8(&line[time_at..time_end]).ok()?)?),
        false => None,
    };
    let request_at = time_end + memchr(b'"', &line[time_end..])? + 1;
    let request = unescaped(quoted(&line[request_at..])?);
    Some(entry(request_line(&request), at))
}

/// What a line says of how a request was served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServedLine {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// `None` where the log does not say it.
    pub latency_s: Option<f64>,
    pub status: Option<u16>,
}

/// Reads how a request was served; `None` of a line without a time.
pub fn parse_served(line: &[u8]) -> Option<ServedLine> {
    match line.first() {
        Some(b'{') => served_json(line),
        _ => served_text(line),
    }
}

/// What follows the request: status, bytes, quoted fields, and what the log's own format adds.
fn served_text(line: &[u8]) -> Option<ServedLine> {
    let time_at = memchr(b'[', line)? + 1;
    let time_end = time_at + memchr(b']', &line[time_at..])?;
    let at = time::parse(std::str::from_utf8(&line[time_at..time_end]).ok()?)?;
    let request_at = time_end + memchr(b'"', &line[time_end..])? + 1;
    let request = quoted(&line[request_at..])?;
    let rest = String::from_utf8_lossy(&line[request_at + request.len() + 1..]).into_owned();
    let mut fields = of_the_server(&rest).into_iter();
    let status = fields.next().and_then(|field| field.parse().ok());
    Some(ServedLine { at, latency_s: latency_of(fields.skip(1)), status })
}

/// The words of a line that no client wrote: those out of quotes, and numbers in quotes at the
/// line's end. The first two fields in quotes are the referrer and the user agent, which may be any
/// number.
fn of_the_server(text: &str) -> Vec<&str> {
    let is_number = |field: &&str| field.parse::<f64>().is_ok();
    let (mut words, mut at_end): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut rest, mut fields) = (text, 0);
    while let Some((before, after)) = rest.split_once('"') {
        let length = quoted(after.as_bytes()).map_or(after.len(), <[u8]>::len);
        rest = after.get(length + 1..).unwrap_or_default();
        fields += 1;
        if fields == 2 || !before.trim_ascii().is_empty() {
            at_end.clear();
        }
        words.extend(before.split_ascii_whitespace());
        at_end.extend(Some(&after[..length]).filter(|_| fields != 2).filter(is_number));
    }
    if rest.trim_ascii().is_empty() {
        words.extend(at_end);
    }
    words.extend(rest.split_ascii_whitespace());
    words
}

/// A field that is named (`request_time=0.012`), else the first decimal number, in seconds
/// (nginx' `$request_time`), else the last whole number, in microseconds (Apache's `%D`).
fn latency_of<'a>(fields: impl Iterator<Item = &'a str>) -> Option<f64> {
    let fields: Vec<&str> = fields.collect();
    let named = fields.iter().find_map(|field| {
        let (name, value) = field.split_once(['=', ':'])?;
        let unit = unit_of(name)?;
        Some(value.parse::<f64>().ok()? * unit)
    });
    let seconds = || fields.iter().filter(|it| it.contains('.')).find_map(|it| it.parse().ok());
    let microseconds = || Some(fields.last()?.parse::<u64>().ok()? as f64 / 1e6);
    let found = named.or_else(seconds).or_else(microseconds);
    found.filter(|it| it.is_finite() && *it >= 0.0)
}

/// Seconds in a unit of the field of this name; `None`: it is no response time.
fn unit_of(name: &str) -> Option<f64> {
    match name {
        "request_time" | "rt" | "response_time" | "duration_s" | "latency_s" => Some(1.0),
        "request_time_ms" | "response_time_ms" | "duration_ms" | "latency_ms" => Some(1e-3),
        "duration_us" | "request_time_us" => Some(1e-6),
        _ => None,
    }
}

fn served_json(line: &[u8]) -> Option<ServedLine> {
    let object = json_object(line)?;
    let at = TIMES.iter().find_map(|name| time_of(object.get(*name)?))?;
    let number = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let named = object.iter().find_map(|(name, value)| Some(number(value)? * unit_of(name)?));
    // Caddy, whose request is an object, writes seconds; Rails' lograge writes milliseconds.
    let unit = if object.get("request").is_some_and(Value::is_object) { 1.0 } else { 1e-3 };
    let duration = || Some(number(object.get("duration")?)? * unit);
    let latency = named.or_else(duration);
    let status = object.get("status").and_then(number).map(|status| status as u16);
    Some(ServedLine { at, latency_s: latency.filter(|it| it.is_finite() && *it >= 0.0), status })
}

fn entry(request: Option<(String, String)>, at: Option<i64>) -> Line {
    match request {
        Some((method, path)) => Line::Entry(Entry { method, path, at }),
        None => Line::NoRequest,
    }
}

/// Up to the closing quote; one after a backslash does not close.
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let mut is_escaped = false;
    let end = text.iter().position(|byte| {
        let closes = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        closes
    })?;
    Some(&text[..end])
}

/// `\x22` and `\"`, as nginx and Apache write what could not stand there.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        plain.extend_from_slice(&rest[..at]);
        let (byte, length) = escape(&rest[at + 1..]);
        plain.push(byte);
        rest = &rest[at + 1 + length..];
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// The byte that stands for what follows a backslash, and how much of that it takes.
fn escape(after: &[u8]) -> (u8, usize) {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    match after {
        [b'x' | b'X', high, low, ..] => match (digit(high), digit(low)) {
            (Some(high), Some(low)) => ((high * 16 + low) as u8, 3),
            _ => (b'\\', 0),
        },
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'r', ..] => (b'\r', 1),
        [byte @ (b'"' | b'\\' | b'/'), ..] => (*byte, 1),
        _ => (b'\\', 0),
    }
}

/// `METHOD TARGET HTTP/1.1`; the version is missing in requests of HTTP/0.9.
fn request_line(text: &[u8]) -> Option<(String, String)> {
    let space = memchr(b' ', text)?;
    let (method, rest) = (&text[..space], &text[space + 1..]);
    let end = memmem::rfind(rest, b" HTTP/").unwrap_or(rest.len());
    request(method, &rest[..end])
}

fn request(method: &[u8], target: &[u8]) -> Option<(String, String)> {
    let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_alphabetic);
    let method = std::str::from_utf8(method).ok().filter(|_| is_method)?;
    Some((method.to_ascii_uppercase(), path(target)?))
}

/// Path and query, with what could not be sent percent-encoded.
fn path(target: &[u8]) -> Option<String> {
    let target = match memmem::find(target, b"://") {
        // As proxies are asked.
        Some(at) if at > 0 && target[..at].iter().all(u8::is_ascii_alphanumeric) => {
            let rest = &target[at + 3..];
            let authority = rest.iter().position(|byte| b"/?#".contains(byte));
            &rest[authority.unwrap_or(rest.len())..]
        }
        _ if target.first() == Some(&b'/') => target,
        _ => return None,
    };
    let mut path = String::with_capacity(target.len() + 1);
    if target.first() != Some(&b'/') {
        path.push('/');
    }
    for (at, byte) in target.iter().enumerate() {
        match byte {
            b'#' => break,
            // Two of them would begin a variable.
            b'{' if target.get(at + 1) == Some(&b'{') => path.push_str("%7B"),
            byte if byte.is_ascii_graphic() => path.push(char::from(*byte)),
            byte => path.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(path)
}

/// The names that people give to a request's parts; the most exact first.
const METHODS: [&str; 4] = ["request_method", "method", "verb", "request_type"];
const PATHS: [&str; 5] = ["request_uri", "uri", "path", "url", "request_path"];
const QUERIES: [&str; 3] = ["args", "query_string", "query"];
const TIMES: [&str; 7] =
    ["msec", "time_iso8601", "@timestamp", "timestamp", "time", "time_local", "ts"];

fn parse_json(line: &[u8], wants_time: bool) -> Option<Line> {
    let object = json_object(line)?;
    let at = match wants_time {
        true => Some(TIMES.iter().find_map(|name| time_of(object.get(*name)?))?),
        false => None,
    };
    let whole = match object.get("request") {
        Some(Value::String(text)) => request_line(text.as_bytes()),
        Some(Value::Object(parts)) => from_parts(parts),
        _ => None,
    };
    let request = whole.or_else(|| from_parts(&object));
    let has_any = object.contains_key("request") || first_text(&object, &PATHS).is_some();
    has_any.then(|| entry(request, at))
}

/// A log's format escapes as it likes: `\x22` is no JSON, and means `\u0022`.
fn json_object(line: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(line).ok().or_else(|| {
        let text = std::str::from_utf8(line).ok().filter(|text| text.contains("\\x"))?;
        serde_json::from_str(&text.replace("\\x", "\\u00")).ok()
    })
}

fn first_text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    let mut texts = names.iter().filter_map(|name| object.get(*name)?.as_str());
    texts.find(|text| !["", "-"].contains(text))
}

fn from_parts(object: &Map<String, Value>) -> Option<(String, String)> {
    let method = first_text(object, &METHODS)?;
    let target = first_text(object, &PATHS)?;
    match first_text(object, &QUERIES) {
        Some(query) if !target.contains('?') => {
            let query = query.strip_prefix('?').unwrap_or(query);
            request(method.as_bytes(), format!("{target}?{query}").as_bytes())
        }
        _ => request(method.as_bytes(), target.as_bytes()),
    }
}

fn time_of(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => time::parse(text),
        Value::Number(seconds) => time::of_seconds(seconds.as_f64()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(line: &str) -> Option<String> {
        match parse(line.as_bytes(), false) {
            Line::Entry(Entry { method, path, at: None }) => Some(format!("{method} {path}")),
            Line::NoRequest => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_of_the_combined_and_common_formats_are_read() {
        for (line, expected) in [
            (
                "1.2.3.4 - - [9/Oct/2025:13:55:36 +0200] \"GET /a?b=1 HTTP/1.1\" 200 5 \"-\" \"x\"",
                Some("GET /a?b=1"),
            ),
            ("::1 - me [10/Oct/2025:13:55:36 +0200] \"head / HTTP/2.0\" 200 -", Some("HEAD /")),
            ("app:80 - - - [t] \"GET /v\" 200 5", Some("GET /v")),
            (
                "- - - [t] \"POST /a\\\"b\\x22c\\x5c HTTP/1.1\" - - \"q\\\"\"",
                Some("POST /a\"b\"c\\"),
            ),
            ("h - - [t] \"GET /\\xC3\\xA4 x#y HTTP/1.1\" 400 0", Some("GET /%C3%A4%20x")),
            ("h - - [t] \"GET http://a.test/x?y HTTP/1.1\" 200 0", Some("GET /x?y")),
            ("h - - [t] \"GET HTTP://a.test?y HTTP/1.1\" 200 0", Some("GET /?y")),
            ("h - - [t] \"GET /?next=http://a/ HTTP/1.1\" 200 0", Some("GET /?next=http://a/")),
            ("h - - [t] \"GET /{{seq}}{{{ HTTP/1.1\" 200 0", Some("GET /%7B{seq}}%7B%7B{")),
            ("h - - [t] \"-\" 408 0 \"-\" \"-\"", None),
            ("h - - [t] \"\" 400 0", None),
            ("h - - [t] \"\\x16\\x03\\x01 \\x02\" 400 150", None),
            ("h - - [t] \"OPTIONS * HTTP/1.1\" 200 0", None),
        ] {
            assert_eq!(read(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn json_lines_are_read_by_the_names_that_people_use() {
        for (line, expected) in [
            (r#"{"request":"GET /a HTTP/1.1","status":"200"}"#, Some("GET /a")),
            (r#"{"request_method":"PUT","request_uri":"/a?b","uri":"/c"}"#, Some("PUT /a?b")),
            (r#"{"method":"get","uri":"/a","args":"b=1"}"#, Some("GET /a?b=1")),
            (r#"{"method":"GET","path":"/a","query_string":"-"}"#, Some("GET /a")),
            (r#"{"method":"GET","url":"https://a.test/b?c"}"#, Some("GET /b?c")),
            (r#"{"request":{"method":"GET","uri":"/caddy"},"ts":1.5}"#, Some("GET /caddy")),
            (r#"{"request":"GET /\x22ä HTTP/1.1"}"#, Some("GET /\"%C3%A4")),
            (r#"{"request":"-","method":"-"}"#, None),
            (r#"{"request":"","request_uri":"/a"}"#, None),
        ] {
            assert_eq!(read(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn response_times_are_found_where_logs_write_them() {
        let head = "h - - [10/Oct/2025:13:55:36 +0200] \"GET /0.5 HTTP/1.1\" 502";
        for (rest, expected) in [
            ("17 \"-\" \"Mozilla/5.0 (X 1.5)\" 0.123 0.120", Some(0.123)),
            ("17 \"-\" \"curl\" 842 0.250 [web] [] 10.0.0.1:80 17 0.248 502 id", Some(0.25)),
            ("17 \"-\" \"curl\" \"0.250\"", Some(0.25)),
            ("17 \"-\" \"curl\" \"0.250\" \"0.240\"", Some(0.25)),
            ("17 \"-\" \"curl\" \"rt=0.001\"", None),
            ("17 \"0.250\"", Some(0.25)),
            ("17 \"-\" \"0.001\" 0.250", Some(0.25)),
            ("17 \"0.002\" \"0.001\" 12500", Some(0.0125)),
            ("17 \"-\" \"curl\" \"0.001\" 12500", Some(0.0125)),
            ("17 \"-\" \"a \\\" 0.001 \\\\\" 0.250", Some(0.25)),
            ("17 \"-\" \"0.001\"", None),
            ("17 \"-\" \"0.001", None),
            ("17 \"-\" \"curl\" 10.0.0.5:3000 0.250 200", Some(0.25)),
            ("17 \"-\" \"curl\" shop.example 0.250", Some(0.25)),
            ("17 \"-\" \"curl\" rt=0.5 uct=0.1", Some(0.5)),
            ("17 \"-\" \"curl\" duration_ms=12.5", Some(0.0125)),
            ("17 \"-\" \"curl\" 12500", Some(0.0125)),
            ("17 12500", Some(0.0125)),
            ("17", None),
            ("17 \"-\" \"curl\"", None),
            ("17 \"-\" \"curl\" -", None),
        ] {
            let served = parse_served(format!("{head} {rest}").as_bytes()).unwrap();
            assert_eq!((served.status, served.latency_s), (Some(502), expected), "{rest}");
        }
        for (fields, expected) in [
            (r#""request_time":"0.040""#, Some(0.04)),
            (r#""request":{"method":"GET"},"duration":0.04"#, Some(0.04)),
            (r#""method":"GET","duration":40.5"#, Some(0.0405)),
            (r#""duration_ms":40"#, Some(0.04)),
            (r#""bytes":40"#, None),
        ] {
            let line = format!("{{\"ts\":1760097336.5,\"status\":200,{fields}}}");
            let served = parse_served(line.as_bytes()).unwrap();
            assert_eq!((served.status, served.latency_s), (Some(200), expected), "{line}");
        }
        assert_eq!(parse_served(b"h - - [t] \"GET / HTTP/1.1\" 200 0 1.5"), None);
    }

    #[test]
    fn what_is_no_such_line_is_not_understood() {
        for line in [
            "GET / HTTP/1.1",
            "h - - [t] GET / 200",
            "h - - [t \"GET / HTTP/1.1\" 200",
            "h - - [t] \"GET / HTTP/1.1",
            "{\"status\":200}",
            "{\"request\":\"GET / HTTP/1.1\"",
            "[1, 2]",
        ] {
            assert_eq!(parse(line.as_bytes(), false), Line::NotUnderstood, "{line}");
        }
        let without_time = b"h - - [t] \"GET / HTTP/1.1\" 200 0";
        assert_eq!(parse(without_time, true), Line::NotUnderstood);
    }

    #[test]
    fn times_are_read_where_they_are_wanted() {
        let at = |line: &str| match parse(line.as_bytes(), true) {
            Line::Entry(entry) => entry.at,
            other => panic!("{other:?}"),
        };
        let second = 1_760_097_336_000_000_000;
        let text = "h - - [10/Oct/2025:13:55:36 +0200] \"GET / HTTP/1.1\" 200 0";
        assert_eq!(at(text), Some(second));
        for (name, value) in [
            ("time_iso8601", "\"2025-10-10T13:55:36+02:00\""),
            ("@timestamp", "\"2025-10-10T11:55:36Z\""),
            ("time_local", "\"10/Oct/2025:13:55:36 +0200\""),
            ("msec", "\"1760097336.000\""),
            ("ts", "1760097336.0"),
        ] {
            let line = format!("{{\"request\":\"GET / HTTP/1.1\",\"{name}\":{value}}}");
            assert_eq!(at(&line), Some(second), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not_understood(
            bytes in proptest::collection::vec(any::<u8>(), 0..80), wants_time: bool
        ) {
            parse(&bytes, wants_time);
            let request = [b"h [x] \"GET /".as_slice(), &bytes, b" HTTP/1.1\" 200"].concat();
            parse(&request, false);
            parse_served(&bytes);
            parse_served(&[b"h [1] \"".as_slice(), &bytes].concat());
            parse(&[b"{\"request\":\"".as_slice(), &bytes, b"\"}"].concat(), wants_time);
        }

        #[test]
        fn what_is_read_can_be_sent(path in "/\\PC{0,30}") {
            let line = format!("h - - [t] \"GET {} HTTP/1.1\" 200 0", path.replace('"', "\\x22"));
            if let Line::Entry(entry) = parse(line.as_bytes(), false) {
                let target = crate::terms::Target::new(&entry.method, &entry.path);
                prop_assert!(target.is_ok_and(|target| !target.path.contains("{{")));
            }
        }
    }
}
