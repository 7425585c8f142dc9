//! A day of a fleet, looked up by rate, against every request simulated at sizes where both run;
//! then ten million requests a second.

use std::time::Instant;

use sweetspot::model::Host;
use sweetspot::model::day::{ByRate, DayPlan, Each, day};
use sweetspot::model::simulator::{RequestKind, Server};
use sweetspot::terms::FleetDay;

use crate::Result;

/// What a machine should get, requests/s, of the 96 it can take.
const TARGET_RPS: f64 = 63.0;
/// Peak rates at which both are run, requests/s over the fleet, and what a machine should get: with
/// the last one a lost zone is more than the others can take.
const BOTH: [(f64, f64); 4] =
    [(200.0, TARGET_RPS), (600.0, TARGET_RPS), (2000.0, TARGET_RPS), (600.0, 85.0)];

pub fn run() -> Result<()> {
    let request =
        RequestKind { cpu_s: 0.02, wait_s: 0.02, waits: 3, cv2: 0.5, ..RequestKind::default() };
    let machine = Host { server: Server::new(2, 5, 2.0), requests: vec![request] };
    println!("| day | machines | requests | failed | p50 | p95 | p99 | worst p95 | took |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (peak_rps, target_rps) in BOTH {
        for loses_zone in [false, true] {
            let plan = DayPlan { loses_zone, ..DayPlan::new(peak_rps, 0.3, target_rps, 3) };
            let (each, each_s) = timed(|| day(&plan, &mut Each::new(&machine, plan.check, 1)));
            let (by_rate, by_rate_s) = timed(|| day(&plan, &mut ByRate::new(&machine, plan.check)));
            row(&format!("{}: each request", name(&plan)), &each, each_s);
            row(&format!("{}: by rate", name(&plan)), &by_rate, by_rate_s);
            println!("{}", errors(&by_rate, &each));
        }
    }
    for loses_zone in [false, true] {
        let plan = DayPlan { loses_zone, ..DayPlan::new(1e7, 0.3, TARGET_RPS, 3) };
        let (result, took_s) = timed(|| day(&plan, &mut ByRate::new(&machine, plan.check)));
        row(&format!("{}: by rate", name(&plan)), &result, took_s);
    }
    println!();
    Ok(())
}

fn timed(run: impl FnOnce() -> FleetDay) -> (FleetDay, f64) {
    let began = Instant::now();
    let result = run();
    (result, began.elapsed().as_secs_f64())
}

fn name(plan: &DayPlan) -> String {
    let lost = if plan.loses_zone { ", a zone lost" } else { "" };
    format!("{}/s, {} a machine{lost}", plan.peak_rps, plan.target_rps)
}

fn row(what: &str, day: &FleetDay, took_s: f64) {
    let ms = |s: f64| format!("{:.1} ms", s * 1e3);
    println!(
        "| {what} | {} to {} | {:.3e} | {:.4} % | {} | {} | {} | {} | {took_s:.1} s |",
        day.machines[0],
        day.machines[1],
        day.requests,
        day.failed * 100.0,
        ms(day.p50),
        ms(day.p95),
        ms(day.p99),
        ms(day.worst_p95),
    );
}

fn errors(by_rate: &FleetDay, each: &FleetDay) -> String {
    let off =
        |of: fn(&FleetDay) -> f64| format!("{:+.1} %", (of(by_rate) / of(each) - 1.0) * 100.0);
    format!(
        "| off by | | {} | {:+.4} % | {} | {} | {} | {} | |",
        off(|day| day.requests),
        (by_rate.failed - each.failed) * 100.0,
        off(|day| day.p50),
        off(|day| day.p95),
        off(|day| day.p99),
        off(|day| day.worst_p95),
    )
}
