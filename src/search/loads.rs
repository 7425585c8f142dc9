//! How long a load is, how many clients it has, and what it costs, by what is known so far.

use std::time::Duration;

use super::ask::TrialRequest;
use super::constants::{
    BURST_MOST_S, BURST_REQUESTS, CLIENTS_MOST, FEWER, LONG_WINDOWS_BUDGET, LOOK_LEAST_S,
    MANY_CLIENTS, PROBE_LATE, PROBE_REQUESTS, PROBES_A_START, SETTLE, SLOW_REPLIES, WARM_BURST,
    WINDOW_LEAST_S, WINDOW_MOST_S, WINDOWS_OF_BUDGET,
};
use super::expect::Expectations;
use super::ledger::Ledger;
use crate::model::{Form, event_loop};
use crate::terms::{Configuration, Offered, Rate, TrialPurpose};

/// Clients that saturate it: twice the slots keep every thread busy while replies travel; more only
/// lengthens the queue.
pub fn burst_clients(configuration: Configuration) -> u32 {
    let slots = configuration.slots();
    (slots * 2).clamp(4, MANY_CLIENTS).max(slots.min(CLIENTS_MOST))
}

/// The same of workers that are event loops, by what one client alone saw: the mean latency, and
/// the CPU of a request where that was seen, seconds.
pub(super) fn loop_clients(at: Configuration, latency_s: f64, cpu_s: Option<f64>) -> u32 {
    let each = event_loop::places(latency_s, cpu_s.unwrap_or(latency_s));
    (u32::from(each) * u32::from(at.workers.get())).min(CLIENTS_MOST)
}

/// A load that saturates a fresh start, the reference's first, or one that still warms up.
pub(super) fn burst(ledger: &Ledger, configuration: Configuration) -> TrialRequest {
    let clients = match ledger.alone.filter(|_| ledger.plan.form == Form::EventLoop) {
        Some(alone) => loop_clients(configuration, alone.latency_mean_s, alone.cpu_per_request_s),
        None => (burst_clients(configuration) * ledger.clients_times).min(CLIENTS_MOST),
    };
    let collapsed_rps = ledger.cells.get(&configuration).and_then(|cell| cell.collapsed_rps);
    let has_collapsed = collapsed_rps.is_some();
    let clients = if has_collapsed { (clients / FEWER).max(2) } else { clients };
    let is_reference = configuration == ledger.plan.current && ledger.starts <= 1;
    let expected_rps = Expectations::of(ledger).map(|it| it.saturated_rps(configuration));
    let duration = burst_duration(ledger, expected_rps);
    if ledger.warmth.is_warming() {
        return TrialRequest::burst(configuration, clients, SETTLE, duration);
    }
    let warm_s = ledger.warmth.needed_s(configuration, expected_rps.unwrap_or(f64::INFINITY));
    let warm_up = SETTLE + Duration::from_secs_f64(warm_s);
    TrialRequest {
        fresh_start: !is_reference || has_collapsed,
        ..TrialRequest::burst(configuration, clients, warm_up, duration)
    }
}

/// Long enough for [`BURST_REQUESTS`] at the rate that is expected to get through.
fn burst_duration(ledger: &Ledger, expected_rps: Option<f64>) -> Duration {
    let alone_s = ledger.alone.map_or(0.0, |alone| alone.latency_mean_s);
    let some_replies = Duration::from_secs_f64((SLOW_REPLIES * alone_s).min(BURST_MOST_S));
    let most = ledger.plan.seconds(0.015, 3.0, 8.0).max(some_replies);
    expected_rps.map_or(most, |expected_rps| {
        let needed_s = (BURST_REQUESTS / expected_rps.max(1.0)).ceil();
        Duration::from_secs_f64(needed_s.max(3.0)).min(most)
    })
}

/// What warms a fresh start up before it is measured at a rate.
pub(super) fn warm_burst(ledger: &Ledger, configuration: Configuration) -> TrialRequest {
    let fresh_start = !ledger.warmth.is_warming();
    TrialRequest { fresh_start, duration: WARM_BURST, ..burst(ledger, configuration) }
}

/// One window at one rate, on the server that runs; long enough for [`PROBE_REQUESTS`] within the
/// budget's means.
pub(super) fn probe(ledger: &Ledger, at: Configuration, rate_rps: f64) -> TrialRequest {
    let plan = &ledger.plan;
    let rate_rps = rate_rps.max(0.1);
    let budget_s = plan.budget.as_secs_f64();
    let least_s = if plan.budget < LONG_WINDOWS_BUDGET { LOOK_LEAST_S } else { WINDOW_LEAST_S };
    let most_s = (budget_s / WINDOWS_OF_BUDGET).clamp(least_s, WINDOW_MOST_S);
    let duration_s = (probe_requests(ledger) / rate_rps).clamp(least_s, most_s).round();
    let rate = Rate::per_second(rate_rps).expect("a belief's median is finite and positive");
    let offered = Offered::Open { rate, arrivals: plan.arrivals };
    let duration = Duration::from_secs_f64(duration_s);
    TrialRequest::new(at, TrialPurpose::Probe, offered, SETTLE, duration)
}

/// Requests that a window should see: where the goal leaves few of them out, more.
fn probe_requests(ledger: &Ledger) -> f64 {
    let limits = ledger.slo.iter().flat_map(|slo| &slo.quantiles);
    let left_out = limits.map(|limit| 1.0 - limit.quantile.get()).fold(1.0, f64::min);
    (PROBE_LATE / left_out).max(PROBE_REQUESTS)
}

/// Seconds that a burst takes, warm-up included.
pub(super) fn burst_s(ledger: &Ledger) -> f64 {
    burst(ledger, ledger.plan.current).load_s()
}

/// Seconds that a window at this rate takes, warm-up included.
pub(super) fn probe_s(ledger: &Ledger, rate_rps: f64) -> f64 {
    probe(ledger, ledger.plan.current, rate_rps).load_s()
}

/// Seconds that one start of a block takes, for a setting that holds about this rate.
pub(super) fn block_start_s(ledger: &Ledger, rate_rps: f64) -> f64 {
    let burst_s = (SETTLE + WARM_BURST).as_secs_f64() + ledger.warm_s();
    ledger.start_cost_s + burst_s + f64::from(PROBES_A_START) * probe_s(ledger, rate_rps)
}
