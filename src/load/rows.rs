//! A row for each request that has ended, where the load keeps rows.
//!
//! Rows are handed over in pieces. When they are not taken as fast as they come, no more than a
//! bound is kept: what is beyond it is left out, and counted.

use crate::terms::RequestRow;

/// Rows of a piece.
const PIECE: usize = 1024;

/// Most rows of a loop that may wait to be taken: 80 MiB.
const MOST_WAITING: usize = 1 << 20;

/// The rows of one loop that have not been handed over.
#[derive(Debug, Default)]
pub struct Rows {
    piece: Vec<RequestRow>,
    waiting: usize,
    /// How many rows there was no room for.
    pub left_out: u64,
}

impl Rows {
    /// Takes a row, and gives a piece when one is full.
    pub fn add(&mut self, row: RequestRow) -> Option<Vec<RequestRow>> {
        if self.waiting >= MOST_WAITING {
            self.left_out += 1;
            return None;
        }
        self.piece.push(row);
        self.waiting += 1;
        (self.piece.len() >= PIECE).then(|| std::mem::take(&mut self.piece))
    }

    /// Gives what there is, if anything.
    pub fn take(&mut self) -> Option<Vec<RequestRow>> {
        (!self.piece.is_empty()).then(|| std::mem::take(&mut self.piece))
    }

    /// This many rows, handed over before, have been taken by the coordinator.
    pub fn taken(&mut self, rows: usize) {
        self.waiting = self.waiting.saturating_sub(rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: RequestRow = RequestRow {
        due_ns: 0,
        latency_ns: 1,
        bytes_in: 0,
        bytes_out: 0,
        sequence: 0,
        target: 0,
        status: 200,
        error: None,
    };

    #[test]
    fn rows_come_in_pieces_and_the_rest_when_asked_for() {
        let mut rows = Rows::default();
        let pieces = (0..2 * PIECE + 1).filter_map(|_| rows.add(ROW)).collect::<Vec<_>>();
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE, PIECE]);
        assert_eq!(rows.take().map(|rest| rest.len()), Some(1));
        assert_eq!(rows.take(), None);
    }

    #[test]
    fn what_is_not_taken_is_bounded_and_counted() {
        let mut rows = Rows::default();
        (0..MOST_WAITING + 5).for_each(|_| drop(rows.add(ROW)));
        assert_eq!(rows.left_out, 5);
        rows.taken(PIECE);
        drop(rows.add(ROW));
        assert_eq!(rows.left_out, 5);
    }
}
