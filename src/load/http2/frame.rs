//! Frames (RFC 9113, section 4): cut out of the bytes that arrive, in whatever pieces, and written.
//!
//! A frame that came whole is read where it lies; only what ends in the middle of one is kept, and
//! of DATA, which is dropped as it comes, not even that. So what is kept is never more than a
//! frame.

/// Bytes of a frame's head.
pub const HEAD_BYTES: usize = 9;

/// Most bytes of a frame without its head that we take, as the standard has it.
pub const LONGEST_PAYLOAD: usize = 1 << 14;

/// What a frame is.
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// What else a frame's head says, depending on its kind.
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Why a stream or a connection ends (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason(pub u32);

impl Reason {
    pub const NO_ERROR: Self = Self(0);
    pub const PROTOCOL_ERROR: Self = Self(1);
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    pub const REFUSED_STREAM: Self = Self(7);
    pub const CANCEL: Self = Self(8);
    pub const COMPRESSION_ERROR: Self = Self(9);
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
}

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of what follows.
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    /// 0: the connection.
    pub stream: u32,
}

impl FrameHead {
    fn of(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [l1, l2, l3, kind, flags, s1, s2, s3, s4] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l1, l2, l3]) as usize,
            kind,
            flags,
            // The highest bit has no meaning.
            stream: u32::from_be_bytes([s1 & 0x7f, s2, s3, s4]),
        }
    }

    fn bytes(self) -> [u8; HEAD_BYTES] {
        let [_, l1, l2, l3] = (self.length as u32).to_be_bytes();
        let [s1, s2, s3, s4] = self.stream.to_be_bytes();
        [l1, l2, l3, self.kind, self.flags, s1, s2, s3, s4]
    }

    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a whole frame.
pub fn write(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&FrameHead { length: payload.len(), kind, flags, stream }.bytes());
    out.extend_from_slice(payload);
}

/// Makes HEADERS of the header block that stands behind room for a frame's head, from `start` to
/// the end of `out`, and CONTINUATION of what is too long for one frame.
pub fn complete_headers(stream: u32, flags: u8, start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start - HEAD_BYTES;
    if length > LONGEST_PAYLOAD {
        let block = out.split_off(start + HEAD_BYTES);
        out.truncate(start);
        return write_pieces(stream, flags, &block, out);
    }
    let head = FrameHead { length, kind: kind::HEADERS, flags: flags | flag::END_HEADERS, stream };
    out[start..start + HEAD_BYTES].copy_from_slice(&head.bytes());
}

#[cold]
fn write_pieces(stream: u32, flags: u8, block: &[u8], out: &mut Vec<u8>) {
    let (mut kind, mut flags) = (kind::HEADERS, flags);
    let mut pieces = block.chunks(LONGEST_PAYLOAD).peekable();
    while let Some(piece) = pieces.next() {
        let end = if pieces.peek().is_none() { flag::END_HEADERS } else { 0 };
        write(kind, flags | end, stream, piece, out);
        (kind, flags) = (kind::CONTINUATION, 0);
    }
}

/// What comes out of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A whole frame of any kind but DATA, and what it holds.
    Frame(FrameHead, &'a [u8]),
    Data(DataPiece),
}

/// A part of a DATA frame: as much of it as was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPiece {
    pub stream: u32,
    /// Bytes of the frame that count for flow control; all of them with its first part.
    pub counted: usize,
    /// Bytes of the frame that are here, all told.
    pub taken: usize,
    /// Of these the body's.
    pub body: usize,
    /// The frame ends here, and the stream with it.
    pub is_end: bool,
}

/// Cuts frames out of bytes.
#[derive(Debug, Default)]
pub struct Cutter {
    /// The beginning of a frame.
    kept: Vec<u8>,
    /// `kept` has been handed out.
    is_handed_out: bool,
    data: Option<Data>,
}

/// The rest of a DATA frame.
#[derive(Debug, Clone, Copy)]
struct Data {
    stream: u32,
    body: usize,
    padding: usize,
    ends_stream: bool,
}

