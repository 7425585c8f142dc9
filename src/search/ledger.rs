//! What was measured and is known: all that the stages of the search share.
//!
//! In: a plan, then every trial. Out: the questions that every stage asks of them. Knows no stage,
//! and no clock: the time is the time it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::at_any_rate::AtAnyRate;
use super::cell::Cell;
use super::constants::{SHORT_BUDGET, USUAL_CV2};
use super::plan::SearchPlan;
use super::steady::Sight;
use super::warmth::Warmth;
use crate::model::Sizes;
use crate::stats::Powers;
use crate::terms::{
    BOOT_TIMEOUT_MOST, Configuration, Note, Obstacle, QuantileLimit, SearchNote, Slo, Stated,
    TrialPurpose, TrialSummary,
};

/// What is known so far.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    /// Its budget is without what the knobs get.
    pub plan: SearchPlan,
    pub whole_budget: Duration,
    pub slo: Option<Slo>,
    pub alone: Option<Alone>,
    pub cells: BTreeMap<Configuration, Cell>,
    /// Time of the last thing told, seconds since the session began.
    pub now_s: f64,
    /// Mean seconds that a start costs beyond its load, as seen so far.
    pub start_cost_s: f64,
    pub starts: u32,
    pub notes: Vec<Stated<Note>>,
    /// What would not fit into memory, by what is known now, and why.
    pub too_large: BTreeMap<Configuration, Obstacle>,
    /// Those that are being measured now, where several are at once.
    pub racing: BTreeSet<Configuration>,
    pub at_any_rate: AtAnyRate,
    /// Of the app as it is, oldest first.
    pub sights: Vec<Sight>,
    pub warmth: Warmth,
    /// So many times as many clients saturate a setting as its slots would let one think: its
    /// workers take in more requests at once.
    pub clients_times: u32,
    /// How fast more requests are late as the rate rises, by the windows of all settings.
    pub powers: Option<Powers>,
    /// The rate at which the latencies of settings that hold as much are compared, once there are.
    pub operating_rps: Option<f64>,
}

/// What one client alone saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alone {
    pub latency_mean_s: f64,
    pub cpu_per_request_s: Option<f64>,
    /// How its requests differed.
    pub sizes: Option<Sizes>,
    pub replies: u64,
    /// Of the goals, the limit that the model asks its formulas about.
    pub limit: QuantileLimit,
}

impl Ledger {
    /// Nothing but the plan.
    pub fn new(mut plan: SearchPlan) -> Self {
        let whole_budget = plan.budget;
        plan.budget -= plan.knobs_budget();
        let settings = plan.grid.iter().chain([&plan.current]);
        let mut cells: BTreeMap<_, Cell> = settings.map(|&at| (at, Cell::default())).collect();
        for (at, cell) in &mut cells {
            let needed = at.slots();
            if let Some(limit) = plan.db_connections.filter(|&most| needed > most) {
                cell.rule_out(Obstacle::NeedsDatabaseConnections { needed, limit });
            }
        }
        Self {
            slo: plan.slo.clone(),
            plan,
            whole_budget,
            alone: None,
            cells,
            now_s: 0.0,
            start_cost_s: 2.0,
            starts: 0,
            notes: Vec::new(),
            too_large: BTreeMap::new(),
            racing: BTreeSet::new(),
            at_any_rate: AtAnyRate::default(),
            sights: Vec::new(),
            warmth: Warmth::default(),
            clients_times: 1,
            powers: None,
            operating_rps: None,
        }
    }

    /// Takes when a trial ended that was asked for at `asked_s`, and what its start cost.
    pub fn take_time(&mut self, summary: &TrialSummary, asked_s: f64) {
        let cost_s = summary.ended_s - asked_s - summary.load_s;
        self.now_s = self.now_s.max(summary.ended_s);
        if summary.start > self.starts {
            self.starts = summary.start;
            // A moving mean: one slow boot must not shape the rest of the session.
            self.start_cost_s =
                0.7 * self.start_cost_s + 0.3 * cost_s.clamp(0.0, BOOT_TIMEOUT_MOST.as_secs_f64());
        }
    }

