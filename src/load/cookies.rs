//! The cookies of one client of the closed model: what replies set, it sends from then on.
//!
//! In: the bytes of replies, as they arrive. Out: the text of a `Cookie` header. There is one
//! server, so paths and domains are not looked at; of the other attributes, only those that end a
//! cookie are. The number of cookies and their length are bounded.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use memchr::memchr;

/// More are not kept; browsers have similar limits (RFC 6265, section 6.1).
const MOST_COOKIES: usize = 50;

/// A name and value of more bytes are not kept.
const LONGEST_COOKIE: usize = 4096;

/// A longer line sets nothing: it has room for a cookie, and as much for its attributes.
const LONGEST_LINE: usize = 2 * LONGEST_COOKIE;

const NAME: &[u8] = b"set-cookie:";

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The cookies of one client, and how far its reply has been read for more.
#[derive(Debug, Default)]
pub struct Jar {
    /// The oldest first.
    cookies: Vec<Cookie>,
    /// All of them, as they are sent.
    text: Vec<u8>,
    head: Head,
    /// The line of the head at hand, as far as it came.
    line: Vec<u8>,
}

/// Where in a reply the next byte belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Head {
    StatusLine,
    Lines,
    /// Of an interim reply, which another head follows.
    InterimLines,
    #[default]
    Over,
}

/// One for each client of the closed model, if they keep cookies.
pub fn jars(are_kept: bool, clients: Option<u32>) -> Vec<Jar> {
    let count = clients.filter(|_| are_kept).unwrap_or(0);
    (0..count).map(|_| Jar::default()).collect()
}

impl Jar {
    /// What is sent, such as `a=1; b=2`; empty without cookies.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The next bytes are those of a reply from its beginning.
    pub fn await_reply(&mut self) {
        self.head = Head::StatusLine;
        self.line.clear();
    }

    /// Takes the next bytes of the reply; body or not is found out here.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while self.head != Head::Over {
            let end = memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            // One byte more than a line may have shows that it has.
            let room = (LONGEST_LINE + 1).saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            let Some(end) = end else { return };
            bytes = &bytes[end + 1..];
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii_end();
        self.head = match self.head {
            Head::StatusLine if text.get(9) == Some(&b'1') => Head::InterimLines,
            Head::StatusLine => Head::Lines,
            Head::InterimLines if text.is_empty() => Head::StatusLine,
            Head::Lines if text.is_empty() => Head::Over,
            same => same,
        };
        let (name, value) = text.split_at(text.len().min(NAME.len()));
        if line.len() <= LONGEST_LINE && name.eq_ignore_ascii_case(NAME) {
            self.set(value);
        }
        // The allocation is used again.
        self.line = line;
        self.line.clear();
    }

    /// Takes what a reply sets: `name=value; attribute; attribute=value`.
    pub fn set(&mut self, text: &[u8]) {
        let mut parts = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let Some((name, value)) = parts.next().and_then(name_and_value) else { return };
        if name.len() + value.len() > LONGEST_COOKIE {
            return;
        }
        // What a header must not hold could change what the next request means.
        if name.is_empty() || [name, value].concat().iter().any(u8::is_ascii_control) {
            return;
        }
        let is_over = is_over(parts);
        match self.cookies.iter().position(|cookie| cookie.name == name) {
            Some(at) if is_over => {
                self.cookies.remove(at);
            }
            Some(at) => self.cookies[at].value = value.to_vec(),
            None if is_over || self.cookies.len() >= MOST_COOKIES => return,
            None => self.cookies.push(Cookie { name: name.to_vec(), value: value.to_vec() }),
        }
        self.text.clear();
        for Cookie { name, value } in &self.cookies {
            let separator: &[u8] = if self.text.is_empty() { b"" } else { b"; " };
            for part in [separator, name, b"=", value] {
                self.text.extend_from_slice(part);
            }
        }
    }
}

fn name_and_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = memchr(b'=', text)?;
    Some((text[..equals].trim_ascii(), text[equals + 1..].trim_ascii()))
}

/// Whether these attributes end a cookie; `Max-Age` says so before `Expires` does.
fn is_over<'a>(attributes: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut expires = false;
    for (name, value) in attributes.filter_map(name_and_value) {
        let Ok(value) = std::str::from_utf8(value) else { continue };
        if name.eq_ignore_ascii_case(b"max-age") {
            if let Ok(seconds) = value.parse::<i64>() {
                return seconds <= 0;
            }
        } else if name.eq_ignore_ascii_case(b"expires") {
            expires = is_past(value);
        }
    }
    expires
}

