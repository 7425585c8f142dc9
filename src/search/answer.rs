//! The answer as it stands: what runs now, what to run, how sure, and what is as good.
//!
//! In: the ledger, and what the stages left. Out: an [`Answer`]. Computes only.

use super::constants::{EQUIVALENCE, VAGUE};
use super::estimates::{capacity, of_blocks, ratio};
use super::expect::Expectations;
use super::ledger::Ledger;
use super::loads::block_start_s;
use super::objective::{self, Weighed};
use super::pursue;
use super::recommend::{Standing, picked, to_recommend, weighed};
use super::screened::{Knobs, KnobsAnswer};
use super::steady::unsteadiness;
use super::ties::p95_s;
use crate::model;
use crate::stats::Estimate;
use crate::terms::{
    Configuration, Equivalent, HeldRate, Limit, MemoryParts, Note, ObjectiveReport, Precision,
    PrecisionNote, SearchNote, Soak, Stated, WaitingEvidence,
};

/// A capacity with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityEstimate {
    pub configuration: Configuration,
    pub rps: Estimate,
}

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub capacity: CapacityEstimate,
    /// Against the current configuration; exactly 1 when that is the choice, `None` when it holds
    /// nothing.
    pub gain: Option<Estimate>,
    pub precision: Option<Precision>,
    /// That a fresh start held at the end; `None` where none was held, or there was no time.
    pub held: Option<HeldRate>,
    pub limit: Limit,
    pub memory_bytes: Option<u64>,
    /// The rate at which p95 was compared with that of settings that hold as much; `None` where
    /// there was none, or no time.
    pub latency_at_rps: Option<f64>,
    pub p95_s: Option<f64>,
    /// Those that hold as much, the least memory first.
    pub equivalent: Vec<Equivalent>,
}

/// The answer at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub current: Option<CapacityEstimate>,
    /// `None` while nothing was found that holds any rate within the goal.
    pub choice: Option<Choice>,
    /// `None` when no memory of the server's processes was read.
    pub memory: Option<MemoryParts>,
    /// `None` where nothing was looked for.
    pub objective: Option<ObjectiveReport>,
    /// `None` where the plan names none.
    pub knobs: Option<KnobsAnswer>,
    /// `None` where none was asked for, or it has not begun.
    pub soak: Option<Soak>,
    /// Why the search ended, what more minutes would buy.
    pub notes: Vec<Stated<Note>>,
}

/// The answer so far; `standing`, `knobs`: what the stages left.
pub(super) fn answer(ledger: &Ledger, standing: Standing<'_>, knobs: &Knobs) -> Answer {
    let picked = picked(ledger, standing);
    let chosen = to_recommend(ledger, standing);
    let answering = Answering { ledger, standing, chosen };
    let choice = chosen.and_then(|chosen| answering.choice(chosen));
    let asked = &ledger.plan.objective;
    let printed = choice.as_ref().map(|choice| choice.capacity.configuration);
    let front = objective::front(&answering.weighed(), chosen).into_iter();
    let objective = ObjectiveReport {
        goal: asked.kind,
        rate_rps: asked.rate_rps(),
        price_per_core_hour: asked.prices.map(|prices| prices.per_core_hour),
        price_per_gib_hour: asked.prices.map(|prices| prices.per_gib_hour),
        held: picked.and_then(|pick| pick.held),
        front: front.filter_map(|it| it.front_setting(asked, printed)).collect(),
    };
    let mut notes = ledger.notes.clone();
    let precision = choice.as_ref().and_then(|choice| choice.precision);
    let of_objective = picked.map(|pick| pursue::notes(ledger, standing, &pick));
    let doubts = unsteadiness(&ledger.sights).map(Note::Steadiness).into_iter();
    let doubts = doubts
        .chain(answering.doubts().into_iter().map(Note::Search))
        .chain(of_objective.into_iter().flatten().map(Note::Objective))
        .chain(precision.and_then(|it| more_minutes(ledger, &it)).map(Note::Precision));
    notes.extend(doubts.map(Stated::Fact));
    Answer {
        current: answering.printed(ledger.plan.current),
        choice,
        memory: model::memory_parts(&ledger.memory_points()),
        objective: Some(objective),
        knobs: knobs.seen(ledger).answer(chosen),
        soak: None,
        notes,
    }
}

