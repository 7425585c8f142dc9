//! A loop's part of a load, and a request of it that is due.

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

/// One of several loops that share a load: `index` counts from 0 and is below `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub index: u16,
    pub of: u16,
}

impl Part {
    /// The whole load in one loop.
    #[cfg(test)]
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This part's share of `total` things dealt out in turn: the shares of all parts add up.
    pub fn share(self, total: u32) -> u32 {
        let (index, of) = (u32::from(self.index), u32::from(self.of));
        total / of + u32::from(index < total % of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_loops_add_up() {
        for of in 1..9 {
            for total in 0..40 {
                let sum: u32 = (0..of).map(|index| Part { index, of }.share(total)).sum();
                assert_eq!(sum, total, "{total} among {of}");
            }
        }
    }
}
