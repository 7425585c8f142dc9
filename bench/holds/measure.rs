//! What is measured of an app: a session, and holds of what it printed.
//!
//! In: rows that are there. Out: those that were missing.

use std::time::{Duration, Instant};

use sweetspot::place::Place as _;
use sweetspot::place::local::Local;
use sweetspot::report::Language;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::{
    Configuration, LoadSecond, Offered, Rate, Slo, StopSignal, TrialPurpose, TrialRecord,
    TuneResult,
};
use sweetspot::trial::{Order, Outcome, Runner};

use super::Sizes;
use super::apps::{App, Scale};
use super::rows::{Phase, Row};
use crate::common::rows::Rows;
use crate::common::tuned::Tuned;
use crate::common::{Result, command, interrupt, machine, trial};

/// The rate is offered for so long before it counts, as in the last part of a session.
const WARM_UP: Duration = Duration::from_secs(5);

/// All that is missing of an app.
///
/// # Errors
/// The bench was interrupted, or something else than a server failed.
pub fn app(app: &App, sizes: &Sizes, rows: &mut Rows<Row>, stop: &StopSignal) -> Result<()> {
    let scale = Scale::drawn(app, sizes.scaled);
    let tuned = app.prepare(scale, &sizes.slo.to_string(), &sizes.budget, stop)?;
    if rows.find(app.name, Phase::Tune, 1).is_none() {
        let json = sizes.folder.join(app.name).join("tune-1.json");
        let (result, took) = command::tune(&tuned, &json, 1)?;
        add(rows, tune_row(app, &result, took))?;
    }
    let Some(session) = rows.find(app.name, Phase::Tune, 1).cloned() else { return Ok(()) };
    if session.configuration().is_none() {
        return Ok(());
    }
    let (printed_rps, low_rps) = (session.rate_rps, session.low_rps.unwrap_or(session.rate_rps));
    let holds = [
        (Phase::Printed, 1, printed_rps),
        (Phase::Low, 1, low_rps),
        (Phase::Printed, 2, printed_rps),
    ];
    let redeployed = 1..=sizes.redeployed;
    let again = redeployed.map(|number| (Phase::NineTenths, number, 0.9 * printed_rps));
    for (phase, number, rate_rps) in holds.into_iter().chain(again) {
        if rows.find(app.name, phase, number).is_none() {
            let Row { workers, threads, .. } = session;
            let row = Row { workers, threads, rate_rps, ..row(app, phase, number) };
            let began = Instant::now();
            let row = hold(&tuned, sizes, row);
            // What was cut short by us says nothing.
            interrupt::check()?;
            add(rows, Row { seconds: began.elapsed().as_secs_f64(), ..row? })?;
        }
    }
    Ok(())
}

fn row(app: &App, phase: Phase, number: u32) -> Row {
    let (app, commit) = (app.name.to_string(), machine::commit());
    Row { app, phase, number, commit, ..Row::default() }
}

fn add(rows: &mut Rows<Row>, row: Row) -> Result<()> {
    let Row { app, phase, number, workers, threads, rate_rps, is_held, seconds, .. } = &row;
    let verdict = is_held.map_or("", |it| if it { ", held" } else { ", missed" });
    eprintln!(
        "{app} {phase:?} {number}: {workers} x {threads}, {rate_rps:.1}/s{verdict}, {seconds:.0} s"
    );
    rows.add(row)
}

fn tune_row(app: &App, result: &TuneResult, took: Duration) -> Row {
    let words = Language::DATA;
    let warnings = result.warnings.iter().map(|it| words.say_warning(it));
    let notes: Vec<String> = result.notes.iter().map(|it| words.say(it)).chain(warnings).collect();
    let (seconds, notes) = (took.as_secs_f64(), notes.join(" / "));
    let row = Row { seconds, notes, ..row(app, Phase::Tune, 1) };
    let Some(decision) = &result.decision else { return row };
    let [low_rps, high_rps] = decision.capacity_rps_interval.map(Some);
    Row {
        workers: decision.workers,
        threads: decision.threads,
        rate_rps: decision.capacity_rps,
        low_rps,
        high_rps,
        held_rps: decision.held.map(|held| held.rate_rps),
        ..row
    }
}

