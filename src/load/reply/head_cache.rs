//! The last whole head seen on any of a loop's connections, and what it meant.
//!
//! Servers repeat themselves: between two ticks of their `Date` header most of their heads are the
//! same to the byte, and comparing bytes is cheaper than reading lines. Equal bytes have one
//! meaning, so nothing depends on whether a head was remembered.

use super::head::{Body, Head};

/// Longer heads are not remembered.
const LONGEST: usize = 2048;

/// From this length on a body is worth a read of its own, in which it is dropped: that costs less
/// than to copy it together with its head.
const LARGE: u64 = 16 * 1024;

/// Heads of one server mostly differ by less than this.
const MARGIN: usize = 256;

/// Empty at first.
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    head: Head,
    first_read: Option<usize>,
}

impl HeadCache {
    /// What the head that `bytes` begin with meant before, and the bytes behind it; `None` for
    /// another head, or one that has not come whole.
    #[inline]
    pub fn recall<'a>(&self, bytes: &'a [u8]) -> Option<(Head, &'a [u8])> {
        let rest = bytes.strip_prefix(self.bytes.as_slice())?;
        (!self.bytes.is_empty()).then_some((self.head, rest))
    }

    /// How many bytes to read first of a reply whose body can be dropped unseen: enough for a head
    /// like the one that is remembered. `None` where that one has no large body.
    #[inline]
    pub fn first_read(&self) -> Option<usize> {
        self.first_read
    }

    /// Keeps a head (all of its bytes, its empty line included) in place of the one before.
    pub fn keep(&mut self, bytes: &[u8], head: Head) {
        self.forget();
        if bytes.len() <= LONGEST {
            self.bytes.extend_from_slice(bytes);
            self.head = head;
            let is_large = matches!(head.body(false), Body::Length(length) if length >= LARGE);
            self.first_read = is_large.then_some(bytes.len() + MARGIN);
        }
    }

    /// Is empty again.
    pub fn forget(&mut self) {
        self.bytes.clear();
        self.first_read = None;
    }
}