impl Cutter {
    /// The next of what the bytes hold, which is taken from them; `None` when more is needed.
    ///
    /// # Errors
    /// It is too long, or contradicts itself.
    #[inline]
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Piece<'a>>, Reason> {
        if let Some(data) = self.data {
            return Ok((!bytes.is_empty()).then(|| self.take_data(data, 0, 0, bytes)));
        }
        if std::mem::take(&mut self.is_handed_out) {
            self.kept.clear();
        }
        if self.kept.is_empty() {
            let wanted = wanted(bytes)?;
            if let Some((unit, rest)) = bytes.split_at_checked(wanted) {
                *bytes = rest;
                return self.piece(unit, bytes).map(Some);
            }
        }
        loop {
            let missing = wanted(&self.kept)? - self.kept.len();
            if missing == 0 {
                break;
            }
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            if taken.is_empty() {
                return Ok(None);
            }
            self.kept.extend_from_slice(taken);
            *bytes = rest;
        }
        self.is_handed_out = true;
        let (head, first) = parts(&self.kept);
        if head.kind == kind::DATA {
            let (data, before) = data(head, first)?;
            return Ok(Some(self.take_data(data, head.length, before, bytes)));
        }
        let (head, payload) = parts(&self.kept);
        Ok(Some(Piece::Frame(head, payload)))
    }

    /// What a unit that came whole is.
    fn piece<'a>(&mut self, unit: &'a [u8], behind: &mut &[u8]) -> Result<Piece<'a>, Reason> {
        let (head, payload) = parts(unit);
        if head.kind != kind::DATA {
            return Ok(Piece::Frame(head, payload));
        }
        let (data, before) = data(head, payload)?;
        Ok(self.take_data(data, head.length, before, behind))
    }

    /// Takes as much of a DATA frame as is there. `before`: bytes of it that have been taken.
    fn take_data<'a>(
        &mut self,
        data: Data,
        counted: usize,
        before: usize,
        bytes: &mut &[u8],
    ) -> Piece<'a> {
        let body = data.body.min(bytes.len());
        let padding = data.padding.min(bytes.len() - body);
        *bytes = &bytes[body + padding..];
        let left = Data { body: data.body - body, padding: data.padding - padding, ..data };
        let is_over = left.body + left.padding == 0;
        self.data = (!is_over).then_some(left);
        Piece::Data(DataPiece {
            stream: data.stream,
            counted,
            taken: before + body + padding,
            body,
            is_end: is_over && data.ends_stream,
        })
    }

    /// A frame has begun and is not complete.
    pub fn is_amid_frame(&self) -> bool {
        self.data.is_some() || (!self.is_handed_out && !self.kept.is_empty())
    }
}

/// How many bytes the unit that these begin with has: a frame, or of DATA what comes before the
/// body; a head's while that is not there.
fn wanted(bytes: &[u8]) -> Result<usize, Reason> {
    let length = |[l1, l2, l3]: &[u8; 3]| u32::from_be_bytes([0, *l1, *l2, *l3]) as usize;
    // The length comes first, and of what is no HTTP/2 a whole head need not come.
    if bytes.first_chunk().is_some_and(|first| length(first) > LONGEST_PAYLOAD) {
        return Err(Reason::FRAME_SIZE_ERROR);
    }
    let Some(head) = bytes.first_chunk().map(FrameHead::of) else { return Ok(HEAD_BYTES) };
    Ok(match head.kind {
        kind::DATA => HEAD_BYTES + usize::from(head.has(flag::PADDED) && head.length > 0),
        _ => HEAD_BYTES + head.length,
    })
}

/// The head of a unit, and what follows it.
fn parts(unit: &[u8]) -> (FrameHead, &[u8]) {
    let (head, rest) = unit.split_first_chunk().expect("a unit has a head");
    (FrameHead::of(head), rest)
}

/// What a DATA frame holds, and how many bytes of it come before that. `first`: the byte that says
/// how long the padding is, if there is one.
fn data(head: FrameHead, first: &[u8]) -> Result<(Data, usize), Reason> {
    let (padding, rest) = padding(head, first)?;
    let before = first.len() - rest.len();
    let body = (head.length - before).checked_sub(padding).ok_or(Reason::PROTOCOL_ERROR)?;
    let ends_stream = head.has(flag::END_STREAM);
    Ok((Data { stream: head.stream, body, padding, ends_stream }, before))
}

