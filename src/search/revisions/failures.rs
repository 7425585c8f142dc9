//! Do more requests of one side fail than of the other?
//!
//! In: counts, `(due, failed)`, of A and of B. Out: a [`Standing`] of B. Computes only.
//!
//! Requests fail in bursts: while one server is in trouble, many of its requests are. So what is
//! compared is blocks where there are any, and not requests.

use std::cmp::Ordering;

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

/// Whether the share of requests that fail differs beyond doubt, at a two-sided confidence `level`,
/// by blocks of A and B that all have requests: with d the difference of both shares in a block,
/// beyond doubt is
///
/// ```text
/// |mean(d)| > t(n - 1) e,   e^2 = max(s^2 / n, p (1 - p) (1 / due_a + 1 / due_b))
/// ```
///
/// t: the quantile of Student's t; n: blocks; s: the standard deviation of d (Student 1908); p: the
/// share of all requests that failed. Blocks never differ by less than independent requests do by
/// chance.
pub(super) fn of_blocks(blocks: &[[(u64, u64); 2]], level: f64) -> Standing {
    let sum = |side: usize, of: fn(&(u64, u64)) -> u64| -> f64 {
        blocks.iter().map(|block| of(&block[side])).sum::<u64>() as f64
    };
    let [due_a, due_b] = [0, 1].map(|side| sum(side, |it| it.0));
    let failed = sum(0, |it| it.1) + sum(1, |it| it.1);
    if !blocks.is_empty() && failed == 0.0 {
        return Standing::Equivalent;
    }
    if blocks.len() < 2 {
        return Standing::Undecided;
    }
    let share = |(due, failed): (u64, u64)| failed as f64 / due as f64;
    let differences: Vec<f64> = blocks.iter().map(|[a, b]| share(*b) - share(*a)).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences.iter().map(|it| (it - mean).powi(2)).sum();
    let p = failed / (due_a + due_b);
    let by_chance = p * (1.0 - p) * (1.0 / due_a + 1.0 / due_b);
    let error = (squares / (n - 1.0) / n).max(by_chance).sqrt();
    let half = t_quantile(0.5 + 0.5 * level, n - 1.0) * error;
    match () {
        () if mean > half => Standing::Worse,
        () if mean < -half => Standing::Better,
        () => Standing::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 800 requests each, of which these failed.
    fn of(failed: &[(u64, u64)]) -> Standing {
        let blocks: Vec<_> = failed.iter().map(|&(a, b)| [(800, a), (800, b)]).collect();
        of_blocks(&blocks, 0.99)
    }

    #[test]
    fn what_fails_in_every_block_is_worse_and_a_burst_in_one_of_them_is_not() {
        for (what, failed, expected) in [
            ("nothing was measured", &[][..], Standing::Undecided),
            ("nothing failed", &[(0, 0), (0, 0)], Standing::Equivalent),
            ("one block", &[(0, 800)], Standing::Undecided),
            ("a tenth of B's", &[(0, 78), (0, 83), (0, 80)], Standing::Worse),
            ("a tenth of A's", &[(78, 0), (83, 0), (80, 0)], Standing::Better),
            ("all of B's", &[(0, 800), (0, 800), (0, 800)], Standing::Worse),
            ("all of both", &[(800, 800), (800, 800)], Standing::Undecided),
            ("one burst", &[(0, 0), (0, 240), (0, 0), (0, 0)], Standing::Undecided),
            ("two bursts", &[(0, 240), (0, 0), (0, 240), (0, 0)], Standing::Undecided),
            // Their spread is zero, and three requests are few.
            ("one each", &[(0, 1), (0, 1), (0, 1)], Standing::Undecided),
            ("as often on both", &[(40, 41), (38, 42), (41, 37)], Standing::Undecided),
        ] {
            assert_eq!(of(failed), expected, "{what}");
        }
    }
}
