//! A session's events put together: what every report is made from, whether live or replayed.
//!
//! In: events, oldest first. Out: a [`Story`]. Computes only, and adds nothing that the events do
//! not say.

pub mod detail;
mod findings;
pub mod map;

use std::collections::BTreeMap;

use crate::terms::{
    BootFailure, Change, Configuration, CurrentSetting, Decision, Event, EventKind, GoalList,
    KnobsReport, Machine, MemoryParts, Note, ObjectiveReport, PlanLine, PlanRecord, PlannedValue,
    Prediction, PredictionScore, SearchNote, SessionError, SessionState, Stated, TrialPurpose,
    TrialSummary, TuneResult, Variant, Verdict, Verification, Warning, plan_records,
};
pub use detail::Detail;
pub use findings::{GoalLatency, NoFigure, Outcome};

/// Where a session lies, as far as it lies anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub session: i64,
    /// The store's file.
    pub store: String,
    /// RFC 3339, UTC.
    pub started_at: String,
}

/// All that the events say; of the raw records, what pictures are drawn from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Story {
    pub stored: Option<Stored>,
    /// The app's folder; empty when no event named it.
    pub app: String,
    pub server: String,
    /// Its workers have one thread each, and nothing is said of threads.
    pub has_no_threads: bool,
    pub goals: GoalList,
    pub machine: Option<Machine>,
    /// What, value, where it came from; in printing order.
    pub plan: Vec<PlanLine>,
    /// The session taken up, and how many trials were known from it.
    pub resumed: Option<(i64, u32)>,
    /// Whether the recommendation that it verifies is still right, once that is known.
    pub verification: Option<Verification>,
    /// Configurations that never became ready, one entry each.
    pub boot_failures: Vec<(Configuration, BootFailure)>,
    /// What variants are made of.
    pub changes: Vec<Change>,
    /// Changes with which the server never became ready: no fault of the configuration.
    pub variant_failures: Vec<(Configuration, Variant, BootFailure)>,
    /// What the knobs do; `None` without any.
    pub knobs: Option<KnobsReport>,
    /// By id, each once.
    pub trials: Vec<TrialSummary>,
    /// What was seen of trials second by second, by id, as far as the records are at hand.
    pub details: BTreeMap<u32, Detail>,
    pub current: Option<CurrentSetting>,
    pub decision: Option<Decision>,
    pub predicted: Vec<Prediction>,
    /// What was expected of each configuration before its first trial, where anything was.
    pub predicted_before: Vec<Prediction>,
    pub memory: Option<MemoryParts>,
    pub objective: Option<ObjectiveReport>,
    /// Each once, in the order they came up.
    pub warnings: Vec<Warning>,
    pub notes: Vec<Stated<Note>>,
    /// `Running` until the events say how it ended.
    pub state: SessionState,
    /// Why it could not measure.
    pub error: Option<Stated<SessionError>>,
    /// Seconds from start to end, or to the last event.
    pub elapsed_s: f64,
    /// Seconds under load.
    pub load_s: f64,
}

/// Puts a session's events together.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>, stored: Option<Stored>) -> Story {
    let mut story = Story { stored, ..Story::default() };
    for event in events {
        story.take(event);
    }
    story
}

/// What a fresh start has to do with the printed rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FreshStart {
    /// It holds as much at once as later.
    HoldsAsMuch,
    /// It is cold and holds less: the rate is a warm one's.
    HoldsLess,
    /// It is cold and held the rate; a warm one holds about so many requests/s.
    HeldIt { warm_rps: f64 },
}

impl Story {
    /// Its workers may have several threads.
    pub fn has_threads(&self) -> bool {
        !self.has_no_threads
    }

    /// The runtime's name and version, such as `ruby 3.1.2`, where the plan says it.
    pub fn runtime(&self) -> Option<String> {
        let runtime = |it: PlanRecord| match it.value {
            PlannedValue::Runtime(words) => Some(words),
            _ => None,
        };
        plan_records(&self.plan).into_iter().find_map(runtime)
    }