/// How long the padding behind what a frame holds is, and what follows the byte that says so.
fn padding(head: FrameHead, payload: &[u8]) -> Result<(usize, &[u8]), Reason> {
    match (head.has(flag::PADDED), payload) {
        (true, [padding, rest @ ..]) => Ok((usize::from(*padding), rest)),
        (true, []) => Err(Reason::FRAME_SIZE_ERROR),
        (false, rest) => Ok((0, rest)),
    }
}

/// The number that a frame holds, and nothing else.
///
/// # Errors
/// It holds less or more.
pub fn number(payload: &[u8]) -> Result<u32, Reason> {
    let bytes = payload.try_into().map_err(|_| Reason::FRAME_SIZE_ERROR)?;
    Ok(u32::from_be_bytes(bytes))
}

/// What a HEADERS frame holds without padding and priority: its part of the header block.
///
/// # Errors
/// It is shorter than what it says it has.
pub fn header_block(head: FrameHead, payload: &[u8]) -> Result<&[u8], Reason> {
    let (padding, rest) = padding(head, payload)?;
    let priority = if head.has(flag::PRIORITY) { 5 } else { 0 };
    let rest = rest.get(priority..).ok_or(Reason::FRAME_SIZE_ERROR)?;
    let length = rest.len().checked_sub(padding).ok_or(Reason::PROTOCOL_ERROR)?;
    Ok(&rest[..length])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(kind, flags, stream, payload, &mut out);
        out
    }

    /// All that comes out of bytes that arrive in these pieces; parts of one DATA frame together.
    fn cut(bytes: &[u8], length: usize) -> Result<Vec<String>, Reason> {
        let (mut cutter, mut found) = (Cutter::default(), Vec::new());
        let mut data: Option<DataPiece> = None;
        for mut piece in bytes.chunks(length.max(1)) {
            while let Some(one) = cutter.next(&mut piece)? {
                match one {
                    Piece::Frame(head, payload) => found.push(format!("{head:?} {payload:?}")),
                    Piece::Data(part) => {
                        let before = data.take();
                        let sum = before.map_or(part, |before| DataPiece {
                            counted: before.counted + part.counted,
                            taken: before.taken + part.taken,
                            body: before.body + part.body,
                            ..part
                        });
                        if sum.taken == sum.counted {
                            found.push(format!("{sum:?}"));
                        } else {
                            data = Some(sum);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    #[test]
    fn padding_is_no_body_and_cannot_be_longer_than_its_frame() {
        let padded = frame(kind::DATA, flag::PADDED | flag::END_STREAM, 3, &[2, b'a', 0, 0]);
        let data = DataPiece { stream: 3, counted: 4, taken: 4, body: 1, is_end: true };
        assert_eq!(cut(&padded, 99).unwrap(), [format!("{data:?}")]);
        for (payload, reason) in
            [(&[3, 0, 0][..], Reason::PROTOCOL_ERROR), (&[], Reason::FRAME_SIZE_ERROR)]
        {
            assert_eq!(cut(&frame(kind::DATA, flag::PADDED, 3, payload), 99), Err(reason));
            let head = FrameHead {
                length: payload.len(),
                kind: kind::HEADERS,
                flags: flag::PADDED,
                stream: 1,
            };
            assert_eq!(header_block(head, payload), Err(reason));
        }
        let flags = flag::PADDED | flag::PRIORITY;
        let head = FrameHead { length: 8, kind: kind::HEADERS, flags, stream: 1 };
        assert_eq!(header_block(head, &[1, 0, 0, 0, 0, 16, 0x88, 0]), Ok(&[0x88][..]));
        assert_eq!(header_block(head, &[1, 0, 0]), Err(Reason::FRAME_SIZE_ERROR));
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_by_its_head() {
        assert_eq!(cut(&[0, 0x40, 1, 0, 0, 0, 0, 0, 1], 1), Err(Reason::FRAME_SIZE_ERROR));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            frames in prop::collection::vec(
                (0u8..12, any::<u8>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..40)),
                0..6
            ),
            length in 1usize..60
        ) {
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload))
                .collect();
            let whole = cut(&bytes, bytes.len());
            prop_assert_eq!(&cut(&bytes, 1), &whole);
            prop_assert_eq!(&cut(&bytes, length), &whole);
        }
    }
}
