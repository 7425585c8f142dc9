//! The rhythm of a log: when each of its requests is due again.
//!
//! In: arrivals as a log has them. Out: times since the first of them. Must not wait for them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// Index of its target.
    pub target: u32,
}

/// How many times as fast as it was, above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// As it was.
    pub const SAME: Self = Self(1.0);
}

/// Beyond, nothing of the rhythm is left.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// Reads `2x` or `0.5`.
impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_end_matches(['x', 'X']).parse();
        let speed = number.ok().filter(|speed| SPEEDS.contains(speed)).map(Self);
        speed.ok_or_else(|| {
            format!(
                "'{text}' is no speed from {}x to {}x; write for example 2x for twice as fast",
                SPEEDS.start(),
                SPEEDS.end()
            )
        })
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

const SECOND: i64 = 1_000_000_000;

/// When requests are due, from the first on, with the indexes of their targets; ascending.
///
/// Most logs have whole seconds: those of one second are then spread evenly over it, in the order
/// of the log. A log that has any fraction of a second is taken at its word.
pub fn replay(mut arrivals: Vec<Arrival>, speed: Speed) -> Vec<(Duration, u32)> {
    // Stable: a log is written when requests end, and then nearly in order.
    arrivals.sort_by_key(|arrival| arrival.at);
    let has_fractions = arrivals.iter().any(|arrival| arrival.at % SECOND != 0);
    let first = arrivals.first().map_or(0, |arrival| arrival.at);
    let mut times = Vec::with_capacity(arrivals.len());
    for together in arrivals.chunk_by(|a, b| a.at == b.at) {
        let distance = match has_fractions {
            true => 0.0,
            false => SECOND as f64 / together.len() as f64,
        };
        for (place, arrival) in together.iter().enumerate() {
            let since = (arrival.at - first) as f64 + place as f64 * distance;
            times.push((Duration::from_nanos((since / speed.0) as u64), arrival.target));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrivals(times: &[i64]) -> Vec<Arrival> {
        (0..).zip(times).map(|(target, at)| Arrival { at: *at, target }).collect()
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn requests_of_one_second_are_spread_over_it_in_their_order() {
        let second = |n: i64| 1_760_000_000 * SECOND + n * SECOND;
        let log = arrivals(&[second(0), second(0), second(2), second(0), second(0), second(1)]);
        let expected =
            [(0, 0), (250, 1), (500, 3), (750, 4), (1000, 5), (2000, 2)].map(|(t, n)| (ms(t), n));
        assert_eq!(replay(log.clone(), Speed::SAME), expected);
        let twice = replay(log, "2x".parse().unwrap());
        assert_eq!(twice, expected.map(|(time, target)| (time / 2, target)));
    }

    #[test]
    fn fractions_of_seconds_are_taken_as_they_are() {
        let log = arrivals(&[SECOND, SECOND, 5 * SECOND / 2]);
        let times = replay(log, Speed::SAME);
        assert_eq!(times, [(ms(0), 0), (ms(0), 1), (ms(1500), 2)]);
        assert_eq!(replay(Vec::new(), Speed::SAME), []);
    }

    #[test]
    fn speeds_are_read_and_shown() {
        for (text, shown) in [("2x", "2x"), ("0.5X", "0.5x"), (" 10 ", "10x")] {
            assert_eq!(text.parse::<Speed>().unwrap().to_string(), shown);
        }
        for text in ["", "x", "0x", "-1x", "nan", "inf", "1e9x", "fast"] {
            let error = text.parse::<Speed>().unwrap_err();
            assert!(error.contains("is no speed from 0.001x to 1000x"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_request_is_there_once_in_order_within_its_second(
            seconds in proptest::collection::vec(0i64..20, 1..60)
        ) {
            let log: Vec<i64> = seconds.iter().map(|second| second * SECOND).collect();
            let first = *seconds.iter().min().unwrap();
            let times = replay(arrivals(&log), Speed::SAME);
            prop_assert!(times.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for (time, target) in &times {
                let second = seconds[*target as usize] - first;
                prop_assert_eq!(time.as_secs(), second as u64);
            }
            let mut targets: Vec<u32> = times.iter().map(|(_, target)| *target).collect();
            targets.sort_unstable();
            prop_assert_eq!(targets, (0..seconds.len() as u32).collect::<Vec<_>>());
        }
    }
}