    /// Adds the next event.
    pub fn take(&mut self, event: &Event) {
        self.elapsed_s = self.elapsed_s.max(event.at_s);
        match &event.kind {
            EventKind::SessionStarted {
                app,
                server,
                has_threads,
                slo,
                machine,
                plan,
                changes,
                ..
            } => {
                self.changes.clone_from(changes);
                self.has_no_threads = !has_threads;
                self.app.clone_from(app);
                self.server.clone_from(server);
                self.goals.clone_from(slo);
                self.machine = Some(machine.clone());
                self.plan.clone_from(plan);
                // A session that was taken up again begins anew; what it had found before is kept.
                self.state = SessionState::Running;
                self.error = None;
            }
            EventKind::Resumed { session, trials } => self.resumed = Some((*session, *trials)),
            EventKind::Warned(warning) => self.warn(warning),
            EventKind::BootFailed { configuration, variant, failure } if !variant.is_as_it_is() => {
                self.variant_failures.push((*configuration, *variant, failure.clone()));
            }
            EventKind::BootFailed { configuration, failure, .. } => {
                self.boot_failures.retain(|(known, _)| known != configuration);
                self.boot_failures.push((*configuration, failure.clone()));
            }
            EventKind::TrialFinished { summary, load, monitor } => {
                self.details.insert(summary.id, Detail::of(summary, load, monitor));
                self.add_trial(summary);
            }
            EventKind::Verified(found) => self.verification = Some((**found).clone()),
            EventKind::Predicted(predicted) => self.predicted.clone_from(predicted),
            EventKind::SessionEnded { state, result, error } => {
                self.state = *state;
                self.error.clone_from(error);
                if let Some(result) = result {
                    self.conclude(result);
                }
            }
            EventKind::Verifying { .. }
            | EventKind::ServerStarting { .. }
            | EventKind::TrialStarted { .. }
            | EventKind::Second(_) => {}
        }
    }

    fn warn(&mut self, warning: &Warning) {
        if !self.warnings.contains(warning) {
            self.warnings.push(warning.clone());
        }
    }

    fn add_trial(&mut self, summary: &TrialSummary) {
        // The goal may be settled by the first trial; from then on its figures are known.
        if let Some(slo) = &summary.summary.slo {
            let planned = self.goals.common.take();
            self.goals.clone_from(&slo.goals);
            self.goals.common = self.goals.common.take().or(planned);
        }
        if summary.variant.is_as_it_is() {
            self.keep_prediction(summary.configuration);
        }
        match self.trials.binary_search_by_key(&summary.id, |trial| trial.id) {
            Ok(at) => self.trials[at] = summary.clone(),
            Err(at) => self.trials.insert(at, summary.clone()),
        }
        self.load_s = self.trials.iter().map(|trial| trial.load_s).sum();
    }

    /// Called with each trial before it is known: only the first of a configuration finds none.
    fn keep_prediction(&mut self, configuration: Configuration) {
        if self.trials.iter().any(|trial| trial.configuration == configuration) {
            return;
        }
        let (workers, threads) = (configuration.workers.get(), configuration.threads.get());
        let mut predicted = self.predicted.iter();
        let expected = predicted.find(|one| (one.workers, one.threads) == (workers, threads));
        self.predicted_before.extend(expected.cloned());
    }

    fn conclude(&mut self, result: &TuneResult) {
        self.current.clone_from(&result.current);
        self.decision.clone_from(&result.decision);
        if !result.predicted.is_empty() {
            self.predicted.clone_from(&result.predicted);
        }
        self.memory.clone_from(&result.memory);
        self.objective.clone_from(&result.objective);
        self.knobs.clone_from(&result.knobs);
        self.machine = Some(result.machine.clone());
        self.notes.clone_from(&result.notes);
        self.elapsed_s = result.elapsed_s;
        self.load_s = result.load_s;
        for warning in &result.warnings {
            self.warn(warning);
        }
    }

