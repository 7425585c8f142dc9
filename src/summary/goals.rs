//! Are the goals of a mix met, each by the requests that it is about?
//!
//! In: [`Goals`], and seconds in order. Out: what each goal says, and what they say together.
//! Computes only.

use super::slo::{self, Ends, Judged};
use crate::stats::binomial;
use crate::terms::{
    GoalCount, GoalScope, GoalSummary, Goals, Latencies, LoadSecond, Part, QuantileLimit, Reason,
    Slo, SloSummary, TargetSecond, TargetSummary, TermCount, Verdict, WindowLatency,
};

/// Goals, and what became of the requests of each so far.
#[derive(Debug)]
pub struct Judge<'a> {
    goals: &'a Goals,
    groups: Vec<Group<'a>>,
    /// Some second told its targets apart.
    has_targets: bool,
}

/// One goal with its requests.
#[derive(Debug)]
struct Group<'a> {
    part: Part<'a>,
    judge: Option<slo::Judge<'a>>,
    /// All of them, and those of each target; nothing where targets are not told apart.
    all: TargetSecond,
    each: Vec<TargetSecond>,
}

/// One goal, with the verdict on each of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedGoal {
    /// Which requests it is about; `None`: all of them.
    pub scope: Option<GoalScope>,
    pub parts: Vec<Judged>,
}

impl JudgedGoal {
    fn count(&self, terms: Vec<TermCount>) -> GoalCount {
        GoalCount { scope: self.scope.clone(), terms }
    }
}

/// What these seconds, in order, say of each goal that there is.
pub fn judge(goals: &Goals, seconds: &[LoadSecond]) -> Vec<JudgedGoal> {
    let mut judge = Judge::new(goals);
    seconds.iter().for_each(|second| judge.take(second));
    judge.judged()
}

/// What follows from all goals, with those that decide.
pub fn together(judged: &[JudgedGoal]) -> (Verdict, Vec<GoalCount>) {
    let each: Vec<_> = judged.iter().map(|goal| (goal, slo::conclude(&goal.parts))).collect();
    let verdict = slo::together(each.iter().map(|(_, (verdict, _))| *verdict));
    let decisive = each.into_iter().filter(|(_, (of_goal, _))| *of_goal == verdict);
    (verdict, decisive.map(|(goal, (_, terms))| goal.count(terms)).collect())
}

/// Why a rate holds although not every goal is certain; `None` when it can't be said to.
///
/// A goal of 0.1 % errors takes 3,000 requests to be certain of, and a target that is seldom asked
/// for has too few in any window of a search. The rate holds all the same when the latencies of
/// one goal at least are certain, and nothing that is uncertain looks missed: of a goal with
/// certain latencies the errors, and of another one whatever has too few requests to be certain
/// of even if all were good.
pub fn bearable(judged: &[JudgedGoal]) -> Option<Reason> {
    let is_errors = |part: &Judged| part.count.term.is_errors();
    let is_certain = |goal: &JudgedGoal| {
        let mut latencies = goal.parts.iter().filter(|part| !is_errors(part)).peekable();
        latencies.peek().is_some() && latencies.all(|part| part.verdict == Verdict::Yes)
    };
    let holds = |goal: &JudgedGoal| {
        let may_be_open = |part: &Judged| is_errors(part) && is_certain(goal) || part.is_short();
        goal.parts.iter().all(|part| match part.verdict {
            Verdict::Yes => true,
            Verdict::No => false,
            Verdict::Undecided => part.leans && may_be_open(part),
        })
    };
    if !judged.iter().any(is_certain) || !judged.iter().all(holds) {
        return None;
    }
    let all =
        |goal: &JudgedGoal| goal.count(goal.parts.iter().map(|part| part.count.clone()).collect());
    Some(Reason::MetButUncertain { goals: judged.iter().map(all).collect() })
}

/// The parts about latencies; `None` where there is no other, or no such part.
pub fn latencies_of(judged: &[JudgedGoal]) -> Option<Vec<JudgedGoal>> {
    let parts = || judged.iter().flat_map(|goal| &goal.parts);
    let is_errors = |part: &Judged| part.count.term.is_errors();
    let latencies = judged.iter().map(|goal| JudgedGoal {
        scope: goal.scope.clone(),
        parts: goal.parts.iter().filter(|part| !is_errors(part)).cloned().collect(),
    });
    (parts().any(is_errors) && !parts().all(is_errors)).then(|| latencies.collect())
}

impl<'a> Judge<'a> {
    pub fn new(goals: &'a Goals) -> Self {
        let parts: usize = goals.parts().iter().filter_map(|part| part.slo).map(Slo::parts).sum();
        let groups = goals.parts().into_iter().map(|part| Group {
            judge: part.slo.map(|slo| slo::Judge::new(slo, parts)),
            all: TargetSecond::default(),
            each: vec![TargetSecond::default(); part.targets.len()],
            part,
        });
        Self { goals, groups: groups.collect(), has_targets: false }
    }

