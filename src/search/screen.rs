//! What the plan's knobs do to the chosen configuration: each change alone on fresh starts beside
//! the app as it is, interleaved; then the helpful ones together, and what is recommended at the
//! neighbouring numbers of threads. Of ways to cut the app into pods also what each does, once,
//! without one of them.
//!
//! A state machine like the rest of the search: what came of it is read in `screened.rs`.

use super::ask::TrialRequest;
use super::blocks::{fill, shuffled};
use super::constants::{
    CHANGE_PRIOR_SD_LOG, KEPT_FOR_CHECKS, KNOBS_BLOCKS_AIMED, KNOBS_BLOCKS_LEAST,
    KNOBS_BLOCKS_MOST, KNOBS_BLOCKS_MOST_NEIGHBOURS, KNOBS_BLOCKS_MOST_TOGETHER,
};
use super::fresh::{Arm, FreshStart, Known, Pace, lost_pod_s};
use super::ledger::Ledger;
use super::screened::{Knobs, LostPod, Measured};
use crate::terms::{
    Configuration, KnobsNote, Note, OPERATING_SHARE, Obstacle, Reason, TrialFailure, TrialSummary,
    Variant, WithAPodLess,
};

/// What is compared now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Each change alone.
    Alone,
    /// Several helpful ones at once.
    Together,
    /// What is recommended, with other numbers of threads.
    Neighbours,
}

impl Round {
    /// The most blocks of it.
    fn blocks_most(self) -> u32 {
        match self {
            Self::Alone => KNOBS_BLOCKS_MOST,
            Self::Together => KNOBS_BLOCKS_MOST_TOGETHER,
            Self::Neighbours => KNOBS_BLOCKS_MOST_NEIGHBOURS,
        }
    }

    /// The rounds after it.
    fn later(self) -> &'static [Self] {
        match self {
            Self::Alone => &[Self::Together, Self::Neighbours],
            Self::Together => &[Self::Neighbours],
            Self::Neighbours => &[],
        }
    }

    /// What its next block measures, the one that is compared with first; nothing is left to
    /// compare when it stands alone.
    fn arms(self, ledger: &Ledger, knobs: &Knobs) -> Vec<Arm> {
        let Some(at) = knobs.at else { return Vec::new() };
        let seen = knobs.seen(ledger);
        let arm = |configuration, variant| Arm { configuration, variant };
        let (variant, others): (Variant, Vec<Arm>) = match self {
            Self::Alone => {
                let open = seen.open_changes().into_iter().map(|it| arm(at, Variant::of(it)));
                (Variant::AS_IT_IS, open.collect())
            }
            Self::Together => {
                let together = seen.helpful_together().map(|it| arm(at, it));
                (Variant::AS_IT_IS, together.into_iter().collect())
            }
            Self::Neighbours => {
                let variant = seen.recommended();
                let open = seen.open_neighbours().into_iter().filter(|_| !variant.is_as_it_is());
                (variant, open.map(|it| arm(it, variant)).collect())
            }
        };
        std::iter::once(arm(at, variant)).chain(others).collect()
    }
}

/// The blocks measured and to come.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    round: Round,
    /// What of this block has not begun, last one next.
    queue: Vec<Arm>,
    /// What runs, each on a place of its own.
    starts: Vec<(Arm, FreshStart)>,
    /// Blocks of this round, this one included.
    blocks: u32,
    /// Blocks over all rounds, this one included.
    number: u32,
    block_began_s: f64,
}