    /// Whatever never became ready: as it is, then with changes.
    pub fn all_boot_failures(
        &self,
    ) -> impl Iterator<Item = (Configuration, Variant, &BootFailure)> {
        let as_it_is = self.boot_failures.iter().map(|(at, it)| (*at, Variant::AS_IT_IS, it));
        let changed = self.variant_failures.iter().map(|(at, variant, it)| (*at, *variant, it));
        as_it_is.chain(changed)
    }

    /// Trials that asked whether a rate is sustainable and may be believed.
    pub fn probes(&self) -> impl Iterator<Item = (&TrialSummary, f64)> {
        self.trials
            .iter()
            .filter(|trial| trial.valid)
            .filter(|trial| is_of_a_rate(trial.purpose))
            .filter_map(|trial| trial.offered.rate().map(|rate| (trial, rate.as_per_second())))
    }

    /// What is printed as the capacity was not held by a fresh start at the end: it is what shorter
    /// trials point to. False in sessions of versions that tried none.
    pub fn is_estimate(&self) -> bool {
        let is_more_than_held = self.decision.as_ref().is_some_and(|decision| {
            decision.held.is_some_and(|held| held.rate_rps < decision.capacity_rps)
        });
        is_more_than_held
            || self.search_notes().any(|note| {
                matches!(note, SearchNote::NotHeldAtEnd | SearchNote::NothingHeldAtEnd { .. })
            })
    }

    /// What a fresh start has to do with the printed rate.
    pub fn fresh_start(&self) -> FreshStart {
        let cold = self.search_notes().find_map(|note| match note {
            SearchNote::ColdAtFirst { warm_rps, .. } => Some(*warm_rps),
            _ => None,
        });
        match cold {
            None => FreshStart::HoldsAsMuch,
            Some(None) => FreshStart::HoldsLess,
            Some(Some(warm_rps)) => FreshStart::HeldIt { warm_rps },
        }
    }

    /// More requests fail than the goal allows, whatever the load, or it was not shown that fewer
    /// do.
    pub fn is_open_about_errors(&self) -> bool {
        self.search_notes().any(|note| {
            matches!(
                note,
                SearchNote::ErrorsAtAnyRate { .. }
                    | SearchNote::ErrorsUntold { .. }
                    | SearchNote::ErrorsNotCertified { .. }
            )
        })
    }

    fn search_notes(&self) -> impl Iterator<Item = &SearchNote> {
        self.notes.iter().filter_map(Stated::fact).filter_map(|note| match note {
            Note::Search(note) => Some(note),
            _ => None,
        })
    }

