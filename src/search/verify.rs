//! Is a recommendation still right? The recommended setting is started afresh and sent the rate
//! that was printed, as at the end of the session. Then it and the one that was current then are
//! measured again, on fresh starts, interleaved in random order.
//!
//! In: a [`VerifyPlan`], then the result of every trial it asked for. Out: the next one, and a
//! [`VerifyAnswer`] at any moment. A state machine as [`Search`](super::Search) is: no clock.

use std::collections::BTreeMap;
use std::time::Duration;

use super::again::Again;
use super::ask::{Told, TrialRequest};
use super::at_any_rate::{AtAnyRate, by_latency, is_more};
use super::belief::{Most, after_burst, observe};
use super::blocks::{arrivals_within, shuffled};
use super::constants::{
    EQUIVALENCE, LOOK_LEAST_S, NOTICED, PROBE_REQUESTS, PROBES_A_START, SETTLE, START_COST_S,
    START_PRIOR_SD_LOG, USUAL_CV2, VERIFY_BLOCKS_MAX, VERIFY_BLOCKS_PLANNED, WARM_BURST,
    WINDOW_MOST_S,
};
use super::loads::burst_clients;
use super::starts::{Start, capacity_of, ratio_apart, ratio_in_blocks, starts, width};
use super::warmth::Warmth;
use crate::stats::{Beside, Estimate, LogRatio, RatePosterior};
use crate::terms::{
    Arrivals, Configuration, HeldRate, Limit, LimitKind, LoadSummary, Obstacle, Offered, Rate,
    RecheckNote, RecheckReason, TrialPurpose, TrialSummary, Verdict, WaitingEvidence,
};

/// One setting that is measured again.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifySetting {
    pub configuration: Configuration,
    /// What it held, requests/s: each search for its rate begins there.
    pub held_rps: f64,
    /// What each of its starts held; never empty.
    pub starts: Vec<Start>,
    /// The clients of the load that saturated it; `None`: twice its slots.
    pub clients: Option<u32>,
    /// What a fresh start of it is loaded for before it is measured, beyond what every start is;
    /// seconds.
    pub warm_s: f64,
}

impl VerifySetting {
    /// As a session with these trials knew it: by its starts after the choice, else by what it
    /// concluded, which is `held`, requests/s with its 95 % interval.
    pub fn of_session(
        trials: &[TrialSummary],
        at: Configuration,
        (held_rps, interval): (f64, [f64; 2]),
    ) -> Self {
        let mut starts: Vec<Start> =
            starts(trials).into_iter().filter(|it| it.configuration == at).collect();
        if starts.iter().all(|start| start.block == 0) {
            starts = vec![Start::concluded(at, held_rps, interval)];
        }
        let is_of_it = |it: &&TrialSummary| it.configuration == at && it.variant.is_as_it_is();
        // The last: where the first were too few, or got nothing, others took their place.
        let mut of_it = trials.iter().rev().filter(is_of_it);
        let clients = of_it.find_map(|trial| trial.offered.clients().filter(|n| *n > 1));
        let warm_s = Warmth::of_session(trials).needed_s(at, held_rps);
        Self { configuration: at, held_rps, starts, clients, warm_s }
    }
}

/// What is verified, and within what.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyPlan {
    pub recommended: VerifySetting,
    /// The rate that was printed as held, requests/s.
    pub rate_rps: f64,
    /// How it was held then; `None` where no rate was.
    pub held_then: Option<HeldRate>,
    /// `None` where nothing else ran then, or where that held nothing.
    pub current: Option<VerifySetting>,
    pub arrivals: Arrivals,
    pub budget: Duration,
    pub seed: u64,
}

