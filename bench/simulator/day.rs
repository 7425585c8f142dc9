//! A day of a fleet, looked up by rate, against every request simulated at sizes where both run;
//! then ten million requests a second.

use std::time::Instant;

use sweetspot::model::Host;
use sweetspot::model::day::{ByRate, DayPlan, day};
use sweetspot::model::simulator::{RequestKind, Server};
use sweetspot::terms::FleetDay;

use super::each::Each;
use crate::common::bars::{Bar, Limit};
use crate::common::table::table;

/// What a machine should get, requests/s, of the 96 it can take.
const TARGET_RPS: f64 = 63.0;
/// Peak rates at which both are run, requests/s over the fleet, and what a machine should get: with
/// the last one a lost zone is more than the others can take.
const BOTH: [(f64, f64); 4] =
    [(200.0, TARGET_RPS), (600.0, TARGET_RPS), (2000.0, TARGET_RPS), (600.0, 85.0)];

pub fn run() -> Vec<Bar> {
    let request =
        RequestKind { cpu_s: 0.02, wait_s: 0.02, waits: 3, cv2: 0.5, ..RequestKind::default() };
    let machine = Host { server: Server::new(2, 5, 2.0), requests: vec![request] };
    let (mut rows, mut off, mut longest_s) = (Vec::new(), 0.0_f64, 0.0_f64);
    let mut by_rate = |plan: &DayPlan, rows: &mut Vec<_>| {
        let (result, took_s) = timed(|| day(plan, &mut ByRate::new(&machine)));
        rows.push(row(&format!("{}: by rate", name(plan)), &result, took_s));
        longest_s = longest_s.max(took_s);
        result
    };
    for (peak_rps, target_rps) in BOTH {
        for loses_zone in [false, true] {
            let plan = DayPlan { loses_zone, ..DayPlan::new(peak_rps, 0.3, target_rps, 3) };
            let (each, each_s) = timed(|| day(&plan, &mut Each::new(&machine, 1)));
            rows.push(row(&format!("{}: each request", name(&plan)), &each, each_s));
            let by_rate = by_rate(&plan, &mut rows);
            rows.push(errors(&by_rate, &each));
            off = off.max((by_rate.p99 / each.p99 - 1.0).abs() * 100.0);
        }
    }
    for loses_zone in [false, true] {
        let plan = DayPlan { loses_zone, ..DayPlan::new(1e7, 0.3, TARGET_RPS, 3) };
        by_rate(&plan, &mut rows);
    }
    let head = ["day", "machines", "requests", "failed", "p50", "p95", "p99", "worst p95", "took"];
    println!("{}", table(&head, rows));
    vec![
        Bar::new("a day by rate, longest, s", Some(longest_s), Limit::AtMost(300.0)),
        Bar::new("its p99 off every request simulated, %", Some(off), Limit::AtMost(5.0)),
    ]
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

fn row(what: &str, day: &FleetDay, took_s: f64) -> [String; 9] {
    let ms = |s: f64| format!("{:.1} ms", s * 1e3);
    [
        what.to_string(),
        format!("{} to {}", day.machines[0], day.machines[1]),
        format!("{:.3e}", day.requests),
        format!("{:.4} %", day.failed * 100.0),
        ms(day.p50),
        ms(day.p95),
        ms(day.p99),
        ms(day.worst_p95),
        format!("{took_s:.1} s"),
    ]
}

fn errors(by_rate: &FleetDay, each: &FleetDay) -> [String; 9] {
    let off =
        |of: fn(&FleetDay) -> f64| format!("{:+.1} %", (of(by_rate) / of(each) - 1.0) * 100.0);
    [
        "off by".to_string(),
        String::new(),
        off(|day| day.requests),
        format!("{:+.4} %", (by_rate.failed - each.failed) * 100.0),
        off(|day| day.p50),
        off(|day| day.p95),
        off(|day| day.p99),
        off(|day| day.worst_p95),
        String::new(),
    ]
}
