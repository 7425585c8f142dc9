//! The last whole head seen on any of a loop's connections, and what it meant.
//!
//! Servers repeat themselves: between two ticks of their `Date` header most of their heads are the
//! same to the byte, and comparing bytes is cheaper than reading lines. Equal bytes have one
//! meaning, so nothing depends on whether a head was remembered.

use super::head::Head;

/// Longer heads are not remembered.
const LONGEST: usize = 2048;

/// Empty at first.
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    head: Head,
}

impl HeadCache {
    /// What the head that `bytes` begin with meant before, and the bytes behind it; `None` for
    /// another head, or one that has not come whole.
    #[inline]
    pub fn recall<'a>(&self, bytes: &'a [u8]) -> Option<(Head, &'a [u8])> {
        let rest = bytes.strip_prefix(self.bytes.as_slice())?;
        (!self.bytes.is_empty()).then_some((self.head, rest))
    }

    /// Keeps a head (all of its bytes, its empty line included) in place of the one before.
    pub fn keep(&mut self, bytes: &[u8], head: Head) {
        self.bytes.clear();
        if bytes.len() <= LONGEST {
            self.bytes.extend_from_slice(bytes);
            self.head = head;
        }
    }
}
