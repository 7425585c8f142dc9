//! Lines out of bytes that come in pieces, keeping only as much of a line as decides anything.

/// Bytes of a line's beginning that are looked at: enough for every header that says where a reply
/// ends.
const KEPT: usize = 256;

/// A line without its end (`\r\n` or `\n`).
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// At most its first 256 bytes.
    pub text: &'a [u8],
    /// True when there was more.
    pub is_cut: bool,
}

impl<'a> Line<'a> {
    /// A line of `length` bytes that begins with `kept`, its final `\n` gone already.
    fn new(kept: &'a [u8], length: usize) -> Self {
        let is_cut = length > KEPT;
        let text = match kept {
            [before @ .., b'\r'] if !is_cut => before,
            _ => kept,
        };
        Self { text, is_cut }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The beginning of a line whose end has not come yet.
#[derive(Debug)]
pub struct LineReader {
    kept: [u8; KEPT],
    /// Bytes of the line so far, also those not kept.
    length: usize,
}

impl Default for LineReader {
    fn default() -> Self {
        Self { kept: [0; KEPT], length: 0 }
    }
}

impl LineReader {
    /// The line that ends with `piece` (without its `\n`). One that came in one piece is not
    /// copied. Call [`clear`](Self::clear) before the next line.
    pub fn finish<'a>(&'a mut self, piece: &'a [u8]) -> Line<'a> {
        if self.length == 0 {
            return Line::new(&piece[..piece.len().min(KEPT)], piece.len());
        }
        self.keep(piece);
        Line::new(self.partial(), self.length)
    }

    /// Length so far of the line at hand.
    pub fn length(&self) -> usize {
        self.length
    }

    /// What is kept of a line without its end.
    pub fn partial(&self) -> &[u8] {
        &self.kept[..self.length.min(KEPT)]
    }

    /// Discards the line at hand.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Remembers a piece of a line whose end is still to come.
    pub fn keep(&mut self, piece: &[u8]) {
        let from = self.length.min(KEPT);
        let count = piece.len().min(KEPT - from);
        self.kept[from..from + count].copy_from_slice(&piece[..count]);
        self.length += piece.len();
    }
}
