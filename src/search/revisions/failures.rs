//! Do more requests of one side fail than of the other?
//!
//! In: counts, `(due, failed)`, of A and of B. Out: a [`Standing`] of B. Computes only.
//!
//! Requests fail in bursts: while one server is in trouble, many of its requests are. So what is
//! compared is blocks where there are any, and not requests.

use std::cmp::Ordering;

use crate::search::constants::{
    REVISION_FAILURES_BAND, REVISION_FAILURES_BURST, REVISION_FAILURES_PART,
};
use crate::stats::{binomial, t_quantile};
use crate::terms::Standing;

/// Whether the share of requests that failed, `(due, failed)`, changed from A to B beyond doubt,
/// where each request fails by itself.
pub fn of_failures(a: (u64, u64), b: (u64, u64)) -> Standing {
    match binomial::apart(b, a, 0.975) {
        _ if a.0 == 0 || b.0 == 0 => Standing::Undecided,
        Some(Ordering::Greater) => Standing::Worse,
        Some(_) => Standing::Better,
        None if a.1 == 0 && b.1 == 0 => Standing::Equivalent,
        None => Standing::Undecided,
    }
}

/// By how much larger a share of B's requests fails than of A's, as far as blocks tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareDifference {
    /// Of the differences of both shares, B's less A's, one a block.
    mean: f64,
    /// Standard error of `mean`.
    error: f64,
    /// Of Student's t; 0 of one block, of which nothing follows.
    degrees: f64,
    /// A difference within this counts as none.
    band: f64,
    /// The largest share of any block, of A and of B.
    pub(super) worst: [f64; 2],
}

impl ShareDifference {
    /// Of blocks of A and B that all have requests; `None` without one. With d the difference of
    /// both shares in a block:
    ///
    /// ```text
    /// error^2 = max(s^2 / n, p (1 - p) (1 / due_a + 1 / due_b))
    /// ```
    ///
    /// n: blocks; s: the standard deviation of d; p: the share of all requests that failed. Blocks
    /// never differ by less than independent requests do by chance.
    pub(super) fn of_blocks(blocks: &[[(u64, u64); 2]]) -> Option<Self> {
        if blocks.is_empty() {
            return None;
        }
        let shares: Vec<[f64; 2]> = blocks.iter().map(|[a, b]| [share(*a), share(*b)]).collect();
        let n = shares.len() as f64;
        let mean = shares.iter().map(|[a, b]| b - a).sum::<f64>() / n;
        let squares: f64 = shares.iter().map(|[a, b]| (b - a - mean).powi(2)).sum();
        let sums = |of: fn(&(u64, u64)) -> u64| -> [f64; 2] {
            [0, 1].map(|side: usize| blocks.iter().map(|it| of(&it[side])).sum::<u64>() as f64)
        };
        let ([due_a, due_b], [failed_a, failed_b]) = (sums(|it| it.0), sums(|it| it.1));
        let p = (failed_a + failed_b) / (due_a + due_b);
        let by_chance = p * (1.0 - p) * (1.0 / due_a + 1.0 / due_b);
        // Of one block it is NaN, which `max` leaves out.
        let as_seen = squares / (n - 1.0) / n;
        Some(Self {
            mean,
            error: as_seen.max(by_chance).sqrt(),
            degrees: n - 1.0,
            band: REVISION_FAILURES_BAND + REVISION_FAILURES_PART * failed_a / due_a,
            worst: [0, 1].map(|side: usize| shares.iter().map(|it| it[side]).fold(0.0, f64::max)),
        })
    }

    /// What it says of B. More or fewer requests fail where `|mean(d)| > t(n - 1) error` at a
    /// two-sided confidence `level` (Student 1908). As many do where the 90 % interval lies within
    /// the band, as that of a ratio does, and no start of B failed by far more than those of A.
    pub(super) fn standing_at(&self, level: f64) -> Standing {
        let half = self.half_width(level);
        let reach = self.mean.abs() + self.half_width(0.90);
        match () {
            () if self.mean > half => Standing::Worse,
            () if self.mean < -half => Standing::Better,
            () if reach <= self.band && !self.has_burst() => Standing::Equivalent,
            () => Standing::Undecided,
        }
    }

