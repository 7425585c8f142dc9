//! What is measured of a workload, in this order: the grid, round after round; tunes; blocks.
//!
//! In: rows that are there. Out: those that were missing.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::terms::{Configuration, StopSignal};

use crate::Result;
use crate::capacity;
use crate::command;
use crate::judge;
use crate::rows::{Phase, Row, Rows};
use crate::site::Site;
use crate::sizes::Sizes;
use crate::workload::Workload;

/// All that is missing of a workload.
///
/// # Errors
/// The bench was interrupted, or something else than a server failed.
pub fn workload(
    workload: &Workload,
    sizes: &Sizes,
    rows: &mut Rows,
    stop: &StopSignal,
) -> Result<()> {
    rows.check_asked(workload.name, Phase::Grid, sizes.seconds_per_cell)?;
    rows.check_asked(workload.name, Phase::Blocks, sizes.block_seconds)?;
    let site = Site::prepare(workload, sizes, stop)?;
    let mut bench = Bench { name: workload.name, site, sizes, rows };
    bench.grid()?;
    bench.tunes()?;
    bench.blocks()
}

struct Bench<'a> {
    name: &'static str,
    site: Site,
    sizes: &'a Sizes,
    rows: &'a mut Rows,
}

impl Bench<'_> {
    fn grid(&mut self) -> Result<()> {
        for round in 1..=self.sizes.replicates {
            for cell in shuffled(self.sizes.cells(), u64::from(round)) {
                if self.rows.find(self.name, Phase::Grid, round, cell).is_none() {
                    self.capacity(Phase::Grid, round, cell)?;
                }
            }
        }
        Ok(())
    }

    fn tunes(&mut self) -> Result<()> {
        for round in 1..=self.sizes.tunes {
            if self.rows.of(self.name, Phase::Tune).all(|row| row.round != round) {
                self.tune(round)?;
            }
        }
        Ok(())
    }

    /// Only blocks that have all of today's contenders count; one that was cut is begun anew, for
    /// its members are to be compared under the same minutes of the machine.
    fn blocks(&mut self) -> Result<()> {
        let contenders = judge::contenders(self.name, self.rows);
        let is_whole = |round: &u32| {
            let is_there = |cell| self.rows.find(self.name, Phase::Blocks, *round, cell).is_some();
            contenders.iter().copied().all(is_there)
        };
        let rounds = self.rows.of(self.name, Phase::Blocks).map(|row| row.round);
        let last = rounds.max().unwrap_or(0);
        let whole = (1..=last).filter(is_whole).count() as u32;
        for round in last + 1..=last + self.sizes.blocks.saturating_sub(whole) {
            for cell in shuffled(contenders.clone(), 1000 + u64::from(round)) {
                self.capacity(Phase::Blocks, round, cell)?;
            }
        }
        Ok(())
    }

    fn capacity(&mut self, phase: Phase, round: u32, cell: Configuration) -> Result<()> {
        let (asked_s, seed) = match phase {
            Phase::Blocks => (self.sizes.block_seconds, 1_000_000),
            Phase::Grid | Phase::Tune => (self.sizes.seconds_per_cell, 0),
        };
        let seed = seed + u64::from(round) * 1000;
        let measured = capacity::measure(&self.site, cell, Duration::from_secs(asked_s), seed)?;
        let rps = measured.capacity_rps.map_or([0.0; 3], |rps| [rps.value, rps.low, rps.high]);
        self.rows.add(Row {
            workload: self.name.to_string(),
            phase,
            round,
            configuration: Some(cell),
            capacity_rps: rps[0],
            low_rps: rps[1],
            high_rps: rps[2],
            seconds: measured.seconds,
            load_s: measured.load_s,
            asked_s: asked_s as f64,
        })
    }

    fn tune(&mut self, round: u32) -> Result<()> {
        let (result, took) = command::tune(&self.site, &self.sizes.folder, self.name, round)?;
        let decision = result.decision.as_ref();
        let choice = decision.map(|d| Configuration::new(d.workers, d.threads)).transpose()?;
        let [low_rps, high_rps] = decision.map_or([0.0; 2], |d| d.capacity_rps_interval);
        self.rows.add(Row {
            workload: self.name.to_string(),
            phase: Phase::Tune,
            round,
            configuration: choice,
            capacity_rps: decision.map_or(0.0, |d| d.capacity_rps),
            low_rps,
            high_rps,
            seconds: took.as_secs_f64(),
            load_s: result.load_s,
            asked_s: self.site.plan.budget.as_secs_f64(),
        })
    }
}

/// In an order of chance that is the same for a run that goes on.
fn shuffled(mut cells: Vec<Configuration>, seed: u64) -> Vec<Configuration> {
    cells.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    cells
}
