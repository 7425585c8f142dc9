//! What production says of two settings: B judged against A, both at one time, or before and after
//! a change.
//!
//! In: figures of both, block by block, as somebody else recorded them. Out: pairs of blocks that
//! can be set beside each other, what they say, and a verdict. Computes only.

mod judge;
mod pairs;

use std::collections::BTreeMap;

use crate::terms::FigureKind;
pub use judge::judge;

/// What was seen of one side, in blocks of time that follow each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// When the first block begins, in seconds since 1970; a multiple of `block_s`.
    pub start_s: i64,
    pub block_s: u32,
    /// A value a block, oldest first; `None` where nothing is known. In base units.
    pub figures: BTreeMap<FigureKind, Vec<Option<f64>>>,
}

/// How the two sides lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// Both ran at once, on two parts of the fleet: what happened to both falls out.
    AtOnce,
    /// B is the same fleet later: hours of one weekday are set beside each other.
    BeforeAfter,
}

impl Observed {
    /// The value of the block that begins then.
    fn at(&self, kind: FigureKind, start_s: i64) -> Option<f64> {
        let block = (start_s - self.start_s).div_euclid(i64::from(self.block_s));
        *self.figures.get(&kind)?.get(usize::try_from(block).ok()?)?
    }

    /// When each of its blocks begins.
    fn starts(&self) -> impl Iterator<Item = i64> {
        let longest = self.figures.values().map(Vec::len).max().unwrap_or(0) as i64;
        let (start_s, block_s) = (self.start_s, i64::from(self.block_s));
        (0..longest).map(move |block| start_s + block * block_s)
    }
}
