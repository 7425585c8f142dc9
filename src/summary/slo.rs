//! Is the goal met? Counted and tested exactly.
//!
//! Each part of a goal is a share of requests that may break it: 5 % may be slower than the limit
//! of a p95. The number that did is tested against the binomial distribution with that share.
//! Requests that are due close together fare alike, so the numbers are first divided by the design
//! effect: by how much more the share varies between blocks of one second than it would by chance
//! (Kish, Survey Sampling, 1965, section 8.2).

use std::collections::BTreeMap;
use std::time::Duration;

use statrs::function::beta::beta_reg;

use crate::stats::binomial;
use crate::terms::{
    Certainty, Edge, ErrorCounts, GOOD_STATUSES, Latencies, LoadSecond, QuantileLimit, Slo,
    SloTerm, TargetSecond, TermCount, Verdict,
};

/// Probability of calling goals met, or not met, that are exactly at their limits, however many.
///
/// All have to be met for a yes, so that each may be tested at this level (intersection-union test:
/// Berger 1982). One that is not met is a no, so that each is tested at this level divided by their
/// number (Bonferroni).
pub const ALPHA: f64 = 0.05;

/// With fewer blocks their spread says nothing about correlation, and requests count as
/// independent.
const FEWEST_BLOCKS: usize = 5;

/// Autocorrelation of blocks that is believed, at most: what it takes to be more is a trend, which
/// the flow shows.
const ALIKE_MOST: f64 = 0.9;

/// How many requests broke one part of a goal, and of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violations {
    pub count: u64,
    pub of: u64,
}

/// What became of requests that were due in one second: all of a load's, or some targets'.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    pub due: u64,
    pub status: &'a BTreeMap<u16, u64>,
    pub errors: &'a ErrorCounts,
    pub latency: &'a Latencies,
}

impl<'a> From<&'a LoadSecond> for Ends<'a> {
    fn from(second: &'a LoadSecond) -> Self {
        let LoadSecond { due, status, errors, latency, .. } = second;
        Self { due: *due, status, errors, latency }
    }
}

impl<'a> From<&'a TargetSecond> for Ends<'a> {
    fn from(second: &'a TargetSecond) -> Self {
        let TargetSecond { status, errors, latency } = second;
        Self { due: second.due(), status, errors, latency }
    }
}

/// What the requests say of one part of a goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub verdict: Verdict,
    /// The figures.
    pub count: TermCount,
    /// The plain figures meet it, without any test.
    pub leans: bool,
    /// Requests that it takes to be certain even if none breaks it.
    pub needed: u64,
    /// See [`Edge`].
    pub edge: Option<Edge>,
}

impl Judged {
    /// There were too few requests to be certain even if none had broken it.
    pub fn is_short(&self) -> bool {
        self.count.requests < self.needed
    }
}

/// What follows from several verdicts: one that is missed decides, then one that is open.
pub fn together(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    verdicts.into_iter().fold(Verdict::Yes, |all, one| match (all, one) {
        (Verdict::No, _) | (_, Verdict::No) => Verdict::No,
        (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
        (Verdict::Yes, Verdict::Yes) => Verdict::Yes,
    })
}

/// What follows from all parts of a goal, with those that decide.
pub fn conclude(parts: &[Judged]) -> (Verdict, Vec<TermCount>) {
    let verdict = together(parts.iter().map(|part| part.verdict));
    let decisive = parts.iter().filter(|part| part.verdict == verdict);
    (verdict, decisive.map(|part| part.count.clone()).collect())
}

/// A goal and, for each part of it, what broke it in each second so far.
#[derive(Debug)]
pub struct Judge<'a> {
    slo: &'a Slo,
    /// Probability of calling one part of it missed that is exactly at its limit.
    missed_alpha: f64,
    quantiles: Vec<Part>,
    errors: Option<Part>,
}

/// One part of a goal.
#[derive(Debug, Default)]
struct Part {
    /// A second each.
    blocks: Vec<Violations>,
    /// Some second had more failures than slow requests.
    is_about_failures: bool,
}

impl<'a> Judge<'a> {
    /// `parts`: how many parts all goals have together that the same requests are judged by.
    pub fn new(slo: &'a Slo, parts: usize) -> Self {
        let quantiles = slo.quantiles.iter().map(|_| Part::default()).collect();
        let errors = slo.errors.map(|_| Part::default());
        Self { slo, missed_alpha: ALPHA / parts.max(1) as f64, quantiles, errors }
    }