impl Screen {
    /// The first block, of the changes that there is time for, at this configuration; `None` when
    /// there is nothing to be tried.
    pub fn begin(ledger: &Ledger, knobs: &mut Knobs, at: Configuration) -> Option<Self> {
        let changes = ledger.plan.changes.iter().enumerate();
        let tried: Vec<usize> =
            changes.filter(|(_, it)| it.ruled_out.is_none()).map(|(change, _)| change).collect();
        if tried.is_empty() {
            return None;
        }
        knobs.at = Some(at);
        let left_s = ledger.whole_left_s();
        let in_turn = ledger.in_turn(tried.len() + 1);
        let capacity_rps = ledger.cells.get(&at).and_then(|cell| cell.capacity_rps());
        let at_one_rate = capacity_rps.filter(|_| ledger.plan.compares_latency);
        let at_one_rate = at_one_rate.map(|rps| rps * OPERATING_SHARE);
        let once_s = at_one_rate.map_or(0.0, |_| lost_pods_s(ledger, &tried));
        let each_s = (left_s - once_s) / (KNOBS_BLOCKS_AIMED * in_turn);
        knobs.pace = Pace::of(ledger, each_s, at_one_rate);
        let least_s = f64::from(KNOBS_BLOCKS_LEAST) * knobs.pace.start_s(ledger);
        // Of each block one start is the app as it is. What the ways do without a pod is seen where
        // there is time for it besides: no way is left out for that.
        let needed_s = |changes: usize| ledger.in_turn(changes + 1) * least_s;
        let mut fitting = (1..=tried.len()).rev();
        let fitting = fitting.find(|&count| needed_s(count) <= left_s).unwrap_or(0);
        for &change in &tried[fitting..] {
            knobs.untried.insert(change, Obstacle::NoTimeLeft { more_s: 2.0 * least_s });
        }
        (fitting > 0).then(|| Self::block(ledger, knobs, Round::Alone, 1, 1))
    }

    fn block(ledger: &Ledger, knobs: &Knobs, round: Round, blocks: u32, number: u32) -> Self {
        // Told apart from the blocks that made sure of the choice.
        let queue = shuffled(round.arms(ledger, knobs), ledger.plan.seed, 1000 + number);
        let (starts, block_began_s) = (Vec::new(), ledger.now_s);
        let mut screen = Self { round, queue, starts, blocks, number, block_began_s };
        screen.fill(ledger);
        screen
    }

    fn fill(&mut self, ledger: &Ledger) {
        fill(&mut self.queue, &mut self.starts, ledger.plan.places);
    }

    /// The start of this arm is over, and makes room for the next.
    fn end(&mut self, ledger: &Ledger, arm: Arm) -> bool {
        let runs = self.starts.len();
        self.starts.retain(|(of, _)| *of != arm);
        let has_run = self.starts.len() < runs;
        self.fill(ledger);
        has_run
    }

    /// The next trial of each start of this block; none at its end.
    pub fn requests(&self, ledger: &Ledger, knobs: &Knobs) -> Vec<TrialRequest> {
        let request = |(arm, start): &(Arm, FreshStart)| start.request(ledger, *arm, knobs.pace);
        self.starts.iter().map(request).collect()
    }

    /// Takes the result.
    pub fn take(&mut self, ledger: &Ledger, knobs: &mut Knobs, summary: &TrialSummary) {
        let is_lost_pod_next = self.is_lost_pod_next(ledger, knobs, summary.variant);
        let of = |configuration| known(ledger, configuration);
        let Some(known) = of(summary.configuration).or_else(|| of(knobs.at?)) else { return };
        let arm = Arm::of_trial(summary);
        let mut starts = self.starts.iter_mut();
        let Some((_, start)) = starts.find(|(of, _)| *of == arm) else { return };
        let Some(capacity) = start.take(summary, known, knobs.pace) else { return };
        if is_lost_pod_next && capacity.latency.is_some() {
            start.take_pod_away();
        } else {
            self.end(ledger, arm);
        }
        knobs.measured.push(Measured { block: self.number, arm, capacity });
    }

    /// Is what this way does without one of its pods to be seen now, at the start that ends? Only
    /// where there is time for that besides the blocks without which nothing is judged.
    fn is_lost_pod_next(&self, ledger: &Ledger, knobs: &Knobs, variant: Variant) -> bool {
        let is_open = self.round == Round::Alone && knobs.seen(ledger).lacks_lost_pod(variant);
        is_open && lost_pod_s(ledger) + self.least_s(ledger, knobs) <= ledger.whole_left_s()
    }

    /// Seconds that the other starts of this block take, and the blocks that are still needed.
    fn least_s(&self, ledger: &Ledger, knobs: &Knobs) -> f64 {
        let others = (self.queue.len() + self.starts.len()).saturating_sub(1);
        let blocks = f64::from(KNOBS_BLOCKS_LEAST.saturating_sub(self.blocks));
        let arms = self.round.arms(ledger, knobs).len();
        (ledger.in_turn(others) + blocks * ledger.in_turn(arms)) * knobs.pace.start_s(ledger)
    }

