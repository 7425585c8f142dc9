//! A loop's part of a load, and a request of it that is due.

use serde::{Deserialize, Serialize};

use super::nanos::Nanos;

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    pub at: Nanos,
    /// The closed model's client that sends it, by its number in its loop; 0 in the open model.
    pub client: u32,
    /// The index of the target that a recording asks for; otherwise the mix says which.
    pub target: Option<u32>,
}

/// One of several, loops or generators, that share a load: `index` counts from 0 and is below `of`.
/// What all of them send together is the load, arrival by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub index: u16,
    pub of: u16,
}

impl Part {
    /// The whole load.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This part's share of `total` things dealt out in turn: the shares of all parts add up.
    pub fn share(self, total: u64) -> u64 {
        let (index, of) = (u64::from(self.index), u64::from(self.of));
        total / of + u64::from(index < total % of)
    }

    /// One of the `parts` that this part has, which is as many as every other has.
    pub fn part(self, index: u16, parts: u16) -> Self {
        Self { index: self.index * parts + index, of: self.of * parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_parts_are_each_there_once() {
        let parts = (0..3).flat_map(|index| (0..4).map(move |inner| (index, inner)));
        let mut found: Vec<u16> = parts
            .map(|(index, inner)| Part { index, of: 3 }.part(inner, 4))
            .inspect(|part| assert_eq!(part.of, 12))
            .map(|part| part.index)
            .collect();
        found.sort_unstable();
        assert_eq!(found, (0..12).collect::<Vec<u16>>());
    }

    #[test]
    fn the_shares_of_all_loops_add_up() {
        for of in 1..9 {
            for total in 0..40 {
                let sum: u64 = (0..of).map(|index| Part { index, of }.share(total)).sum();
                assert_eq!(sum, total, "{total} among {of}");
            }
        }
    }
}