    /// Takes the next second that counts.
    pub fn take(&mut self, second: Ends<'_>) {
        let counted = if self.slo.errors.is_some() { slower } else { slower_or_failed };
        for (limit, part) in self.slo.quantiles.iter().zip(&mut self.quantiles) {
            let block = counted(limit, second);
            part.is_about_failures |= block.count > slower(limit, second).count;
            part.blocks.push(block);
        }
        if let Some(part) = &mut self.errors {
            part.blocks.push(failed(second));
        }
    }

    /// What is to be said of each part of the goal. Undecided when the requests are too few to
    /// tell: a p95 needs 59 without a violation, a p99 299.
    pub fn parts(&self) -> Vec<Judged> {
        let quantiles = self.slo.quantiles.iter().map(|&limit| limit.into()).zip(&self.quantiles);
        let errors = self
            .slo
            .errors
            .zip(self.errors.as_ref())
            .map(|(allowed, part)| (SloTerm::Errors { allowed_ratio: allowed.get() }, part));
        quantiles.chain(errors).map(|(term, part)| part.judged(term, self.missed_alpha)).collect()
    }
}

impl Part {
    /// Is the share of violations below what this term of the goal allows?
    fn judged(&self, term: SloTerm, missed_alpha: f64) -> Judged {
        let allowed = term.allowed_ratio();
        let Violations { count, of } = total(&self.blocks);
        let needed =
            if allowed == 0.0 { 1 } else { binomial::needed_without(allowed, 1.0 - ALPHA) };
        let effect = if allowed == 0.0 { 1.0 } else { design_effect(&self.blocks) };
        let verdict = verdict(Violations { count, of }, allowed, effect, missed_alpha);
        let certainty = match verdict {
            Verdict::Yes | Verdict::No => Certainty::Certain,
            Verdict::Undecided if of < needed => Certainty::TooFew { needed },
            Verdict::Undecided => Certainty::TooClose,
        };
        Judged {
            verdict,
            count: TermCount {
                term,
                violations: count,
                requests: of,
                counts_failures: self.is_about_failures,
                effective_requests: (effect > 1.05).then(|| of as f64 / effect),
                certainty,
            },
            leans: count as f64 <= allowed * of as f64,
            needed,
            edge: match term {
                SloTerm::Latency { limit_s, .. } => edge(&self.blocks, allowed, limit_s),
                SloTerm::Errors { .. } => None,
            },
        }
    }
}

/// Requests above the limit, or never answered. Rather too many than too few: how many errors are
/// above the limit too is not known, and but for those given up, these count twice.
fn slower(part: &QuantileLimit, second: Ends<'_>) -> Violations {
    let above = second.latency.count_above(part.limit);
    // Those given up count with the time given up and so are mostly above the limit already; other
    // errors came quickly, as a rule, and break the goal all the same.
    let given_up = second.errors.timeout + second.errors.dropped;
    let quick = second.errors.total() - given_up;
    Violations { count: (above.max(given_up) + quick).min(second.due), of: second.due }
}

/// Requests above the limit or failed, for a goal that says nothing of errors: a quick 500 must not
/// meet it. Which of the slow ones failed is not known, so the greater of the two counts: no more
/// than there are, but for errors above the limit, which [`slower`] counts twice.
fn slower_or_failed(part: &QuantileLimit, second: Ends<'_>) -> Violations {
    let (slower, failed) = (slower(part, second), failed(second));
    Violations { count: slower.count.max(failed.count), of: second.due }
}

/// Requests without a reply, or with one that is neither 2xx nor 3xx.
pub fn failed(second: Ends<'_>) -> Violations {
    let good = good_of(second.status);
    Violations { count: second.due.saturating_sub(good), of: second.due }
}

/// 2xx and 3xx replies.
pub fn good(second: &LoadSecond) -> u64 {
    good_of(&second.status)
}

fn good_of(status: &BTreeMap<u16, u64>) -> u64 {
    status.range(GOOD_STATUSES).map(|(_, count)| count).sum()
}

/// 2xx and 3xx replies within the limit. Slow replies of other statuses cannot be told apart from
/// slow good ones and count against these: never too many.
pub fn good_within(all: Ends<'_>, limit: Option<Duration>) -> u64 {
    let good = good_of(all.status);
    let Some(limit) = limit else { return good };
    let given_up = all.errors.timeout + all.errors.dropped;
    let slow_replies = all.latency.count_above(limit).saturating_sub(given_up);
    good.saturating_sub(slow_replies)
}

