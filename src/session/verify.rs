//! What `sweetspot verify` does: the recommended setting of a stored session and the one that was
//! current then are measured again, and it says whether the recommendation is still right.
//!
//! In: a stored session, the plan again, and a place. Out: a [`Verification`], and a session of its
//! own in the store, which no tune takes up.

use std::time::Duration;

use thiserror::Error;

use super::compare::same;
use super::drive::{Known, Questions, Session, TuneError};
use super::fingerprint;
use super::report::{ReportError, Which, find, replay, tuned};
use crate::report::{Language, Story};
use crate::search::{
    Answer, CapacityEstimate, Choice, Told, TrialRequest, Verify, VerifyAnswer, VerifyPlan,
    VerifySetting,
};
use crate::stats::Estimate;
use crate::store::{SessionId, Store};
use crate::terms::{
    Configuration, Difference, Event, EventKind, HeldRate, Machine, MachineDifference, Note,
    Prediction, SessionState, Slo, Stated, Verification, VerifiedSetting,
};

/// Why nothing can be verified.
#[derive(Debug, Error)]
pub enum VerifyError {
    #[error(transparent)]
    Session(#[from] ReportError),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error("session {session} recommends nothing that could be verified; tune again")]
    NothingRecommended { session: i64 },
    #[error(
        "session {session} verifies session {verifies} itself; verify that: 'sweetspot verify \
         {verifies}'"
    )]
    IsVerification { session: i64, verifies: i64 },
    #[error("session {session} ended before its goal was settled; tune again")]
    NoGoal { session: i64 },
    /// Another machine: it is refused, as by `compare`.
    #[error(
        "the machine is not the one of session {session}: {} (A: then, B: now). A difference \
         would be the machine's as much as the app's; tune here, or say --machines if the machine \
         is what you ask about",
        Language::DATA.say_fact(.why.as_ref())
    )]
    OtherMachine { session: i64, why: Box<MachineDifference> },
}

/// A stored session as far as it is verified.
#[derive(Debug, Clone)]
pub struct Claim {
    pub story: Story,
    pub session: i64,
    /// Of the targets without one of their own; `None`: every target has its own.
    pub slo: Option<Slo>,
    recommended: VerifySetting,
    /// The rate that was printed as held, requests/s; where none was, one that surely is.
    rate_rps: f64,
    /// How it was held then.
    held_then: Option<HeldRate>,
    current: Option<VerifySetting>,
    /// What runs where it was not changed.
    current_then: Configuration,
    unloaded_s: Option<f64>,
}

/// Everything that a verification works with.
pub struct Verifying<'a> {
    /// Its plan is that of the claim's session again, with the budget of the verification.
    pub session: Session<'a>,
    pub claim: &'a Claim,
    /// The machine may be another one.
    pub compares_machines: bool,
}

/// How a verification ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub verification: Verification,
    pub state: SessionState,
    /// All events of the session, stored ones only.
    pub events: Vec<Event>,
}

/// Reads what the session claims. `last` is the newest that looked for a setting itself.
///
/// # Errors
/// No such session, or one that claims nothing.
pub fn claim(store: &Store, which: Which) -> Result<Claim, VerifyError> {
    let which = tuned(store, which)?;
    let row = find(store, which)?;
    let session = row.id.0;
    if let Some(verifies) = row.verifies {
        return Err(VerifyError::IsVerification { session, verifies });
    }
    of_story(replay(store, which)?, session)
}

fn of_story(story: Story, session: i64) -> Result<Claim, VerifyError> {
    let missing = || VerifyError::NothingRecommended { session };
    let decision = story.decision.as_ref().ok_or_else(missing)?;
    let chosen = story.chosen().ok_or_else(missing)?;
    let held = (decision.capacity_rps, decision.capacity_rps_interval);
    let rate_rps = decision.held.map_or(decision.capacity_rps_interval[0], |held| held.rate_rps);
    let recommended = VerifySetting::of_session(&story.trials, chosen, held);
    let current_then = story.current_configuration().unwrap_or(chosen);
    let held = story.current.as_ref().and_then(|it| it.capacity_rps.zip(it.capacity_rps_interval));
    let current = held
        .filter(|_| current_then != chosen)
        .map(|held| VerifySetting::of_session(&story.trials, current_then, held));
    if !story.goals.are_settled() {
        return Err(VerifyError::NoGoal { session });
    }
    Ok(Claim {
        unloaded_s: story.alone().map(|trial| trial.summary.latency_s.mean),
        recommended,
        rate_rps,
        held_then: decision.held,
        current,
        current_then,
        slo: story.goals.common().cloned(),
        session,
        story,
    })
}