/// `Thu, 01 Jan 1970 00:00:00 GMT`, also with hyphens in the date. What is no date is not past.
fn is_past(date: &str) -> bool {
    let parser = DateTimeParser::new().relaxed_weekday(true);
    // The zone may have a hyphen too: `-0000`.
    let time = parser.parse_timestamp(date);
    let time = time.or_else(|_| parser.parse_timestamp(date.replace('-', " ")));
    time.is_ok_and(|time| time <= Timestamp::now())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(jar: &mut Jar, reply: &str) -> String {
        jar.await_reply();
        jar.feed(reply.as_bytes());
        String::from_utf8(jar.text().to_vec()).unwrap()
    }

    fn setting(cookies: &[&str]) -> String {
        let lines: String = cookies.iter().map(|text| format!("Set-Cookie: {text}\r\n")).collect();
        format!("HTTP/1.1 200 OK\r\nX: y\r\n{lines}\r\nSet-Cookie: body=1\r\n")
    }

    #[test]
    fn what_is_set_is_sent_replaced_and_deleted() {
        let mut jar = Jar::default();
        let mut after = |cookies: &[&str]| after(&mut jar, &setting(cookies));
        assert_eq!(after(&[]), "");
        assert_eq!(after(&["a=1; Path=/; HttpOnly", " b = 2=3 "]), "a=1; b=2=3");
        assert_eq!(
            after(&["c=; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
            "a=1; b=2=3; c="
        );
        assert_eq!(after(&["a=9; expires=Fri, 01 Jan 2100 00:00:00 GMT"]), "a=9; b=2=3; c=");
        assert_eq!(after(&["b=x; max-age=0"]), "a=9; c=");
        assert_eq!(after(&["a=; Expires=Thu, 01-Jan-1970 00:00:00 GMT", "d=4"]), "c=; d=4");
        assert_eq!(after(&["d=; Expires=Thu, 01 Jan 1970 00:00:00 -0000"]), "c=");
        assert_eq!(after(&["c=; Max-Age=-1", "new=1; Max-Age=0"]), "");
    }

    #[test]
    fn what_could_not_be_sent_or_does_not_end_is_not_kept() {
        let mut jar = Jar::default();
        let long = format!("long={}", "x".repeat(LONGEST_LINE));
        let bad = ["no value", "=1", "a=\u{1}", &long, ""];
        assert_eq!(after(&mut jar, &setting(&bad)), "");
        let many: Vec<String> = (0..99).map(|n| format!("n{n}={n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(after(&mut jar, &setting(&many)).split("; ").count(), MOST_COOKIES);
        assert!(after(&mut jar, &setting(&["n3=new", "more=1"])).contains("n3=new; n4=4"));
        assert!(!String::from_utf8_lossy(jar.text()).contains("more"));
    }

    /// By HTTP/1 as a line, by HTTP/2 as a field.
    #[test]
    fn a_cookies_length_has_one_limit_however_it_came() {
        let attributes = "; HttpOnly".repeat(100);
        for (length, is_kept) in [(LONGEST_COOKIE - 1, true), (LONGEST_COOKIE, false)] {
            let cookie = format!("n={}", "v".repeat(length));
            let text = cookie.clone() + &attributes;
            let expected = if is_kept { cookie.as_str() } else { "" };
            assert_eq!(after(&mut Jar::default(), &setting(&[text.as_str()])), expected);
            let mut jar = Jar::default();
            jar.set(text.as_bytes());
            assert_eq!(jar.text(), expected.as_bytes());
        }
    }

    #[test]
    fn an_interim_reply_is_passed_and_a_body_is_not_looked_at() {
        let mut jar = Jar::default();
        let reply = "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nset-cookie:a=1\r\n\r\n\
                     Set-Cookie: b=2\r\n";
        assert_eq!(after(&mut jar, reply), "a=1");
        jar.feed(b"Set-Cookie: c=3\r\n");
        assert_eq!(jar.text(), b"a=1");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_nothing_can_be_smuggled_in(
            bytes in proptest::collection::vec(any::<u8>(), 0..60), at in 0usize..60
        ) {
            let start = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: ".as_slice();
            let reply = [start, &bytes, b"\r\n\r\n"].concat();
            let mut whole = Jar::default();
            whole.await_reply();
            whole.feed(&reply);
            let mut pieces = Jar::default();
            pieces.await_reply();
            reply.chunks(at + 1).for_each(|piece| pieces.feed(piece));
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert!(whole.text().iter().all(|byte| !byte.is_ascii_control()));
        }
    }
}
