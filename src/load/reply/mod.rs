//! Reads HTTP/1 replies as bytes arrive, without keeping them: a state machine that allocates
//! nothing and gives the same result however the bytes are split.
//!
//! In: bytes from the connection, in order. Out: the status, where the reply ends, and whether the
//! connection can be used again. It knows no socket and no clock.

mod head;
mod head_cache;
mod line;
#[cfg(test)]
mod tests;

use memchr::memchr;

use head::{Body, Head};
pub use head::{Malformed, Marks};
pub use head_cache::HeadCache;
use line::{Line, LineReader};

/// Most bytes that the head of a reply may have, interim (1xx) heads included; trailers likewise.
const HEAD_LIMIT: usize = 64 * 1024;

/// Most bytes of the line in front of a chunk (its size and extensions).
const CHUNK_LINE_LIMIT: usize = 8 * 1024;

/// Where the reply stands after the bytes given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All bytes were taken and there is more to come.
    More,
    /// The reply is complete; the last `surplus` bytes given do not belong to it.
    Done { surplus: usize },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    StatusLine,
    Header,
    /// The number of bytes of the body that are still to come.
    Length(u64),
    UntilClose,
    ChunkSize,
    Chunk(u64),
    /// The empty line after a chunk's data.
    ChunkEnd,
    Trailer,
    Done,
}

/// One reply in the making. Start it anew for each request.
#[derive(Debug, Default)]
pub struct Reply {
    step: Step,
    lines: LineReader,
    head: Head,
    /// Bytes of the head, or of the trailers, so far.
    head_bytes: usize,
    /// Length of the whole head, interim heads included; 0 before its end.
    head_end: usize,
    is_for_head_request: bool,
    has_begun: bool,
}

impl Reply {
    /// Waits for the reply to a request; replies to `HEAD` have no body whatever their headers say.
    #[inline]
    pub fn restart(&mut self, is_for_head_request: bool) {
        self.step = Step::StatusLine;
        self.lines.clear();
        self.head = Head::default();
        self.head_bytes = 0;
        self.head_end = 0;
        self.is_for_head_request = is_for_head_request;
        self.has_begun = false;
    }

    /// The final reply's status; 0 before its status line was read.
    #[inline]
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// What its head says of caches and proxies on the way.
    #[inline]
    pub fn marks(&self) -> Marks {
        self.head.marks()
    }

    /// True from the first byte on.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the connection stays open for another request after this (complete) reply.
    #[inline]
    pub fn leaves_connection_open(&self) -> bool {
        self.head.leaves_connection_open()
            && !matches!(self.head.body(self.is_for_head_request), Body::UntilClose)
    }

    /// Whether the end of the connection is the end of this reply.
    pub fn is_complete_at_close(&self) -> bool {
        matches!(self.step, Step::UntilClose | Step::Done)
    }

    /// How many of the next bytes are body that need not be looked at; pass over them with
    /// [`skip`](Self::skip).
    #[inline]
    pub fn skippable(&self) -> u64 {
        match self.step {
            Step::Length(left) | Step::Chunk(left) => left,
            Step::UntilClose => u64::MAX,
            _ => 0,
        }
    }

    /// How many of the next bytes may be dropped unseen while the body is passed over: those of
    /// [`skippable`](Self::skippable), and one more where the reply ends with them. That one shows
    /// whether bytes follow that do not belong to the reply.
    #[inline]
    pub fn droppable(&self) -> u64 {
        match self.step {
            Step::Length(left) => left.saturating_add(1),
            _ => self.skippable(),
        }
    }

    /// Passes over `count` bytes, at most [`droppable`](Self::droppable).
    pub fn skip(&mut self, count: u64) -> Progress {
        match &mut self.step {
            Step::Length(left) if count < *left => *left -= count,
            Step::Length(left) => {
                let surplus = (count - *left) as usize;
                self.step = Step::Done;
                return Progress::Done { surplus };
            }
            Step::Chunk(left) => {
                *left -= count;
                if *left == 0 {
                    self.step = Step::ChunkEnd;
                }
            }
            _ => {}
        }
        Progress::More
    }

