//! One capacity on one fresh start, as `tune` itself would measure it.
//!
//! In: an app and a cell. Out: its capacity, or none where the server did not start or no window
//! was valid: bad luck is a row, not the end of hours of measuring.

use std::time::Duration;

use sweetspot::place::Place as _;
use sweetspot::place::local::Local;
use sweetspot::session::order::order;
use sweetspot::stats::Estimate;
use sweetspot::terms::Configuration;
use sweetspot::trial::Runner;

use crate::common::capacity::CapacitySearch;
use crate::common::tuned::Tuned;
use crate::common::{Result, interrupt, trial};

pub struct Measured {
    pub capacity_rps: Option<Estimate>,
    pub seconds: f64,
    pub load_s: f64,
}

/// # Errors
/// The bench was interrupted, or there is nowhere to measure.
pub fn measure(app: &Tuned, cell: Configuration, time: Duration, seed: u64) -> Result<Measured> {
    let mut place = Local::new(app.settings()?, app.stop.clone())?;
    let cores = place.machine().cores.get();
    let mut runner = Runner::new(&mut place, 0);
    let mut search = CapacitySearch::new(cell, app.plan.arrivals, time);
    let mut load_s = 0.0;
    let ran = run(app, &mut runner, &mut search, cores, seed, &mut load_s);
    let ended = runner.finish();
    // What was cut short by us says nothing.
    interrupt::check()?;
    ended?;
    let capacity_rps = ran.and_then(|()| search.capacity_rps().ok_or("no window was valid".into()));
    let capacity_rps = capacity_rps.inspect_err(|error| eprintln!("{cell}: {error}")).ok();
    Ok(Measured { capacity_rps, seconds: runner.elapsed().as_secs_f64(), load_s })
}

fn run(
    app: &Tuned,
    runner: &mut Runner<'_>,
    search: &mut CapacitySearch,
    cores: f64,
    seed: u64,
    load_s: &mut f64,
) -> Result<()> {
    let goals = app.plan.goals();
    for id in 1_u32.. {
        let Some(request) = search.next() else { break };
        let order = order(&request, seed, id, &goals);
        let summary = trial::run(runner, &order, request.purpose, cores, &goals)?;
        *load_s += summary.load_s;
        interrupt::check()?;
        search.tell(&summary);
    }
    Ok(())
}