    /// Takes the next second that counts.
    pub fn take(&mut self, second: &LoadSecond) {
        self.has_targets |= !second.by_target.is_empty();
        let is_about_all = !self.goals.has_own();
        for group in &mut self.groups {
            let now = group.add(second);
            if let Some(judge) = &mut group.judge {
                judge.take(if is_about_all { second.into() } else { (&now).into() });
            }
        }
    }

    fn judged(&self) -> Vec<JudgedGoal> {
        let has_others = self.groups.len() > 1;
        let judged = self.groups.iter().filter_map(|group| {
            let parts = group.judge.as_ref()?.parts();
            Some(JudgedGoal { scope: group.part.scope(has_others), parts })
        });
        judged.collect()
    }

    /// Good replies, each within the tightest limit of its own goal; `None` without any goal.
    pub fn good_within(&self, all: &LoadSecond) -> Option<u64> {
        if self.goals.are_none() {
            return None;
        }
        let good = self.groups.iter().map(|group| {
            let ends: Ends<'_> = match self.goals.has_own() {
                true => (&group.all).into(),
                false => all.into(),
            };
            slo::good_within(ends, group.part.slo.and_then(|slo| slo.tightest_limit()))
        });
        Some(good.sum())
    }

    /// Whether all goals are met, with the reason; `None` when there is none.
    pub fn conclude(&self) -> Option<SloSummary> {
        let (verdict, goals) = together(&self.judged());
        (!self.goals.are_none()).then(|| SloSummary {
            met: verdict.met(),
            goals: self.goals.list(),
            reason: Some(Reason::Counted { goals }.into()),
        })
    }

    /// Each goal with its figures; empty where targets are not told apart.
    pub fn summaries(&self) -> Vec<GoalSummary> {
        if !self.has_targets {
            return Vec::new();
        }
        self.groups.iter().map(Group::summary).collect()
    }
}

impl Group<'_> {
    /// Adds a second, and returns what of it is this group's.
    fn add(&mut self, second: &LoadSecond) -> TargetSecond {
        let Self { part, all, each, .. } = self;
        let mut now = TargetSecond::default();
        for ((at, _), sum) in part.targets.iter().zip(each) {
            // A second in which nothing was due has none.
            if let Some(target) = second.by_target.get(*at) {
                now.add(target);
                sum.add(target);
            }
        }
        all.add(&now);
        now
    }

    fn summary(&self) -> GoalSummary {
        let parts = self.judge.as_ref().map(slo::Judge::parts).unwrap_or_default();
        let (verdict, terms) = slo::conclude(&parts);
        let is_short = |part: &&Judged| part.verdict == Verdict::Undecided && part.is_short();
        let needed = parts.iter().filter(is_short).map(|part| part.needed).max();
        let targets =
            self.part.targets.iter().zip(&self.each).map(|((_, name), seen)| TargetSummary {
                target: (*name).to_string(),
                due: seen.due(),
                failed: slo::failed(seen.into()).count,
                latency_s: quantiles(&seen.latency),
            });
        GoalSummary {
            slo: self.part.slo.cloned(),
            own: self.part.is_own,
            targets: targets.collect(),
            due: self.all.due(),
            failed: slo::failed((&self.all).into()).count,
            latency_s: quantiles(&self.all.latency),
            met: self.part.slo.and_then(|_| verdict.met()),
            leaning: (!parts.is_empty() && self.all.due() > 0)
                .then(|| parts.iter().all(|part| part.leans)),
            reason: (!terms.is_empty())
                .then(|| Reason::Counted { goals: vec![GoalCount { scope: None, terms }] }.into()),
            requests_needed: needed.filter(|_| verdict == Verdict::Undecided),
        }
    }
}

/// How many requests it takes to be certain of a goal's latencies even if none is too slow; `None`
/// where there were as many.
pub fn lacking(goal: &GoalSummary) -> Option<u64> {
    let slo = goal.slo.as_ref()?;
    let needed = |limit: &QuantileLimit| {
        binomial::needed_without(1.0 - limit.quantile.get(), 1.0 - slo::ALPHA)
    };
    slo.quantiles.iter().map(needed).max().filter(|needed| goal.due < *needed)
}