/// Runs a whole verification.
///
/// # Errors
/// The app's settings cannot be read, the machine is another one, or our own environment fails us.
/// Whatever was measured until then is in the store.
pub fn run(verifying: Verifying<'_>) -> Result<Verified, VerifyError> {
    let Verifying { mut session, claim, compares_machines } = verifying;
    let plan = session.plan;
    let mut inspection = session.place.inspect().map_err(TuneError::from)?;
    let other = same::machines(claim.story.machine.as_ref(), Some(session.place.machine()));
    if let Some(why) = other.filter(|_| !compares_machines) {
        return Err(VerifyError::OtherMachine { session: claim.session, why: why.into() });
    }
    session.doubts.extend(session.place.warnings());
    // It may have been changed since: what ran then is what is measured.
    inspection.current = claim.current_then;
    let fingerprint = fingerprint::of_verification(claim.session, &session.started_at);
    let (mut work, place) = session.begin(fingerprint, inspection, None)?;
    let elapsed = place.elapsed();
    work.log.emit(elapsed, EventKind::Verifying { session: claim.session })?;
    let started = work.started();
    let told = told_of(&started);
    work.log.emit(elapsed, started)?;
    let search = Verify::new(VerifyPlan {
        recommended: claim.recommended.clone(),
        rate_rps: claim.rate_rps,
        held_then: claim.held_then,
        current: claim.current.clone(),
        arrivals: plan.arrivals,
        budget: plan.budget,
        seed: plan.seed,
    });
    let mut differences = same::differences(&claim.story, &told);
    differences.extend(without_knobs(&claim.story));
    let (session, machine) = (work.log.session, work.machine.clone());
    let mut recheck = Recheck { search, claim, session, machine, differences, verification: None };
    let ended = work.drive(&mut recheck, vec![place])?;
    let verification =
        recheck.verification.expect("a session that ended has come to its conclusion");
    Ok(Verified { verification, state: ended.state, events: ended.events })
}

/// Workers and threads are what is verified, also where the session recommends more.
fn without_knobs(story: &Story) -> Option<Stated<Difference>> {
    let knobs = story.knobs.as_ref().filter(|knobs| !knobs.recommended.is_empty())?;
    let at = same::named(story, knobs.workers, knobs.recommended_threads);
    let at = (knobs.recommended_threads != knobs.threads).then_some(at);
    Some(Difference::KnobsNotVerified { changes: knobs.recommended.clone(), at }.into())
}

/// The beginning of a session, as a report of it has it.
fn told_of(started: &EventKind) -> Story {
    let mut story = Story::default();
    story.take(&Event { at_s: 0.0, kind: started.clone() });
    story
}

/// A claim that is measured again.
struct Recheck<'a> {
    search: Verify,
    claim: &'a Claim,
    session: SessionId,
    machine: Machine,
    differences: Vec<Stated<Difference>>,
    /// Set once the session has come to an end of its own.
    verification: Option<Verification>,
}

impl Questions for Recheck<'_> {
    fn ask(&mut self) -> Vec<TrialRequest> {
        self.search.ask()
    }

    fn tell(&mut self, told: Told) {
        self.search.tell(told);
    }

    /// A setting that doesn't start any more is an answer, also when it is the first.
    fn known(&self) -> Known<'_> {
        Known {
            slo: self.claim.slo.as_ref(),
            unloaded_s: self.claim.unloaded_s,
            left: self.search.time_left(),
            needs_first_boot: false,
        }
    }

    fn answer(&self) -> Answer {
        as_answer(self.claim, &self.search.answer())
    }

    fn predictions(&self) -> Vec<Prediction> {
        Vec::new()
    }

    fn conclusion(&mut self, elapsed_s: f64) -> Option<EventKind> {
        let verification = self.verify(elapsed_s);
        self.verification = Some(verification.clone());
        Some(EventKind::Verified(Box::new(verification)))
    }
}

