//! What the app does at any rate: requests that fail, and requests that are slow by themselves.
//! Neither is a reason against a rate.
//!
//! In: every trial, oldest first. Out: the trial as it speaks of its rate, without failures that
//! lower rates had as well; and whether the goal allows as many as there are at any rate. Computes
//! only.
//!
//! While settings are compared, failures are the rate's only where lower rates had fewer. Of the
//! rate that is to be printed more is asked: lower rates had enough requests to show that they
//! fail as often.

use super::constants::{BY_CHANCE, FAILING_LEVEL, LOWER, SHOWN, TELLING};
use super::slow_alone::SlowAlone;
use crate::stats::binomial;
use crate::terms::{LatencyVerdict, SearchNote, Slo, TrialPurpose, TrialSummary, Verdict};

/// What is known of it so far.
#[derive(Debug, Clone, Default)]
pub(super) struct AtAnyRate {
    slow: SlowAlone,
    /// Failures of the app as it is: of the trials whose latencies were within the goal, and that
    /// had no more of them than lower rates.
    windows: Vec<Window>,
    /// The rate held at the end was held but for more failures than the goal allows, and what was
    /// to be held before at a higher one had no larger share of them.
    is_held_despite: bool,
    /// The last that was to be held, where it is not known whether its rate is why it failed.
    untold: Option<Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    rate_rps: f64,
    requests: u64,
    failed: u64,
}

impl AtAnyRate {
    /// Takes a usable trial, and says what is left of it when what comes at any rate is left out.
    pub fn apart(&mut self, trial: &TrialSummary) -> TrialSummary {
        self.slow.take(trial);
        let mut apart = self.without_failures(trial);
        apart.edge = apart.edge.map(|edge| self.slow.beyond(edge));
        apart
    }

    /// What a trial says of its rate: where it has no more failures than lower rates had, what its
    /// latencies say.
    fn without_failures(&mut self, trial: &TrialSummary) -> TrialSummary {
        let is_alone = trial.purpose == TrialPurpose::Unloaded;
        let rate_rps = match trial.offered.rate() {
            Some(rate) => rate.as_per_second(),
            None if is_alone => trial.summary.throughput_rps,
            None => return trial.clone(),
        };
        let (requests, failed) = (trial.summary.due, trial.summary.failed());
        let window = Window { rate_rps, requests, failed };
        let is_hold = trial.purpose == TrialPurpose::Hold;
        let before = if is_hold { self.untold.take() } else { None };
        self.is_held_despite &= !is_hold;
        if self.is_reason(window) || (is_hold && self.is_untold(trial, window, before)) {
            return trial.clone();
        }
        let apart = by_latency(trial);
        let is_within = apart.leaning == Verdict::Yes;
        // What fails with a change, or over the other connections, is not the app's as it is.
        let is_its_own = trial.variant.is_as_it_is() && trial.purpose != TrialPurpose::Check;
        if is_its_own && (is_within || is_alone) {
            self.windows.push(window);
        }
        if is_hold {
            let has_fewer = before.is_some_and(|before| self.is_reason(before));
            self.is_held_despite = is_within && trial.leaning != Verdict::Yes && !has_fewer;
        }
        apart
    }

    /// Is it not known whether the rate is why more failed than the goal allows, of the last load
    /// that was to hold it?
    pub fn is_rate_in_doubt(&self) -> bool {
        self.untold.is_some()
    }

    /// Whether it is not known of this one, as lower rates had too few requests to tell, and what
    /// was to be held before at a higher rate does not either: fewer fail now, or too few came.
    fn is_untold(&mut self, trial: &TrialSummary, window: Window, before: Option<Window>) -> bool {
        let is_within = by_latency(trial).leaning == Verdict::Yes;
        let is_for_errors = is_within && trial.verdict == Verdict::No;
        if !is_for_errors || is_telling(sum(self.lower(window)), window) {
            return false;
        }
        let at_any_rate = before.filter(|before| {
            let lower = sum(self.lower(*before).chain([&window]));
            window.rate_rps < LOWER * before.rate_rps
                && is_telling(lower, *before)
                && !is_more((before.requests, before.failed), lower)
        });
        self.untold = at_any_rate.is_none().then_some(window);
        self.windows.extend(at_any_rate);
        self.untold.is_some()
    }

    /// The last load that was to hold a rate did, but for more failures than the goal allows, of
    /// which there are as many at any rate as far as is known.
    pub fn is_held_despite(&self) -> bool {
        self.is_held_despite
    }

