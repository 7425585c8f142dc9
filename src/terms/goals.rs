//! What a mix of requests is judged by: one goal for all of them together, or goals of their own
//! for some targets and one for the others together.
//!
//! In: targets, and the goal for those without one of their own. Out: [`Goals`], and what is stored
//! of them, a [`GoalList`]. Only computes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::slo::{Slo, SloError};
use super::target::Target;

/// The goals of a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Goals {
    /// Of the requests to targets without a goal of their own; `None`: not settled yet, or there
    /// is none.
    common: Option<Slo>,
    /// In the order of the mix; empty: requests are not told apart.
    targets: Vec<Judged>,
}

/// One target, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
struct Judged {
    name: String,
    weight: u32,
    own: Option<Slo>,
}

/// The latency goal as planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedGoal {
    Given(Slo),
    /// It follows from what one client alone sees, in the first trial.
    FromUnloaded,
}

/// All goals of a load, stored as one line: `p95<200ms; GET /report: p95<2s`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct GoalList {
    /// Of the requests to targets without a goal of their own.
    pub common: Option<PlannedGoal>,
    /// In the order of the mix.
    pub own: Vec<OwnGoal>,
}

/// The goal that one target alone is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnGoal {
    /// Such as `GET /report`.
    pub target: String,
    pub slo: Slo,
}

/// How a goal is written that the first trial settles.
const FROM_UNLOADED: &str = "p95 by the unloaded p95, errors<0.1%";
/// How it was written when that was at least 200 ms.
const FROM_UNLOADED_BEFORE: &str = "p95 < max(200ms, 3 x unloaded p95), errors<0.1%";

/// A goal with the requests that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'a> {
    /// `None`: there is none, or none yet.
    pub slo: Option<&'a Slo>,
    /// One target's own.
    pub is_own: bool,
    /// By their place in the mix, with their names; empty: all requests, not told apart.
    pub targets: Vec<(usize, &'a str)>,
    /// Share of all requests, 0..=1.
    pub share: f64,
}

/// Which requests of a mix a goal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalScope {
    /// Those of one target, such as `GET /report`.
    Target(String),
    /// Those of all targets without a goal of their own.
    OtherTargets,
}

/// Goals that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GoalsError {
    #[error(
        "every target has a goal of its own, so that this one would be about no request; leave \
         it out, or a target's own"
    )]
    NobodyLeft,
    #[error("'{target}' stands there twice with different goals; leave one of the two out")]
    Contradiction { target: String },
    #[error(
        "{count} targets are more than can be told apart ({most}), which goals of their own need; \
         leave the goals out, or some targets"
    )]
    TooMany { count: usize, most: usize },
}

/// For each target told apart the generator keeps latencies of their own.
const MOST_APART: usize = 64;

impl Goals {
    /// One goal for all requests, which are not told apart.
    pub fn one(slo: Slo) -> Self {
        Self { common: Some(slo), targets: Vec::new() }
    }