/// Is the share of violations below `allowed`? `effect`: so many requests count as one.
fn verdict(
    Violations { count, of }: Violations,
    allowed: f64,
    effect: f64,
    missed_alpha: f64,
) -> Verdict {
    if allowed == 0.0 {
        return match (of, count) {
            (0, _) => Verdict::Undecided,
            (_, 0) => Verdict::Yes,
            _ => Verdict::No,
        };
    }
    let (k, n) = (count as f64 / effect, of as f64 / effect);
    if at_most(k, n, allowed) <= ALPHA {
        Verdict::Yes
    } else if at_least(k, n, allowed) <= missed_alpha {
        Verdict::No
    } else {
        Verdict::Undecided
    }
}

fn total(blocks: &[Violations]) -> Violations {
    Violations {
        count: blocks.iter().map(|block| block.count).sum(),
        of: blocks.iter().map(|block| block.of).sum(),
    }
}

/// How many times as many as may be, or as few, still tell how far off the edge is.
const EDGE_FACTOR: f64 = 4.0;

/// Half a request is added to either side, so that none at all is not infinitely few; the error is
/// that of a share, `sqrt(effect (1 - r) / k)`.
fn edge(blocks: &[Violations], allowed: f64, limit_s: f64) -> Option<Edge> {
    let Violations { count, of } = total(blocks);
    let (count, of) = (count as f64, of as f64);
    if count == 0.0 || of * allowed < 1.0 {
        return None;
    }
    let excess_log = ((count + 0.5) / (of * allowed + 0.5)).ln();
    let excess_sd = (design_effect(blocks) * (1.0 - count / of) / count).sqrt();
    let is_near = excess_log.abs() <= EDGE_FACTOR.ln();
    is_near.then_some(Edge { excess_log, excess_sd, limit_s, allowed_ratio: allowed })
}

/// P(X <= k) for X ~ Binomial(n, p), continued to real k and n: I(1-p; n-k, k+1), with I the
/// regularised incomplete beta function (Abramowitz and Stegun, 26.5.24). 1 when n is 0.
fn at_most(k: f64, n: f64, p: f64) -> f64 {
    if k >= n { 1.0 } else { beta_reg(n - k, k + 1.0, 1.0 - p) }
}

/// P(X >= k) for X ~ Binomial(n, p), continued likewise: I(p; k, n-k+1).
fn at_least(k: f64, n: f64, p: f64) -> f64 {
    if k <= 0.0 { 1.0 } else { beta_reg(k, n - k + 1.0, p) }
}