    /// The highest rate that held in any believable trial.
    pub fn highest_held(&self) -> Option<(&TrialSummary, f64)> {
        self.probes()
            .filter(|(trial, _)| trial.verdict == Verdict::Yes)
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The trial with one client alone: where it was repeated, as the server had been cold, the
    /// last.
    pub fn alone(&self) -> Option<&TrialSummary> {
        self.trials.iter().rfind(|it| it.valid && it.purpose == TrialPurpose::Unloaded)
    }

    /// A setting is recommended by what is likely alone: no load of it met the goal.
    pub fn has_held_none(&self) -> bool {
        let is_held = self.decision.as_ref().is_none_or(|decision| decision.held.is_some());
        !is_held && self.search_notes().any(|note| matches!(note, SearchNote::NoRateHeld { .. }))
    }

    /// Did a trial that counts show that the goal is missed, or the server end in it?
    pub fn has_missed(&self) -> bool {
        let missed = |it: &TrialSummary| it.verdict == Verdict::No || it.failure.is_some();
        self.trials.iter().any(|trial| trial.valid && missed(trial))
    }

    /// The capacity of each configuration, as far as its trials tell: what the session concluded,
    /// else between the highest rate that held and the lowest that did not.
    pub fn capacities(&self) -> BTreeMap<Configuration, f64> {
        let mut bounds: BTreeMap<Configuration, [Option<f64>; 2]> = BTreeMap::new();
        for (trial, rate) in self.probes().filter(|(trial, _)| trial.failure.is_none()) {
            let [held, missed] = bounds.entry(trial.configuration).or_default();
            match trial.verdict {
                Verdict::Yes => *held = Some(held.map_or(rate, |known| known.max(rate))),
                Verdict::No => *missed = Some(missed.map_or(rate, |known| known.min(rate))),
                Verdict::Undecided => {}
            }
        }
        let between = |[held, missed]: [Option<f64>; 2]| Some((held? * missed?).sqrt());
        let mut capacities: BTreeMap<Configuration, f64> =
            bounds.into_iter().filter_map(|(at, both)| Some((at, between(both)?))).collect();
        let current = self.current.as_ref().and_then(|now| now.capacity_rps);
        capacities.extend(self.current_configuration().zip(current));
        let chosen = self.decision.as_ref().map(|decision| decision.capacity_rps);
        capacities.extend(self.chosen().zip(chosen));
        capacities
    }

    /// How sure the capacities are that the session confirmed: of 95 %, by configuration.
    pub fn intervals(&self) -> BTreeMap<Configuration, [f64; 2]> {
        let front = self.objective.iter().flat_map(|objective| &objective.front);
        let front = front
            .filter(|it| it.confirmed)
            .map(|it| (it.workers, it.threads, Some(it.capacity_rps_interval)));
        let current =
            self.current.iter().map(|it| (it.workers, it.threads, it.capacity_rps_interval));
        let chosen =
            self.decision.iter().map(|it| (it.workers, it.threads, Some(it.capacity_rps_interval)));
        let all = front.chain(current).chain(chosen);
        all.filter_map(|(workers, threads, interval)| {
            Some((Configuration::new(workers, threads).ok()?, interval?))
        })
        .collect()
    }

    /// The memory of a configuration as it is, as its last trial read it.
    pub fn memory_of(&self, configuration: Configuration) -> Option<u64> {
        let of_it =
            |trial: &&TrialSummary| trial.configuration == configuration && trial.is_as_it_is();
        self.trials.iter().rev().filter(of_it).find_map(|trial| trial.memory_bytes)
    }

    /// How good the predictions were that were made before anything was measured of a
    /// configuration.
    pub fn scored(&self) -> Vec<PredictionScore> {
        let capacities = self.capacities();
        let score = |before: &Prediction| {
            let at = Configuration::new(before.workers, before.threads).ok()?;
            let is_of_it = |trial: &&TrialSummary| {
                trial.configuration == at && trial.valid && trial.failure.is_none()
            };
            let mut trials = self.trials.iter().filter(is_of_it);
            let saturated = trials.find(|trial| trial.purpose == TrialPurpose::Saturate);
            Some(PredictionScore {
                workers: before.workers,
                threads: before.threads,
                predicted_throughput_rps_max: before.throughput_rps_max,
                measured_throughput_rps_max: saturated.map(|it| it.summary.got_through_rps()),
                predicted_capacity_rps: before.capacity_rps,
                predicted_capacity_rps_interval: before.capacity_rps_interval,
                measured_capacity_rps: capacities.get(&at).copied(),
            })
        };
        self.predicted_before.iter().filter_map(score).collect()
    }

    /// What the app runs today, when that is known.
    pub fn current_configuration(&self) -> Option<Configuration> {
        self.current.as_ref().and_then(|now| Configuration::new(now.workers, now.threads).ok())
    }

    /// What to set.
    pub fn chosen(&self) -> Option<Configuration> {
        let decision = self.decision.as_ref()?;
        Configuration::new(decision.workers, decision.threads).ok()
    }
}
/// It asks whether a rate is sustainable.
fn is_of_a_rate(purpose: TrialPurpose) -> bool {
    matches!(purpose, TrialPurpose::Probe | TrialPurpose::Confirm | TrialPurpose::Hold)
}