    /// Those of a mix. Targets are told apart when one of them has a goal of its own, and where
    /// `always` asks for it and they are several, but not too many.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn of(targets: &[Target], common: Option<Slo>, always: bool) -> Result<Self, GoalsError> {
        let has_own = targets.iter().any(|target| target.slo.is_some());
        let is_wanted = always && (2..=MOST_APART).contains(&targets.len());
        if !has_own && !is_wanted {
            return Ok(Self { common, targets: Vec::new() });
        }
        if targets.len() > MOST_APART {
            return Err(GoalsError::TooMany { count: targets.len(), most: MOST_APART });
        }
        if common.is_some() && targets.iter().all(|target| target.slo.is_some()) {
            return Err(GoalsError::NobodyLeft);
        }
        let mut judged: Vec<Judged> = Vec::new();
        for (at, target) in targets.iter().enumerate() {
            let contradicts =
                |other: &Target| other.is_same_request(target) && other.slo != target.slo;
            if targets[..at].iter().any(contradicts) {
                return Err(GoalsError::Contradiction { target: target.name() });
            }
            // Requests that differ by what is not shown, such as their bodies.
            let alike = targets[..at].iter().filter(|other| other.name() == target.name()).count();
            let name = match alike {
                0 => target.name(),
                _ => format!("{} ({})", target.name(), alike + 1),
            };
            judged.push(Judged { name, weight: target.weight, own: target.slo.clone() });
        }
        Ok(Self { common, targets: judged })
    }

    /// These goals, with that of the targets without one of their own settled.
    pub fn with_common(&self, common: Option<&Slo>) -> Self {
        Self { common: common.cloned(), targets: self.targets.clone() }
    }

    /// Each with the name of its target, without those that share the common one.
    pub fn list(&self) -> GoalList {
        let common = self.common.clone().filter(|_| self.has_common());
        let own = self.targets.iter().filter_map(|target| {
            Some(OwnGoal { target: target.name.clone(), slo: target.own.clone()? })
        });
        GoalList { common: common.map(PlannedGoal::Given), own: own.collect() }
    }

    /// Requests are told apart by their targets.
    pub fn are_apart(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Some target has a goal of its own.
    pub fn has_own(&self) -> bool {
        self.targets.iter().any(|target| target.own.is_some())
    }

    /// Some target is judged by the common goal.
    pub fn has_common(&self) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|target| target.own.is_none())
    }

    /// There is nothing to judge by.
    pub fn are_none(&self) -> bool {
        self.parts().iter().all(|part| part.slo.is_none())
    }

    /// Every goal with what it is about: first the common one, then the targets' own in order.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let total: u32 = self.targets.iter().map(|target| target.weight).sum();
        let share = |weight: u32| f64::from(weight) / f64::from(total.max(1));
        let mut parts = Vec::new();
        if self.has_common() {
            let rest: Vec<_> =
                self.targets.iter().enumerate().filter(|(_, it)| it.own.is_none()).collect();
            parts.push(Part {
                slo: self.common.as_ref(),
                is_own: false,
                share: match self.targets[..] {
                    [] => 1.0,
                    _ => share(rest.iter().map(|(_, it)| it.weight).sum()),
                },
                targets: rest.into_iter().map(|(at, it)| (at, it.name.as_str())).collect(),
            });
        }
        let own = self.targets.iter().enumerate().filter(|(_, it)| it.own.is_some());
        parts.extend(own.map(|(at, it)| Part {
            slo: it.own.as_ref(),
            is_own: true,
            targets: vec![(at, it.name.as_str())],
            share: share(it.weight),
        }));
        parts
    }

    /// The shortest limit of all; `None` when only errors are limited.
    pub fn tightest_limit(&self) -> Option<Duration> {
        self.parts().iter().filter_map(|part| part.slo?.tightest_limit()).min()
    }

    /// The longest limit of all; `None` when only errors are limited.
    pub fn longest_limit(&self) -> Option<Duration> {
        self.parts().iter().filter_map(|part| part.slo?.longest_limit()).max()
    }

    /// One limit for the mean of all requests, such as their number in flight needs by Little's
    /// law: the mean of the parts' limits by their shares. `None` when some part has none.
    pub fn mean_limit(&self, of: impl Fn(&Slo) -> Option<Duration>) -> Option<Duration> {
        let parts = self.parts();
        let limits = parts.iter().map(|part| Some(of(part.slo?)?.mul_f64(part.share)));
        limits.sum()
    }
}

impl Part<'_> {
    /// Which requests it is about; `None`: all of them.
    pub fn scope(&self, has_others: bool) -> Option<GoalScope> {
        match &self.targets[..] {
            [] => None,
            [(_, only)] => Some(GoalScope::Target((*only).to_string())),
            _ => has_others.then_some(GoalScope::OtherTargets),
        }
    }
}

impl GoalList {
    pub fn is_empty(&self) -> bool {
        self.common.is_none() && self.own.is_empty()
    }

    /// That of the targets without one of their own; `None` also while it is not settled.
    pub fn common(&self) -> Option<&Slo> {
        match &self.common {
            Some(PlannedGoal::Given(slo)) => Some(slo),
            Some(PlannedGoal::FromUnloaded) | None => None,
        }
    }

    /// The one goal of all requests; `None` where there are several.
    pub fn only(&self) -> Option<&Slo> {
        self.common().filter(|_| self.own.is_empty())
    }

    /// Without the common goal's share of errors, where it has a latency beside that.
    #[must_use]
    pub fn without_errors(&self) -> Self {
        let mut goals = self.clone();
        if let Some(PlannedGoal::Given(slo)) = &mut goals.common
            && !slo.quantiles.is_empty()
        {
            slo.errors = None;
        }
        goals
    }

    /// False until the first trial has settled what was left to it.
    pub fn are_settled(&self) -> bool {
        !self.is_empty() && self.common != Some(PlannedGoal::FromUnloaded)
    }

    /// Those that are settled, the common one first.
    pub fn settled(&self) -> impl Iterator<Item = &Slo> {
        self.common().into_iter().chain(self.own.iter().map(|own| &own.slo))
    }
}

impl fmt::Display for GoalList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let common = self.common.iter().map(|goal| match goal {
            PlannedGoal::Given(slo) => slo.to_string(),
            PlannedGoal::FromUnloaded => FROM_UNLOADED.to_string(),
        });
        let own = self.own.iter().map(|OwnGoal { target, slo }| format!("{target}: {slo}"));
        f.write_str(&common.chain(own).collect::<Vec<_>>().join("; "))
    }
}

impl FromStr for GoalList {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let mut list = Self::default();
        for part in text.split("; ").filter(|part| !part.is_empty()) {
            match part.split_once(": ") {
                Some((target, slo)) => {
                    list.own.push(OwnGoal { target: target.to_string(), slo: slo.parse()? });
                }
                None if [FROM_UNLOADED, FROM_UNLOADED_BEFORE].contains(&part) => {
                    list.common = Some(PlannedGoal::FromUnloaded);
                }
                None => list.common = Some(PlannedGoal::Given(part.parse()?)),
            }
        }
        Ok(list)
    }
}