    /// Takes what a start did without one of its pods, whatever that was: it says nothing of what
    /// the way holds with all of them.
    pub fn take_lost_pod(&mut self, ledger: &Ledger, knobs: &mut Knobs, summary: &TrialSummary) {
        let arm = Arm::of_trial(summary);
        let mut starts = self.starts.iter();
        let is_same = starts.any(|(of, start)| *of == arm && start.was_on(summary.start));
        let pods = ledger.plan.pods_of(summary.variant);
        let seen = is_same.then(|| with_a_pod_less(summary, pods)).flatten();
        self.end_lost_pod(ledger, knobs, arm, seen);
    }

    /// False where no start of this arm is without one of its pods.
    fn end_lost_pod(
        &mut self,
        ledger: &Ledger,
        knobs: &mut Knobs,
        arm: Arm,
        seen: Option<WithAPodLess>,
    ) -> bool {
        let mut starts = self.starts.iter();
        let is_one = starts.any(|(of, start)| *of == arm && start.has_lost_pod());
        if is_one {
            self.end(ledger, arm);
            knobs.lost_pods.push(LostPod { block: self.number, variant: arm.variant, seen });
        }
        is_one
    }

    /// A start that runs cannot be measured, or never became ready. A change that does this is
    /// out, and the rest goes on; without the app as it is there is nothing to compare with. False
    /// where nothing goes on.
    pub fn fail(
        &mut self,
        ledger: &mut Ledger,
        knobs: &mut Knobs,
        (arm, why): (Arm, Obstacle),
    ) -> bool {
        if self.end_lost_pod(ledger, knobs, arm, None) || !self.end(ledger, arm) {
            return true;
        }
        let mut changes = arm.variant.changes();
        match (self.round, changes.next(), changes.next()) {
            (Round::Alone, Some(change), None) => {
                knobs.out.insert(change, why);
                true
            }
            (Round::Neighbours, ..) if Some(arm.configuration) != knobs.at => true,
            _ => {
                ledger.notes.push(Note::Knobs(KnobsNote::KnobsNotCompared { why }).into());
                false
            }
        }
    }

    /// The next block of this round, or of a later one.
    pub fn next_block(&self, ledger: &Ledger, knobs: &Knobs) -> Option<Self> {
        let (round, left_s) = (self.round, ledger.whole_left_s());
        let is_judged = round == Round::Alone && self.blocks >= KNOBS_BLOCKS_LEAST;
        let is_kept = is_judged && knobs.seen(ledger).seems_to_help();
        let kept = if is_kept { KEPT_FOR_CHECKS } else { 0.0 };
        let arms = |round: Round| round.arms(ledger, knobs).len();
        let block = |round, blocks| Self::block(ledger, knobs, round, blocks, self.number + 1);
        let has_time = self.next_s(ledger, knobs) <= left_s * (1.0 - kept);
        if self.blocks < round.blocks_most() && has_time && arms(round) > 1 {
            return Some(block(round, self.blocks + 1));
        }
        let start_s = knobs.pace.start_s(ledger);
        let fits = |arms: usize| arms > 1 && ledger.in_turn(arms) * start_s <= left_s;
        round.later().iter().find(|it| fits(arms(**it))).map(|it| block(*it, 1))
    }

    /// Seconds that another block of this round takes: as many as this one, but for the looks
    /// without a pod that are over. How long these took is known at most, so that what is left is
    /// no less than its starts are taken to need.
    fn next_s(&self, ledger: &Ledger, knobs: &Knobs) -> f64 {
        let seen = knobs.seen(ledger);
        let looks = knobs.lost_pods.iter().filter(|it| it.block == self.number);
        let over = looks.filter(|it| !seen.lacks_lost_pod(it.variant)).count();
        let took_s = ledger.now_s - self.block_began_s;
        let arms = self.round.arms(ledger, knobs).len();
        let starts_s = ledger.in_turn(arms) * knobs.pace.start_s(ledger);
        (took_s - ledger.in_turn(over) * lost_pod_s(ledger)).max(starts_s.min(took_s))
    }
}