/// What an answer is made of.
struct Answering<'a> {
    ledger: &'a Ledger,
    standing: Standing<'a>,
    chosen: Option<Configuration>,
}

impl Answering<'_> {
    /// What is to be said of this answer, whatever ended the search.
    fn doubts(&self) -> Vec<SearchNote> {
        let Some(chosen) = self.chosen else { return self.hardly_known().into_iter().collect() };
        let ending = self.standing.ending_of(chosen);
        let failing = self.ledger.slo.as_ref().and_then(|slo| self.ledger.at_any_rate.note(slo));
        let not_held = ending.is_none().then_some(SearchNote::NotHeldAtEnd);
        let requests = self.ledger.warmth.requests_needed();
        let missed_rps = ending.filter(|it| it.held.is_none()).and_then(|it| it.missed_rps);
        let missed = missed_rps.map(|rate_rps| SearchNote::NothingHeldAtEnd { rate_rps });
        let held_cold = ending.and_then(|ending| ending.held);
        let warm_rps = held_cold.and(capacity(self.ledger, chosen)).map(|warm| warm.value);
        let cold = requests.map(|requests| SearchNote::ColdAtFirst { requests, warm_rps });
        let all = [self.never_held(chosen), self.hardly_known(), not_held, missed, failing, cold];
        all.into_iter().flatten().collect()
    }

    /// A capacity below everything that was tried is a guess of the belief's lower end.
    fn never_held(&self, chosen: Configuration) -> Option<SearchNote> {
        let cell = &self.ledger.cells[&chosen];
        let is_tried = cell.probes > 0 || !cell.blocks.is_empty();
        (is_tried && !cell.has_held).then_some(SearchNote::NoRateHeld { configuration: chosen })
    }

    /// The session ended before the blocks, for which the reference's probes had waited.
    fn hardly_known(&self) -> Option<SearchNote> {
        let configuration = self.ledger.plan.current;
        let cell = &self.ledger.cells[&configuration];
        let is_guessed = cell.race.is_some() && cell.probes == 0 && cell.blocks.is_empty();
        (is_guessed && self.chosen != Some(configuration))
            .then_some(SearchNote::CurrentNotTriedAtRate { configuration })
    }

    fn choice(&self, chosen: Configuration) -> Option<Choice> {
        let ledger = self.ledger;
        let cell = &ledger.cells[&chosen];
        let unknown = || Limit::unknown(WaitingEvidence::NotSaturated);
        let expected = || Expectations::of(ledger).and_then(|it| it.memory_bytes(chosen));
        let p95_s = p95_s(ledger, chosen);
        Some(Choice {
            capacity: self.printed(chosen)?,
            held: self.standing.ending_of(chosen).and_then(|ending| ending.held),
            gain: gain(ledger, chosen),
            precision: Some(precision(ledger, chosen)),
            limit: cell.limit().cloned().unwrap_or_else(unknown),
            memory_bytes: cell.memory_bytes_max().or_else(expected),
            latency_at_rps: p95_s.and(ledger.operating_rps),
            p95_s,
            // Where something else is asked for, as much capacity is not as good.
            equivalent: match ledger.plan.pursues() {
                true => Vec::new(),
                false => equivalent_to(ledger, chosen),
            },
        })
    }

    /// Every measured setting with the capacity that is printed.
    fn weighed(&self) -> Vec<Weighed> {
        let as_printed = |it: Weighed| Weighed {
            capacity: self.printed(it.configuration).map_or(it.capacity, |it| it.rps),
            ..it
        };
        weighed(self.ledger, self.standing).into_iter().map(as_printed).collect()
    }

    /// The capacity as it is printed: of the chosen setting what was held at the end, and where
    /// that was not tried the lower end of what is known; of another what keeps the ratio to it
    /// that was measured.
    fn printed(&self, configuration: Configuration) -> Option<CapacityEstimate> {
        let measured = capacity(self.ledger, configuration)?;
        let chosen = self.chosen.unwrap_or(configuration);
        let known = capacity(self.ledger, chosen)?;
        let ending = self.standing.ending_of(chosen).map(|ending| ending.capacity);
        let printed = ending.unwrap_or_else(|| self.untried(known));
        let is_asked = self.ledger.plan.objective.rate_rps().is_some();
        let own = self.standing.ending_of(configuration).filter(|_| is_asked);
        let rps = match own {
            _ if configuration == chosen => printed,
            Some(ending) => ending.capacity,
            None => {
                let value = measured.value * printed.value / known.value;
                let (low, high) = (measured.low.min(value), measured.high.max(value));
                Estimate { value, low, high, count: measured.count }
            }
        };
        Some(CapacityEstimate { configuration, rps })
    }

    /// A rate that was asked for is not the capacity, which is what is believed then.
    fn untried(&self, known: Estimate) -> Estimate {
        let is_asked = self.ledger.plan.objective.rate_rps().is_some();
        Estimate { value: if is_asked { known.value } else { known.low }, ..known }
    }
}

