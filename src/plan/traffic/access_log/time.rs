//! Times as access logs write them.
//!
//! In: a text. Out: nanoseconds since 1970. Only distances matter: where a time says no zone, any
//! will do.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// As nginx's and Apache's `time_local`.
const LOCAL: &str = "%d/%b/%Y:%H:%M:%S%.f %z";

/// The zone as Ruby prints it.
const RUBYS_UTC: &str = " UTC";

/// More is meant as milliseconds: as seconds it would be the year 5138.
const MOST_SECONDS: f64 = 1e11;

/// The year 2128; nanoseconds can hold it.
const LATEST: f64 = 5e9;

/// `10/Oct/2025:13:55:36 +0200`, ISO 8601, `2025-10-10 13:55:36 UTC`, or seconds since 1970.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    // As Ruby prints a time; without a zone it is taken for that.
    let text = text.strip_suffix(RUBYS_UTC).unwrap_or(text);
    if let Ok(seconds) = text.parse() {
        return of_seconds(seconds);
    }
    let timestamp = match text.contains('/') {
        true => Timestamp::strptime(LOCAL, text).ok()?,
        false => text.parse::<Timestamp>().or_else(|_| without_zone(text)).ok()?,
    };
    i64::try_from(timestamp.as_nanosecond()).ok()
}

fn without_zone(text: &str) -> Result<Timestamp, jiff::Error> {
    Offset::UTC.to_timestamp(text.parse::<DateTime>()?)
}

/// Seconds since 1970, or milliseconds if they are too many for that; to the microsecond.
pub fn of_seconds(seconds: f64) -> Option<i64> {
    let seconds = if seconds >= MOST_SECONDS { seconds / 1e3 } else { seconds };
    let is_time = (0.0..LATEST).contains(&seconds);
    is_time.then(|| (seconds * 1e6).round() as i64 * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_each_spelling() {
        let second = 1_760_097_336_000_000_000;
        for (text, expected) in [
            ("10/Oct/2025:13:55:36 +0200", Some(second)),
            ("10/Oct/2025:11:55:36.250 +0000", Some(second + 250_000_000)),
            ("2025-10-10T13:55:36+02:00", Some(second)),
            ("2025-10-10T11:55:36.25Z", Some(second + 250_000_000)),
            ("2025-10-10 11:55:36", Some(second)),
            ("2025-10-10 11:55:36 UTC", Some(second)),
            (" 1760097336.123 ", Some(second + 123_000_000)),
            ("1760097336123", Some(second + 123_000_000)),
            ("10/Foo/2025:13:55:36 +0200", None),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("1e99", None),
            ("yesterday", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
