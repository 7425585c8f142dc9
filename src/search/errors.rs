//! Errors that do not come from the load: an app that fails some of its requests at any rate.
//!
//! In: every trial. Out: the trial as it speaks of its rate, without failures that lower rates had
//! as well; and whether the goal allows as many as there are at any rate. Computes only.

use super::constants::{BY_CHANCE, FAILING_LEVEL, LOWER, SHOWN};
use crate::stats::binomial;
use crate::terms::{LatencyVerdict, SearchNote, Slo, TrialPurpose, TrialSummary, Verdict};

/// Failures of the trials whose latencies were within the goal, and that had no more of them than
/// lower rates.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors {
    windows: Vec<Window>,
    /// The rate held at the end was held but for more failures than the goal allows.
    is_held_despite: bool,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    rate_rps: f64,
    requests: u64,
    failed: u64,
}

impl Errors {
    /// What a trial says of its rate: where it has no more failures than lower rates had, what its
    /// latencies say.
    pub fn apart(&mut self, trial: &TrialSummary) -> TrialSummary {
        let mut apart = trial.clone();
        let is_alone = trial.purpose == TrialPurpose::Unloaded;
        let rate_rps = match trial.offered.rate() {
            Some(rate) => rate.as_per_second(),
            None if is_alone => trial.summary.throughput_rps,
            None => return apart,
        };
        let (requests, failed) = (trial.summary.due, trial.summary.failed());
        let window = Window { rate_rps, requests, failed };
        if self.is_reason(window) {
            return apart;
        }
        if let Some(LatencyVerdict { verdict, leaning, edge }) = trial.by_latency {
            (apart.verdict, apart.leaning, apart.edge) = (verdict, leaning, edge);
        }
        let is_within = apart.leaning == Verdict::Yes;
        if is_within || is_alone {
            self.windows.push(window);
        }
        if trial.purpose == TrialPurpose::Hold {
            self.is_held_despite = is_within && trial.leaning != Verdict::Yes;
        }
        apart
    }

    /// What is to be said of the goal's share of errors: that no rate meets it, as more fail
    /// although the load is no reason, or that it was not shown. `None` where it was.
    pub fn note(&self, slo: &Slo) -> Option<SearchNote> {
        let allowed_ratio = slo.errors?.get();
        let (requests, failed) = sum(self.windows.iter());
        let is_more = failed as f64 > allowed_ratio * requests as f64;
        let is_certain = binomial::lower_bound(requests, failed, FAILING_LEVEL) > allowed_ratio;
        if is_certain || (self.is_held_despite && is_more) {
            return Some(SearchNote::ErrorsAtAnyRate { failed, requests, allowed_ratio });
        }
        let requests_needed = binomial::needed_without(allowed_ratio, SHOWN);
        let is_shown = match allowed_ratio {
            0.0 => failed == 0 && requests > 0,
            _ => binomial::upper_bound(requests, failed, SHOWN) <= allowed_ratio,
        };
        (!is_shown).then_some(SearchNote::ErrorsNotCertified {
            failed,
            requests,
            allowed_ratio,
            requests_needed,
        })
    }

    /// Of all failures of this window and of lower rates so many are the window's only where its
    /// rate is the reason: by chance each falls to it with its share of the requests.
    fn is_reason(&self, window: Window) -> bool {
        let is_lower = |it: &&Window| it.rate_rps < LOWER * window.rate_rps;
        let (requests, failed) = sum(self.windows.iter().filter(is_lower));
        let share = window.requests as f64 / (requests + window.requests).max(1) as f64;
        let fewer = window.failed.checked_sub(1);
        fewer.is_some_and(|fewer| {
            1.0 - binomial::cdf(failed + window.failed, fewer, share) <= BY_CHANCE
        })
    }
}

/// Requests and failures of all.
fn sum<'a>(windows: impl Iterator<Item = &'a Window>) -> (u64, u64) {
    windows.fold((0, 0), |(requests, failed), it| (requests + it.requests, failed + it.failed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Ratio;

    fn window(rate_rps: f64, requests: u64, failed: u64) -> Window {
        Window { rate_rps, requests, failed }
    }

    fn known(windows: &[Window]) -> Errors {
        Errors { windows: windows.to_vec(), is_held_despite: false }
    }

    fn note(known: &Errors) -> Option<SearchNote> {
        let errors = Some(Ratio::new(0.001).unwrap());
        known.note(&Slo { quantiles: Vec::new(), errors })
    }

    fn is_of_any_rate(note: Option<SearchNote>) -> bool {
        matches!(note, Some(SearchNote::ErrorsAtAnyRate { .. }))
    }

    #[test]
    fn more_than_allowed_is_said_only_where_chance_does_not_explain_it() {
        let note = |failed, requests| note(&known(&[window(10.0, requests, failed)]));
        assert!(is_of_any_rate(note(170, 100_000)));
        assert!(!is_of_any_rate(note(12, 10_000)), "0.12 % of so few may be 0.1 %");
        assert!(is_of_any_rate(note(120 * 5, 500_000)), "0.12 % of many is not");
    }

    #[test]
    fn a_share_that_was_not_shown_is_named() {
        let note = |failed, requests| note(&known(&[window(10.0, requests, failed)]));
        let unsure = note(12, 10_000);
        assert!(matches!(unsure, Some(SearchNote::ErrorsNotCertified { failed: 12, .. })));
        assert!(note(0, 2_994).is_some(), "0.999^2994 is just above a twentieth");
        assert_eq!(note(0, 2_995), None);
        assert_eq!(note(0, 100_000), None);
        assert!(note(0, 0).is_some());
    }

    #[test]
    fn a_rate_that_was_held_despite_failures_is_told_with_them() {
        let held =
            |failed| Errors { is_held_despite: true, ..known(&[window(10.0, 10_000, failed)]) };
        assert!(is_of_any_rate(note(&held(12))));
        assert!(!is_of_any_rate(note(&held(9))), "all together fewer fail than may");
    }

    #[test]
    fn a_rate_is_a_reason_only_where_lower_ones_had_fewer() {
        // 0.3 % at any rate.
        let floor = known(&[window(10.0, 1000, 3), window(50.0, 5000, 15)]);
        assert!(!floor.is_reason(window(90.0, 5000, 15)));
        assert!(!floor.is_reason(window(90.0, 5000, 22)));
        assert!(floor.is_reason(window(90.0, 5000, 60)));
        // What refuses above its limit refuses nothing below it.
        let limiter = known(&[window(10.0, 300, 0), window(50.0, 1000, 0)]);
        assert!(limiter.is_reason(window(90.0, 1000, 10)));
        assert!(!limiter.is_reason(window(52.0, 1000, 3)), "a rate as high is no lower one");
        assert!(!limiter.is_reason(window(90.0, 1000, 0)));
    }
}
