//! Ranges of time, and the blocks that fit into them.
//!
//! In: what was typed. Out: a range, or what is wrong with it.

use std::fmt;
use std::str::FromStr;

use crate::place::ecs::cloudwatch::time;
use crate::plan::traffic::parse_time;

/// Seconds since 1970, the end not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub from_s: i64,
    /// The largest number there is: until now.
    pub to_s: i64,
}

/// The end of a range that has none.
pub const OPEN: i64 = i64::MAX;

/// Blocks of one length that follow each other; each begins at a multiple of its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    pub start_s: i64,
    pub block_s: i64,
    pub count: usize,
}

impl FromStr for Range {
    type Err = String;

    /// Reads `2026-11-20..2026-11-27` or `2026-11-20T08:00Z..2026-11-20T20:00Z`; without a zone in
    /// UTC. Without an end it is until now.
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write for example 2026-11-16..2026-11-23";
        let (from, to) = text.split_once("..").ok_or_else(|| example.to_string())?;
        let second = |text: &str| {
            let nanoseconds = parse_time(text);
            let known = nanoseconds.map(|it| it.div_euclid(1_000_000_000));
            known.ok_or_else(|| format!("'{text}' is no time; {example}"))
        };
        let to_s = if to.is_empty() { OPEN } else { second(to)? };
        let range = Self { from_s: second(from)?, to_s };
        match range.from_s < range.to_s {
            true => Ok(range),
            false => Err(format!("the range is empty: it ends at {to}, and begins at {from}")),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.to_s == OPEN { String::new() } else { time(self.to_s) };
        write!(f, "{}..{to}", time(self.from_s))
    }
}

impl Range {
    /// The whole blocks in it.
    pub fn blocks(&self, block_s: i64) -> Blocks {
        let first = self.from_s.div_euclid(block_s) + i64::from(self.from_s % block_s != 0);
        let count = self.to_s.div_euclid(block_s) - first;
        let count = usize::try_from(count).unwrap_or(0);
        Blocks { start_s: first * block_s, block_s, count }
    }
}

impl Blocks {
    pub fn range(&self) -> Range {
        Range { from_s: self.start_s, to_s: self.end_s() }
    }

    /// Which of them this second is in.
    pub fn index(&self, second: i64) -> Option<usize> {
        let block = usize::try_from((second - self.start_s).div_euclid(self.block_s)).ok()?;
        (block < self.count).then_some(block)
    }

    pub fn end_s(&self) -> i64 {
        self.start_s + self.block_s * self.count as i64
    }
}

/// The later range begins after the earlier one has ended; else what is wrong.
pub fn check_order(before: &Range, after: &Range) -> Result<(), String> {
    if before.to_s <= after.from_s {
        return Ok(());
    }
    let why = if after.to_s <= before.from_s { "lies after" } else { "overlaps with" };
    Err(format!("--before {before} {why} --after {after}; the change lies between the two"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_empty_ones_refused() {
        let range: Range = "2026-11-16..2026-11-16T12:30:00+02:00".parse().unwrap();
        assert_eq!((range.from_s, range.to_s), (1_794_787_200, 1_794_825_000));
        assert_eq!(range.to_string(), "2026-11-16T00:00:00Z..2026-11-16T10:30:00Z");
        let open: Range = "2026-11-16T08:00:00Z..".parse().unwrap();
        assert_eq!((open.to_s, open.to_string().as_str()), (OPEN, "2026-11-16T08:00:00Z.."));
        for (text, expected) in [
            ("2026-11-16", "write for example"),
            ("2026-11-16..soon", "'soon' is no time"),
            ("2026-11-16..2026-11-16", "is empty"),
            ("2026-11-17..2026-11-16", "is empty"),
        ] {
            let error = text.parse::<Range>().unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn blocks_lie_on_multiples_of_their_length() {
        let blocks = Range { from_s: 301, to_s: 1499 }.blocks(300);
        assert_eq!((blocks.start_s, blocks.count, blocks.end_s()), (600, 2, 1200));
        assert_eq!(Range { from_s: 300, to_s: 900 }.blocks(300).count, 2);
        assert_eq!(Range { from_s: 301, to_s: 302 }.blocks(300).count, 0);
        let seconds = [599, 600, 899, 900, 1199, 1200];
        let expected = [None, Some(0), Some(0), Some(1), Some(1), None];
        assert_eq!(seconds.map(|second| blocks.index(second)), expected);
        assert_eq!(blocks.range(), Range { from_s: 600, to_s: 1200 });
    }

    #[test]
    fn the_change_lies_between_the_ranges() {
        let range = |from_s, to_s| Range { from_s, to_s };
        assert_eq!(check_order(&range(0, 5), &range(5, 9)), Ok(()));
        let said = |before, after| check_order(&before, &after).unwrap_err();
        assert!(said(range(0, 6), range(5, 9)).contains("overlaps with"));
        assert!(said(range(5, 9), range(0, 5)).contains("lies after"));
    }
}
