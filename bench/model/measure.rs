//! The trials of a workload, on a fresh start for each cell.
//!
//! In: a workload. Out: rows. The load comes over fresh connections, as through a proxy.

use std::time::Duration;

use sweetspot::place::Place as _;
use sweetspot::place::local::services::Services;
use sweetspot::place::local::{Local, LocalSettings};
use sweetspot::terms::{
    Arrivals, Configuration, ConnectionMode, Goals, Offered, Rate, StopSignal, Target, TrialPurpose,
};
use sweetspot::trial::{Order, Runner};

use super::rows::{Kind, Row, grid as all_cells};
use crate::common::rows::Rows;
use crate::common::workload::{Workload, shuffled};
use crate::common::{Result, checkout, interrupt, program, site, trial};

/// Every cell once, in an order of chance.
pub fn grid(
    workload: &Workload,
    seconds: u64,
    rows: &mut Rows<Row>,
    stop: &StopSignal,
) -> Result<()> {
    let mut site = Site::prepare(workload, seconds, stop)?;
    for cell in shuffled(all_cells(), 1) {
        site.cell(cell, rows)?;
        interrupt::check()?;
    }
    Ok(())
}

/// The contenders again and again, in turn.
pub fn blocks(
    workload: &Workload,
    contenders: Vec<Configuration>,
    rounds: u32,
    seconds: u64,
    rows: &mut Rows<Row>,
    stop: &StopSignal,
) -> Result<()> {
    if contenders.len() < 2 {
        return Ok(());
    }
    let mut site = Site::prepare(workload, seconds, stop)?;
    for round in 1..=rounds {
        for cell in shuffled(contenders.clone(), 1000 + u64::from(round)) {
            if rows.find(workload.name, Kind::Block(round), cell).is_none() {
                site.run(cell, &[Kind::Block(round)], rows)?;
                interrupt::check()?;
            }
        }
    }
    Ok(())
}

/// An app that waits for a service, and where it is started.
struct Site<'a> {
    workload: &'a Workload,
    seconds: u64,
    place: Local,
    _services: Services,
}

impl<'a> Site<'a> {
    fn prepare(workload: &'a Workload, seconds: u64, stop: &StopSignal) -> Result<Self> {
        let mut services = site::services(stop)?;
        site::start_slow_service(&mut services)?;
        let (app, puma) = site::on_puma(&checkout(workload.app), services.env().clone())?;
        let settings = LocalSettings {
            connection: ConnectionMode::Fresh,
            guardian: program(),
            ..LocalSettings::new(app, puma, vec![Target::get(workload.path)])
        };
        let place = Local::new(settings, stop.clone())?;
        Ok(Self { workload, seconds, place, _services: services })
    }

    fn cell(&mut self, cell: Configuration, rows: &mut Rows<Row>) -> Result<()> {
        let is_there = |rows: &Rows<Row>, kind| rows.find(self.workload.name, kind, cell).is_some();
        if is_there(rows, Kind::Most) {
            return Ok(());
        }
        let mut trials = vec![];
        if cell.slots() == 1 && !is_there(rows, Kind::Unloaded) {
            trials.push(Kind::Unloaded);
        }
        if !is_there(rows, Kind::Saturated) {
            trials.push(Kind::Saturated);
        }
        self.run(cell, &trials, rows)?;
        let saturated = rows.find(self.workload.name, Kind::Saturated, cell);
        if saturated.is_some_and(|row| row.got_through_rps() > 0.0) {
            self.run(cell, &[Kind::Half, Kind::Most], rows)?;
        }
        Ok(())
    }

    /// Trials on one start.
    fn run(&mut self, cell: Configuration, kinds: &[Kind], rows: &mut Rows<Row>) -> Result<()> {
        let machine = self.place.machine().clone();
        let mut warnings = self.place.warnings().into_iter();
        let is_shared = warnings.any(|one| one.says_generator_shares_cores());
        let mut runner = Runner::new(&mut self.place, 0);
        for &kind in kinds {
            let saturated = rows.find(self.workload.name, Kind::Saturated, cell);
            let rate = saturated.map_or(0.0, |row| row.got_through_rps());
            let order = order(cell, kind, rate, self.seconds)?;
            let (purpose, cores) = (purpose(kind), machine.cores.get());
            let summary = trial::run(&mut runner, &order, purpose, cores, &Goals::default())?;
            // One that was cut off is no row.
            interrupt::check()?;
            // Of a rate that the generator cannot keep there is no latency; a closed load that it
            // cannot keep says nothing at all.
            if !summary.valid && !matches!(kind, Kind::Half | Kind::Most) {
                let doubts = &summary.summary.warnings;
                return Err(format!("{cell}, {kind:?}: not valid: {doubts:?}").into());
            }
            let (workload, machine) = (self.workload.name.to_string(), machine.clone());
            let (rps, p95_s) = (summary.summary.throughput_rps, summary.summary.latency_s.p95);
            eprintln!("{workload} {cell} {kind:?}: {rps:.1}/s, p95 {:.1} ms", p95_s * 1e3);
            rows.add(Row { workload, kind, machine, is_shared, summary })?;
        }
        runner.finish()?;
        Ok(())
    }
}

fn purpose(kind: Kind) -> TrialPurpose {
    match kind {
        Kind::Unloaded => TrialPurpose::Unloaded,
        Kind::Saturated | Kind::Block(_) => TrialPurpose::Saturate,
        Kind::Half | Kind::Most => TrialPurpose::Probe,
    }
}

fn order(cell: Configuration, kind: Kind, saturated_rps: f64, seconds: u64) -> Result<Order> {
    let closed = |clients| Offered::Closed { clients, think: Duration::ZERO };
    let open = |share: f64| -> Result<Offered> {
        let rate = Rate::per_second(share * saturated_rps)?;
        Ok(Offered::Open { rate, arrivals: Arrivals::Poisson })
    };
    let offered = match kind {
        Kind::Unloaded => closed(1),
        // As many as a tune has.
        Kind::Saturated | Kind::Block(_) => closed((2 * cell.slots()).max(4)),
        Kind::Half => open(0.5)?,
        Kind::Most => open(0.8)?,
    };
    let times = [Duration::from_secs(2), duration(&offered, kind, seconds)];
    Ok(trial::order(cell, offered, times, u64::from(cell.slots())))
}

/// A 95th percentile needs more requests than a rate does, and the more of them the longer a queue
/// stays once it is there.
fn duration(offered: &Offered, kind: Kind, seconds: u64) -> Duration {
    let requests = if kind == Kind::Most { 2500.0 } else { 800.0 };
    let needs = offered.rate().map_or(0.0, |rate| requests / rate.as_per_second());
    Duration::from_secs(seconds.max(needs.ceil() as u64))
}
