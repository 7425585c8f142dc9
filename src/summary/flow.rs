//! Does what goes in come out? The number in flight must not grow.

use crate::stats;
use crate::terms::{LoadSecond, Reason};

/// What the in-flight count did over the measured seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    /// No growth was shown.
    Steady,
    /// It grew beyond doubt and beyond what matters, with the figures.
    Growing(Reason),
}

/// Growth below this share of all requests due is no overload worth a verdict: it is within what a
/// queue does by itself.
const SHARE_THAT_MATTERS: f64 = 0.02;

/// Tests the slope of the in-flight count at the ends of the measured seconds (ordinary least
/// squares with a t-interval that allows for autocorrelation).
pub fn flow(seconds: &[LoadSecond]) -> Flow {
    let in_flight: Vec<f64> = seconds.iter().map(|second| second.in_flight as f64).collect();
    let due: u64 = seconds.iter().map(|second| second.due).sum();
    let Some(slope) = stats::slope(&in_flight) else { return Flow::Steady };
    let growth = slope.per_step * seconds.len() as f64;
    if slope.low > 0.0 && growth > SHARE_THAT_MATTERS * due as f64 {
        let at_end = |second: Option<&LoadSecond>| second.map_or(0, |second| second.in_flight);
        return Flow::Growing(Reason::InFlightGrew {
            growth_per_s: slope.per_step,
            first: at_end(seconds.first()),
            last: at_end(seconds.last()),
        });
    }
    Flow::Steady
}

/// Seconds in a row that must agree.
const SECONDS: usize = 3;

/// Looks at a load while it runs: the mean number in flight over a second, above what is normal for
/// three seconds in a row and rising, is more than the server can carry.
#[derive(Debug, Default)]
pub struct Rising {
    /// The last seconds above, at most three.
    above: Vec<f64>,
}

impl Rising {
    /// Takes the next second, and says whether it is the third of three like that. `most`: the
    /// mean number in flight that is still normal.
    pub fn look(&mut self, in_flight_mean: f64, most: f64) -> bool {
        if in_flight_mean <= most {
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

    fn seconds(in_flight: &[u64], due: u64) -> Vec<LoadSecond> {
        in_flight
            .iter()
            .map(|&in_flight| LoadSecond { due, in_flight, ..LoadSecond::default() })
            .collect()
    }

    #[test]
    fn a_queue_that_grows_each_second_is_growing() {
        let seconds = seconds(&[10, 31, 49, 72, 90, 110], 100);
        let Flow::Growing(Reason::InFlightGrew { growth_per_s, first, last }) = flow(&seconds)
        else {
            panic!("it grows")
        };
        assert!((growth_per_s - 20.0).abs() < 1.0, "{growth_per_s}");
        assert_eq!((first, last), (10, 110));
    }

    #[test]
    fn a_queue_that_moves_about_is_steady() {
        assert_eq!(flow(&seconds(&[10, 14, 9, 12, 8, 11], 100)), Flow::Steady);
        assert_eq!(flow(&seconds(&[0, 1, 2, 3, 4, 5], 1000)), Flow::Steady, "too little to matter");
        assert_eq!(flow(&[]), Flow::Steady);
    }
}
