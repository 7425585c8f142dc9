//! The blocks of time that a question is about.
//!
//! In: the question, and the time. Out: blocks of both sides, or why there are none.

use super::question::{ObserveError, Question, When};
use super::range::{Blocks, Range};
use crate::place::ecs::cloudwatch::time;
use crate::terms::CompareNote;

/// Days are compared hour by hour.
const HOUR_S: i64 = 3600;

/// The blocks of A and of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlocksOfBoth {
    pub a: Blocks,
    pub b: Blocks,
}

impl BlocksOfBoth {
    pub fn each(&self) -> [Blocks; 2] {
        [self.a, self.b]
    }
}

/// The blocks that the question is about, as of `now_s`; a range that reaches beyond is cut, which
/// is noted. `whole`: where the logs overlap.
///
/// # Errors
/// A range lies in the future, or is shorter than a block.
pub fn blocks(
    question: &Question,
    now_s: i64,
    whole: Option<Range>,
) -> Result<(BlocksOfBoth, Vec<CompareNote>), ObserveError> {
    let block_s = i64::try_from(question.block.as_secs()).unwrap_or(HOUR_S).max(1);
    let mut notes = Vec::new();
    let mut cut = |range: Range, block_s: i64| {
        if range.from_s >= now_s {
            return Err(ObserveError::Usage(format!(
                "the range {range} is yet to come: it is {}",
                time(now_s)
            )));
        }
        if range.to_s > now_s {
            notes.push(CompareNote::RangeCut { to: time(now_s) });
        }
        let blocks = Range { to_s: range.to_s.min(now_s), ..range }.blocks(block_s);
        match blocks.count {
            0 => {
                Err(ObserveError::Usage(format!("{range} is shorter than a block of {block_s} s")))
            }
            _ => Ok(blocks),
        }
    };
    let both = match question.when {
        When::BeforeAfter(before, after) => {
            BlocksOfBoth { a: cut(before, HOUR_S)?, b: cut(after, HOUR_S)? }
        }
        When::Between(range) => {
            let blocks = cut(range, block_s)?;
            BlocksOfBoth { a: blocks, b: blocks }
        }
        When::Last(length) => {
            let length_s = i64::try_from(length.as_secs()).unwrap_or(now_s).min(now_s);
            let blocks = cut(Range { from_s: now_s - length_s, to_s: now_s }, block_s)?;
            BlocksOfBoth { a: blocks, b: blocks }
        }
        When::Whole => {
            let missing = || ObserveError::Usage("say --last or --between: which time".to_string());
            let blocks = cut(whole.ok_or_else(missing)?, block_s)?;
            BlocksOfBoth { a: blocks, b: blocks }
        }
    };
    Ok((both, notes))
}
