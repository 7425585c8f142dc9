//! How far another machine's clock is from ours.
//!
//! In: round trips. Out: the difference, and how far off it may be. Only computes.

use std::time::Duration;

/// A question and its answer: our clock before and after, theirs in between; nanoseconds each.
#[derive(Debug, Clone, Copy)]
pub struct RoundTrip {
    pub sent_ns: u64,
    pub theirs_ns: u64,
    pub received_ns: u64,
}

impl RoundTrip {
    fn length_ns(self) -> u64 {
        self.received_ns.saturating_sub(self.sent_ns)
    }
}

/// What is to be added to a time of ours for theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    ns: i128,
    /// It is off by half of the round trip at most: the answer was given somewhere within it
    /// (Cristian, 1989).
    pub round_trip: Duration,
}

impl Offset {
    /// By the shortest of these, which says most; `None` without one.
    pub fn of(trips: &[RoundTrip]) -> Option<Self> {
        let shortest = trips.iter().min_by_key(|trip| trip.length_ns())?;
        let middle = (i128::from(shortest.sent_ns) + i128::from(shortest.received_ns)) / 2;
        Some(Self {
            ns: i128::from(shortest.theirs_ns) - middle,
            round_trip: Duration::from_nanos(shortest.length_ns()),
        })
    }

    /// A time of ours by their clock.
    pub fn theirs_ns(self, ours_ns: u64) -> u64 {
        u64::try_from(i128::from(ours_ns) + self.ns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shortest_round_trip_counts() {
        let trip = |sent_ns, theirs_ns, received_ns| RoundTrip { sent_ns, theirs_ns, received_ns };
        let offset = Offset::of(&[trip(0, 990, 900), trip(1_000, 6_010, 1_020)]).unwrap();
        assert_eq!(offset.round_trip, Duration::from_nanos(20));
        assert_eq!(offset.theirs_ns(2_000), 7_000);
        assert_eq!(Offset::of(&[]), None);
    }

    proptest! {
        #[test]
        fn it_is_off_by_half_of_the_round_trip_at_most(
            offset in -1_000_000_000i64..1_000_000_000,
            trips in proptest::collection::vec((0u64..1_000_000, 0u64..1_000_000), 1..9),
        ) {
            let base = 10_000_000_000u64;
            let mut trips: Vec<RoundTrip> = trips
                .into_iter()
                .map(|(there, back)| RoundTrip {
                    sent_ns: base,
                    theirs_ns: (base + there).checked_add_signed(offset).unwrap(),
                    received_ns: base + there + back,
                })
                .collect();
            trips.reverse();
            let found = Offset::of(&trips).unwrap();
            let true_ns = base.checked_add_signed(offset).unwrap();
            let off = found.theirs_ns(base).abs_diff(true_ns);
            prop_assert!(off <= found.round_trip.as_nanos() as u64 / 2 + 1, "{off}");
        }
    }
}