    /// Takes what every usable trial of the app as it is tells, whatever it was for.
    pub fn take(&mut self, summary: &TrialSummary) {
        self.cell_mut(summary.configuration).take(summary);
        self.sights.extend(Sight::of(summary));
        if summary.purpose == TrialPurpose::Saturate {
            // In so short a time any rate says more than a warmer burst.
            let is_short = self.plan.budget < SHORT_BUDGET;
            self.warmth.take(summary, is_short || self.time_left().is_zero());
        }
    }

    /// Squared coefficient of variation of what a request takes.
    pub fn cv2(&self) -> f64 {
        let sizes = self.alone.and_then(|alone| Some((alone.sizes?, alone.replies)));
        sizes.map_or(USUAL_CV2, |(sizes, replies)| sizes.cv2_of(replies))
    }

    /// Something that is to be said with the answer.
    pub fn note(&mut self, note: SearchNote) {
        self.notes.push(Note::Search(note).into());
    }

    pub fn cell_mut(&mut self, configuration: Configuration) -> &mut Cell {
        self.cells.entry(configuration).or_default()
    }

    /// Time that is left, knobs apart.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs_f64((self.plan.budget.as_secs_f64() - self.now_s).max(0.0))
    }

    /// Time that is left, knobs apart, seconds.
    pub fn left_s(&self) -> f64 {
        self.time_left().as_secs_f64()
    }

    /// Of the whole budget, knobs included; seconds.
    pub fn whole_left_s(&self) -> f64 {
        (self.whole_budget.as_secs_f64() - self.now_s).max(0.0)
    }

    /// So many starts, where as many run at once as there are places for.
    pub fn in_turn(&self, starts: usize) -> f64 {
        starts.div_ceil(self.plan.places) as f64
    }

    pub fn is_open(&self, configuration: &Configuration) -> bool {
        self.cells[configuration].is_open()
    }

    /// Configurations that may be recommended.
    pub fn open(&self) -> impl Iterator<Item = (Configuration, &Cell)> {
        self.cells.iter().filter(|(_, cell)| cell.is_open()).map(|(&at, cell)| (at, cell))
    }

    /// Configurations that the race measured and that may be recommended: each with its median
    /// capacity.
    pub fn raced(&self) -> impl Iterator<Item = (Configuration, f64)> {
        self.open().filter_map(|(at, cell)| Some((at, cell.capacity_rps()?)))
    }

    /// Of those that may be recommended what was measured at any rate, in the race or after it.
    pub fn measured(&self) -> impl Iterator<Item = Configuration> {
        let is_measured = |cell: &Cell| cell.probes > 0 || !cell.blocks.is_empty();
        self.open().filter(move |(_, cell)| is_measured(cell)).map(|(at, _)| at)
    }

    /// Of those that the race measured the best.
    pub fn best_in_race(&self) -> Option<(Configuration, f64)> {
        self.raced().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// What a fresh start of the best one is warmed for, beyond what every start is; seconds.
    pub fn warm_s(&self) -> f64 {
        self.best_in_race().map_or(0.0, |(best, rps)| self.warmth.needed_s(best, rps))
    }

    /// Those that were measured on fresh starts after the race.
    pub fn confirmed(&self) -> impl Iterator<Item = Configuration> {
        self.open().filter(|(_, cell)| !cell.blocks.is_empty()).map(|(at, _)| at)
    }

    /// Those that nothing was measured of, as far as they seem to fit into memory.
    pub fn untried(&self) -> impl Iterator<Item = Configuration> {
        self.open()
            .filter(|(at, cell)| cell.burst_rps.is_none() && !self.too_large.contains_key(at))
            .map(|(at, _)| at)
            .filter(|at| !self.racing.contains(at))
    }

    /// Was anything measured but the reference?
    pub fn has_compared(&self) -> bool {
        self.cells.iter().any(|(&c, cell)| c != self.plan.current && cell.burst_rps.is_some())
    }

    pub fn memory_bytes(&self, configuration: Configuration) -> Option<u64> {
        self.cells[&configuration].memory_bytes
    }

    /// What each measured configuration took.
    pub fn memory_points(&self) -> Vec<(Configuration, u64)> {
        self.cells.iter().filter_map(|(&at, cell)| Some((at, cell.memory_bytes?))).collect()
    }
}