    /// Takes the next bytes of the connection, at less cost than [`feed`](Self::feed) when the
    /// reply begins with the head that the cache holds.
    ///
    /// # Errors
    /// As [`feed`](Self::feed).
    #[inline]
    pub fn feed_with(
        &mut self,
        bytes: &[u8],
        head_cache: &mut HeadCache,
    ) -> Result<Progress, Malformed> {
        if self.has_begun {
            return self.feed(bytes);
        }
        if let Some((head, rest)) = head_cache.recall(bytes) {
            self.has_begun = true;
            self.head = head;
            self.step = after_head(&head, self.is_for_head_request);
            return match self.step {
                // Most replies come whole.
                Step::Length(length) if length <= rest.len() as u64 => {
                    self.step = Step::Done;
                    Ok(Progress::Done { surplus: rest.len() - length as usize })
                }
                _ => self.feed(rest),
            };
        }
        let progress = self.feed(bytes)?;
        match self.head_end {
            // Too little may have been read for it, by the length of the one that is remembered.
            0 => head_cache.forget(),
            end => head_cache.keep(&bytes[..end], self.head),
        }
        Ok(progress)
    }

    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// The bytes are no HTTP/1 reply; the connection is of no more use.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Progress, Malformed> {
        self.has_begun |= !bytes.is_empty();
        let mut rest = bytes;
        while self.step != Step::Done {
            if rest.is_empty() {
                return Ok(Progress::More);
            }
            let body = self.skippable().min(rest.len() as u64);
            if body > 0 {
                self.skip(body);
                rest = &rest[body as usize..];
            } else {
                rest = self.take_line(rest)?;
            }
        }
        Ok(Progress::Done { surplus: rest.len() })
    }

    /// Reads one line, or what there is of it, and returns what follows.
    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
        let Some(end) = memchr(b'\n', bytes) else {
            self.lines.keep(bytes);
            self.check_limits(bytes.len(), self.lines.length())?;
            let is_hopeless =
                self.step == Step::StatusLine && !head::may_be_status_line(self.lines.partial());
            return if is_hopeless { Err(Malformed) } else { Ok(&[]) };
        };
        self.check_limits(end + 1, self.lines.length() + end)?;
        let line = self.lines.finish(&bytes[..end]);
        let next = match self.step {
            Step::StatusLine => {
                self.head.read_status_line(&line)?;
                Step::Header
            }
            Step::Header if line.is_empty() && self.head.is_interim() => {
                self.head = Head::default();
                Step::StatusLine
            }
            Step::Header if line.is_empty() => {
                self.head_end = self.head_bytes;
                after_head(&self.head, self.is_for_head_request)
            }
            Step::Header => {
                self.head.read_header(&line)?;
                Step::Header
            }
            Step::ChunkSize => {
                self.head_bytes = 0;
                chunk_size(&line)?
            }
            Step::ChunkEnd if line.is_empty() => Step::ChunkSize,
            Step::Trailer if line.is_empty() => Step::Done,
            Step::Trailer => Step::Trailer,
            _ => return Err(Malformed),
        };
        self.lines.clear();
        self.step = next;
        Ok(&bytes[end + 1..])
    }

    /// Bounds what a server can make us read before a reply has to be over.
    fn check_limits(&mut self, taken: usize, line_length: usize) -> Result<(), Malformed> {
        let is_within = match self.step {
            Step::ChunkSize | Step::ChunkEnd => line_length <= CHUNK_LINE_LIMIT,
            _ => {
                self.head_bytes += taken;
                self.head_bytes <= HEAD_LIMIT
            }
        };
        if is_within { Ok(()) } else { Err(Malformed) }
    }
}

/// What follows the empty line after a final head.
#[inline]
fn after_head(head: &Head, is_for_head_request: bool) -> Step {
    match head.body(is_for_head_request) {
        Body::None | Body::Length(0) => Step::Done,
        Body::Length(length) => Step::Length(length),
        Body::Chunked => Step::ChunkSize,
        Body::UntilClose => Step::UntilClose,
    }
}

/// `SIZE[;extensions]`, the size in hexadecimal digits.
fn chunk_size(line: &Line<'_>) -> Result<Step, Malformed> {
    let digits = line.text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let after = line.text[digits..].trim_ascii_start();
    if digits == 0 || digits > 16 || !(after.is_empty() || after[0] == b';') {
        return Err(Malformed);
    }
    let size = line.text[..digits].iter().fold(0u64, |size, byte| {
        let digit = char::from(*byte).to_digit(16).unwrap_or(0);
        (size << 4) | u64::from(digit)
    });
    Ok(if size == 0 { Step::Trailer } else { Step::Chunk(size) })
}