/// Offers the row's rate to a fresh start of its setting, and adds what became of it. A server that
/// does not start holds nothing.
fn hold(tuned: &Tuned, sizes: &Sizes, row: Row) -> Result<Row> {
    let mut place = Local::new(tuned.settings()?, tuned.stop.clone())?;
    let cores = place.machine().cores.get();
    let mut runner = Runner::new(&mut place, 0);
    let rate = Rate::per_second(row.rate_rps)?;
    let configuration = Configuration::new(row.workers, row.threads)?;
    let offered = Offered::Open { rate, arrivals: tuned.plan.arrivals };
    let times = [WARM_UP, Duration::from_secs(sizes.hold_s)];
    // None that the session has used.
    let seed = 1_000_000 + u64::from(row.number) * 10 + row.phase as u64;
    // It is offered to the end, however hopeless it is.
    let order = Order { fresh_start: true, ..trial::order(configuration, offered, times, seed) };
    let outcome = runner.run(&order, &mut |_| {})?;
    runner.finish()?;
    let record = match outcome {
        Outcome::BootFailed(failure) => {
            let notes = Language::DATA.say(&failure.message);
            return Ok(Row { is_held: Some(false), notes, ..row });
        }
        Outcome::Recorded(record) => record,
    };
    let goals = tuned.plan.goals();
    let context = Context { purpose: TrialPurpose::Hold, ..trial::context(&goals, cores) };
    let summary = summarise(&record, &context).summary;
    let failure = record.failure.is_some().then(|| "the server ended before the load".to_string());
    let validity = (!summary.valid).then(|| "the trial is not valid".to_string());
    let doubts = summary.warnings.iter().map(|it| Language::DATA.say_warning(it));
    let notes: Vec<String> = failure.into_iter().chain(validity).chain(doubts).collect();
    let requests = after_warm_up(&record);
    Ok(Row {
        p95_s: requests.latency.quantile(0.95).map(|it| it.as_secs_f64()),
        failed_ratio: (requests.due > 0).then(|| failed_ratio(&requests)),
        requests: Some(requests.due),
        is_held: Some(record.failure.is_none() && is_met(&sizes.slo, &requests)),
        others_cores: Some(others_cores(&record)),
        notes: notes.join(" / "),
        ..row
    })
}

/// See [`Row::others_cores`]; a mean over the whole load.
fn others_cores(record: &TrialRecord) -> f64 {
    let seconds = &record.monitor.seconds;
    let length_s: f64 = seconds.iter().map(|it| it.length_s).sum();
    let host_s = seconds.iter().map(|it| it.host.cores_busy.iter().sum::<f64>() * it.length_s);
    let server_s = seconds.iter().flat_map(|it| &it.processes).map(|it| it.cpu_s);
    let generator = record.load.run.generator;
    let generator_s = (generator.cpu_user + generator.cpu_system).as_secs_f64();
    (host_s.sum::<f64>() - server_s.sum::<f64>() - generator_s).max(0.0) / length_s.max(1e-9)
}

/// All requests that were due after the warm-up: nothing else is left out, as a session may do.
fn after_warm_up(record: &TrialRecord) -> LoadSecond {
    let mut sum = LoadSecond::default();
    record.load.seconds.iter().skip(WARM_UP.as_secs() as usize).for_each(|it| sum.add_requests(it));
    sum
}

/// By the plain figures, without allowing for chance.
fn is_met(slo: &Slo, requests: &LoadSecond) -> bool {
    let is_within = slo.quantiles.iter().all(|it| {
        requests.latency.quantile(it.quantile.get()).is_some_and(|latency| latency <= it.limit)
    });
    is_within && slo.errors.is_none_or(|allowed| failed_ratio(requests) <= allowed.get())
}

/// Share of requests without a reply of 2xx or 3xx; 0 of none.
fn failed_ratio(requests: &LoadSecond) -> f64 {
    let good: u64 = requests.status.range(200..400).map(|(_, count)| count).sum();
    (requests.due - good) as f64 / requests.due.max(1) as f64
}
