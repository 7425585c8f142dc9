//! One request of a load and what became of it, for outputs with a row a request.

use std::fmt;

use serde::Serialize;

use super::load_record::ErrorCounts;

/// Why a request got no reply; each counts in the class of the same name in [`ErrorCounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestError {
    Refused,
    Reset,
    Timeout,
    Malformed,
    AddressUnavailable,
    Tls,
    Dns,
    ClosedEarly,
    Dropped,
}

/// As reports say it.
impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::AddressUnavailable => "no address or port left",
            Self::Tls => "tls",
            Self::Dns => "dns",
            Self::ClosedEarly => "closed early",
            Self::Dropped => "dropped",
        })
    }
}

impl ErrorCounts {
    /// Counts one more in its class.
    pub fn count(&mut self, error: RequestError) {
        *self.class(error) += 1;
    }

    /// All classes together.
    pub fn total(&self) -> u64 {
        self.by_class().iter().map(|(_, count)| count).sum()
    }

    /// Adds another count, class by class.
    pub fn add(&mut self, other: &Self) {
        for (error, count) in other.by_class() {
            *self.class(error) += count;
        }
    }

    fn class(&mut self, error: RequestError) -> &mut u64 {
        match error {
            RequestError::Refused => &mut self.refused,
            RequestError::Reset => &mut self.reset,
            RequestError::Timeout => &mut self.timeout,
            RequestError::Malformed => &mut self.malformed,
            RequestError::AddressUnavailable => &mut self.address_unavailable,
            RequestError::Tls => &mut self.tls,
            RequestError::Dns => &mut self.dns,
            RequestError::ClosedEarly => &mut self.closed_early,
            RequestError::Dropped => &mut self.dropped,
        }
    }

    /// Every class with its count, zeros too.
    pub fn by_class(&self) -> [(RequestError, u64); 9] {
        // Taken apart, so that a class that is added can't be forgotten here.
        let Self {
            refused,
            reset,
            timeout,
            malformed,
            address_unavailable,
            tls,
            dns,
            closed_early,
            dropped,
        } = *self;
        [
            (RequestError::Refused, refused),
            (RequestError::Reset, reset),
            (RequestError::Timeout, timeout),
            (RequestError::Malformed, malformed),
            (RequestError::AddressUnavailable, address_unavailable),
            (RequestError::Tls, tls),
            (RequestError::Dns, dns),
            (RequestError::ClosedEarly, closed_early),
            (RequestError::Dropped, dropped),
        ]
    }
}

/// One request; small, because there is one for every request of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRow {
    /// When it was due, nanoseconds since the beginning of the load (warm-up included).
    pub due_ns: u64,
    /// From due to the last byte of its reply, or until it was given up.
    pub latency_ns: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// From 0, in the order in which requests were due, in each loop.
    pub sequence: u64,
    /// Which of the load's targets, from 0.
    pub target: u32,
    /// Of the reply; 0 without one.
    pub status: u16,
    /// Why there is no reply; `None` when there is one.
    pub error: Option<RequestError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_add_up_to_the_total() {
        let errors = ErrorCounts {
            refused: 1,
            reset: 2,
            timeout: 4,
            malformed: 8,
            address_unavailable: 16,
            tls: 32,
            dns: 64,
            closed_early: 128,
            dropped: 256,
        };
        let classes = errors.by_class();
        assert_eq!(classes.iter().map(|(_, count)| count).sum::<u64>(), 511);
        assert_eq!(errors.total(), 511);
        assert_eq!(classes[3], (RequestError::Malformed, 8));
        let mut counted = ErrorCounts::default();
        classes.iter().for_each(|(class, n)| (0..*n).for_each(|_| counted.count(*class)));
        assert_eq!(counted, errors);
        counted.add(&errors);
        assert_eq!(counted.by_class(), classes.map(|(class, count)| (class, 2 * count)));
        assert_eq!(format!("{:>8}|", RequestError::Dns), "     dns|");
    }
}
