//! Two revisions of an app at one setting, both of them running: what does a request cost in each,
//! how much does each hold, how fast is each at one rate, and how much memory does it take?
//!
//! In: a [`RevisionsPlan`], then the result of every trial it asked for. Out: the next one, and a
//! [`RevisionsAnswer`] at any moment. A state machine as [`Search`](super::Search) is: no clock.
//!
//! A block starts both afresh and loads them in turn: what the machine does meanwhile falls out of
//! their ratio, and what starts differ by is seen from block to block.

mod answer;
mod failures;

use std::time::Duration;

use super::ask::TrialRequest;
use super::at_any_rate::AtAnyRate;
use super::blocks::arrivals_within;
use super::constants::{
    BURST_MOST_S, LOOK_LEAST_S, REVISION_BLOCKS_LEAST, REVISION_BLOCKS_WANTED, REVISION_BREAKDOWNS,
    REVISION_PRIOR_SD_LOG, REVISION_REQUESTS, REVISION_SETBACKS, REVISION_SETTLE, SETTLE,
    SLOW_REPLIES, WARM_BURST, WINDOW_LEAST_S,
};
use super::fresh::{FreshStart, Known, Pace};
use super::loads::{burst_clients, loop_clients};
use super::plan::goal_from_unloaded;
use super::unloaded::longer;
use crate::model::{self, Form};
use crate::terms::{
    Arrivals, ChangeReason, CompareNote, Configuration, OPERATING_SHARE, Offered, Rate, Reason,
    Side, Slo, Stated, TrialPurpose, TrialSummary, Verdict,
};
pub use answer::{RevisionFigure, RevisionsAnswer};
pub use failures::of_failures;

/// What is compared, and within what.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionsPlan {
    pub configuration: Configuration,
    /// How a worker of either takes requests in.
    pub form: Form,
    /// `None`: settled by the first trial of A.
    pub slo: Option<Slo>,
    pub arrivals: Arrivals,
    pub budget: Duration,
}

/// One of the loads of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// One client: the floor of latency, and the goal.
    Alone,
    /// One client for much longer, where a request takes so long that none began while
    /// [`Step::Alone`] was measured.
    AloneLonger,
    /// More than it can take, on a fresh start.
    Burst,
    /// One window where its capacity is taken to be.
    Probe,
    /// One of the windows at the rate that both are sent; 0 and up.
    AtRate(u32),
}

/// What was seen of one revision in a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SideFigures {
    /// Requests/s, and the standard deviation of their logarithm.
    pub capacity: Option<(f64, f64)>,
    /// In all loads that both were given: CPU seconds of the server, and replies.
    pub cpu_s: f64,
    pub completed: u64,
    /// In each window at the rate that both are sent, seconds.
    pub p95_s: Vec<f64>,
    /// Of all its processes, at the most.
    pub memory_bytes: Option<u64>,
    /// Requests that were due at the rate, and those of them that failed.
    pub failed: (u64, u64),
}

/// How servers broke down: none of a block's trials tells anything then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breakdown {
    /// Under load, or before it was ready.
    Died,
    /// Many clients got no good reply.
    Silent,
}

/// A comparison as far as it is.
#[derive(Debug, Clone)]
pub struct Revisions {
    plan: RevisionsPlan,
    slo: Option<Slo>,
    /// Mean latency of one client alone, seconds.
    unloaded_s: Option<f64>,
    /// CPU of one of its requests, seconds; `None` where that was not seen.
    unloaded_cpu_s: Option<f64>,
    /// Not even one client alone is served within the goal: there is no capacity to compare.
    is_out_of_reach: bool,
    /// Of A's first start: where each start's search for its capacity begins.
    known: Option<Known>,
    /// What both are sent in each block, requests/s.
    rate_rps: Option<f64>,
    /// From 1.
    block: u32,
    /// What is left of this block, last one next.
    queue: Vec<(Side, Step)>,
    /// The fresh starts of this block, of A and of B.
    starts: [FreshStart; 2],
    seen: [SideFigures; 2],
    /// Of each whole block, A and B.
    blocks: Vec<[SideFigures; 2]>,
    at_any_rate: [AtAnyRate; 2],
    /// All of them, oldest first.
    breakdowns: Vec<(Side, Breakdown)>,
    /// Trials that said nothing since the last whole block.
    setbacks: u32,
    /// Known after the first whole block.
    short: Option<CompareNote>,
    /// Why it ended before it was sure, and before its time.
    fault: Option<ChangeReason>,
    now_s: f64,
    block_began_s: f64,
}