    /// More of B's failed than counts as equal, whether that is beyond doubt or not.
    pub(super) fn seems_worse(&self) -> bool {
        self.mean > self.band || self.has_burst()
    }

    fn has_burst(&self) -> bool {
        let [a, b] = self.worst;
        b - a > REVISION_FAILURES_BURST
    }

    /// NaN where one block is all, unless none or all of its requests failed.
    fn half_width(&self, level: f64) -> f64 {
        if self.error == 0.0 {
            return 0.0;
        }
        t_quantile(0.5 + 0.5 * level, self.degrees) * self.error
    }
}

fn share((due, failed): (u64, u64)) -> f64 {
    failed as f64 / due as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of blocks of 800 requests each, of which these failed.
    fn difference(failed: &[(u64, u64)]) -> Option<ShareDifference> {
        let blocks: Vec<_> = failed.iter().map(|&(a, b)| [(800, a), (800, b)]).collect();
        ShareDifference::of_blocks(&blocks)
    }

    fn of(failed: &[(u64, u64)]) -> Standing {
        difference(failed).unwrap().standing_at(0.99)
    }

    #[test]
    fn what_fails_in_every_block_is_worse_and_a_burst_in_one_of_them_is_not() {
        for (what, failed, expected) in [
            ("nothing failed", &[(0, 0), (0, 0)][..], Standing::Equivalent),
            ("one block", &[(0, 800)], Standing::Undecided),
            ("a tenth of B's", &[(0, 78), (0, 83), (0, 80)], Standing::Worse),
            ("a tenth of A's", &[(78, 0), (83, 0), (80, 0)], Standing::Better),
            ("all of B's", &[(0, 800), (0, 800), (0, 800)], Standing::Worse),
            ("one burst", &[(0, 0), (0, 240), (0, 0), (0, 0)], Standing::Undecided),
            ("two bursts", &[(0, 240), (0, 0), (0, 240), (0, 0)], Standing::Undecided),
            ("a burst of A's", &[(240, 0), (0, 0), (0, 0), (0, 0)], Standing::Undecided),
            ("as often on both", &[(40, 41), (38, 42), (41, 37)], Standing::Undecided),
            (
                "so for seven blocks",
                &[(40, 41), (38, 42), (41, 37), (37, 39), (42, 40), (40, 38), (39, 41)],
                Standing::Equivalent,
            ),
            ("ten of B's in each", &[(0, 10), (0, 10), (0, 10)], Standing::Undecided),
        ] {
            assert_eq!(of(failed), expected, "{what}");
        }
        assert!(difference(&[]).is_none());
    }

    #[test]
    fn as_many_fail_where_what_they_may_differ_by_is_below_half_a_percentage_point() {
        for (what, failed) in [
            // Their spread is zero, and three requests are few.
            ("one of B's in each", &[(0, 1), (0, 1), (0, 1)][..]),
            ("one of both in all", &[(1, 0), (0, 0), (0, 1)]),
            ("all of both", &[(800, 800), (800, 800)]),
        ] {
            assert_eq!(of(failed), Standing::Equivalent, "{what}");
        }
    }

    #[test]
    fn a_burst_of_b_alone_is_not_forgotten_over_however_many_blocks() {
        let and_fine_ones = |bursts: &[(u64, u64)]| {
            let failed = [bursts, &[(0, 0); 100]].concat();
            let found = difference(&failed).unwrap();
            (found.standing_at(0.99), found.seems_worse())
        };
        assert_eq!(and_fine_ones(&[(0, 120)]), (Standing::Undecided, true));
        assert_eq!(and_fine_ones(&[(120, 0)]), (Standing::Equivalent, false));
        assert_eq!(and_fine_ones(&[(120, 0), (0, 120)]), (Standing::Equivalent, false));
    }
}