/// Variance of the share over blocks divided by what independent requests would show; 1 or more.
///
/// share r = sum k / sum n; variance of r = m / (m - 1) * sum (k - r n)^2 / (sum n)^2 over m blocks
/// (ratio estimator: Cochran, Sampling Techniques, 1977, section 2.11), independent: r (1 - r) /
/// sum n. A queue near its capacity forgets slowly, so that neighbouring blocks fare alike: m of
/// them tell as much as m (1 - a) / (1 + a), a being the autocorrelation of k - r n (Bartlett,
/// 1935).
fn design_effect(blocks: &[Violations]) -> f64 {
    let blocks: Vec<(f64, f64)> = blocks
        .iter()
        .filter(|block| block.of > 0)
        .map(|block| (block.count as f64, block.of as f64))
        .collect();
    let m = blocks.len() as f64;
    let k: f64 = blocks.iter().map(|(k, _)| k).sum();
    let n: f64 = blocks.iter().map(|(_, n)| n).sum();
    if blocks.len() < FEWEST_BLOCKS || k == 0.0 || k == n {
        return 1.0;
    }
    let r = k / n;
    let beyond: Vec<f64> = blocks.iter().map(|(k, n)| k - r * n).collect();
    let spread: f64 = beyond.iter().map(|it| it * it).sum();
    let together: f64 = beyond.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = (together / spread).clamp(0.0, ALIKE_MOST);
    let variance = m / (m - 1.0) * spread / (n * n) * (1.0 + alike) / (1.0 - alike);
    (variance / (r * (1.0 - r) / n)).max(1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::terms::ErrorCounts;

    #[test]
    fn blocks_that_resemble_their_neighbours_count_for_less() {
        let share = |at: usize| if at % 8 < 4 { 12 } else { 0 };
        let apart = |at: usize| if at.is_multiple_of(2) { 12 } else { 0 };
        let effect = |of: &dyn Fn(usize) -> u64| {
            let block = |at| Violations { count: of(at), of: 100 };
            design_effect(&(0..64).map(block).collect::<Vec<_>>())
        };
        // Shares are as different from block to block in both.
        let (together, alone) = (effect(&share), effect(&apart));
        assert!((alone - 100.0 * 0.06 * 0.06 / (0.06 * 0.94) * 64.0 / 63.0).abs() < 0.01);
        assert!((2.5..3.2).contains(&(together / alone)), "{together} {alone}");
    }

    /// A second in which `fast` requests took 10 ms, and `slow` ones 300 ms.
    fn second(fast: u64, slow: u64) -> LoadSecond {
        let mut second = LoadSecond { due: fast + slow, sent: fast + slow, ..Default::default() };
        second.status.insert(200, fast + slow);
        second.latency.record_n(Duration::from_millis(10), fast);
        second.latency.record_n(Duration::from_millis(300), slow);
        second
    }

    fn judged(slo: &str, seconds: &[LoadSecond]) -> (Verdict, Vec<TermCount>) {
        let slo = slo.parse().unwrap();
        let mut judge = Judge::new(&slo, slo.parts());
        seconds.iter().for_each(|second| judge.take(second.into()));
        conclude(&judge.parts())
    }

    fn edge_of(slo: &str, seconds: &[LoadSecond]) -> Option<Edge> {
        let slo = slo.parse().unwrap();
        let mut judge = Judge::new(&slo, slo.parts());
        seconds.iter().for_each(|second| judge.take(second.into()));
        judge.parts().first()?.edge
    }

    #[test]
    fn near_the_edge_it_is_told_how_near_and_far_from_it_nothing_is() {
        let slo = "p95<200ms";
        let seconds = |slow: u64| vec![second(100 - slow, slow); 10];
        let just = edge_of(slo, &seconds(5)).unwrap();
        assert!(just.excess_log.abs() < 1e-9 && just.limit_s == 0.2, "{just:?}");
        let (fewer, more) = (edge_of(slo, &seconds(3)), edge_of(slo, &seconds(10)));
        assert!((more.unwrap().excess_log - 2f64.ln()).abs() < 0.02, "{more:?}");
        assert!((fewer.unwrap().excess_log - 0.6f64.ln()).abs() < 0.02, "{fewer:?}");
        // 50 of 1000, as if independent: sqrt(0.95 / 50).
        assert!((just.excess_sd - 0.138).abs() < 0.001, "{just:?}");
        for slow in [0, 1, 25, 100] {
            assert_eq!(edge_of(slo, &seconds(slow)), None, "{slow} % too slow");
        }
    }

    #[test]
    fn slow_requests_that_come_together_tell_less_of_the_edge() {
        let mut bunched = vec![second(100, 0); 9];
        bunched.push(second(50, 50));
        let spread = edge_of("p95<200ms", &vec![second(95, 5); 10]).unwrap();
        let bunched = edge_of("p95<200ms", &bunched).unwrap();
        assert_eq!(bunched.excess_log, spread.excess_log);
        assert!(bunched.excess_sd > 3.0 * spread.excess_sd, "{bunched:?} {spread:?}");
    }

    fn met(slo: &str, seconds: &[LoadSecond]) -> Option<bool> {
        judged(slo, seconds).0.met()
    }

    #[test]
    fn a_goal_is_certified_by_exactly_as_many_requests_as_the_binomial_needs() {
        for (slo, needed) in [("p95<200ms", 59), ("p99<200ms", 299), ("errors<1%", 299)] {
            assert_eq!(met(slo, &[second(needed - 1, 0)]), None, "{slo}");
            assert_eq!(met(slo, &[second(needed, 0)]), Some(true), "{slo}");
        }
        assert_eq!(met("p99<200ms", &[second(472 - 1, 1)]), None);
        assert_eq!(met("p99<200ms", &[second(473 - 1, 1)]), Some(true));
    }

    #[test]
    fn a_goal_clearly_missed_is_missed_and_a_close_one_undecided() {
        assert_eq!(met("p95<200ms", &[second(90, 10)]), Some(false));
        assert_eq!(met("p95<200ms", &[second(95, 5)]), None);
        // Ten late of a hundred come by chance once in 36 times at 5 %. For one of two that is not
        // seldom enough, twelve are.
        assert_eq!(met("p95<200ms,errors<1%", &[second(90, 10)]), None);
        assert_eq!(met("p95<200ms,errors<1%", &[second(88, 12)]), Some(false));
    }

    #[test]
    fn no_request_decides_nothing() {
        for slo in ["p95<200ms", "errors<1%", "errors<0%"] {
            assert_eq!(met(slo, &[]), None, "{slo}");
        }
    }

    #[test]
    fn requests_that_got_no_answer_break_every_quantile() {
        let mut refused = second(88, 0);
        refused.due += 12;
        refused.errors = ErrorCounts { refused: 12, ..Default::default() };
        refused.latency.record_n(Duration::from_millis(1), 12);
        assert_eq!(met("p95<200ms", &[refused.clone()]), Some(false));
        assert_eq!(met("p95<200ms,errors<50%", &[refused.clone()]), Some(false), "if allowed too");
        assert_eq!(met("errors<1%", &[refused]), Some(false));

        let mut given_up = second(1000, 0);
        given_up.due += 20;
        given_up.errors = ErrorCounts { timeout: 20, ..Default::default() };
        given_up.latency.record_n(Duration::from_secs(10), 20);
        let part = "p95<200ms".parse::<Slo>().unwrap().quantiles[0];
        assert_eq!(slower(&part, (&given_up).into()).count, 20, "counted once");
    }

    #[test]
    fn replies_that_are_no_success_count_as_errors() {
        let mut broken = second(400, 0);
        broken.status = [(200, 300), (302, 50), (500, 50)].into();
        assert_eq!(failed((&broken).into()), Violations { count: 50, of: 400 });
        assert_eq!(met("errors<1%", &[broken]), Some(false));
    }

    #[test]
    fn quick_failures_do_not_meet_a_goal_that_says_nothing_of_errors() {
        let mut broken = second(400, 0);
        broken.status = [(200, 300), (500, 100)].into();
        let (verdict, counts) = judged("p95<200ms", std::slice::from_ref(&broken));
        assert_eq!(verdict, Verdict::No);
        let expected = TermCount {
            term: SloTerm::Latency { quantile_ratio: 0.95, limit_s: 0.2 },
            violations: 100,
            requests: 400,
            counts_failures: true,
            effective_requests: None,
            certainty: Certainty::Certain,
        };
        assert_eq!(counts, [expected]);
        assert_eq!(met("p95<200ms,errors<50%", &[broken]), Some(true), "where they are allowed");
    }

    #[test]
    fn requests_that_fare_alike_count_for_less() {
        // Both have 20 slow ones in 1000; in the second case they come in one second.
        let even: Vec<_> = (0..10).map(|_| second(98, 2)).collect();
        let uneven: Vec<_> =
            (0..10).map(|n| if n == 0 { second(80, 20) } else { second(100, 0) }).collect();
        assert_eq!(met("p95<200ms", &even), Some(true));
        assert_eq!(met("p95<200ms", &uneven), None);
        let (_, counts) = judged("p95<200ms", &uneven);
        assert!(counts[0].effective_requests.is_some_and(|it| it < 500.0), "{counts:?}");
        assert_eq!(counts[0].certainty, Certainty::TooClose);
        // Four blocks do not show it.
        let few = [second(80, 20), second(100, 0), second(100, 0), second(100, 0)];
        assert_eq!(judged("p95<200ms", &few).1[0].effective_requests, None);
    }

    #[test]
    fn the_tails_agree_with_the_distribution() {
        // P(X <= 1), X ~ B(10, 0.3) = 0.7^10 + 10 * 0.3 * 0.7^9; P(X >= 9) = 10 * 0.3^9 * 0.7 +
        // 0.3^10.
        let low = 0.7f64.powi(10) + 3.0 * 0.7f64.powi(9);
        let high = 7.0 * 0.3f64.powi(9) + 0.3f64.powi(10);
        assert!((at_most(1.0, 10.0, 0.3) - low).abs() < 1e-12);
        assert!((at_least(9.0, 10.0, 0.3) - high).abs() < 1e-12);
        assert_eq!((at_most(10.0, 10.0, 0.3), at_least(0.0, 10.0, 0.3)), (1.0, 1.0));
    }

    #[test]
    fn a_goal_of_no_errors_at_all_is_taken_at_its_word() {
        assert_eq!(met("errors<0%", &[second(10, 0)]), Some(true));
        let mut one = second(9, 0);
        one.due = 10;
        one.errors.reset = 1;
        assert_eq!(met("errors<0%", &[one]), Some(false));
    }
}
