//! Counts of workers or threads as people write them: `1..4`, `1,2,4,8`, `2`.

use thiserror::Error;

/// More than any server we know runs; a larger number is a slip of the finger.
pub const LARGEST_COUNT: u16 = 1024;

/// A text that names no counts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RangeError {
    #[error("the list is empty; write for example 1..4 or 1,2,4,8")]
    Empty,
    #[error("'{text}' is no whole number; write for example 1..4 or 1,2,4,8")]
    NotACount { text: String },
    #[error("0 is impossible: at least 1 is needed to serve anything; begin at 1")]
    Zero,
    #[error("{number} is more than {LARGEST_COUNT}, the most that is tried")]
    TooLarge { number: String },
    #[error("{first}..{last} ends before it begins; write {last}..{first}")]
    Backwards { first: u16, last: u16 },
}

/// Reads `1..4` and `1..=4` (both ends included), lists of those, and single numbers. The result is
/// ascending, without repeats, and not empty; every number is within 1..=[`LARGEST_COUNT`].
///
/// # Errors
/// As [`RangeError`] says.
pub fn parse_counts(text: &str) -> Result<Vec<u16>, RangeError> {
    let mut counts = Vec::new();
    if text.trim().is_empty() {
        return Err(RangeError::Empty);
    }
    for part in text.split(',') {
        match part.split_once("..") {
            None => counts.push(parse_count(part)?),
            Some((first, last)) => {
                let first = parse_count(first)?;
                let last = parse_count(last.strip_prefix('=').unwrap_or(last))?;
                if last < first {
                    return Err(RangeError::Backwards { first, last });
                }
                counts.extend(first..=last);
            }
        }
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

fn parse_count(text: &str) -> Result<u16, RangeError> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RangeError::NotACount { text: text.to_string() });
    }
    // Only digits are left, so the one way to fail is to be too large.
    match text.parse::<u16>() {
        Ok(0) => Err(RangeError::Zero),
        Ok(number) if number <= LARGEST_COUNT => Ok(number),
        _ => Err(RangeError::TooLarge { number: text.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures;
    use proptest::prelude::*;

    #[test]
    fn ranges_include_both_ends_and_lists_are_sorted() {
        for (text, expected) in [
            ("1..4", vec![1, 2, 3, 4]),
            ("1..=4", vec![1, 2, 3, 4]),
            (" 2 .. 3 ", vec![2, 3]),
            ("8,1,2,4,2", vec![1, 2, 4, 8]),
            ("1..3,8", vec![1, 2, 3, 8]),
            ("2", vec![2]),
            ("1024", vec![1024]),
        ] {
            assert_eq!(parse_counts(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn impossible_ranges_are_named_with_the_way_out() {
        for (text, expected) in [
            ("", "the list is empty; write"),
            ("0", "0 is impossible"),
            ("0..4", "0 is impossible"),
            ("4..1", "4..1 ends before it begins; write 1..4"),
            ("1025", "1025 is more than 1024"),
            ("99999999999", "99999999999 is more than 1024"),
            ("1..", "'' is no whole number"),
            ("..4", "'' is no whole number"),
            ("1,,2", "'' is no whole number"),
            ("1,2,", "'' is no whole number"),
            ("two", "'two' is no whole number"),
            ("-1", "'-1' is no whole number"),
            ("+1", "'+1' is no whole number"),
            ("1.5", "'1.5' is no whole number"),
            ("NaN", "'NaN' is no whole number"),
            ("1...4", "'.4' is no whole number"),
        ] {
            let error = parse_counts(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(counts in prop::collection::btree_set(1u16..=1024, 1..40)) {
            let counts: Vec<u16> = counts.into_iter().collect();
            prop_assert_eq!(parse_counts(&figures::counts(counts.iter().copied())), Ok(counts));
        }

        #[test]
        fn whatever_is_accepted_is_ascending_and_within_bounds(text in "[0-9., =]{0,12}") {
            if let Ok(counts) = parse_counts(&text) {
                prop_assert!(!counts.is_empty());
                prop_assert!(counts.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(counts[0] >= 1 && counts[counts.len() - 1] <= LARGEST_COUNT);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _either = parse_counts(&text);
        }
    }
}