impl Revisions {
    /// One that has been told nothing yet.
    pub fn new(plan: RevisionsPlan) -> Self {
        Self {
            slo: plan.slo.clone(),
            plan,
            unloaded_s: None,
            unloaded_cpu_s: None,
            is_out_of_reach: false,
            known: None,
            rate_rps: None,
            block: 0,
            queue: Vec::new(),
            starts: Default::default(),
            seen: Default::default(),
            blocks: Vec::new(),
            at_any_rate: Default::default(),
            breakdowns: Vec::new(),
            setbacks: 0,
            short: None,
            fault: None,
            now_s: 0.0,
            block_began_s: 0.0,
        }
    }

    /// What it wants next, and of which revision; `None`: it is over. Asking twice without telling
    /// gives the same answer.
    pub fn ask(&mut self) -> Option<(Side, TrialRequest)> {
        if self.queue.is_empty() && !self.begin_block() {
            return None;
        }
        let &(side, step) = self.queue.last()?;
        Some((side, self.request(side, step)))
    }

    /// The goal, once there is one.
    pub fn slo(&self) -> Option<&Slo> {
        self.slo.as_ref()
    }

    /// Not even one client alone is served within it.
    pub fn is_goal_out_of_reach(&self) -> bool {
        self.is_out_of_reach
    }

    /// Mean latency of one client alone, seconds.
    pub fn unloaded_s(&self) -> Option<f64> {
        self.unloaded_s
    }