/// The answer at some moment.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyAnswer {
    /// Of the recommended setting, with its 95 % interval; the count is that of its starts.
    pub recommended_rps: Option<Estimate>,
    /// Of the one that was current.
    pub current_rps: Option<Estimate>,
    /// Now divided by then, 95 %.
    pub against_then: Option<Estimate>,
    /// Recommended divided by current, within blocks, 95 %; `None` where there is nothing else.
    pub against_current: Option<Estimate>,
    /// The rate that was printed then, as a fresh start held it now; `None` where it was missed, or
    /// not tried.
    pub held: Option<HeldRate>,
    pub verdict: Verdict,
    /// Why.
    pub reason: RecheckReason,
    /// Of the recommended setting under more than it can take.
    pub limit: Limit,
    pub memory_bytes: Option<u64>,
    pub notes: Vec<RecheckNote>,
}

/// What was measured of one setting.
#[derive(Debug, Clone, Default, PartialEq)]
struct Measured {
    starts: Vec<Start>,
    limit: Option<Limit>,
    memory_bytes: Option<u64>,
}

/// A verification as far as it is.
#[derive(Debug, Clone)]
pub struct Verify {
    plan: VerifyPlan,
    again: Again,
    /// What is still measured.
    settings: Vec<Configuration>,
    measured: BTreeMap<Configuration, Measured>,
    block: u32,
    /// What is left of this block, last one next.
    queue: Vec<Configuration>,
    belief: Option<RatePosterior>,
    probes: u32,
    /// Invalid or broken trials in a row.
    setbacks: u32,
    at_any_rate: AtAnyRate,
    now_s: f64,
    block_began_s: f64,
    /// What keeps the recommended setting from running at all.
    obstacle: Option<Obstacle>,
    notes: Vec<RecheckNote>,
}

impl Verify {
    /// One that has been told nothing yet.
    pub fn new(plan: VerifyPlan) -> Self {
        let current = plan.current.as_ref().map(|current| current.configuration);
        let recommended = plan.recommended.configuration;
        let others = current.filter(|&current| current != recommended);
        Self {
            settings: std::iter::once(recommended).chain(others).collect(),
            again: Again::new(plan.rate_rps, plan.budget),
            plan,
            measured: BTreeMap::new(),
            block: 0,
            queue: Vec::new(),
            belief: None,
            probes: 0,
            setbacks: 0,
            at_any_rate: AtAnyRate::default(),
            now_s: 0.0,
            block_began_s: 0.0,
            obstacle: None,
            notes: Vec::new(),
        }
    }

    /// The trial that it wants next; none: it is done. Asking twice without telling gives the same
    /// answer.
    pub fn ask(&mut self) -> Vec<TrialRequest> {
        let request = self.hold().or_else(|| {
            if self.queue.is_empty() {
                self.begin_block();
            }
            self.queue.last().map(|&configuration| self.request(configuration))
        });
        Vec::from_iter(request)
    }

    /// Takes the result of the trial that [`ask`](Self::ask) asked for.
    pub fn tell(&mut self, told: Told) {
        match told {
            Told::Trial(summary) => {
                self.now_s = summary.ended_s;
                match summary.valid && summary.failure.is_none() {
                    true => self.take(&summary),
                    false => self.take_setback(&summary),
                }
            }
            Told::BootFailed { configuration, reason, ended_s } => {
                self.now_s = ended_s;
                self.give_up(configuration, Obstacle::DoesNotStart { why: reason }, true);
            }
        }
    }

