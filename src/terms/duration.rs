//! Durations as people write them: `90s`, `10m`, `1h30m`, `500ms`.

use std::time::Duration;

use super::units::UnitError;

const EXPECTED: &str = "a duration such as 500ms, 90s, 10m or 1h30m";

/// Nanoseconds in a unit; `None` for an unknown one.
fn nanoseconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// Reads numbers with their units, largest unit first, such as `1h30m`, `1.5s` or `2m 30s`.
///
/// # Errors
/// A number without a unit, an unknown unit, a unit out of order or named twice, or more than a
/// `Duration` holds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let unreadable = || UnitError::Unreadable { text: text.to_string(), expected: EXPECTED };
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    let mut smallest = f64::INFINITY;
    if rest.is_empty() {
        return Err(unreadable());
    }
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(unreadable)?;
        let (number, after) = rest.split_at(unit_at);
        let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let scale = nanoseconds(unit).filter(|&s| s < smallest).ok_or_else(unreadable)?;
        let part = Some(number.trim())
            .filter(|n| n.starts_with(|c: char| c.is_ascii_digit()))
            .and_then(|n| n.parse::<f64>().ok())
            .and_then(|n| Duration::try_from_secs_f64(n * scale / 1e9).ok())
            .ok_or_else(unreadable)?;
        total = total.checked_add(part).ok_or_else(unreadable)?;
        smallest = scale;
        rest = next.trim_start();
    }
    Ok(total)
}

/// The shortest text that [`parse_duration`] reads as this duration, to the microsecond.
pub fn format_duration(duration: Duration) -> String {
    let mut left = duration.as_micros();
    let units: [(&str, u128); 5] =
        [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1)];
    let mut text = String::new();
    for (unit, microseconds) in units {
        if left >= microseconds {
            text.push_str(&format!("{}{unit}", left / microseconds));
            left %= microseconds;
        }
    }
    if text.is_empty() { "0s".to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("10min", 600_000),
            ("1h30m", 5_400_000),
            (" 2m 30s ", 150_000),
            ("1.5s", 1500),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn a_duration_that_could_mean_two_things_is_refused() {
        for text in [
            "",
            " ",
            "10",
            "m",
            "ten minutes",
            "10 parsecs",
            "-5s",
            "1e3s",
            "30m1h",
            "5s5s",
            "NaNs",
        ] {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains("1h30m"), "{text}: {error}");
        }
        let endless = format!("{}h", "9".repeat(40));
        assert!(parse_duration(&endless).is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(microseconds in 0u64..1_000_000_000_000) {
            let duration = Duration::from_micros(microseconds);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _either = parse_duration(&text);
        }
    }
}
