//! Whether a load that runs can still tell anything.
//!
//! In: its seconds as they pass. Out: why it cannot any more. Only computes.

use std::time::Duration;

use super::instrument::Lagging;
use crate::terms::{LiveSecond, Phase};

/// Why going on with a load is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoUse {
    /// The server clearly cannot carry it: the mean number in flight over a second has been above
    /// what is normal for three seconds, and rises.
    Overload,
    /// It says nothing of the server: its generator was late from the first second on.
    Late,
}

/// Seconds in a row that must agree that it is too much.
const SECONDS: usize = 3;

/// Looks at one load.
#[derive(Debug)]
pub struct Hopeless {
    most_in_flight: Option<f64>,
    latency_limit: Option<Duration>,
    /// The mean numbers in flight of the last seconds, at most three, since one was normal.
    above: Vec<f64>,
    lagging: Lagging,
}

impl Hopeless {
    /// `most_in_flight`: more than that are not normal; `None`: any number is. `latency_limit`: the
    /// shortest limit of all goals, by which is judged how late a request may leave.
    pub fn new(most_in_flight: Option<f64>, latency_limit: Option<Duration>) -> Self {
        Self { most_in_flight, latency_limit, above: Vec::new(), lagging: Lagging::default() }
    }

    /// Takes the next second. `None`: going on may be of use.
    pub fn look(&mut self, second: &LiveSecond) -> Option<NoUse> {
        if second.phase == Phase::Drain {
            return None;
        }
        let is_rising = self.is_rising(second.in_flight_mean);
        self.lagging.look(second, self.latency_limit);
        match is_rising {
            true => Some(NoUse::Overload),
            false => self.lagging.is_hopeless(second).then_some(NoUse::Late),
        }
    }

    /// Is this the last of three seconds above what is normal, each above the one before?
    fn is_rising(&mut self, in_flight_mean: f64) -> bool {
        if self.most_in_flight.is_none_or(|most| in_flight_mean <= most) {
            self.above.clear();
            return false;
        }
        if self.above.len() == SECONDS {
            self.above.remove(0);
        }
        self.above.push(in_flight_mean);
        self.above.len() == SECONDS && self.above.windows(2).all(|pair| pair[0] < pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At most 40 in flight, and a twentieth of 200 ms late.
    fn hopeless() -> Hopeless {
        Hopeless::new(Some(40.0), Some(Duration::from_millis(200)))
    }

    #[test]
    fn three_rising_seconds_above_the_line_are_an_overload() {
        let mut hopeless = hopeless();
        let seen = [41.0, 60.0, 80.0].map(|mean| hopeless.look(&LiveSecond::with_in_flight(mean)));
        assert_eq!(seen, [None, None, Some(NoUse::Overload)]);
    }

    #[test]
    fn a_queue_that_falls_again_or_stays_below_goes_on() {
        let mut hopeless = hopeless();
        for in_flight in [41.0, 60.0, 50.0, 60.0, 39.0, 41.0, 42.0, 39.0] {
            assert_eq!(hopeless.look(&LiveSecond::with_in_flight(in_flight)), None, "{in_flight}");
        }
    }

    #[test]
    fn three_seconds_all_late_are_enough_once_one_of_them_was_measured() {
        let ends = |lags_ms: &[u64], warm_up: u64| {
            let mut hopeless = hopeless();
            (1..).zip(lags_ms).find_map(|(at, lag_ms)| {
                let second = LiveSecond {
                    at: Duration::from_secs(at),
                    phase: if at <= warm_up { Phase::WarmUp } else { Phase::Measure },
                    send_lag_p99: Some(Duration::from_millis(*lag_ms)),
                    ..LiveSecond::with_in_flight(1.0)
                };
                (hopeless.look(&second) == Some(NoUse::Late)).then_some(at)
            })
        };
        assert_eq!(ends(&[11, 11, 11, 11], 0), Some(3));
        assert_eq!(ends(&[11, 11, 11, 11], 2), Some(3));
        assert_eq!(ends(&[11, 11, 11, 11, 11], 4), Some(5), "nothing was measured before");
        assert_eq!(ends(&[10, 11, 11, 11, 11], 0), None, "it may yet be one in a hundred");
    }
}
