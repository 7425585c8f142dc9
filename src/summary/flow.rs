//! Does what goes in come out? The number in flight must not grow.

use crate::stats;
use crate::terms::{LoadSecond, Reason};

/// Growth below this share of all requests due is no overload worth a verdict: it is within what a
/// queue does by itself.
const SHARE_THAT_MATTERS: f64 = 0.02;

/// Tests the slope of the in-flight count at the ends of the measured seconds (ordinary least
/// squares with a t-interval that allows for autocorrelation). `None`: it was not shown to grow
/// beyond doubt and beyond what matters.
pub fn flow(seconds: &[LoadSecond]) -> Option<Reason> {
    let in_flight: Vec<f64> = seconds.iter().map(|second| second.in_flight as f64).collect();
    let due: u64 = seconds.iter().map(|second| second.due).sum();
    let slope = stats::slope(&in_flight)?;
    let growth = slope.value * seconds.len() as f64;
    let (first, last) = (seconds.first()?.in_flight, seconds.last()?.in_flight);
    let is_growing = slope.low > 0.0 && growth > SHARE_THAT_MATTERS * due as f64;
    is_growing.then_some(Reason::InFlightGrew { growth_per_s: slope.value, first, last })
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
        let Some(Reason::InFlightGrew { growth_per_s, first, last }) = flow(&seconds) else {
            panic!("it grows")
        };
        assert!((growth_per_s - 20.0).abs() < 1.0, "{growth_per_s}");
        assert_eq!((first, last), (10, 110));
    }

    #[test]
    fn a_queue_that_moves_about_is_steady() {
        assert_eq!(flow(&seconds(&[10, 14, 9, 12, 8, 11], 100)), None);
        assert_eq!(flow(&seconds(&[0, 1, 2, 3, 4, 5], 1000)), None, "too little to matter");
        assert_eq!(flow(&[]), None);
    }
}
