//! The blocks of time that a question is about.
//!
//! In: the question, and the time. Out: blocks of both sides, or why there are none.

use super::question::{ObserveError, Question, When};
use super::range::{Blocks, OPEN, Range};
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
        if range.to_s > now_s && range.to_s != OPEN {
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

/// What was set beside each other, and how far it holds when somebody looks again. `blocks`: those
/// that were looked at.
pub fn looked_at(when: When, blocks: Blocks) -> CompareNote {
    match when {
        When::BeforeAfter(..) => CompareNote::HoursMatched,
        When::Last(_) => CompareNote::RanAtOnceLately { from: time(blocks.start_s) },
        When::Between(_) | When::Whole => CompareNote::RanAtOnce,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::observe::question::Source;

    fn asked(when: When) -> Question {
        Question {
            source: Source::AccessLogs,
            a: "a".into(),
            b: Some("b".into()),
            when,
            block: Duration::from_secs(300),
        }
    }

    #[test]
    fn the_range_of_a_first_look_is_told_for_the_next_one() {
        let now_s = 1_794_787_200 + 10_000;
        let when = When::Last(Duration::from_secs(3600));
        let ([first, _], _) = blocks(&asked(when), now_s, None).unwrap();
        let CompareNote::RanAtOnceLately { from } = looked_at(when, first) else {
            panic!("{first:?}");
        };
        let again = When::Between(format!("{from}..").parse().unwrap());
        let ([second, _], notes) = blocks(&asked(again), now_s + 600, None).unwrap();
        assert_eq!((second.start_s, second.count), (first.start_s, first.count + 2));
        assert_eq!(notes, [], "an open end is not cut");
        assert_eq!(looked_at(again, second), CompareNote::RanAtOnce);
    }
}
