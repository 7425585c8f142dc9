//! Which of the targets is sent next.
//!
//! In: weights and a random stream. Out: indexes. Must not know what a target is.

use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Longest cycle in which shares are kept exactly.
const LONGEST_CYCLE: u32 = 4096;

/// Chooses among targets by weight.
///
/// In each cycle of (sum of weights / their greatest common divisor) requests every target has
/// exactly its share, in an order shuffled anew, so that a short run has the mix that was asked for
/// too. Only very fine shares are drawn at random.
#[derive(Debug)]
pub struct Mix {
    random: Xoshiro256PlusPlus,
    draw: Draw,
}

#[derive(Debug)]
enum Draw {
    Single,
    Cycle {
        cycle: Vec<u32>,
        at: usize,
    },
    /// Upper ends of each target's share, ascending.
    Random {
        ends: Vec<u64>,
    },
}

impl Mix {
    /// `weights` of at least one target, each 1 or more.
    pub fn new(weights: &[u32], random: Xoshiro256PlusPlus) -> Self {
        let divisor = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
        let sum: u64 = weights.iter().map(|weight| u64::from(weight / divisor)).sum();
        let draw = if weights.len() <= 1 {
            Draw::Single
        } else if sum <= u64::from(LONGEST_CYCLE) {
            let cycle: Vec<u32> = (0u32..)
                .zip(weights)
                .flat_map(|(index, weight)| (0..weight / divisor).map(move |_| index))
                .collect();
            Draw::Cycle { at: cycle.len(), cycle }
        } else {
            let mut end = 0;
            let ends = weights.iter().map(|weight| {
                end += u64::from(*weight);
                end
            });
            Draw::Random { ends: ends.collect() }
        };
        Self { random, draw }
    }

    /// The index of the next request's target.
    #[inline]
    pub fn next(&mut self) -> u32 {
        match &mut self.draw {
            Draw::Single => 0,
            Draw::Cycle { cycle, at } => {
                if *at == cycle.len() {
                    shuffle(cycle, &mut self.random);
                    *at = 0;
                }
                *at += 1;
                cycle[*at - 1]
            }
            Draw::Random { ends } => {
                let drawn = self.random.random_range(0..ends.last().copied().unwrap_or(1));
                ends.partition_point(|end| *end <= drawn) as u32
            }
        }
    }
}

fn shuffle(items: &mut [u32], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.random_range(0..=last));
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    #[test]
    fn every_cycle_has_exactly_the_shares_asked_for_in_changing_order() {
        let mut mix = Mix::new(&[2, 6, 2], random());
        let mut cycles = Vec::new();
        for _ in 0..20 {
            let cycle: Vec<u32> = (0..5).map(|_| mix.next()).collect();
            let count = |target| cycle.iter().filter(|drawn| **drawn == target).count();
            assert_eq!([count(0), count(1), count(2)], [1, 3, 1]);
            cycles.push(cycle);
        }
        cycles.dedup();
        assert!(cycles.len() > 5, "the order changes");
    }

    #[test]
    fn very_fine_shares_are_drawn() {
        let mut mix = Mix::new(&[1, 9_999], random());
        let n = 200_000;
        let rare = (0..n).filter(|_| mix.next() == 0).count();
        // Expected 20; five standard deviations.
        assert!((1..=43).contains(&rare), "{rare}");
    }
}
