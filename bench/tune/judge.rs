//! What the rows of a workload say: the grid's best, and how good what was chosen is beside it.
//!
//! In: rows. Out: figures. Measures nothing.

use std::collections::BTreeMap;

use sweetspot::stats::{self, Estimate, log_ratio_interval};
use sweetspot::terms::Configuration;

use super::rows::{Phase, Row};
use crate::common::bars::{Bar, Limit};
use crate::common::rows::Rows;
use crate::common::workload::Workload;

/// What a whole grid is: capacities of a cell, and the seconds of load of each.
pub const FULL: (u32, f64) = (3, 60.0);
/// A cell is as good as the best within this.
pub const AS_GOOD: f64 = 0.95;
/// A tune takes at most this share of the time of a whole grid.
const SHARE: f64 = 0.125;

/// A workload judged.
pub struct Judged {
    pub workload: &'static Workload,
    /// Capacities in requests/s, by cell, a round each.
    pub cells: BTreeMap<Configuration, Vec<f64>>,
    pub rounds: u32,
    /// Load of one capacity of the grid.
    pub asked_s: f64,
    /// What the grid took by the clock, and what [`FULL`] takes at that rate.
    pub grid_s: f64,
    pub full_grid_s: f64,
    /// `None`: no cell could be measured.
    pub best: Option<Configuration>,
    pub tunes: Vec<Row>,
    /// By round: what was measured of each contender.
    pub blocks: BTreeMap<u32, BTreeMap<Configuration, f64>>,
    pub block_s: f64,
}

/// How a tune's choice stands to the first one's, by what the grid measured of both. What a tune
/// itself calls as good is what is to be judged, and no evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Agreement {
    Same,
    /// Other cells, both within 5 % of the grid's best; their shares of it, the first tune's first.
    AsGood([f64; 2]),
    /// One of them is not.
    Other([f64; 2]),
}

impl Judged {
    /// `None`: nothing of it was measured.
    pub fn of(workload: &'static Workload, rows: &Rows<Row>) -> Option<Self> {
        let grid: Vec<&Row> = rows.of(workload.name, Phase::Grid).collect();
        let asked_s = grid.first()?.asked_s;
        let cells = capacities(workload.name, rows);
        let grid_s: f64 = grid.iter().map(|row| row.seconds).sum();
        let one_s = grid_s / grid.len() as f64 - asked_s + FULL.1;
        let tunes: Vec<Row> = rows.of(workload.name, Phase::Tune).cloned().collect();
        let mut blocks: BTreeMap<u32, BTreeMap<Configuration, f64>> = BTreeMap::new();
        for row in rows.of(workload.name, Phase::Blocks) {
            let block = blocks.entry(row.round).or_default();
            block.extend(row.configuration().map(|cell| (cell, row.capacity_rps)));
        }
        Some(Self {
            workload,
            rounds: grid.iter().map(|row| row.round).max().unwrap_or(0),
            asked_s,
            grid_s,
            full_grid_s: one_s * cells.len() as f64 * f64::from(FULL.0),
            best: best_of(&cells),
            block_s: rows.of(workload.name, Phase::Blocks).next().map_or(0.0, |row| row.asked_s),
            cells,
            tunes,
            blocks,
        })
    }

    /// What is promised of tunes.
    pub fn bars(&self) -> Vec<Bar> {
        let name = self.workload.name;
        let mut bars = Vec::new();
        for choice in self.choices() {
            let is_best = self.best == Some(choice);
            let ratio = self.best.and_then(|best| self.ratio(choice, best)).map(|it| it.value);
            let what = format!("{name}: {choice} of the best");
            let figure = if is_best { Some(1.0) } else { ratio };
            bars.push(Bar::new(what, figure, Limit::AtLeast(AS_GOOD)));
        }
        for row in &self.tunes {
            let what = format!("{name}: tune {}, share of the grid's time", row.round);
            bars.push(Bar::new(what, Some(row.seconds / self.full_grid_s), Limit::AtMost(SHARE)));
        }
        let is_other = |it: &&(u32, u32, Agreement)| matches!(it.2, Agreement::Other(_));
        let others = self.agreements().iter().filter(is_other).count();
        let without = self.tunes.iter().filter(|row| row.configuration().is_none()).count();
        let what =
            format!("{name}: tunes without a choice, or with neither the first's nor as good");
        bars.push(Bar::new(what, Some((others + without) as f64), Limit::AtMost(0.0)));
        bars
    }