    /// Time that may still be used.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs_f64((self.plan.budget.as_secs_f64() - self.now_s).max(0.0))
    }

    /// The budget has room for fewer blocks than it should; `None` also before the first one.
    pub fn short_budget(&self) -> Option<CompareNote> {
        self.short.clone()
    }

    /// Takes the result of the trial that [`ask`](Self::ask) asked for. `now_s`: seconds that all
    /// of it has taken.
    pub fn tell(&mut self, summary: &TrialSummary, now_s: f64) {
        self.now_s = now_s;
        let Some(&(side, step)) = self.queue.last() else { return };
        if let Some(breakdown) = breakdown(step, summary) {
            self.take_breakdown(side, breakdown);
            return;
        }
        if !summary.valid {
            self.take_setback(&summary.reason);
            return;
        }
        self.queue.pop();
        let is_alone = matches!(step, Step::Alone | Step::AloneLonger);
        if is_alone && summary.summary.due == 0 {
            self.take_unmeasured(step, summary);
            return;
        }
        let apart = self.at_any_rate[side as usize].apart(summary);
        let seen = &mut self.seen[side as usize];
        seen.memory_bytes = seen.memory_bytes.max(summary.memory_bytes);
        if !is_alone {
            seen.cpu_s += model::server_cpu_s(summary);
            seen.completed += summary.summary.completed;
        }
        match step {
            Step::Alone | Step::AloneLonger => self.take_alone(summary),
            Step::Burst => self.take_burst(side, &apart),
            Step::Probe => self.take_probe(side, &apart),
            Step::AtRate(_) => self.take_at_rate(side, summary),
        }
        if self.queue.is_empty() {
            self.take_block();
        }
    }

    /// Takes that the server of the trial that [`ask`](Self::ask) asked for did not start. False:
    /// no block is whole yet, and most likely it never starts.
    pub fn tell_not_started(&mut self, now_s: f64) -> bool {
        self.now_s = now_s;
        let Some(&(side, _)) = self.queue.last().filter(|_| !self.blocks.is_empty()) else {
            return false;
        };
        self.take_breakdown(side, Breakdown::Died);
        true
    }

    /// False when it is over.
    fn begin_block(&mut self) -> bool {
        let took_s = self.now_s - self.block_began_s;
        let has_time = self.block == 0 || took_s <= self.time_left().as_secs_f64();
        if self.fault.is_some() || !has_time || self.is_sure() {
            return false;
        }
        self.block += 1;
        self.block_began_s = self.now_s;
        (self.starts, self.seen) = Default::default();
        // Whoever is loaded first in one block is second in the next.
        let (first, second) = match self.block % 2 {
            1 => (Side::A, Side::B),
            _ => (Side::B, Side::A),
        };
        let both = |step| [(first, step), (second, step)];
        let mut steps = Vec::new();
        if self.unloaded_s.is_none() {
            steps.push((Side::A, Step::Alone));
        }
        steps.extend(both(Step::Burst));
        if !self.is_out_of_reach {
            steps.extend(both(Step::Probe));
        }
        // What gets slower or faster meanwhile meets both alike.
        steps.extend(both(Step::AtRate(0)));
        steps.extend(both(Step::AtRate(1)).into_iter().rev());
        steps.reverse();
        self.queue = steps;
        true
    }

    /// More blocks would not change what is said.
    pub fn is_sure(&self) -> bool {
        self.blocks.len() >= REVISION_BLOCKS_LEAST && self.answer().is_sure
    }

    fn request(&self, side: Side, step: Step) -> TrialRequest {
        let at = self.plan.configuration;
        let common = |number| Some(arrivals_within(self.block, number));
        let request = |purpose, offered, warm_up, duration| {
            TrialRequest::new(at, purpose, offered, warm_up, duration)
        };
        match step {
            Step::Alone | Step::AloneLonger => {
                let offered = Offered::Closed { clients: 1, think: Duration::ZERO };
                let is_longer = step == Step::AloneLonger;
                let duration = if is_longer { longer(self.plan.budget) } else { WARM_BURST };
                let alone = request(TrialPurpose::Unloaded, offered, SETTLE, duration);
                TrialRequest { fresh_start: true, ..alone }
            }
            Step::Burst => TrialRequest {
                fresh_start: true,
                ..TrialRequest::burst(at, self.burst_clients(), SETTLE, self.burst_duration())
            },
            Step::Probe => {
                let rate = self.starts[side as usize].expected_rps().unwrap_or(1.0);
                let duration = Duration::from_secs_f64(LOOK_LEAST_S);
                let probe = request(TrialPurpose::Screen, self.open(rate), SETTLE, duration);
                TrialRequest { common_arrivals: common(0), ..probe }
            }
            Step::AtRate(number) => {
                let rate = self.rate_rps.unwrap_or(1.0);
                let seconds = (REVISION_REQUESTS / rate).clamp(LOOK_LEAST_S, WINDOW_LEAST_S);
                let duration = Duration::from_secs_f64(seconds.round());
                let window =
                    request(TrialPurpose::Confirm, self.open(rate), REVISION_SETTLE, duration);
                TrialRequest { common_arrivals: common(1 + number), ..window }
            }
        }
    }

    /// Clients that saturate it: those of an event loop by what fits into A's latency beside its
    /// CPU.
    fn burst_clients(&self) -> u32 {
        let at = self.plan.configuration;
        match self.unloaded_s.filter(|_| self.plan.form == Form::EventLoop) {
            Some(latency_s) => loop_clients(at, latency_s, self.unloaded_cpu_s),
            None => burst_clients(at),
        }
    }

    /// Long enough for some replies, however long one takes alone.
    fn burst_duration(&self) -> Duration {
        let some_replies_s = SLOW_REPLIES * self.unloaded_s.unwrap_or_default();
        WARM_BURST.max(Duration::from_secs_f64(some_replies_s.min(BURST_MOST_S).ceil()))
    }

    fn open(&self, rate_rps: f64) -> Offered {
        let rate = Rate::per_second(rate_rps.max(0.1)).expect("it is finite and above zero");
        Offered::Open { rate, arrivals: self.plan.arrivals }
    }

    /// No request of one client alone began in the time: it is sent for much longer, and no
    /// comparison can begin where none does then either.
    fn take_unmeasured(&mut self, step: Step, summary: &TrialSummary) {
        if step == Step::Alone {
            self.queue.push((Side::A, Step::AloneLonger));
            return;
        }
        self.queue.clear();
        self.fault = Some(ChangeReason::TrialsNotValid { why: summary.reason.clone() });
    }

    fn take_alone(&mut self, summary: &TrialSummary) {
        let load = &summary.summary;
        let p95 = Duration::from_secs_f64(model::common_p95_s(load));
        self.slo.get_or_insert_with(|| goal_from_unloaded(p95));
        self.unloaded_s = Some(load.latency_s.mean);
        // No other block has this trial.
        self.block_began_s = self.now_s;
        self.unloaded_cpu_s = model::Costs::of(summary).server_s;
        if summary.verdict == Verdict::No {
            self.is_out_of_reach = true;
            self.queue.retain(|(_, step)| *step != Step::Probe);
        }
    }

    fn take_burst(&mut self, side: Side, summary: &TrialSummary) {
        let burst_rps = summary.summary.got_through_rps();
        let known = *self.known.get_or_insert(Known {
            capacity_rps: 0.9 * burst_rps,
            burst_rps,
            after_burst_sd_log: REVISION_PRIOR_SD_LOG,
            powers: None,
        });
        if self.is_out_of_reach && self.rate_rps.is_none() {
            self.rate_rps = Some(OPERATING_SHARE * burst_rps);
        }
        self.starts[side as usize].take(summary, known, Pace::default());
    }

    fn take_probe(&mut self, side: Side, summary: &TrialSummary) {
        let Some(known) = self.known else { return };
        let capacity = self.starts[side as usize].take(summary, known, Pace::default());
        self.seen[side as usize].capacity = capacity.map(|it| (it.rps, it.sd_log));
        if let (Side::A, None, Some(capacity)) = (side, self.rate_rps, capacity) {
            self.rate_rps = Some(OPERATING_SHARE * capacity.rps);
        }
    }

    fn take_at_rate(&mut self, side: Side, summary: &TrialSummary) {
        let (load, seen) = (&summary.summary, &mut self.seen[side as usize]);
        seen.p95_s.push(load.latency_s.p95);
        seen.failed.0 += load.due;
        seen.failed.1 += load.failed();
    }

    /// Takes a whole block at once, A's figures and B's, in place of its trials.
    pub fn take_figures(&mut self, block: [SideFigures; 2]) {
        self.blocks.push(block);
    }

    /// Both sides of it are measured.
    fn take_block(&mut self) {
        let block = std::mem::take(&mut self.seen);
        self.take_figures(block);
        self.setbacks = 0;
        if self.blocks.len() == 1 {
            self.short = self.room();
        }
    }

    /// What the budget has room for, by how long the block took that has just ended.
    fn room(&self) -> Option<CompareNote> {
        let block_s = self.now_s - self.block_began_s;
        let blocks = 1.0 + (self.time_left().as_secs_f64() / block_s).floor();
        (blocks < f64::from(REVISION_BLOCKS_WANTED)).then(|| CompareNote::FewBlocks {
            blocks: blocks as u64,
            block_s,
            wanted: REVISION_BLOCKS_WANTED.into(),
            budget_s: self.now_s + f64::from(REVISION_BLOCKS_WANTED - 1) * block_s,
        })
    }

    /// The block is begun anew. Again and again is no accident, however long servers lived in
    /// between; of which side the first one was may be one.
    fn take_breakdown(&mut self, side: Side, breakdown: Breakdown) {
        self.queue.clear();
        self.breakdowns.push((side, breakdown));
        if self.breakdowns.len() >= REVISION_BREAKDOWNS as usize {
            self.fault = self.of_breakdowns();
        }
    }

    /// Whose servers broke down, and how; `None` where none did.
    fn of_breakdowns(&self) -> Option<ChangeReason> {
        let &(side, _) = self.breakdowns.first()?;
        if self.breakdowns.iter().any(|it| it.0 != side) {
            return Some(ChangeReason::BothBreakDown);
        }
        Some(match self.breakdowns.iter().any(|it| it.1 == Breakdown::Died) {
            true => ChangeReason::ServerDies { side },
            false => ChangeReason::AnswersNothing { side },
        })
    }

    /// The block is begun anew: one side of it alone tells nothing.
    fn take_setback(&mut self, why: &Stated<Reason>) {
        self.queue.clear();
        self.setbacks += 1;
        if self.setbacks > REVISION_SETBACKS {
            self.fault = Some(ChangeReason::TrialsNotValid { why: why.clone() });
        }
    }
}