    /// Time that may still be used.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs_f64((self.plan.budget.as_secs_f64() - self.now_s).max(0.0))
    }

    /// The printed rate once more; `None` when that is settled, or there is no time for it.
    fn hold(&self) -> Option<TrialRequest> {
        let is_over = self.obstacle.is_some() || !self.settings.contains(&self.recommended());
        if is_over || self.again.is_settled() || !self.again.has_time(self.time_left()) {
            return None;
        }
        Some(self.again.request(self.recommended(), self.plan.arrivals))
    }

    /// Fills the queue with the next block; leaves it empty where there is nothing more to measure,
    /// or no time for it.
    fn begin_block(&mut self) {
        let is_over = self.obstacle.is_some() || !self.settings.contains(&self.recommended());
        if is_over || self.block >= VERIFY_BLOCKS_MAX || self.is_sharp() {
            return;
        }
        let queue = self.next_block();
        if !queue.is_empty() {
            self.block += 1;
            self.block_began_s = self.now_s;
            self.queue = shuffled(queue, self.plan.seed, self.block);
        }
    }

    /// All settings; the recommended one alone where the other is beaten beyond doubt, or where
    /// there is no time for both.
    fn next_block(&self) -> Vec<Configuration> {
        let left_s = self.time_left().as_secs_f64();
        let took_s = (self.block > 0).then_some(self.now_s - self.block_began_s);
        let fits = |all: &[Configuration]| {
            let shortest_s: f64 = all.iter().map(|at| self.shortest_start_s(*at)).sum();
            took_s.unwrap_or(shortest_s) <= left_s
        };
        let is_beaten = self.against_current().is_some_and(|ratio| {
            ratio.beside(EQUIVALENCE) == Beside::Above && ratio.estimate(0.99).low > 1.0 + NOTICED
        });
        if !is_beaten && fits(&self.settings) {
            return self.settings.clone();
        }
        let alone = vec![self.recommended()];
        if fits(&alone) { alone } else { Vec::new() }
    }

    /// More starts would not change what is said.
    fn is_sharp(&self) -> bool {
        let is_enough = |ratio: LogRatio| ratio.estimate(0.95).relative_half_width() < EQUIVALENCE;
        let has_rival = self.settings.len() > 1;
        self.block >= VERIFY_BLOCKS_PLANNED as u32
            && (!has_rival || self.against_current().is_some_and(is_enough))
    }

    /// What a start takes at least.
    fn shortest_start_s(&self, configuration: Configuration) -> f64 {
        let window_s = SETTLE.as_secs_f64() + LOOK_LEAST_S;
        self.before_windows_s(configuration) + f64::from(PROBES_A_START) * window_s
    }

    /// What a start takes before its first window.
    fn before_windows_s(&self, configuration: Configuration) -> f64 {
        START_COST_S + (SETTLE + WARM_BURST).as_secs_f64() + self.setting(configuration).warm_s
    }

    fn recommended(&self) -> Configuration {
        self.plan.recommended.configuration
    }

    fn setting(&self, configuration: Configuration) -> &VerifySetting {
        match &self.plan.current {
            Some(current) if current.configuration == configuration => current,
            _ => &self.plan.recommended,
        }
    }

    fn request(&self, configuration: Configuration) -> TrialRequest {
        let common_arrivals = Some(arrivals_within(self.block, self.probes));
        let Some(belief) = &self.belief else {
            let clients = self.setting(configuration).clients;
            let clients = clients.unwrap_or_else(|| burst_clients(configuration));
            let warm_s = self.setting(configuration).warm_s;
            let warm_up = SETTLE + Duration::from_secs_f64(warm_s);
            let burst = TrialRequest::burst(configuration, clients, warm_up, WARM_BURST);
            return TrialRequest { fresh_start: true, common_arrivals, ..burst };
        };
        let rate_rps = belief.median().max(0.1);
        let rate = Rate::per_second(rate_rps).expect("a belief's median is finite and positive");
        let offered = Offered::Open { rate, arrivals: self.plan.arrivals };
        let duration = self.window(configuration, rate_rps);
        let purpose = TrialPurpose::Confirm;
        let window = TrialRequest::new(configuration, purpose, offered, SETTLE, duration);
        TrialRequest { fresh_start: self.setbacks > 0, common_arrivals, ..window }
    }

    /// As long as the planned blocks allow; the first seconds of a longer one would tell no more.
    fn window(&self, configuration: Configuration, rate_rps: f64) -> Duration {
        let starts = VERIFY_BLOCKS_PLANNED * self.settings.len() as f64;
        let free_s = self.plan.budget.as_secs_f64() - self.again.spent_s;
        let windows_s = free_s / starts - self.before_windows_s(configuration);
        let probe_s = windows_s / f64::from(PROBES_A_START) - SETTLE.as_secs_f64();
        let wanted_s = (PROBE_REQUESTS / rate_rps).clamp(LOOK_LEAST_S, WINDOW_MOST_S);
        Duration::from_secs_f64(wanted_s.min(probe_s.max(LOOK_LEAST_S)).round())
    }

    fn take(&mut self, summary: &TrialSummary) {
        let is_hold = summary.purpose == TrialPurpose::Hold;
        // What failed at any rate then is no news; what fails only now is.
        let summary = &match (is_hold, self.fails_more(&summary.summary)) {
            (true, true) => summary.clone(),
            (true, false) => by_latency(summary),
            (false, _) => self.at_any_rate.apart(summary),
        };
        let held_rps = self.setting(summary.configuration).held_rps;
        let measured = self.measured.entry(summary.configuration).or_default();
        measured.memory_bytes = measured.memory_bytes.max(summary.memory_bytes);
        if summary.limit.kind != LimitKind::Unknown {
            measured.limit = Some(summary.limit.clone());
        }
        self.setbacks = 0;
        if summary.purpose == TrialPurpose::Hold {
            self.again.take(summary);
            return;
        }
        let Some(rate) = summary.offered.rate() else {
            let most = Most::of(summary, USUAL_CV2);
            self.belief = Some(after_burst(held_rps.max(0.01), START_PRIOR_SD_LOG, most));
            return;
        };
        let Some(belief) = &mut self.belief else { return };
        observe(belief, rate.as_per_second(), summary);
        self.probes += 1;
        if self.probes < PROBES_A_START {
            return;
        }
        let start = Start {
            configuration: summary.configuration,
            block: self.block,
            rps: belief.median(),
            sd_log: width(belief),
            memory_bytes: summary.memory_bytes,
        };
        measured.starts.push(start);
        self.next_start();
    }

    /// More than did when the rate was printed.
    fn fails_more(&self, load: &LoadSummary) -> bool {
        let then = self.plan.held_then.map(|held| (held.requests, held.failed));
        then.is_none_or(|then| is_more((load.due, load.failed()), then))
    }

    fn next_start(&mut self) {
        self.queue.pop();
        self.belief = None;
        self.probes = 0;
    }

    /// Asked for once more; after that a server that dies is out, and what could not be measured is
    /// left as it is.
    fn take_setback(&mut self, summary: &TrialSummary) {
        self.setbacks += 1;
        if self.setbacks < 2 {
            return;
        }
        match summary.failure.is_some() {
            true => self.give_up(summary.configuration, Obstacle::DiedTwice, true),
            false => {
                let why = Obstacle::NotMeasurable { why: summary.reason.clone() };
                self.give_up(summary.configuration, why, false);
            }
        }
    }

    fn give_up(&mut self, configuration: Configuration, why: Obstacle, is_servers: bool) {
        let is_recommended = configuration == self.recommended();
        self.settings.retain(|&one| one != configuration);
        self.queue.retain(|&one| one != configuration);
        self.belief = None;
        (self.probes, self.setbacks) = (0, 0);
        if is_recommended {
            self.queue.clear();
        }
        match is_recommended && is_servers {
            true => self.obstacle = Some(why),
            false => self.notes.push(RecheckNote::SettingLeftOut { setting: configuration, why }),
        }
    }

    fn starts(&self, configuration: Configuration) -> &[Start] {
        self.measured.get(&configuration).map_or(&[], |measured| &measured.starts)
    }

    fn against_then(&self) -> Option<LogRatio> {
        ratio_apart(&self.plan.recommended.starts, self.starts(self.recommended()))
    }

    fn against_current(&self) -> Option<LogRatio> {
        let current = self.plan.current.as_ref()?.configuration;
        ratio_in_blocks(self.starts(current), self.starts(self.recommended()))
    }

    /// The answer so far.
    pub fn answer(&self) -> VerifyAnswer {
        let (then, current) = (self.against_then(), self.against_current());
        let (verdict, reason) = self.judge(current.as_ref());
        let measured = self.measured.get(&self.recommended());
        let unknown = || Limit::unknown(WaitingEvidence::NotSaturated);
        let mut notes = self.notes.clone();
        if verdict == Verdict::Undecided {
            notes.push(self.what_more_would_buy(current.as_ref()));
        }
        let of_current = self.plan.current.as_ref().map(|current| current.configuration);
        VerifyAnswer {
            recommended_rps: self.capacity(self.recommended()),
            current_rps: of_current.and_then(|current| self.capacity(current)),
            against_then: then.map(|ratio| ratio.estimate(0.95)),
            against_current: current.map(|ratio| ratio.estimate(0.95)),
            // Where two others missed it, that one held it was chance.
            held: self.again.held.filter(|_| !self.again.is_missed()),
            verdict,
            reason,
            limit: measured.and_then(|it| it.limit.clone()).unwrap_or_else(unknown),
            memory_bytes: measured.and_then(|it| it.memory_bytes),
            notes,
        }
    }

    fn capacity(&self, configuration: Configuration) -> Option<Estimate> {
        let starts = self.starts(configuration);
        Some(Estimate { count: starts.len() as u64, ..capacity_of(starts)? })
    }

    fn judge(&self, current: Option<&LogRatio>) -> (Verdict, RecheckReason) {
        if let Some(why) = self.obstacle.clone() {
            return (Verdict::No, RecheckReason::NoLongerRuns { setting: self.recommended(), why });
        }
        let rate_rps = self.plan.rate_rps;
        if self.again.is_missed() {
            return (Verdict::No, RecheckReason::PrintedRateMissed { rate_rps });
        }
        if current.is_some_and(|ratio| ratio.beside(EQUIVALENCE) == Beside::Below) {
            return (Verdict::No, RecheckReason::FormerHoldsMore);
        }
        // What ran before is one also where it is the recommended setting that can't be measured.
        let has_rival = self.settings.iter().any(|at| *at != self.recommended());
        let is_no_worse = !has_rival || current.map_or_else(|| self.was_far_better(), noticed);
        match self.again.held.filter(|_| self.again.is_settled()) {
            Some(HeldRate { duration_s, .. }) if is_no_worse => {
                (Verdict::Yes, RecheckReason::PrintedRateHeld { rate_rps, duration_s })
            }
            None if self.is_nothing_measured() => (Verdict::Undecided, RecheckReason::NoWholeStart),
            _ => (Verdict::Undecided, RecheckReason::TooLittleMeasured),
        }
    }

    fn is_nothing_measured(&self) -> bool {
        self.again.attempts() == 0 && self.starts(self.recommended()).is_empty()
    }

    /// The current setting held so much less then than was printed of the recommended one that what
    /// has to be noticed would not make it the better one.
    fn was_far_better(&self) -> bool {
        let held_rps = self.plan.current.as_ref().map_or(0.0, |current| current.held_rps);
        held_rps < (1.0 - NOTICED) * self.plan.rate_rps
    }

    fn what_more_would_buy(&self, current: Option<&LogRatio>) -> RecheckNote {
        if self.is_nothing_measured() {
            return RecheckNote::BudgetTooSmall;
        }
        let most = current.map_or(Some(1.0), more_to_decide);
        let minutes = most.map(|more| (more.max(2.0) * self.now_s / 60.0).ceil());
        match minutes.filter(|minutes| *minutes <= 120.0) {
            Some(minutes) => RecheckNote::BudgetNeeded { budget_s: minutes * 60.0 },
            None => RecheckNote::TooNearToDecide,
        }
    }
}

