//! What a reply's head says about where the reply ends. Headers that don't are passed over.

use memchr::memchr;

use super::line::Line;

/// Not HTTP/1 that we understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// What a head says of caches and proxies on the way of its reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// The reply came from a cache: its headers say so, or it says that nothing changed (304).
    pub is_cached: bool,
    /// The reply passed a proxy that says so (`Via`).
    pub has_via: bool,
}

/// Headers by which caches say whether they had it; others that begin so name keys and tags.
const CACHES: [&[u8]; 4] = [b"x-cache", b"x-cache-lookup", b"x-cache-status", b"x-cache-remote"];

impl Marks {
    /// Whether a header of this name may say something of them. Any other costs the look at its
    /// length.
    pub fn are_told_by(name: &[u8]) -> bool {
        match name.len() {
            3 => name.eq_ignore_ascii_case(b"age") || name.eq_ignore_ascii_case(b"via"),
            15 if name.eq_ignore_ascii_case(b"cf-cache-status") => true,
            7 | 14 | 15 => {
                matches!(name[0], b'x' | b'X')
                    && CACHES.iter().any(|known| name.eq_ignore_ascii_case(known))
            }
            _ => false,
        }
    }

    /// Takes note of a header.
    pub fn notice(&mut self, name: &[u8], value: &[u8]) {
        match name.len() {
            _ if !Self::are_told_by(name) => {}
            3 if name.eq_ignore_ascii_case(b"age") => self.is_cached |= is_above_zero(value),
            3 => self.has_via = true,
            _ => self.is_cached |= says_hit(value),
        }
    }

    /// These, of a reply with this status.
    #[inline]
    pub fn of_status(self, status: u16) -> Self {
        Self { is_cached: self.is_cached || status == 304, ..self }
    }
}

/// How the end of the body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    None,
    Length(u64),
    Chunked,
    UntilClose,
}

/// The part of a head that matters to us.
#[derive(Debug, Clone, Copy, Default)]
pub struct Head {
    pub status: u16,
    is_version_1_0: bool,
    content_length: Option<u64>,
    has_transfer_encoding: bool,
    is_chunked: bool,
    says_close: bool,
    says_keep_alive: bool,
    /// The last line was one of ours: a folded continuation could change what it means.
    is_after_framing: bool,
    marks: Marks,
}

const VERSION: &[u8] = b"HTTP/1.";

/// False as soon as the beginning of a line cannot become a status line any more.
pub fn may_be_status_line(partial: &[u8]) -> bool {
    partial.iter().zip(VERSION).all(|(byte, expected)| byte == expected)
}

impl Head {
    /// `HTTP/1.x SSS [reason]`.
    pub fn read_status_line(&mut self, line: &Line<'_>) -> Result<(), Malformed> {
        let Some([minor, b' ', digits @ ..]) = line.text.strip_prefix(VERSION) else {
            return Err(Malformed);
        };
        let ([a, b, c] | [a, b, c, b' ', ..]) = digits else {
            return Err(Malformed);
        };
        if ![*minor, *a, *b, *c].iter().all(u8::is_ascii_digit) {
            return Err(Malformed);
        }
        self.is_version_1_0 = *minor == b'0';
        self.status = [a, b, c].iter().fold(0, |n, digit| n * 10 + u16::from(*digit - b'0'));
        // 101 would mean another protocol from here on; nothing of ours asks for one.
        if self.status < 100 || self.status == 101 { Err(Malformed) } else { Ok(()) }
    }

    /// `Name: value`.
    pub fn read_header(&mut self, line: &Line<'_>) -> Result<(), Malformed> {
        if matches!(line.text.first(), Some(b' ' | b'\t')) {
            return if self.is_after_framing { Err(Malformed) } else { Ok(()) };
        }
        let colon = memchr(b':', line.text).ok_or(Malformed)?;
        let name = line.text[..colon].trim_ascii_end();
        let value = line.text[colon + 1..].trim_ascii();
        self.is_after_framing = true;
        match name.len() {
            0 => return Err(Malformed),
            10 if name.eq_ignore_ascii_case(b"connection") => self.read_connection(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.read_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.read_encoding(value),
            _ => {
                self.is_after_framing = false;
                self.marks.notice(name, value);
            }
        }
        if self.is_after_framing && line.is_cut { Err(Malformed) } else { Ok(()) }
    }

    fn read_connection(&mut self, value: &[u8]) {
        for option in elements(value) {
            self.says_close |= option.eq_ignore_ascii_case(b"close");
            self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Digits; the same length may be repeated, two different ones make the end unknowable.
    fn read_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for text in elements(value) {
            let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(text).ok().filter(|_| is_number);
            let length: u64 = length.and_then(|text| text.parse().ok()).ok_or(Malformed)?;
            if self.content_length.is_some_and(|before| before != length) {
                return Err(Malformed);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    fn read_encoding(&mut self, value: &[u8]) {
        // By older servers: there is none (RFC 2616, section 3.6).
        if value.eq_ignore_ascii_case(b"identity") {
            return;
        }
        self.has_transfer_encoding = true;
        // Only the last coding counts: anything after `chunked` would hide where chunks end.
        let last = elements(value).last().unwrap_or_default();
        self.is_chunked = last.eq_ignore_ascii_case(b"chunked");
    }

    /// What the head says of caches and proxies.
    #[inline]
    pub fn marks(&self) -> Marks {
        self.marks.of_status(self.status)
    }

    /// 1xx: another head follows.
    #[inline]
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// RFC 9112, section 6.3.
    #[inline]
    pub fn body(&self, is_for_head_request: bool) -> Body {
        if is_for_head_request || matches!(self.status, 204 | 304) {
            return Body::None;
        }
        match (self.has_transfer_encoding, self.content_length) {
            (true, _) if self.is_chunked => Body::Chunked,
            (false, Some(length)) => Body::Length(length),
            _ => Body::UntilClose,
        }
    }

    /// As far as the headers say.
    #[inline]
    pub fn leaves_connection_open(&self) -> bool {
        let is_framed_twice = self.has_transfer_encoding && self.content_length.is_some();
        let is_framed_too_early = self.has_transfer_encoding && self.is_version_1_0;
        let is_wished = !self.is_version_1_0 || self.says_keep_alive;
        is_wished && !self.says_close && !is_framed_twice && !is_framed_too_early
    }
}

/// `Age` of a reply that was kept for a while.
fn is_above_zero(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_digit) && value.iter().any(|digit| *digit != b'0')
}

/// `HIT`, `Hit from cloudfront`, `TCP_MEM_HIT`, or `MISS, HIT` of two caches in a row; what follows
/// the first word is the name of a machine, which may hold the letters too.
fn says_hit(value: &[u8]) -> bool {
    elements(value).any(|element| {
        let word = element.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        word.len() >= 3 && word[word.len() - 3..].eq_ignore_ascii_case(b"hit")
    })
}

fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}