    /// Windows at lower rates.
    fn lower(&self, window: Window) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(move |it| it.rate_rps < LOWER * window.rate_rps)
    }

    /// What is to be said of the goal's share of errors: that no rate meets it, as more fail
    /// although the load is no reason, that it may be the reason, or that it was not shown. `None`
    /// where it was.
    pub fn note(&self, slo: &Slo) -> Option<SearchNote> {
        let allowed_ratio = slo.errors?.get();
        if let Some(Window { requests, failed, .. }) = self.untold {
            return Some(SearchNote::ErrorsUntold { failed, requests, allowed_ratio });
        }
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

    /// Do more of this window's requests fail than of lower rates'?
    fn is_reason(&self, window: Window) -> bool {
        let lower = sum(self.lower(window));
        is_more((window.requests, window.failed), lower)
    }
}

/// What a trial says of its rate by its latencies alone.
pub(super) fn by_latency(trial: &TrialSummary) -> TrialSummary {
    let mut apart = trial.clone();
    if let Some(LatencyVerdict { verdict, leaning, edge }) = trial.by_latency {
        (apart.verdict, apart.leaning, apart.edge) = (verdict, leaning, edge);
    }
    apart
}

/// Would enough of so many requests have failed, had they as often as in this window, to tell?
fn is_telling((requests, _): (u64, u64), window: Window) -> bool {
    let share = window.failed as f64 / window.requests.max(1) as f64;
    requests as f64 * share >= TELLING
}

/// Did a larger share of these requests fail than of the others, beyond chance? Each a number of
/// requests and of failures: by chance each failure of all falls to these with their share of all
/// requests.
pub(super) fn is_more((requests, failed): (u64, u64), (others, failed_others): (u64, u64)) -> bool {
    let share = requests as f64 / (others + requests).max(1) as f64;
    let fewer = failed.checked_sub(1);
    fewer
        .is_some_and(|fewer| 1.0 - binomial::cdf(failed_others + failed, fewer, share) <= BY_CHANCE)
}

/// Requests and failures of all.
fn sum<'a>(windows: impl Iterator<Item = &'a Window>) -> (u64, u64) {
    windows.fold((0, 0), |(requests, failed), it| (requests + it.requests, failed + it.failed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;
    use crate::terms::{Ratio, Variant};

    fn window(rate_rps: f64, requests: u64, failed: u64) -> Window {
        Window { rate_rps, requests, failed }
    }

    fn known(windows: &[Window]) -> AtAnyRate {
        AtAnyRate { windows: windows.to_vec(), ..AtAnyRate::default() }
    }

    fn note(known: &AtAnyRate) -> Option<SearchNote> {
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
            |failed| AtAnyRate { is_held_despite: true, ..known(&[window(10.0, 10_000, failed)]) };
        assert!(is_of_any_rate(note(&held(12))));
        assert!(!is_of_any_rate(note(&held(9))), "all together fewer fail than may");
    }

    /// A load that was to hold this rate, and would have but for this many failures.
    fn hold(rate_rps: f64, failed: (u64, u64), verdict: Verdict) -> TrialSummary {
        let (yes, leaning) = (Verdict::Yes, Verdict::No);
        let by_latency = Some(LatencyVerdict { verdict: yes, leaning: yes, edge: None });
        let trial = tests_trial(TrialPurpose::Hold, rate_rps, failed);
        TrialSummary { verdict, leaning, by_latency, ..trial }
    }

    #[test]
    fn a_rate_in_doubt_is_held_despite_its_failures_only_where_a_lower_one_has_as_many() {
        // Of 3,000 requests at half the rate more fail than the thousandth that may, by chance.
        for (failed, at_half, is_despite) in [(12, 6, true), (60, 4, false)] {
            let mut errors = known(&[window(2.0, 100, 0)]);
            errors.apart(&hold(100.0, (6000, failed), Verdict::No));
            assert!(errors.is_rate_in_doubt(), "of 100 requests none failed: that tells nothing");
            errors.apart(&hold(50.0, (3000, at_half), Verdict::Undecided));
            assert!(!errors.is_rate_in_doubt());
            assert_eq!(errors.is_held_despite(), is_despite, "{failed} {at_half}");
            assert_eq!(is_of_any_rate(note(&errors)), is_despite, "{failed} {at_half}");
        }
    }

    #[test]
    fn failures_with_a_change_or_over_other_connections_are_none_of_the_app_as_it_is() {
        let (change, as_it_is) = (Variant::of(0), Variant::AS_IT_IS);
        for (purpose, variant, is_its_own) in [
            (TrialPurpose::Screen, change, false),
            (TrialPurpose::Check, as_it_is, false),
            (TrialPurpose::Screen, as_it_is, true),
        ] {
            let mut errors = known(&[window(50.0, 2000, 0), window(100.0, 10_000, 0)]);
            let trial = tests_trial(purpose, 70.0, (400, 2));
            let trial = TrialSummary { variant, ..trial };
            for _ in 0..5 {
                assert_eq!(errors.apart(&trial).leaning, Verdict::Yes);
            }
            assert_eq!(note(&errors).is_some(), is_its_own, "{purpose:?} {variant:?}");
        }
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
