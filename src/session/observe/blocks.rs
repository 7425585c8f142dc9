//! The blocks of time that a question is about.
//!
//! In: the question, and the time. Out: blocks of both sides, or why there are none.

use super::question::{ObserveError, Question, When};
use super::range::{Blocks, Range};
use crate::place::ecs::cloudwatch::time;
use crate::terms::CompareNote;

/// Days are compared hour by hour.
const HOUR_S: i64 = 3600;

/// The blocks of A and of B that the question is about, as of `now_s`; a range that reaches beyond
/// is cut, which is noted. `whole`: where the logs overlap.
///
/// # Errors
/// A range lies in the future, or is shorter than a block.
pub fn blocks(
    question: &Question,
    now_s: i64,
    whole: Option<Range>,
) -> Result<([Blocks; 2], Vec<CompareNote>), ObserveError> {
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
        When::BeforeAfter(before, after) => [cut(before, HOUR_S)?, cut(after, HOUR_S)?],
        When::Between(range) => [cut(range, block_s)?; 2],
        When::Last(length) => {
            let length_s = i64::try_from(length.as_secs()).unwrap_or(now_s).min(now_s);
            [cut(Range { from_s: now_s - length_s, to_s: now_s }, block_s)?; 2]
        }
        When::Whole => {
            let missing = || ObserveError::Usage("say --last or --between: which time".to_string());
            [cut(whole.ok_or_else(missing)?, block_s)?; 2]
        }
    };
    Ok((both, notes))
}
