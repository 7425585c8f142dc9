//! Durations counted in the same buckets as an HDR histogram with three significant digits, at a
//! few instructions each: what a loop records while requests are under way. Once a second they are
//! drained into [`Latencies`], which can be merged, stored and queried.
//!
//! The buckets (HdrHistogram, G. Tene): up to 2047 microseconds one each; from there on every
//! doubling has 1024 of them, so that none is wider than 0.1 % of what it counts.

use std::time::Duration;

use super::shape::Span;
use crate::terms::Latencies;

/// Below this, in microseconds, every value has a bucket of its own.
const SINGLE: u64 = 2048;

/// Buckets of a doubling, as a power of two.
const DOUBLING_BITS: u32 = 10;

/// What is longer counts as an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Buckets are added in multiples of this.
const GROWTH: usize = 1024;

/// Where a duration is counted, the same place in all [`Durations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket(usize);

impl Bucket {
    /// That of a duration.
    #[inline]
    pub fn of(span: Span) -> Self {
        Self(bucket((span.get() / 1000).min(LONGEST_US)))
    }
}

/// Counts by bucket; as many buckets as the longest duration so far needs.
#[derive(Debug, Default)]
pub struct Durations {
    counts: Vec<u32>,
}

impl Durations {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.count(Bucket::of(span));
    }

    /// Counts one duration that belongs into this bucket.
    #[inline]
    pub fn count(&mut self, Bucket(bucket): Bucket) {
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        } else {
            self.count_first(bucket);
        }
    }

    /// Seldom: what was once needed is kept for the seconds to come.
    #[cold]
    fn count_first(&mut self, bucket: usize) {
        self.counts.resize((bucket / GROWTH + 1) * GROWTH, 0);
        self.counts[bucket] = 1;
    }

    /// Everything counted so far; it is empty afterwards.
    pub fn drain(&mut self) -> Latencies {
        let counted = self.counted();
        self.counts.fill(0);
        counted
    }

    /// Everything counted so far.
    pub fn counted(&self) -> Latencies {
        let mut counted = Latencies::default();
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            counted.record_n(Duration::from_micros(lowest(bucket)), u64::from(*count));
        }
        counted
    }
}

#[inline]
fn bucket(us: u64) -> usize {
    if us < SINGLE {
        return us as usize;
    }
    let doubling = us.ilog2() - DOUBLING_BITS;
    ((u64::from(doubling) << DOUBLING_BITS) + (us >> doubling)) as usize
}

/// The lowest value, in microseconds, that a bucket counts.
fn lowest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SINGLE {
        return bucket;
    }
    let doubling = (bucket >> DOUBLING_BITS) - 1;
    (bucket - (doubling << DOUBLING_BITS)) << doubling
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_drained_is_gone() {
        let mut durations = Durations::default();
        durations.record(Span::millis(5));
        assert_eq!(durations.drain().count(), 1);
        assert!(durations.drain().is_empty());
    }

    #[test]
    fn more_than_an_hour_counts_as_one() {
        let mut durations = Durations::default();
        durations.record(Span::new(u64::MAX));
        let longest = durations.drain().max().unwrap().as_secs_f64();
        assert!((longest / 3600.0 - 1.0).abs() < 0.001, "{longest}");
    }

    #[test]
    fn what_is_counted_in_several_by_one_bucket_is_the_same_in_all() {
        let (mut long, mut short) = (Durations::default(), Durations::default());
        long.record(Span::SECOND);
        for milliseconds in [3, 700, 3] {
            let bucket = Bucket::of(Span::millis(milliseconds));
            long.count(bucket);
            short.count(bucket);
        }
        let buckets = |counted: Latencies| counted.buckets().collect::<Vec<_>>();
        let [long, short] = [long, short].map(|mut one| buckets(one.drain()));
        assert_eq!((long.len(), &long[..2]), (3, &short[..]));
    }

    proptest! {
        #[test]
        fn the_buckets_are_those_of_the_histogram(
            values in prop::collection::vec(0u64..5_000_000_000_000, 1..200)
        ) {
            let (mut durations, mut expected) = (Durations::default(), Latencies::default());
            for nanoseconds in values {
                durations.record(Span::new(nanoseconds));
                expected.record(Duration::from_nanos(nanoseconds));
            }
            let drained = durations.drain();
            prop_assert_eq!(
                drained.buckets().collect::<Vec<_>>(),
                expected.buckets().collect::<Vec<_>>()
            );
        }

        #[test]
        fn a_bucket_begins_at_its_lowest_value(us in 0u64..=LONGEST_US) {
            let found = bucket(us);
            prop_assert!(lowest(found) <= us && us < lowest(found + 1));
        }
    }
}
