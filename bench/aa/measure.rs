//! The starts, the apps in turn.
//!
//! In: rows that are there. Out: those that were missing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sweetspot::place::Place as _;
use sweetspot::place::local::Local;
use sweetspot::terms::{Goals, Offered, Rate, StopSignal, TrialPurpose, TrialSummary};
use sweetspot::trial::{Order, Runner};

use super::Sizes;
use super::rows::Row;
use crate::common::rows::Rows;
use crate::common::tuned::Tuned;
use crate::common::{Result, interrupt, machine, trial};
use crate::holds::apps::{App, Scale};

/// Of a start: two tell what differs within it.
const WINDOWS: u32 = 2;
/// What the rate that latencies are measured at is of the first burst's.
const SHARE: f64 = 0.6;
/// Of a start's first load, and of each that follows.
const WARM_UP: Duration = Duration::from_secs(5);
const SETTLE: Duration = Duration::from_secs(2);

/// All starts that are missing.
///
/// # Errors
/// The bench was interrupted, or some starts failed.
pub fn all(sizes: &Sizes, rows: &mut Rows<Row>, stop: &StopSignal) -> Result<()> {
    // The goal and the budget have no part in what is measured here.
    let prepare =
        |app: &&'static App| Ok((*app, app.prepare(Scale::AS_IT_IS, "p95<200ms", "4m", stop)?));
    let apps: Vec<(&App, Tuned)> = sizes.apps.iter().map(prepare).collect::<Result<_>>()?;
    let mut failed = 0;
    for number in 1..=sizes.starts {
        for (app, tuned) in &apps {
            if rows.of(app.name).any(|row| row.start == number && row.window == WINDOWS) {
                continue;
            }
            let rate_rps = rows.of(app.name).next().map(|row| row.rate_rps);
            let measured = start(app, tuned, sizes, number, rate_rps);
            interrupt::check()?;
            match measured {
                Ok(windows) => windows.into_iter().try_for_each(|row| add(rows, row))?,
                Err(error) => {
                    eprintln!("{} {number}: {error}", app.name);
                    failed += 1;
                }
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} starts failed; run it again for these").into()),
    }
}

fn add(rows: &mut Rows<Row>, row: Row) -> Result<()> {
    let Row { app, start, window, throughput_rps_max, cpu_s_per_request, latency_s_p95, .. } = &row;
    let (cpu_ms, p95_ms) = (1e3 * cpu_s_per_request, 1e3 * latency_s_p95);
    eprintln!(
        "{app} {start}.{window}: at most {throughput_rps_max:.1}/s, {cpu_ms:.2} ms of CPU, p95 \
         {p95_ms:.1} ms"
    );
    rows.add(row)
}

/// `rate_rps`: of the app's earlier starts.
fn start(
    app: &App,
    tuned: &Tuned,
    sizes: &Sizes,
    number: u32,
    mut rate_rps: Option<f64>,
) -> Result<Vec<Row>> {
    let mut place = Local::new(tuned.settings()?, tuned.stop.clone())?;
    let cores = place.machine().cores.get();
    let mut runner = Runner::new(&mut place, 0);
    let mut rows = Vec::new();
    for window in 1..=WINDOWS {
        let mut load = |offered: Offered| {
            let is_first = window == 1 && matches!(offered, Offered::Closed { .. });
            let order = order(sizes, offered, is_first, u64::from(number * WINDOWS + window));
            trial::run(&mut runner, &order, purpose(offered), cores, &Goals::default())
        };
        let clients = 2 * sizes.setting.slots();
        let burst = load(Offered::Closed { clients, think: Duration::ZERO })?;
        let throughput_rps_max = burst.summary.got_through_rps();
        let rate_rps = *rate_rps.get_or_insert(SHARE * throughput_rps_max);
        let rate = Rate::per_second(rate_rps)?;
        let steady = load(Offered::Open { rate, arrivals: tuned.plan.arrivals })?;
        rows.push(Row {
            app: app.name.to_string(),
            start: number,
            window,
            at_s: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
            throughput_rps_max,
            rate_rps,
            cpu_s_per_request: server_cpu_s(&steady) / steady.summary.good().max(1) as f64,
            latency_s_p50: steady.summary.latency_s.p50,
            latency_s_p95: steady.summary.latency_s.p95,
            failed: steady.summary.failed(),
            is_valid: burst.valid && steady.valid,
            commit: machine::commit(),
        });
    }
    runner.finish()?;
    Ok(rows)
}

fn order(sizes: &Sizes, offered: Offered, is_first: bool, seed: u64) -> Order {
    let times = [if is_first { WARM_UP } else { SETTLE }, Duration::from_secs(sizes.seconds)];
    // Arrivals of its own for each window: what is chance in them is part of the spread.
    Order { fresh_start: is_first, ..trial::order(sizes.setting, offered, times, seed) }
}

fn purpose(offered: Offered) -> TrialPurpose {
    match offered {
        Offered::Closed { .. } => TrialPurpose::Saturate,
        Offered::Open { .. } => TrialPurpose::Probe,
    }
}

fn server_cpu_s(summary: &TrialSummary) -> f64 {
    summary.cpu_s.iter().filter(|(role, _)| *role != "generator").map(|(_, cpu_s)| cpu_s).sum()
}