impl TryFrom<String> for GoalList {
    type Error = SloError;

    fn try_from(text: String) -> Result<Self, SloError> {
        text.parse()
    }
}

impl From<GoalList> for String {
    fn from(list: GoalList) -> Self {
        list.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goals(targets: &[&str], common: Option<&str>) -> Result<Goals, GoalsError> {
        let targets: Vec<Target> = targets.iter().map(|text| text.parse().unwrap()).collect();
        Goals::of(&targets, common.map(|slo| slo.parse().unwrap()), true)
    }

    #[test]
    fn a_target_with_a_goal_of_its_own_is_left_out_of_the_others() {
        let mix = ["GET / weight=7", "GET /report slo=p95<2s", "GET /orders weight=2"];
        let goals = goals(&mix, Some("p95<200ms,errors<1%")).unwrap();
        assert_eq!(goals.list().to_string(), "p95<200ms,errors<1%; GET /report: p95<2s");
        let parts = goals.parts();
        assert_eq!(parts[0].targets, [(0, "GET /"), (2, "GET /orders")]);
        assert_eq!((parts[0].share, parts[0].is_own), (0.9, false));
        assert_eq!(
            (parts[1].targets.as_slice(), parts[1].share),
            ([(1, "GET /report")].as_slice(), 0.1)
        );
        assert_eq!(goals.tightest_limit(), Some(Duration::from_millis(200)));
        assert_eq!(goals.longest_limit(), Some(Duration::from_secs(2)));
        let mean = goals.mean_limit(Slo::tightest_limit).unwrap();
        assert!((mean.as_secs_f64() - 0.38).abs() < 1e-6, "{mean:?}");
    }

    #[test]
    fn requests_are_told_apart_only_where_that_says_something() {
        assert!(!goals(&["GET /"], Some("p95<1s")).unwrap().are_apart());
        assert!(goals(&["GET /", "GET /a"], None).unwrap().are_apart());
        assert!(goals(&["GET / slo=p95<1s"], None).unwrap().are_apart());
        let many: Vec<Target> = (0..65).map(|n| Target::get(format!("/{n}"))).collect();
        assert!(!Goals::of(&many, None, true).unwrap().are_apart());
        assert!(!Goals::of(&many[..2], None, false).unwrap().are_apart());
    }

    #[test]
    fn a_common_goal_that_is_not_settled_leaves_the_others_their_own() {
        let open = goals(&["GET /", "GET /report slo=p95<2s"], None).unwrap();
        assert!(!open.are_none() && open.has_common());
        assert_eq!(open.list().to_string(), "GET /report: p95<2s");
        assert_eq!(open.mean_limit(Slo::tightest_limit), None, "nothing is known of the others");
        let settled = open.with_common(Some(&"p95<1s".parse().unwrap()));
        assert_eq!(settled.list().to_string(), "p95<1s; GET /report: p95<2s");
        assert!(!goals(&["GET / slo=p95<1s"], None).unwrap().has_common());
    }

    #[test]
    fn goals_that_contradict_each_other_are_refused() {
        let refused = |targets: &[&str], common| goals(targets, common).unwrap_err().to_string();
        let error = refused(&["GET / slo=p95<1s"], Some("p95<2s"));
        assert!(error.starts_with("every target has a goal of its own"), "{error}");
        let error = refused(&["GET /a slo=p95<1s", "/a weight=2 slo=p95<2s"], None);
        assert!(error.starts_with("'GET /a' stands there twice with different goals"), "{error}");
        assert!(goals(&["GET /a?x=1 slo=p95<1s", "GET /a?x=2 slo=p95<2s"], None).is_ok());
        let many: Vec<String> = (0..65).map(|n| format!("GET /{n} slo=p95<1s")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(refused(&many, None).contains("65 targets are more than can be told apart (64)"));
    }

    #[test]
    fn targets_of_one_name_are_numbered() {
        let goals = goals(&["GET /a?x=1 slo=p95<1s", "GET /a?x=2 slo=p95<2s"], None).unwrap();
        assert_eq!(goals.list().to_string(), "GET /a?…: p95<1s; GET /a?… (2): p95<2s");
    }

    #[test]
    fn what_is_stored_of_goals_reads_back_as_they_were() {
        let mix = ["GET /", "GET /a?x=1 slo=p99.9<1.5s", "GET /a?x=2 slo=p95<2s,errors<5%"];
        let settled = goals(&mix, Some("p95<200ms,errors<0.1%")).unwrap().list();
        let common = Some(PlannedGoal::FromUnloaded);
        let open = GoalList { common, ..settled.clone() };
        for list in [settled, open, GoalList::default()] {
            let stored = serde_json::to_string(&list).unwrap();
            assert_eq!(serde_json::from_str::<GoalList>(&stored).unwrap(), list, "{stored}");
        }
        assert!("p95<200ms; GET /a: fast".parse::<GoalList>().is_err());
    }
}
