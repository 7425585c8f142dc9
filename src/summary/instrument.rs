//! Whether the generator can be believed: it must not be what was measured.
//!
//! In: what a load added up to. Out: valid or not, with every doubt. Only computes.

use std::time::Duration;

use super::{between, slo};
use crate::terms::{
    GeneratorDoubt, LiveSecond, LoadDoubt, LoadRun, LoadSecond, Phase, Warning, commonest_failure,
};

/// One request in a hundred may leave later than this...
const SEND_LAG: Duration = Duration::from_millis(1);
/// ...or than this share of the latency that matters, if that is more: of the SLO's tightest limit,
/// or of the median latency where there is no SLO.
const SEND_LAG_SHARE: f64 = 0.05;
/// No loop may be busier than this share of the time.
const BUSIEST_LOOP: f64 = 0.9;
/// Share of requests that may fail for want of a port or descriptor on our side.
const ADDRESS_UNAVAILABLE: f64 = 0.01;
/// How far the sampled number in flight may lie from rate x mean latency (Little's law).
const LITTLE: f64 = 0.2;
/// Without a reply for so long before the end, and with errors, a server has probably gone.
const SILENCE: Duration = Duration::from_secs(1);

/// Requests in flight or waiting, and how long those of that time took.
#[derive(Debug, Clone, Copy, Default)]
pub struct InFlight<'a> {
    /// When the measured part began: due before it, and not ended.
    pub at_start: u64,
    /// The longest that a request due before the measured part took.
    pub longest_before: Duration,
    pub at_end: u64,
    /// The mean of each measured second.
    pub means: &'a [f64],
}

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub run: &'a LoadRun,
    /// The measured seconds as one.
    pub all: &'a LoadSecond,
    pub in_flight: InFlight<'a>,
    /// Of the measured part.
    pub duration: Duration,
}

/// Whether the generator did what it was asked to, with every doubt. `tightest`: the shortest limit
/// of all goals.
pub fn check(seen: &Seen<'_>, tightest: Option<Duration>) -> (bool, Vec<Warning>) {
    let Seen { run, all, in_flight, duration } = *seen;
    let failures = [
        check_send_lag(all, tightest),
        check_cpu(run),
        check_addresses(all),
        check_little(in_flight, all, duration),
    ];
    let failures: Vec<Warning> = failures.into_iter().flatten().collect();
    let is_valid = failures.is_empty();
    let doubts = [
        doubt_waiting(all),
        doubt_addresses(all),
        doubt_errors(run, all),
        doubt_status(all),
        between::doubt_cache(all),
        between::doubt_proxy(all),
        doubt_cut_short(run, all),
    ];
    let warnings = failures.into_iter().chain(doubts.into_iter().flatten());
    (is_valid, warnings.collect())
}

/// How late one request in a hundred may leave, where this latency matters.
fn send_lag_limit(latency: Duration) -> Duration {
    SEND_LAG.max(latency.mul_f64(SEND_LAG_SHARE))
}

fn check_send_lag(all: &LoadSecond, tightest: Option<Duration>) -> Option<Warning> {
    let median = || all.latency.quantile(0.5).unwrap_or_default();
    let limit = send_lag_limit(tightest.unwrap_or_else(median));
    let late = all.send_lag.count_above(limit);
    // A single late one says nothing, however few there are in all.
    let is_late = late > 1 && late as f64 > 0.01 * all.send_lag.count() as f64;
    is_late.then(|| {
        let (requests, limit_s) = (all.send_lag.count(), limit.as_secs_f64());
        GeneratorDoubt::SentLate { late, requests, limit_s }.into()
    })
}

/// Looks at a load while it runs: whether its generator keeps up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lagging {
    seconds: u32,
    late_in_a_row: u32,
}

/// Seconds in a row that must agree.
const LATE_SECONDS: u32 = 3;

impl Lagging {
    /// Takes the next second, and says whether it is the third in a row in which more requests left
    /// late than may. `tightest`: the shortest limit of all goals; without one the second's own
    /// latencies matter.
    pub fn look(&mut self, second: &LiveSecond, tightest: Option<Duration>) -> bool {
        if second.phase == Phase::Drain {
            return false;
        }
        self.seconds += 1;
        let limit = send_lag_limit(tightest.or(second.p95).unwrap_or_default());
        let is_late = second.send_lag_p99.is_some_and(|lag| lag > limit);
        self.late_in_a_row = if is_late { self.late_in_a_row + 1 } else { 0 };
        self.late_in_a_row == LATE_SECONDS
    }

