//! Why a verdict is what it is, in English.

use super::super::labels::ENGLISH;
use super::obstacle;
use crate::report::Language;
use crate::report::figures::{fine_percent, number};
use crate::terms::{
    Certainty, ChangeReason, GoalCount, GoalScope, Obstacle, Reason, RecheckReason, SloTerm,
    TermCount,
};

pub fn sentence(reason: &Reason) -> String {
    match reason {
        Reason::Counted { goals } => of_goals(goals, judged),
        Reason::MetButUncertain { goals } => of_goals(goals, uncertified),
        Reason::NotToldApart { goals, due, resolution_ratio } => format!(
            "{}; {due} requests cannot tell {:.0} % apart",
            of_goals(goals, judged),
            resolution_ratio * 100.0
        ),
        Reason::NoGoalYet => "no goal was set yet".into(),
        Reason::StoppedEarly { in_flight } => {
            format!("stopped early: requests in flight kept growing, {in_flight} at the end")
        }
        Reason::InFlightGrew { growth_per_s, first, last } => {
            format!("requests in flight grew by {growth_per_s:.1} a second, from {first} to {last}")
        }
        Reason::ServerDied => "the server died under this load".into(),
        Reason::ClosedLoad => {
            "a closed load shows how much goes through, not what can be sustained".into()
        }
        Reason::Doubted { doubts } => {
            let said = doubts.iter().map(|doubt| Language::English.say_warning(doubt));
            said.collect::<Vec<_>>().join("; ")
        }
        Reason::StoppedByUser => "stopped by the user".into(),
    }
}

fn of_goals(goals: &[GoalCount], of_term: fn(&TermCount) -> String) -> String {
    let of_goal = |goal: &GoalCount| {
        let terms = goal.terms.iter().map(of_term).collect::<Vec<_>>().join("; ");
        match &goal.scope {
            Some(GoalScope::Target(target)) => format!("{target}: {terms}"),
            Some(GoalScope::OtherTargets) => format!("{}: {terms}", ENGLISH.other_targets),
            None => terms,
        }
    };
    goals.iter().map(of_goal).collect::<Vec<_>>().join("; ")
}

fn figures(count: &TermCount) -> String {
    let what = match (count.term, count.counts_failures) {
        (SloTerm::Errors { .. }, _) => "failed",
        (SloTerm::Latency { .. }, true) => "were slower or failed",
        (SloTerm::Latency { .. }, false) => "were slower",
    };
    let TermCount { term, violations, requests, .. } = count;
    let (seen, allowed) = (fine_percent(count.share()), fine_percent(term.allowed_ratio()));
    format!("{term}: {violations} of {requests} {what} ({seen}, {allowed} may)")
}

/// What can be done about one that is open is said too.
fn judged(count: &TermCount) -> String {
    let mut text = figures(count);
    if let Some(effective) = count.effective_requests {
        text += &format!(
            "; neighbouring requests fared alike, which makes them count as {effective:.0}"
        );
    }
    match count.certainty {
        Certainty::TooFew { needed } if count.term.allowed_ratio() > 0.0 => {
            text += &format!("; even without one, {needed} requests are needed; run it longer");
        }
        Certainty::TooClose => text += "; too close to tell; run it longer",
        Certainty::TooFew { .. } | Certainty::Certain => {}
    }
    text
}

fn uncertified(count: &TermCount) -> String {
    let what = if count.term.is_errors() { "the error ratio" } else { "it" };
    match count.certainty {
        Certainty::Certain => judged(count),
        Certainty::TooFew { needed } => {
            format!("{}, too few requests to certify {what} ({needed} are needed)", figures(count))
        }
        Certainty::TooClose => format!("{}, too close to certify {what}", figures(count)),
    }
}

const BOTH_BREAK_DOWN: &str = "servers of A and of B died under load, answered nothing, or did not \
     start: the app breaks down whatever changed";

pub fn of_change(reason: &ChangeReason) -> String {
    match reason {
        ChangeReason::NotComparable => "these two must not be compared".into(),
        ChangeReason::MoreRequestsFail => "more requests fail".into(),
        ChangeReason::FewerRequestsFail => "fewer requests fail".into(),
        ChangeReason::FailuresUndecided { failed_ratio, failed_ratio_max } => {
            let [a, b] = failed_ratio.map(fine_percent);
            let [most_of_a, most_of_b] = failed_ratio_max.map(fine_percent);
            format!(
                "whether as many requests fail is open: {a} of A's failed and {b} of B's, in the \
                 worst start {most_of_a} and {most_of_b}"
            )
        }
        ChangeReason::ServerDies { side } => {
            format!("the server of {side} died under load or did not start, again and again")
        }
        ChangeReason::AnswersNothing { side } => {
            format!("{side} answers nothing when many clients ask")
        }
        ChangeReason::BothBreakDown => BOTH_BREAK_DOWN.into(),
        ChangeReason::TrialsNotValid { why } => {
            format!("trials said nothing of the server: {}", Language::English.say(why))
        }
        ChangeReason::TooFewBlocks => "it ended before there were three blocks".into(),
        ChangeReason::FigureNotKnown { figure } => {
            format!("too little is known of {figure} to say anything")
        }
        ChangeReason::FigureChanged { figure } => format!("{figure} changed beyond doubt"),
        ChangeReason::FigureSame { figure, band_ratio } => {
            format!("{figure} is the same within {:.0} %", band_ratio * 100.0)
        }
        ChangeReason::FigureWithinNoise { figure, band_ratio, measured: [a, b], needed } => {
            let more = match needed {
                Some([of_a, of_b]) => format!(
                    "about {of_a} and {of_b} measurements in place of {a} and {b} would decide"
                ),
                None => "no number of measurements would decide soon".to_string(),
            };
            format!(
                "what {figure} differs by lies within the noise, which is wider than {:.0} %; \
                 {more}",
                band_ratio * 100.0
            )
        }
        ChangeReason::TrafficExplains { figure, traffic_ratio } => format!(
            "cannot tell: {figure} changed, and so did the traffic ({} times as many requests), \
             which may be why",
            number(*traffic_ratio)
        ),
        ChangeReason::TrendExplains { figure, daily_ratio } => format!(
            "cannot tell: {figure} changed, and within each range it went by {:+.1} % a day, \
             which may be why",
            (daily_ratio - 1.0) * 100.0
        ),
    }
}