/// What a start of this many pods did without one of them; `None`: that was not measured.
fn with_a_pod_less(summary: &TrialSummary, pods: u16) -> Option<WithAPodLess> {
    let load = &summary.summary;
    let is_measured = match &summary.failure {
        None => summary.valid,
        // That the others end is what was to be seen.
        Some(TrialFailure::Died { .. }) => load.due > 0,
        // No pod could be taken away.
        Some(TrialFailure::Boot(_)) => false,
    };
    let failed_share = load.failed_share();
    let has_grown = matches!(summary.reason.fact(), Some(Reason::InFlightGrew { .. }));
    let keeps_up = (has_grown || failed_share == 0.0).then_some(!has_grown);
    is_measured.then(|| WithAPodLess {
        pods_left: pods.saturating_sub(1),
        latency_s_p95: load.latency_s.p95,
        latency_s_p99: load.latency_s.p99,
        failed_share,
        keeps_up,
        another_ended: summary.failure.is_some(),
    })
}

/// Seconds that the looks at what is left without a pod take: once for the app as it is and for
/// each of these changes, where it has several pods.
fn lost_pods_s(ledger: &Ledger, changes: &[usize]) -> f64 {
    let changed = changes.iter().map(|change| Variant::of(*change));
    let ways = std::iter::once(Variant::AS_IT_IS).chain(changed);
    let several = ways.filter(|way| ledger.plan.pods_of(*way) > 1).count();
    ledger.in_turn(several) * lost_pod_s(ledger)
}

