//! What all that are compared within a block of fresh starts share: a random order, and arrivals.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::constants::PROBES_A_START_MOST;

/// In the order of the block of this number, the last one first.
pub(super) fn shuffled<T>(mut queue: Vec<T>, seed: u64, block: u32) -> Vec<T> {
    let seed = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(block));
    queue.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    queue
}

/// Begins what is next in the queue, as far as there are places for it.
pub(super) fn fill<T, Start: Default>(
    queue: &mut Vec<T>,
    starts: &mut Vec<(T, Start)>,
    places: usize,
) {
    while starts.len() < places {
        let Some(next) = queue.pop() else { return };
        starts.push((next, Start::default()));
    }
}

/// All that are compared within a block meet the same arrivals in their first probe, in their
/// second, and so on.
pub(super) fn arrivals_within(block: u32, probe: u32) -> u32 {
    block.wrapping_mul(PROBES_A_START_MOST + 1).wrapping_add(probe)
}