    /// Nothing that is still to come can make a load valid that ends with this second: all of it
    /// was late, and some of it was measured.
    pub fn is_hopeless(&self, second: &LiveSecond) -> bool {
        second.phase == Phase::Measure
            && self.late_in_a_row >= LATE_SECONDS
            && self.late_in_a_row == self.seconds
    }
}

fn check_cpu(run: &LoadRun) -> Option<Warning> {
    let busy_ratio = run.generator.busiest_loop;
    (busy_ratio >= BUSIEST_LOOP).then(|| GeneratorDoubt::LoopBusy { busy_ratio }.into())
}

fn check_addresses(all: &LoadSecond) -> Option<Warning> {
    let share = all.errors.address_unavailable as f64 / all.due.max(1) as f64;
    (share > ADDRESS_UNAVAILABLE).then(|| out_of_addresses(all))
}

/// Requests without a free address, too few to make a trial invalid.
fn doubt_addresses(all: &LoadSecond) -> Option<Warning> {
    let is_some = all.errors.address_unavailable > 0 && check_addresses(all).is_none();
    is_some.then(|| out_of_addresses(all))
}

fn out_of_addresses(all: &LoadSecond) -> Warning {
    GeneratorDoubt::OutOfAddresses { requests: all.errors.address_unavailable }.into()
}

/// Little's law: mean number in flight = rate x mean latency. The sum of the latencies has what
/// those in flight at the end still took, and lacks what those in flight at the beginning took yet:
/// the one explains too few in flight, the other too many. The sampling is allowed three standard
/// errors.
fn check_little(in_flight: InFlight<'_>, all: &LoadSecond, duration: Duration) -> Option<Warning> {
    let length = duration.as_secs_f64();
    let mean_latency = all.latency.mean()?.as_secs_f64();
    if length < 1.0 {
        return None;
    }
    let last = in_flight.means.len().saturating_sub(1);
    let weight = |at: usize| if at < last { 1.0 } else { length - last as f64 };
    let sampled: f64 =
        in_flight.means.iter().enumerate().map(|(at, mean)| mean * weight(at)).sum::<f64>()
            / length;
    let expected = all.due as f64 * mean_latency / length;
    let before_s = in_flight.longest_before.as_secs_f64().min(length);
    let too_many = in_flight.at_start as f64 * before_s / length;
    let too_few = in_flight.at_end as f64 * all.latency.max()?.as_secs_f64() / length;
    // About a hundred samples a second, of a number that is at best Poisson distributed.
    let sampling = 3.0 * (expected / (100.0 * length)).sqrt() + 0.1;
    let tolerance = LITTLE * expected + sampling;
    let off = sampled - expected;
    (off > tolerance + too_many || -off > tolerance + too_few).then(|| {
        GeneratorDoubt::LittleViolated { in_flight_mean: sampled, expected_mean: expected }.into()
    })
}

fn doubt_waiting(all: &LoadSecond) -> Option<Warning> {
    let waited = all.sent.saturating_sub(all.send_lag.count()) + all.errors.dropped;
    (waited > 0)
        .then(|| LoadDoubt::WaitedForPlace { requests: waited, dropped: all.errors.dropped }.into())
}

/// Those that never left for our own reasons have warnings of their own.
fn doubt_errors(run: &LoadRun, all: &LoadSecond) -> Option<Warning> {
    let ours = all.errors.address_unavailable + all.errors.dropped;
    let unanswered = all.errors.total() - ours;
    let share = unanswered as f64 / all.due.max(1) as f64;
    let silent = run.duration.saturating_sub(run.last_reply);
    let has_gone = all.completed() > 0 && silent >= SILENCE;
    (share > 0.01).then(|| {
        let silent_s = has_gone.then_some(silent.as_secs_f64());
        LoadDoubt::Unanswered { requests: unanswered, due: all.due, silent_s }.into()
    })
}

fn doubt_status(all: &LoadSecond) -> Option<Warning> {
    let failed = all.completed() - slo::good(all);
    let share = failed as f64 / all.completed().max(1) as f64;
    (share > 0.01).then(|| {
        let commonest_status = commonest_failure(&all.status);
        LoadDoubt::FailedReplies { failed, replies: all.completed(), commonest_status }.into()
    })
}

fn doubt_cut_short(run: &LoadRun, all: &LoadSecond) -> Option<Warning> {
    run.is_cut_short.then(|| {
        let after_s = run.duration.as_secs_f64();
        LoadDoubt::LoadCutShort { after_s, is_unmeasured: all.due == 0 }.into()
    })
}