/// What is known of this configuration of the app as it is; `None` where it was never saturated:
/// the chosen one's figures are the best guess then.
fn known(ledger: &Ledger, configuration: Configuration) -> Option<Known> {
    let cell = ledger.cells.get(&configuration)?;
    let burst_rps = cell.burst_rps.filter(|rps| *rps > 0.0)?;
    let capacity_rps = cell.capacity_rps().unwrap_or(0.9 * burst_rps);
    let after_burst_sd_log = CHANGE_PRIOR_SD_LOG;
    Some(Known { capacity_rps, burst_rps, after_burst_sd_log, powers: ledger.powers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::ask::tests_trial;
    use crate::search::plan::{KnobChange, SearchPlan, tests_plan};
    use crate::terms::{
        BootAdvice, BootCause, BootEnd, BootFailure, BootFailureKind, ProcessEnd, ServerEnd,
        StartAdvice, TrialPurpose,
    };

    fn change(pods: u16) -> KnobChange {
        KnobChange {
            knob: "pods".into(),
            name: "pods".into(),
            is_machine: false,
            pods: Some(pods),
            ruled_out: None,
        }
    }

    /// The first block, in which the app cut into two pods is about to lose one of them, and the
    /// app as it is has not begun.
    fn screen() -> (Ledger, Knobs, Screen) {
        let ledger = Ledger::new(SearchPlan { changes: vec![change(2)], ..tests_plan() });
        let at = ledger.plan.current;
        let arm = |variant| Arm { configuration: at, variant };
        let mut start = FreshStart::default();
        start.take_pod_away();
        let screen = Screen {
            round: Round::Alone,
            queue: vec![arm(Variant::AS_IT_IS)],
            starts: vec![(arm(Variant::of(0)), start)],
            blocks: 1,
            number: 1,
            block_began_s: 0.0,
        };
        (ledger, Knobs { at: Some(at), ..Knobs::default() }, screen)
    }

    /// A look without a pod, at this start of the server, of which nothing failed.
    fn look(server_start: u32) -> TrialSummary {
        let trial = tests_trial(TrialPurpose::LostPod, 70.0, (100, 0));
        TrialSummary { variant: Variant::of(0), start: server_start, ..trial }
    }

    #[test]
    fn of_pods_that_are_left_it_is_told_whether_they_keep_up_and_last() {
        let told = |look: &TrialSummary| {
            with_a_pod_less(look, 2).map(|it| (it.pods_left, it.keeps_up, it.another_ended))
        };
        assert_eq!(told(&look(1)), Some((1, Some(true), false)));
        let reason = Reason::InFlightGrew { growth_per_s: 40.0, first: 80, last: 480 };
        let growing = TrialSummary { reason: reason.into(), ..look(1) };
        assert_eq!(told(&growing), Some((1, Some(false), false)), "nothing has failed yet");
        let mut failing = look(1);
        failing.summary.status = [("503".to_string(), 100)].into();
        assert_eq!(told(&failing), Some((1, None, false)));
        let doubted = TrialSummary { valid: false, ..look(1) };
        assert_eq!(told(&doubted), None);
        let status = ServerEnd::ProcessEnded { how: ProcessEnd::Signal(9) }.into();
        let died = TrialFailure::Died { status, last_lines: Vec::new() };
        let died = TrialSummary { failure: Some(died), ..doubted };
        assert_eq!(told(&died), Some((1, Some(true), true)));
        let end = BootEnd::NotRun { error: "no pod went".into() };
        let cause = BootCause::NotReady { seen: None, end, connections_for: None };
        let not_begun = TrialFailure::Boot(BootFailure {
            kind: BootFailureKind::Exited,
            message: cause.into(),
            advice: BootAdvice::Start(StartAdvice::MendApp).into(),
            last_lines: Vec::new(),
        });
        assert_eq!(told(&TrialSummary { failure: Some(not_begun), ..look(1) }), None);
    }

    /// Its trials ran on start 0 of the server; a session that goes on begins another.
    #[test]
    fn a_cold_start_is_not_looked_at_in_its_place_and_what_was_not_measured_is_looked_at_again() {
        let (ledger, mut knobs, screen) = screen();
        let way = Variant::of(0);
        for (server_start, is_open) in [(1, true), (0, false)] {
            screen.clone().take_lost_pod(&ledger, &mut knobs, &look(server_start));
            assert_eq!(knobs.seen(&ledger).lacks_lost_pod(way), is_open, "{knobs:?}");
        }
        assert_eq!(knobs.lost_pods.iter().filter(|it| it.seen.is_some()).count(), 1);
        let mut knobs = Knobs::default();
        for is_open in [true, false] {
            screen.clone().take_lost_pod(&ledger, &mut knobs, &look(1));
            assert_eq!(knobs.seen(&ledger).lacks_lost_pod(way), is_open, "twice is enough");
        }
    }

    #[test]
    fn a_pod_is_lost_only_where_time_is_left_for_the_blocks_that_are_needed() {
        let (mut ledger, knobs, screen) = screen();
        // The other start of this block, and two of the second.
        let needed_s = lost_pod_s(&ledger) + 3.0 * knobs.pace.start_s(&ledger);
        for (more_s, expected) in [(1.0, true), (-1.0, false)] {
            ledger.now_s = ledger.whole_budget.as_secs_f64() - needed_s - more_s;
            let is_next = screen.is_lost_pod_next(&ledger, &knobs, Variant::of(0));
            assert_eq!(is_next, expected, "{more_s} s more than needed");
        }
        ledger.now_s = 0.0;
        assert!(!screen.is_lost_pod_next(&ledger, &knobs, Variant::AS_IT_IS), "it has one pod");
    }

    #[test]
    fn the_next_block_is_taken_to_last_as_long_as_its_starts_however_soon_a_pod_was_gone() {
        let (mut ledger, mut knobs, screen) = screen();
        ledger.start_cost_s = 60.0;
        let (starts_s, way) = (2.0 * knobs.pace.start_s(&ledger), Variant::of(0));
        let seen = with_a_pod_less(&look(0), 2);
        let look_s = lost_pod_s(&ledger) - ledger.start_cost_s;
        for (seen, took_s, expected_s) in [
            (seen, starts_s + look_s, starts_s),
            (seen, starts_s + look_s + 80.0, starts_s + 20.0),
            // That is looked at again.
            (None, starts_s + look_s, starts_s + look_s),
        ] {
            knobs.lost_pods = vec![LostPod { block: 1, variant: way, seen }];
            ledger.now_s = took_s;
            let next_s = screen.next_s(&ledger, &knobs);
            assert!((next_s - expected_s).abs() < 1e-9, "{next_s} and not {expected_s}");
        }
    }

    #[test]
    fn time_is_set_aside_for_a_look_at_each_way_that_has_a_pod_to_lose() {
        let changes = vec![change(1), change(2), change(4)];
        // Pods of the app as it is, places, changes that are tried; looks one after another.
        type Case<'a> = (u16, usize, &'a [usize], f64);
        let cases: [Case<'_>; 5] = [
            (1, 1, &[], 0.0),
            (1, 1, &[0], 0.0),
            (1, 1, &[0, 1, 2], 2.0),
            (2, 1, &[1, 2], 3.0),
            (2, 2, &[1, 2], 2.0),
        ];
        for (pods, places, tried, expected) in cases {
            let plan = SearchPlan { changes: changes.clone(), pods, places, ..tests_plan() };
            let ledger = Ledger::new(plan);
            let looks = lost_pods_s(&ledger, tried) / lost_pod_s(&ledger);
            assert_eq!(looks, expected, "{pods} {places} {tried:?}");
        }
    }
}