fn gain(ledger: &Ledger, chosen: Configuration) -> Option<Estimate> {
    let current = ledger.plan.current;
    if chosen == current {
        return Some(Estimate { value: 1.0, low: 1.0, high: 1.0, count: 1 });
    }
    capacity(ledger, current)?;
    ratio(ledger, chosen, current, 0.95)
}

/// Measured configurations whose capacity is within the band of the chosen one's, as far as the
/// measurement goes.
fn equivalent_to(ledger: &Ledger, chosen: Configuration) -> Vec<Equivalent> {
    let others = ledger.measured().filter(|at| *at != chosen);
    let mut equivalent: Vec<Equivalent> = others
        .filter_map(|at| {
            let ratio = ratio(ledger, at, chosen, 0.90)?;
            (ratio.value >= 1.0 - EQUIVALENCE).then(|| Equivalent {
                workers: at.workers.get(),
                threads: at.threads.get(),
                ratio: ratio.value,
                ratio_interval: ratio.interval(),
                memory_bytes: ledger.memory_bytes(at),
                latency_s_p95: p95_s(ledger, at),
            })
        })
        .collect();
    equivalent.sort_by_key(|e| (e.memory_bytes.unwrap_or(u64::MAX), e.workers, e.threads));
    equivalent
}

/// How well the recommended one's capacity is known, and what fresh starts of the one alone would
/// narrow its interval to what was asked for: it narrows with the root of their number.
fn precision(ledger: &Ledger, chosen: Configuration) -> Precision {
    let asked_ratio = ledger.plan.precision;
    let known = of_blocks(ledger, chosen);
    let more_s = |known: Estimate| {
        let starts = known.count as f64;
        let needed = starts * (known.log_half_width() / asked_ratio).powi(2);
        (needed - starts).max(0.0).ceil() * block_start_s(ledger, known.value)
    };
    let reached_ratio = known.map(|known| known.log_half_width());
    Precision { asked_ratio, reached_ratio, more_s: known.map(more_s) }
}

/// What more minutes would buy; `None` where they would buy nothing that matters.
fn more_minutes(ledger: &Ledger, precision: &Precision) -> Option<PrecisionNote> {
    let asked_ratio = precision.asked_ratio;
    let Some(reached_ratio) = precision.reached_ratio else {
        return Some(PrecisionNote::OneStart { budget_s: 2.0 * ledger.whole_budget.as_secs_f64() });
    };
    let more_s = precision.more_s.filter(|_| !precision.is_reached())?;
    Some(match reached_ratio > VAGUE {
        true => PrecisionNote::TooVague { reached_ratio, asked_ratio, more_s },
        false => PrecisionNote::Improvable { reached_ratio, asked_ratio, more_s },
    })
}