/// How many times the observations it would take; `None` when no number would do.
fn more_to_decide(ratio: &LogRatio) -> Option<f64> {
    let limit = (1.0 - NOTICED).ln();
    if ratio.value < limit + 0.01 {
        return ratio.more_to_decide(EQUIVALENCE);
    }
    ratio.more_for(0.95, ratio.value - limit)
}

/// A fall of [`NOTICED`] is ruled out.
fn noticed(ratio: &LogRatio) -> bool {
    ratio.estimate(0.95).low > 1.0 - NOTICED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;
    use crate::terms::Variant;

    fn at(workers: u16) -> Configuration {
        Configuration::new(workers, 1).unwrap()
    }

    /// Of one worker, whose printed rate is 60/s, beside two workers that held 58/s.
    fn verify() -> Verify {
        let setting = |workers, held_rps| {
            let configuration = at(workers);
            let starts = vec![Start::concluded(configuration, held_rps, [55.0, 65.0])];
            VerifySetting { configuration, held_rps, starts, clients: None, warm_s: 0.0 }
        };
        Verify::new(VerifyPlan {
            recommended: setting(1, 60.0),
            rate_rps: 60.0,
            held_then: None,
            current: Some(setting(2, 58.0)),
            arrivals: Arrivals::Poisson,
            budget: Duration::from_secs(600),
            seed: 1,
        })
    }

    #[test]
    fn clients_are_as_many_as_saturated_it_after_too_few_or_too_many_did_not() {
        let trial = |purpose, clients| TrialSummary {
            offered: Offered::Closed { clients, think: Duration::ZERO },
            ..tests_trial(purpose, 60.0, (1800, 0))
        };
        for (bursts, expected) in [(&[4, 16][..], Some(16)), (&[64, 4], Some(4)), (&[], None)] {
            let mut trials = vec![trial(TrialPurpose::Unloaded, 1)];
            trials.extend(bursts.iter().map(|&clients| trial(TrialPurpose::Saturate, clients)));
            // With a change of a knob, and of another setting.
            let burst = trial(TrialPurpose::Screen, 32);
            trials.push(TrialSummary { variant: Variant::of(0), ..burst.clone() });
            trials.push(TrialSummary { configuration: at(2), ..burst });
            let setting = VerifySetting::of_session(&trials, at(1), (60.0, [55.0, 65.0]));
            assert_eq!(setting.clients, expected, "{bursts:?}");
        }
    }

    /// An attempt at the printed rate.
    fn attempt(verdict: Verdict) -> Told {
        let trial = tests_trial(TrialPurpose::Hold, 60.0, (1800, 0));
        Told::Trial(Box::new(TrialSummary { verdict, leaning: verdict, ..trial }))
    }

    #[test]
    fn a_rate_that_two_of_three_starts_miss_is_not_said_to_be_held_as_well() {
        let mut search = verify();
        for (verdict, is_held) in [(Verdict::No, false), (Verdict::Yes, true), (Verdict::No, false)]
        {
            search.tell(attempt(verdict));
            assert_eq!(search.answer().held.is_some(), is_held);
        }
        let answer = search.answer();
        assert_eq!(answer.verdict, Verdict::No);
        assert_eq!(answer.reason, RecheckReason::PrintedRateMissed { rate_rps: 60.0 });
    }

    #[test]
    fn without_a_whole_start_beside_what_ran_before_it_is_not_said_to_be_right() {
        let mut search = verify();
        search.tell(attempt(Verdict::Yes));
        for _ in 0..2 {
            let late = tests_trial(TrialPurpose::Saturate, 60.0, (1800, 0));
            search.tell(Told::Trial(Box::new(TrialSummary { valid: false, ..late })));
        }
        let answer = search.answer();
        assert!(answer.held.is_some());
        assert_eq!(answer.verdict, Verdict::Undecided);
        assert_eq!(answer.reason, RecheckReason::TooLittleMeasured);
    }
}