pub fn of_recheck(reason: &RecheckReason) -> String {
    match reason {
        RecheckReason::NoLongerRuns { setting, why } => format!("{setting} {}", of_setting(why)),
        RecheckReason::NoWholeStart => "nothing was measured on a whole start".into(),
        RecheckReason::PrintedRateMissed { rate_rps } => {
            format!("fresh starts miss the {}/s that were printed, twice", number(*rate_rps))
        }
        RecheckReason::FormerHoldsMore => "what ran before holds more, beyond doubt".into(),
        RecheckReason::PrintedRateHeld { rate_rps, duration_s } => format!(
            "a fresh start held the {}/s that were printed, for {duration_s:.0} s",
            number(*rate_rps)
        ),
        RecheckReason::TooLittleMeasured => "too little was measured to tell".into(),
    }
}

/// After the name of the setting.
pub(super) fn of_setting(why: &Obstacle) -> String {
    match why {
        Obstacle::DiedTwice => "its server died under load, twice".into(),
        why => obstacle::sentence(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(violations: u64, requests: u64, certainty: Certainty) -> TermCount {
        TermCount {
            term: SloTerm::Latency { quantile_ratio: 0.95, limit_s: 0.2 },
            violations,
            requests,
            counts_failures: false,
            effective_requests: None,
            certainty,
        }
    }

    fn errors(allowed_ratio: f64, requests: u64, certainty: Certainty) -> TermCount {
        TermCount { term: SloTerm::Errors { allowed_ratio }, ..count(0, requests, certainty) }
    }

    fn goal(scope: Option<GoalScope>, terms: &[TermCount]) -> GoalCount {
        GoalCount { scope, terms: terms.to_vec() }
    }

    #[test]
    fn what_was_counted_is_told_with_what_it_takes_to_be_certain() {
        let failed = TermCount { counts_failures: true, ..count(100, 400, Certainty::Certain) };
        let bunched =
            TermCount { effective_requests: Some(123.4), ..count(20, 1000, Certainty::TooClose) };
        for (count, text) in [
            (failed, "p95<200ms: 100 of 400 were slower or failed (25 %, 5 % may)"),
            (
                count(0, 10, Certainty::TooFew { needed: 59 }),
                "p95<200ms: 0 of 10 were slower (0 %, 5 % may); even without one, 59 requests are \
                 needed; run it longer",
            ),
            (
                bunched,
                "p95<200ms: 20 of 1000 were slower (2 %, 5 % may); neighbouring requests fared \
                 alike, which makes them count as 123; too close to tell; run it longer",
            ),
            (
                errors(0.0, 0, Certainty::TooFew { needed: 1 }),
                "errors<0%: 0 of 0 failed (0 %, 0 % may)",
            ),
        ] {
            assert_eq!(sentence(&Reason::Counted { goals: vec![goal(None, &[count])] }), text);
        }
    }

    #[test]
    fn failures_that_are_open_are_told_with_the_shares_of_both() {
        let (failed_ratio, failed_ratio_max) = ([0.0, 0.0428], [0.0, 0.3]);
        assert_eq!(
            of_change(&ChangeReason::FailuresUndecided { failed_ratio, failed_ratio_max }),
            "whether as many requests fail is open: 0 % of A's failed and 4.28 % of B's, in the \
             worst start 0 % and 30 %"
        );
    }

    #[test]
    fn goals_of_a_mix_are_named_and_those_that_are_open_say_so() {
        let goals = vec![
            goal(
                Some(GoalScope::OtherTargets),
                &[
                    count(0, 400, Certainty::Certain),
                    errors(0.001, 400, Certainty::TooFew { needed: 2995 }),
                ],
            ),
            goal(
                Some(GoalScope::Target("GET /rare".into())),
                &[count(0, 10, Certainty::TooFew { needed: 59 })],
            ),
        ];
        assert_eq!(
            sentence(&Reason::MetButUncertain { goals }),
            "the other targets: p95<200ms: 0 of 400 were slower (0 %, 5 % may); errors<0.1%: 0 of \
             400 failed (0 %, 0.1 % may), too few requests to certify the error ratio (2995 are \
             needed); GET /rare: p95<200ms: 0 of 10 were slower (0 %, 5 % may), too few requests \
             to certify it (59 are needed)"
        );
    }
}