impl Recheck<'_> {
    fn verify(&self, elapsed_s: f64) -> Verification {
        let (claim, answer) = (self.claim, self.search.answer());
        let measured = |setting: &VerifySetting, rps: Option<&Estimate>| VerifiedSetting {
            workers: setting.configuration.workers.get(),
            threads: setting.configuration.threads.get(),
            capacity_rps_then: setting.held_rps,
            capacity_rps: rps.map(|it| it.value),
            capacity_rps_interval: rps.map(Estimate::interval),
            starts: rps.map_or(0, |it| it.count),
        };
        Verification {
            session: claim.session,
            stored_as: self.session.0,
            verdict: answer.verdict,
            reason: answer.reason.clone().into(),
            recommended: measured(&claim.recommended, answer.recommended_rps.as_ref()),
            current: claim.current.as_ref().map(|it| measured(it, answer.current_rps.as_ref())),
            ratio: answer.against_then.map(|it| it.value),
            ratio_interval: answer.against_then.as_ref().map(Estimate::interval),
            held: answer.held,
            gain_ratio: answer.against_current.map(|it| it.value),
            gain_ratio_interval: answer.against_current.as_ref().map(Estimate::interval),
            slo: claim.story.goals.clone(),
            machine: self.machine.clone(),
            differences: self.differences.clone(),
            notes: notes(&answer),
            elapsed_s,
        }
    }
}

fn notes(answer: &VerifyAnswer) -> Vec<Stated<Note>> {
    answer.notes.iter().map(|note| Note::Recheck(note.clone()).into()).collect()
}

/// What was measured in the shape that every session ends on, so that reports, lists and
/// comparisons read it as any other.
fn as_answer(claim: &Claim, answer: &VerifyAnswer) -> Answer {
    let estimate = |setting: &VerifySetting, rps: Option<Estimate>| {
        rps.map(|rps| CapacityEstimate { configuration: setting.configuration, rps })
    };
    let capacity = estimate(&claim.recommended, answer.recommended_rps);
    let is_current = claim.current_then == claim.recommended.configuration;
    let current = match &claim.current {
        Some(current) => estimate(current, answer.current_rps),
        // One that held nothing then is not measured again.
        None => capacity.filter(|_| is_current),
    };
    let same = is_current.then_some(Estimate { value: 1.0, low: 1.0, high: 1.0, count: 1 });
    Answer {
        current,
        choice: capacity.map(|capacity| Choice {
            capacity,
            gain: answer.against_current.or(same),
            precision: None,
            held: answer.held,
            limit: answer.limit.clone(),
            memory_bytes: answer.memory_bytes,
            latency_at_rps: None,
            p95_s: None,
            equivalent: Vec::new(),
        }),
        memory: None,
        objective: None,
        knobs: None,
        soak: None,
        notes: notes(answer),
    }
}

/// How long a verification takes unless the user says otherwise.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Start;
    use crate::terms::Arrivals;

    #[test]
    fn a_setting_that_held_nothing_then_is_not_given_what_the_recommended_one_holds() {
        let at = |workers| Configuration::new(workers, 5).unwrap();
        let recommended = VerifySetting {
            configuration: at(3),
            held_rps: 100.0,
            starts: vec![Start::concluded(at(3), 100.0, [95.0, 105.0])],
            clients: None,
            warm_s: 0.0,
        };
        let claim = |current_then| Claim {
            story: Story::default(),
            session: 1,
            slo: None,
            recommended: recommended.clone(),
            rate_rps: 95.0,
            held_then: None,
            current: None,
            current_then,
            unloaded_s: None,
        };
        let search = Verify::new(VerifyPlan {
            recommended: recommended.clone(),
            rate_rps: 95.0,
            held_then: None,
            current: None,
            arrivals: Arrivals::Poisson,
            budget: DEFAULT_BUDGET,
            seed: 1,
        });
        let now = Estimate { value: 98.0, low: 92.0, high: 104.0, count: 3 };
        let answer = VerifyAnswer { recommended_rps: Some(now), ..search.answer() };
        let printed = |current_then| as_answer(&claim(current_then), &answer);
        assert_eq!(printed(at(1)).current, None);
        assert!(printed(at(1)).choice.is_some_and(|choice| choice.gain.is_none()));
        let same = CapacityEstimate { configuration: at(3), rps: now };
        assert_eq!(printed(at(3)).current, Some(same), "what ran then is what is recommended");
    }
}
