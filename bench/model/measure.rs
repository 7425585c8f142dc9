//! The trials of a workload, on a fresh start for each cell.
//!
//! In: a workload. Out: rows. The load comes over fresh connections, as through a proxy.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::place::Place as _;
use sweetspot::place::local::services::Services;
use sweetspot::place::local::{Local, LocalSettings, scratch_places};
use sweetspot::plan::{check_programs, choose_server, recognise};
use sweetspot::server;
use sweetspot::session::local;
use sweetspot::terms::{
    Arrivals, Configuration, ConnectionMode, Goals, Offered, Rate, StopSignal, Target, TrialPurpose,
};
use sweetspot::trial::{Order, Runner};

use crate::rows::{Kind, Row, Rows};
use crate::workload::{Workload, grid as all_cells};
use crate::{Result, interrupt, trial};

/// Every cell once, in an order of chance.
pub fn grid(workload: &Workload, seconds: u64, rows: &mut Rows, stop: &StopSignal) -> Result<()> {
    let mut order = all_cells();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(1));
    let mut site = Site::prepare(workload, seconds, stop)?;
    for cell in order {
        site.cell(cell, rows)?;
        interrupt::check()?;
    }
    Ok(())
}

/// The same two or so again and again, in turn.
pub fn blocks(
    workload: &Workload,
    contenders: Vec<Configuration>,
    rounds: u32,
    seconds: u64,
    rows: &mut Rows,
    stop: &StopSignal,
) -> Result<()> {
    if contenders.len() < 2 {
        return Ok(());
    }
    let mut site = Site::prepare(workload, seconds, stop)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    for round in 1..=rounds {
        let mut order = contenders.clone();
        order.shuffle(&mut random);
        for cell in order {
            site.block(cell, round, rows)?;
            interrupt::check()?;
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
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = PathBuf::from(env!("CARGO_BIN_EXE_sweetspot"));
        let mut services = Services::begin(&program, &scratch_places(), stop.clone())?;
        services.start_external("ruby external.rb", &root.join("labs/mixed-rails/app"))?;
        let mut app = recognise(&root.join("bench/model/app"))?;
        let puma = server::find("puma").ok_or("Puma's adapter is gone")?;
        choose_server(&mut app, Some(puma))?;
        app.env.clone_from(services.env());
        check_programs(&mut app, puma, &local::surroundings()?.program_folders)?;
        let place = Local::new(
            LocalSettings {
                connection: ConnectionMode::Fresh,
                guardian: program,
                ..LocalSettings::new(app, puma, vec![Target::get(workload.path)])
            },
            stop.clone(),
        )?;
        Ok(Self { workload, seconds, place, _services: services })
    }

    fn cell(&mut self, cell: Configuration, rows: &mut Rows) -> Result<()> {
        let is_there = |rows: &Rows, kind| rows.find(self.workload.name, kind, cell).is_some();
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
        if saturated.is_some_and(|row| row.summary.summary.got_through_rps() > 0.0) {
            self.run(cell, &[Kind::Half, Kind::Most], rows)?;
        }
        Ok(())
    }

    fn block(&mut self, cell: Configuration, round: u32, rows: &mut Rows) -> Result<()> {
        let kind = Kind::Block(round);
        if rows.find(self.workload.name, kind, cell).is_some() {
            return Ok(());
        }
        self.run(cell, &[kind], rows)
    }

    /// Trials on one start.
    fn run(&mut self, cell: Configuration, kinds: &[Kind], rows: &mut Rows) -> Result<()> {
        let machine = self.place.machine().clone();
        let mut warnings = self.place.warnings().into_iter();
        let is_shared = warnings.any(|one| one.says_generator_shares_cores());
        let mut runner = Runner::new(&mut self.place, 0);
        for &kind in kinds {
            let saturated = rows.find(self.workload.name, Kind::Saturated, cell);
            let rate = saturated.map_or(0.0, |row| row.summary.summary.got_through_rps());
            let order = order(cell, kind, rate, self.seconds)?;
            let (purpose, cores) = (purpose(kind), machine.cores.get());
            let summary = trial::run(&mut runner, &order, purpose, cores, &Goals::default())?;
            // Of a rate that the generator cannot keep there is no latency; a closed load that it
            // cannot keep says nothing at all.
            if !summary.valid && !matches!(kind, Kind::Half | Kind::Most) {
                let doubts = &summary.summary.warnings;
                return Err(format!("{cell}, {kind:?}: not valid: {doubts:?}").into());
            }
            let (workload, machine) = (self.workload.name.to_string(), machine.clone());
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
    Ok(Order {
        variant: sweetspot::terms::Variant::AS_IT_IS,
        configuration: cell,
        fresh_start: false,
        offered,
        warm_up: Duration::from_secs(2),
        duration: duration(&offered, kind, seconds),
        seed: u64::from(cell.slots()),
        latency_limit: None,
    })
}

/// A 95th percentile needs more requests than a rate does, and the more of them the longer a queue
/// stays once it is there.
fn duration(offered: &Offered, kind: Kind, seconds: u64) -> Duration {
    let requests = if kind == Kind::Most { 2500.0 } else { 800.0 };
    let needs = offered.rate().map_or(0.0, |rate| requests / rate.as_per_second());
    Duration::from_secs(seconds.max(needs.ceil() as u64))
}
