//! What both sides of a connection say of themselves at its beginning (RFC 9113, section 6.5).

use super::frame::{self, LONGEST_PAYLOAD, Reason, kind};

/// What every connection begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

const LARGEST_WINDOW: u32 = (1 << 31) - 1;
const LARGEST_FRAME: u32 = (1 << 24) - 1;

/// So many requests may be under way before a server has said how many: it is to allow at least as
/// many.
const FIRST_STREAMS: usize = 100;

/// Room for replies, of one stream and of a whole connection, bytes. Bodies are dropped as they
/// come, so that this only has to be more than what a route can hold. Given back by halves, so that
/// no server can send more than there is room for.
pub const WINDOW: u32 = 1 << 30;

/// What bodies may have, of a stream and of a connection, before the other side says otherwise.
pub const FIRST_WINDOW: i64 = 65_535;

/// What the server has said.
#[derive(Debug)]
pub struct ServerSettings {
    /// It has said something.
    pub are_known: bool,
    pub most_streams: usize,
    /// What a stream's body may have before more is allowed.
    pub window: i64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { are_known: false, most_streams: FIRST_STREAMS, window: FIRST_WINDOW }
    }
}

impl ServerSettings {
    /// Takes what a SETTINGS frame holds. `table`: told the bytes of the table for header fields
    /// that it allows, if it says so.
    ///
    /// # Errors
    /// It holds what it must not.
    pub fn take(&mut self, payload: &[u8], mut table: impl FnMut(usize)) -> Result<(), Reason> {
        let (settings, []) = payload.as_chunks::<6>() else { return Err(Reason::FRAME_SIZE_ERROR) };
        if !std::mem::replace(&mut self.are_known, true) {
            self.most_streams = usize::MAX;
        }
        for [i1, i2, v1, v2, v3, v4] in settings {
            let value = u32::from_be_bytes([*v1, *v2, *v3, *v4]);
            match u16::from_be_bytes([*i1, *i2]) {
                HEADER_TABLE_SIZE => table(value as usize),
                // Only clients may be pushed to.
                ENABLE_PUSH if value != 0 => return Err(Reason::PROTOCOL_ERROR),
                MAX_CONCURRENT_STREAMS => self.most_streams = value as usize,
                INITIAL_WINDOW_SIZE if value > LARGEST_WINDOW => {
                    return Err(Reason::FLOW_CONTROL_ERROR);
                }
                INITIAL_WINDOW_SIZE => self.window = i64::from(value),
                MAX_FRAME_SIZE if !(LONGEST_PAYLOAD as u32..=LARGEST_FRAME).contains(&value) => {
                    return Err(Reason::PROTOCOL_ERROR);
                }
                // Longer frames need not be used, and what is unknown may be passed over.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether these are the first bytes of a server: its settings.
pub fn is_greeting(bytes: &[u8]) -> bool {
    matches!(bytes, [0, _, _, kind::SETTINGS, 0, 0, 0, 0, 0, ..])
}

/// Writes what a client says first: nothing may be pushed to it, and how much room a reply has.
pub fn write_preface(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let settings = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, WINDOW)];
    let bytes = settings.map(|(name, value): (u16, u32)| {
        let ([n1, n2], [v1, v2, v3, v4]) = (name.to_be_bytes(), value.to_be_bytes());
        [n1, n2, v1, v2, v3, v4]
    });
    frame::write(kind::SETTINGS, 0, 0, bytes.as_flattened(), out);
}
