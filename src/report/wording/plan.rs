//! What each language has a word for in a plan.

use super::Language;
use crate::terms::{
    Framework, Objective, PlanSource, PlannedGoal, PlannedValue, StepKind, StepTime,
};

/// A value of a plan that is a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanWord {
    /// How well the capacity is to be known.
    AsTheBudgetAllows,
    /// The environment that the app, or the user's command, gives itself.
    OfTheApp,
    NoLimit,
    NoValue,
    On,
    Off,
}

/// The words of a plan.
pub trait PlanPhrases {
    /// What the value is of.
    fn plan_label(&self, value: &PlannedValue) -> &'static str;
    fn plan_source(&self, source: &PlanSource) -> String;
    fn plan_word(&self, word: PlanWord) -> &'static str;
    fn framework(&self, framework: Framework) -> &'static str;
    /// A Deployment of a cluster; `namespace` is `None` where it is that of the context.
    fn deployment(&self, name: &str, namespace: Option<&str>) -> String;
    fn step_time(&self, when: StepTime) -> &'static str;
    fn step(&self, what: &StepKind) -> String;
    /// An image that is tried in these numbers of pods.
    fn cut(&self, image: &str, pods: &str) -> String;
    /// An image of which so many settings are measured at the same time.
    fn at_once(&self, image: &str, settings: u16) -> String;
    /// A file that pods are like, and its container that runs the app, if one does.
    fn pods_like(&self, file: &str, container: Option<&str>) -> String;
    /// Pods that send a load together, and their image.
    fn generators(&self, pods: u16, image: &str) -> String;
    /// The host that sends it.
    fn load_from(&self, host: &str) -> String;
    /// `common` is `None` where each target has a goal of its own; `has_own`: some have.
    fn planned_goal(&self, common: Option<&PlannedGoal>, has_own: bool) -> String;
    fn objective(&self, objective: &Objective) -> String;
    /// Of a target in the mix.
    fn weight(&self, weight: u32) -> String;
    /// Names whose values may be secret.
    fn names_alone(&self, names: &str) -> String;
    /// All that the machine has.
    fn all_of_it(&self, amount: &str) -> String;
    fn at_most(&self, most: u32) -> String;
    /// A session's plan, run again, has another value; `flag` says how to give the first one.
    fn plans_differ(&self, what: &str, values: [&str; 2], flag: &str) -> String;
    /// What two values of one kind are of, and each of them, or the word for none; `language`:
    /// this one.
    fn both(
        &self,
        values: [Option<&PlannedValue>; 2],
        language: Language,
    ) -> (&'static str, [String; 2]) {
        let what = values[0].or(values[1]).map_or("", |it| self.plan_label(it));
        let none = || self.plan_word(PlanWord::NoValue).to_string();
        (what, values.map(|it| it.map_or_else(none, |it| language.say_fact(it))))
    }
}
