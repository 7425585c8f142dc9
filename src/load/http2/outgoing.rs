//! What waits to be sent on a connection, in the order in which it is sent.

/// A server that doesn't take more than this many bytes is sent no request, and no answer.
pub const MOST_UNSENT: usize = 1 << 20;

/// Bytes that wait, and how many went before them.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub bytes: Vec<u8>,
    /// How many of these have been sent.
    at: usize,
    /// How many bytes were sent in all.
    pub sent: u64,
}

impl Outgoing {
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// The place of the next byte among all that are sent on the connection.
    pub fn position(&self) -> u64 {
        self.sent + self.unsent().len() as u64
    }

    pub fn is_full(&self) -> bool {
        self.unsent().len() >= MOST_UNSENT
    }

    /// So many of the unsent bytes have been sent.
    pub fn advance(&mut self, count: usize) {
        self.at += count;
        self.sent += count as u64;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        } else if self.at >= MOST_UNSENT {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_makes_room_however_little_is_sent_at_a_time() {
        let mut outgoing = Outgoing::default();
        for _ in 0..4 {
            outgoing.bytes.resize(outgoing.bytes.len() + MOST_UNSENT, 0);
            outgoing.advance(MOST_UNSENT - 1);
            assert!(outgoing.bytes.len() < 2 * MOST_UNSENT + 4);
        }
        assert_eq!((outgoing.unsent().len(), outgoing.position()), (4, 4 << 20));
        outgoing.advance(4);
        assert!(outgoing.bytes.is_empty() && !outgoing.is_full());
    }
}