/// Whether the server broke down in this trial.
fn breakdown(step: Step, summary: &TrialSummary) -> Option<Breakdown> {
    if summary.failure.is_some() {
        return Some(Breakdown::Died);
    }
    let is_silent = step == Step::Burst && summary.summary.got_through_rps() <= 0.0;
    (is_silent && summary.valid).then_some(Breakdown::Silent)
}

/// Of two workers that have one thread each.
#[cfg(test)]
fn tests_plan(form: Form) -> RevisionsPlan {
    RevisionsPlan {
        configuration: Configuration::new(2, 1).expect("neither is zero"),
        form,
        slo: None,
        arrivals: Arrivals::Poisson,
        budget: Duration::from_secs(360),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;
    use crate::terms::LatencySummary;

    #[test]
    fn trials_that_say_nothing_end_it_only_where_no_whole_block_lies_between() {
        let why: Stated<Reason> = Reason::NoGoalYet.into();
        let mut search = Revisions::new(tests_plan(Form::Threads));
        for _ in 0..3 {
            (0..REVISION_SETBACKS).for_each(|_| search.take_setback(&why));
            search.take_block();
        }
        assert_eq!(search.fault, None);
        (0..=REVISION_SETBACKS).for_each(|_| search.take_setback(&why));
        assert_eq!(search.fault, Some(ChangeReason::TrialsNotValid { why }));
    }

    /// One client alone: so many requests began in the time, and each of them took six seconds.
    fn alone(due: u64) -> TrialSummary {
        let mut trial = tests_trial(TrialPurpose::Unloaded, 1.0, (due, 0));
        trial.offered = Offered::Closed { clients: 1, think: Duration::ZERO };
        if due > 0 {
            trial.summary.latency_s = LatencySummary { mean: 6.0, p95: 6.0, ..Default::default() };
        }
        trial
    }

    #[test]
    fn requests_that_take_longer_than_one_client_was_measured_for_are_waited_for() {
        let mut search = Revisions::new(tests_plan(Form::Threads));
        let first = search.ask().unwrap().1;
        search.tell(&alone(0), 10.0);
        assert_eq!((search.slo(), search.unloaded_s()), (None, None));
        let (side, longer) = search.ask().unwrap();
        assert_eq!((side, longer.duration), (Side::A, Duration::from_secs(36)));
        assert_eq!(longer, TrialRequest { duration: longer.duration, ..first });
        search.tell(&alone(6), 50.0);
        let limit = search.slo().unwrap().quantiles[0].limit;
        assert_eq!(limit, Duration::from_secs(18), "three times what one takes alone");
        let burst = search.ask().unwrap().1;
        assert_eq!((burst.purpose, burst.duration.as_secs()), (TrialPurpose::Saturate, 18));
    }

    #[test]
    fn where_no_request_of_one_client_began_in_a_long_time_no_side_is_blamed() {
        let mut search = Revisions::new(tests_plan(Form::Threads));
        for now_s in [10.0, 50.0] {
            assert!(search.ask().is_some());
            search.tell(&alone(0), now_s);
        }
        assert!(search.ask().is_none());
        assert!(matches!(search.answer().fault, Some(ChangeReason::TrialsNotValid { .. })));
        assert!(search.blocks.is_empty());
    }

    #[test]
    fn servers_of_one_side_that_break_down_again_and_again_are_named_and_of_both_sides_both() {
        use Breakdown::{Died, Silent};
        for (breakdowns, fault) in [
            ([(Side::B, Died); 4], ChangeReason::ServerDies { side: Side::B }),
            ([(Side::A, Silent); 4], ChangeReason::AnswersNothing { side: Side::A }),
            (
                [(Side::B, Silent), (Side::B, Died), (Side::B, Silent), (Side::B, Silent)],
                ChangeReason::ServerDies { side: Side::B },
            ),
            (
                [(Side::B, Died), (Side::B, Died), (Side::A, Silent), (Side::B, Died)],
                ChangeReason::BothBreakDown,
            ),
        ] {
            let mut search = Revisions::new(tests_plan(Form::Threads));
            for (side, breakdown) in breakdowns {
                assert_eq!(search.fault, None, "{breakdowns:?}");
                search.take_breakdown(side, breakdown);
                // Whole blocks in between change nothing.
                search.take_block();
            }
            assert_eq!(search.fault, Some(fault), "{breakdowns:?}");
        }
    }

    #[test]
    fn a_server_that_does_not_start_is_a_breakdown_once_a_block_is_whole() {
        let mut search = Revisions::new(tests_plan(Form::Threads));
        assert!(search.ask().is_some());
        assert!(!search.tell_not_started(60.0));
        search.take_block();
        for _ in 0..REVISION_BREAKDOWNS {
            assert_eq!(search.fault, None);
            assert!(search.ask().is_some());
            assert!(search.tell_not_started(61.0));
        }
        assert_eq!(search.fault, Some(ChangeReason::ServerDies { side: Side::A }));
        assert!(search.ask().is_none());
    }

    #[test]
    fn a_budget_with_room_for_few_blocks_is_known_after_the_first() {
        let after = |block_s: f64| {
            let mut search = Revisions::new(tests_plan(Form::Threads));
            search.block_began_s = 20.0;
            search.now_s = 20.0 + block_s;
            search.take_block();
            search.short_budget()
        };
        // Of 360 s.
        assert_eq!(after(85.0), None);
        let few = CompareNote::FewBlocks { blocks: 3, block_s: 100.0, wanted: 4, budget_s: 420.0 };
        assert_eq!(after(100.0), Some(few));
        assert!(matches!(after(340.0), Some(CompareNote::FewBlocks { blocks: 1, .. })));
    }

    #[test]
    fn an_event_loop_is_sent_by_as_many_clients_as_keep_it_busy() {
        let clients = |form| {
            let search = Revisions {
                unloaded_s: Some(0.25),
                unloaded_cpu_s: Some(0.0078125),
                ..Revisions::new(tests_plan(form))
            };
            match search.request(Side::A, Step::Burst).offered {
                Offered::Closed { clients, .. } => clients,
                Offered::Open { .. } => panic!("a burst is sent by clients"),
            }
        };
        assert_eq!(clients(Form::Threads), 4);
        // Three times the 32 that fit beside each other, in each worker.
        assert_eq!(clients(Form::EventLoop), 2 * 96);
    }
}
