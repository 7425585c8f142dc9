//! When a load began, which another host may send: it joins first, and begins when all is ready.
//!
//! In: the seconds of a load, as they are told. Out: a moment by the clock here. Only computes.

use std::time::Instant;

use crate::terms::LiveSecond;

/// The beginning of a load, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct Began {
    /// When it was asked for: it did not begin before.
    asked: Instant,
    /// As its seconds tell; `None`: none of them is over.
    told: Option<Instant>,
}

impl Began {
    /// A load that is asked for now.
    pub fn asked_at(now: Instant) -> Self {
        Self { asked: now, told: None }
    }

    /// One of its seconds is told, which is over by now.
    pub fn note(&mut self, second: &LiveSecond, now: Instant) {
        let latest = now.checked_sub(second.at).unwrap_or(self.asked).max(self.asked);
        self.told = Some(self.told.map_or(latest, |told| told.min(latest)));
    }

    /// The earliest of what its seconds tell, since each may be told late; when it was asked for,
    /// where none was told.
    pub fn at(&self) -> Instant {
        self.told.unwrap_or(self.asked)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_load_that_begins_some_time_after_it_was_asked_for_is_known_by_its_seconds() {
        let asked = Instant::now();
        let after = |ms: u64| asked + Duration::from_millis(ms);
        let second = |at_s: u64| LiveSecond {
            at: Duration::from_secs(at_s),
            ..LiveSecond::with_in_flight(1.0)
        };
        let mut began = Began::asked_at(asked);
        assert_eq!(began.at(), asked);
        // It begins after 20 s; its seconds come 30, 10 and 50 ms late.
        for (at_s, told_ms, expected_ms) in
            [(1, 21_030, 20_030), (2, 22_010, 20_010), (3, 23_050, 20_010)]
        {
            began.note(&second(at_s), after(told_ms));
            assert_eq!(began.at(), after(expected_ms), "second {at_s}");
        }
        let mut odd = Began::asked_at(asked);
        odd.note(&second(5), after(1000));
        assert_eq!(odd.at(), asked, "not before it was asked for");
    }
}