    /// Whether the grid is as much as a whole one, so that its time is as measured.
    pub fn is_full(&self) -> bool {
        let is_whole = |values: &Vec<f64>| values.len() == FULL.0 as usize;
        self.asked_s == FULL.1 && self.cells.values().all(is_whole)
    }

    pub fn rps(&self, cell: Configuration) -> f64 {
        self.cells.get(&cell).map_or(0.0, |values| median(values))
    }

    /// Cells within 5 % of the best, itself included.
    pub fn as_good(&self) -> usize {
        let least = AS_GOOD * self.best.map_or(f64::INFINITY, |best| self.rps(best));
        self.cells.values().filter(|values| median(values) >= least).count()
    }

    /// What was chosen, each once, in the order of the tunes.
    pub fn choices(&self) -> Vec<Configuration> {
        let mut choices: Vec<Configuration> = Vec::new();
        for choice in self.tunes.iter().filter_map(Row::configuration) {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        choices
    }

    /// Requests/s of both in every block that has both.
    pub fn pairs(&self, one: Configuration, other: Configuration) -> Vec<(u32, f64, f64)> {
        let both = |(round, block): (&u32, &BTreeMap<Configuration, f64>)| {
            Some((*round, *block.get(&one)?, *block.get(&other)?))
        };
        self.blocks.iter().filter_map(both).collect()
    }

    /// one / other with its 95 % interval, from the blocks in which both could be measured.
    pub fn ratio(&self, one: Configuration, other: Configuration) -> Option<Estimate> {
        let pairs = self.pairs(one, other).into_iter().map(|(_, one, other)| (one, other));
        let measured: Vec<(f64, f64)> =
            pairs.filter(|(one, other)| *one > 0.0 && *other > 0.0).collect();
        log_ratio_interval(&measured, 0.95)
    }

    /// Of each tune but the first that chose something; the round of that and its own come first.
    pub fn agreements(&self) -> Vec<(u32, u32, Agreement)> {
        let chose = |row: &Row| Some((row.round, row.configuration()?));
        let mut chosen = self.tunes.iter().filter_map(chose);
        let Some((first, choice)) = chosen.next() else { return Vec::new() };
        chosen.map(|(round, other)| (first, round, self.agreement(choice, other))).collect()
    }

    fn agreement(&self, first: Configuration, other: Configuration) -> Agreement {
        if first == other {
            return Agreement::Same;
        }
        let shares = [first, other].map(|cell| self.share_of_best(cell));
        match shares.iter().all(|share| *share >= AS_GOOD) {
            true => Agreement::AsGood(shares),
            false => Agreement::Other(shares),
        }
    }

    /// What the grid measured of it, by what it measured of its best; 0 of what it has not.
    fn share_of_best(&self, cell: Configuration) -> f64 {
        self.best.map_or(0.0, |best| self.rps(cell) / self.rps(best))
    }
}

/// What is to be measured again: the grid's best and every choice.
pub fn contenders(workload: &str, rows: &Rows<Row>) -> Vec<Configuration> {
    let choices = rows.of(workload, Phase::Tune).filter_map(Row::configuration);
    let mut all: Vec<Configuration> = choices.chain(best_of(&capacities(workload, rows))).collect();
    all.sort();
    all.dedup();
    all
}

/// 0 of none.
pub fn median(values: &[f64]) -> f64 {
    stats::median(values).unwrap_or(0.0)
}

fn capacities(workload: &str, rows: &Rows<Row>) -> BTreeMap<Configuration, Vec<f64>> {
    let mut cells: BTreeMap<Configuration, Vec<f64>> = BTreeMap::new();
    for row in rows.of(workload, Phase::Grid) {
        if let Some(cell) = row.configuration() {
            cells.entry(cell).or_default().push(row.capacity_rps);
        }
    }
    cells
}

fn best_of(cells: &BTreeMap<Configuration, Vec<f64>>) -> Option<Configuration> {
    let medians = cells.iter().map(|(cell, values)| (*cell, median(values)));
    let best = medians.filter(|(_, rps)| *rps > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(cell, _)| cell)
}
