//! What is measured of a workload, in this order: the grid, round after round; tunes; blocks.
//!
//! In: rows that are there. Out: those that were missing.

use std::time::Duration;

use sweetspot::terms::{Configuration, StopSignal};

use super::rows::{Phase, Row};
use super::{Sizes, capacity, judge, site};
use crate::common::rows::Rows;
use crate::common::tuned::Tuned;
use crate::common::workload::{Workload, shuffled};
use crate::common::{Result, command};

/// All that is missing of a workload.
///
/// # Errors
/// The bench was interrupted, or something else than a server failed.
pub fn workload(
    workload: &Workload,
    sizes: &Sizes,
    rows: &mut Rows<Row>,
    stop: &StopSignal,
) -> Result<()> {
    rows.check_asked(workload.name, Phase::Grid, sizes.seconds_per_cell)?;
    rows.check_asked(workload.name, Phase::Blocks, sizes.block_seconds)?;
    let app = site::prepare(workload, sizes, stop)?;
    let mut bench = Bench { name: workload.name, app, sizes, rows };
    bench.grid()?;
    bench.tunes()?;
    bench.blocks()
}

struct Bench<'a> {
    name: &'static str,
    app: Tuned,
    sizes: &'a Sizes,
    rows: &'a mut Rows<Row>,
}

impl Bench<'_> {
    fn grid(&mut self) -> Result<()> {
        for round in 1..=self.sizes.replicates {
            for cell in shuffled(self.sizes.cells(), u64::from(round)) {
                if !self.rows.has(self.name, Phase::Grid, round, cell) {
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
            let is_there = |cell| self.rows.has(self.name, Phase::Blocks, *round, cell);
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
        let measured = capacity::measure(&self.app, cell, Duration::from_secs(asked_s), seed)?;
        let rps = measured.capacity_rps.map_or([0.0; 3], |rps| [rps.value, rps.low, rps.high]);
        self.add(Row {
            workload: self.name.to_string(),
            phase,
            round,
            workers: cell.workers.get(),
            threads: cell.threads.get(),
            capacity_rps: rps[0],
            low_rps: rps[1],
            high_rps: rps[2],
            seconds: measured.seconds,
            load_s: measured.load_s,
            asked_s: asked_s as f64,
        })
    }

    fn add(&mut self, row: Row) -> Result<()> {
        let Row { workload, phase, round, workers, threads, capacity_rps, seconds, .. } = &row;
        eprintln!(
            "{workload} {phase:?} {round}: {workers} x {threads}, {capacity_rps:.1}/s, \
             {seconds:.0} s"
        );
        self.rows.add(row)
    }

    fn tune(&mut self, round: u32) -> Result<()> {
        let json = self.sizes.folder.join(self.name).join(format!("tune-{round}.json"));
        let (result, took) = command::tune(&self.app, &json, round)?;
        let decision = result.decision.as_ref();
        let [low_rps, high_rps] = decision.map_or([0.0; 2], |d| d.capacity_rps_interval);
        self.add(Row {
            workload: self.name.to_string(),
            phase: Phase::Tune,
            round,
            workers: decision.map_or(0, |d| d.workers),
            threads: decision.map_or(0, |d| d.threads),
            capacity_rps: decision.map_or(0.0, |d| d.capacity_rps),
            low_rps,
            high_rps,
            seconds: took.as_secs_f64(),
            load_s: result.load_s,
            asked_s: self.app.plan.budget.as_secs_f64(),
        })
    }
}