/// Seconds; zero when nothing was recorded.
pub fn quantiles(latencies: &Latencies) -> WindowLatency {
    let at = |q| latencies.quantile(q).unwrap_or_default().as_secs_f64();
    WindowLatency { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1.0) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand::{RngExt as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use statrs::distribution::{Binomial, DiscreteCDF as _};

    use super::*;
    use crate::terms::{Certainty, Target};

    fn goals(targets: &[&str], common: Option<&str>) -> Goals {
        let targets: Vec<Target> = targets.iter().map(|text| text.parse().unwrap()).collect();
        Goals::of(&targets, common.map(|slo| slo.parse().unwrap()), true).unwrap()
    }

    /// A second with these requests of each target: how many took 10 ms, and how many 1 s.
    fn second(targets: &[(u64, u64)]) -> LoadSecond {
        let mut second = LoadSecond::default();
        for &(fast, slow) in targets {
            let mut one = TargetSecond::default();
            one.status.insert(200, fast + slow);
            one.latency.record_n(Duration::from_millis(10), fast);
            one.latency.record_n(Duration::from_secs(1), slow);
            second.due += fast + slow;
            second.latency.add(&one.latency);
            *second.status.entry(200).or_default() += fast + slow;
            second.by_target.push(one);
        }
        second
    }

    fn verdict(goals: &Goals, targets: &[(u64, u64)]) -> (Verdict, Vec<GoalCount>) {
        together(&judge(goals, &[second(targets)]))
    }

    /// A term with how many of how many requests broke it.
    fn broken_of(count: &TermCount) -> (String, u64, u64) {
        (count.term.to_string(), count.violations, count.requests)
    }

    fn uncertain(judged: &[JudgedGoal]) -> Vec<GoalCount> {
        match bearable(judged) {
            Some(Reason::MetButUncertain { goals }) => goals,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_target_is_judged_by_its_own_goal_and_the_rest_by_the_common_one() {
        let own = goals(&["GET / weight=9", "GET /report slo=p95<2s"], Some("p95<200ms"));
        assert_eq!(verdict(&own, &[(900, 0), (0, 100)]).0, Verdict::Yes);
        // One goal for all of them would be missed.
        let common = goals(&["GET / weight=9", "GET /report"], Some("p95<200ms"));
        assert_eq!(verdict(&common, &[(900, 0), (0, 100)]).0, Verdict::No);
        // And the other way round: a slow kind that the common goal has room for.
        let strict = goals(&["GET / weight=99", "GET /report slo=p95<500ms"], Some("p95<200ms"));
        let (verdict, counts) = verdict(&strict, &[(9900, 0), (0, 100)]);
        assert_eq!(verdict, Verdict::No);
        let [missed] = &counts[..] else { panic!("only what was missed is told: {counts:?}") };
        assert_eq!(missed.scope, Some(GoalScope::Target("GET /report".into())));
        assert_eq!(broken_of(&missed.terms[0]), ("p95<500ms".to_string(), 100, 100));
        assert!(!missed.terms[0].counts_failures);
    }

    #[test]
    fn errors_of_one_target_miss_its_own_goal_only() {
        let mix = ["GET /", "GET /a slo=errors<5%", "GET /b"];
        let goals = goals(&mix, Some("p95<200ms,errors<1%"));
        let mut broken = second(&[(500, 0), (100, 0), (400, 0)]);
        broken.by_target[1].status = [(200, 70), (500, 30)].into();
        let judged = judge(&goals, &[broken]);
        let (verdict, counts) = together(&judged);
        assert_eq!((verdict, counts.len()), (Verdict::No, 1), "{counts:?}");
        assert_eq!(counts[0].scope, Some(GoalScope::Target("GET /a".into())));
        assert_eq!(broken_of(&counts[0].terms[0]), ("errors<5%".to_string(), 30, 100));
        assert_eq!(slo::conclude(&judged[0].parts).0, Verdict::Yes);
        assert_eq!(judged[0].scope, Some(GoalScope::OtherTargets));
    }

    #[test]
    fn a_target_with_too_few_requests_leaves_the_rate_to_the_others() {
        let goals = goals(&["GET / weight=99", "GET /rare slo=p95<500ms"], Some("p95<200ms"));
        let judged = judge(&goals, &[second(&[(990, 0), (10, 0)])]);
        assert_eq!(together(&judged).0, Verdict::Undecided, "it is not certain");
        let counts = uncertain(&judged);
        assert_eq!(counts[1].scope, Some(GoalScope::Target("GET /rare".into())));
        let rare = &counts[1].terms[0];
        assert_eq!(broken_of(rare), ("p95<500ms".to_string(), 0, 10));
        assert_eq!(rare.certainty, Certainty::TooFew { needed: 59 });
        let none = judge(&goals, &[second(&[(990, 0), (0, 0)])]);
        assert!(bearable(&none).is_some(), "none came at all");
        let slow = judge(&goals, &[second(&[(990, 0), (9, 1)])]);
        assert_eq!(bearable(&slow), None, "one of ten was slow: that looks missed");
        let close = judge(&goals, &[second(&[(960, 40), (10, 0)])]);
        assert_eq!(bearable(&close), None, "the common goal itself is not certain");
        let enough = judge(&goals, &[second(&[(990, 0), (96, 4)])]);
        assert_eq!(bearable(&enough), None, "what could have been certain has to be");
    }

    #[test]
    fn one_goal_holds_with_certain_latencies_and_errors_that_look_right() {
        let one = Goals::one("p95<200ms,errors<0.1%".parse().unwrap());
        let good = judge(&one, &[second(&[(400, 0)])]);
        assert_eq!(together(&good).0, Verdict::Undecided);
        let counts = uncertain(&good);
        let errors = &counts[0].terms[1];
        assert_eq!(broken_of(errors), ("errors<0.1%".to_string(), 0, 400));
        assert_eq!(errors.certainty, Certainty::TooFew { needed: 2995 });
        let mut failed = second(&[(400, 0)]);
        failed.status = [(200, 399), (500, 1)].into();
        assert_eq!(bearable(&judge(&one, &[failed])), None);
        let errors_alone = Goals::one("errors<0.1%".parse().unwrap());
        assert_eq!(bearable(&judge(&errors_alone, &[second(&[(400, 0)])])), None);
    }

    #[test]
    fn the_summary_has_each_goal_with_its_targets_and_what_it_would_take() {
        let mix = ["GET / weight=7", "GET /a weight=2", "GET /rare slo=p95<500ms"];
        let goals = goals(&mix, Some("p95<200ms"));
        let mut judge = Judge::new(&goals);
        // A second without any request has no targets.
        judge.take(&LoadSecond::default());
        judge.take(&second(&[(700, 0), (190, 10), (12, 0)]));
        let [common, rare] = &judge.summaries()[..] else { panic!("two goals") };
        assert_eq!((common.due, common.met, common.own), (900, Some(true), false));
        assert_eq!(common.targets[1].target, "GET /a");
        assert!(common.targets[1].latency_s.p99 > 0.9 && common.targets[0].latency_s.p99 < 0.02);
        assert_eq!((rare.due, rare.met, rare.requests_needed), (12, None, Some(59)));
        assert_eq!((rare.leaning, lacking(rare), lacking(common)), (Some(true), Some(59), None));
        assert_eq!(rare.slo, Some("p95<500ms".parse().unwrap()));
        assert_eq!(judge.good_within(&LoadSecond::default()), Some(902), "each by its own limit");
    }

    /// In 4,000 windows whose requests are late exactly as often as each goal allows.
    #[test]
    fn ten_goals_at_their_limits_are_called_missed_as_seldom_as_one() {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(22);
        let requests = Binomial::new(0.05, 400).unwrap();
        let at_most: Vec<f64> = (0..400).map(|late| requests.cdf(late)).collect();
        let mut share_missed = |targets: usize| {
            let mix: Vec<String> =
                (0..targets).map(|n| format!("GET /{n} slo=p95<200ms")).collect();
            let mix: Vec<&str> = mix.iter().map(String::as_str).collect();
            let goals = goals(&mix, None);
            let mut window = || {
                let late = |chance: &mut Xoshiro256PlusPlus| {
                    let share: f64 = chance.random();
                    at_most.partition_point(|at_most| *at_most < share) as u64
                };
                let each: Vec<_> = (0..targets).map(|_| late(&mut chance)).collect();
                let each: Vec<_> = each.iter().map(|late| (400 - late, *late)).collect();
                verdict(&goals, &each).0
            };
            let missed = (0..4000).filter(|_| window() == Verdict::No).count();
            missed as f64 / 4000.0
        };
        // Three standard errors of a share of 5 % in 4,000 are 1 %. Whole requests make it less.
        let (one, ten) = (share_missed(1), share_missed(10));
        assert!((0.02..=0.06).contains(&one), "{one}");
        assert!((0.02..=0.06).contains(&ten), "{ten}");
    }

    #[test]
    fn targets_of_one_goal_have_figures_and_it_is_judged_by_all_requests() {
        let goals = goals(&["GET /", "GET /a"], Some("p95<200ms"));
        let mut untold = second(&[(90, 0), (9, 0)]);
        untold.by_target.clear();
        assert_eq!(together(&judge(&goals, &[untold.clone()])).0, Verdict::Yes);
        let mut judge = Judge::new(&goals);
        judge.take(&untold);
        assert!(judge.summaries().is_empty(), "they are not told apart");
        judge.take(&second(&[(90, 0), (9, 0)]));
        assert_eq!(judge.summaries()[0].targets.len(), 2);
        assert_eq!(judge.conclude().unwrap().goals, goals.list());
    }
}
