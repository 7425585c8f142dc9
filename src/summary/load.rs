//! A load record to the figures that `load --json` prints, and whether the generator can be
//! believed.

use std::time::Duration;

use super::{between, slo};
use crate::terms::{
    GeneratorSummary, Latencies, LatencySummary, LoadRecord, LoadSecond, LoadSummary, Offered,
    SendLagSummary, Slo, Warning, Window, WindowLatency,
};

/// When the generator itself is what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// One request in a hundred may leave later than this...
    pub send_lag: Duration,
    /// ...or than this share of the latency that matters, if that is more: of the SLO's tightest
    /// limit, or of the median latency where there is no SLO.
    pub send_lag_share: f64,
    /// No loop may be busier than this share of the time.
    pub busiest_loop: f64,
    /// Share of requests that may fail for want of a port or descriptor on our side.
    pub address_unavailable: f64,
    /// How far the sampled number in flight may lie from rate x mean latency (Little's law).
    pub little: f64,
}

/// Without a reply for so long before the end, and with errors, a server has probably gone.
const SILENCE: Duration = Duration::from_secs(1);

impl Default for Rules {
    fn default() -> Self {
        Self {
            send_lag: Duration::from_millis(1),
            send_lag_share: 0.05,
            busiest_loop: 0.9,
            address_unavailable: 0.01,
            little: 0.2,
        }
    }
}

/// The result of a load without its first `warm_up` (cut to whole seconds).
pub fn summarise(
    record: &LoadRecord,
    warm_up: Duration,
    slo: Option<&Slo>,
    rules: &Rules,
) -> LoadSummary {
    let cut = (warm_up.as_secs() as usize).min(record.seconds.len());
    let seconds = &record.seconds[cut..];
    let all = sum(seconds);
    let warm_up = Duration::from_secs(cut as u64);
    let duration = record.duration.saturating_sub(warm_up);
    let good: u64 = seconds.iter().map(slo::good).sum();
    let span = span(record, warm_up).as_secs_f64();
    let per_second = |count: u64| if span > 0.0 { count as f64 / span } else { 0.0 };
    let within = slo.map(|slo| good_within(&all, good, slo.tightest_limit()));
    let (is_valid, warnings) = check_instrument(record, seconds, &all, duration, slo, rules);
    LoadSummary {
        offered_load_rps: record.offered.rate().map(|rate| rate.as_per_second()),
        clients: match record.offered {
            Offered::Open { .. } => None,
            Offered::Closed { clients, .. } => Some(clients),
        },
        duration_s: duration.as_secs_f64(),
        due: all.due,
        sent: all.sent,
        completed: all.completed(),
        throughput_rps: per_second(good),
        goodput_rps: within.map(per_second),
        latency_s: distribution(&all.latency),
        exchange_time_s: distribution(&all.exchange_time),
        send_lag_s: SendLagSummary {
            p50: quantile(&all.send_lag, 0.5),
            p99: quantile(&all.send_lag, 0.99),
            max: quantile(&all.send_lag, 1.0),
        },
        status: all.status.iter().map(|(status, n)| (status.to_string(), *n)).collect(),
        errors: all.errors,
        bytes_in: all.bytes_in,
        bytes_out: all.bytes_out,
        windows: (0u32..).zip(&record.seconds).map(|(at, second)| window(at, second)).collect(),
        generator: GeneratorSummary {
            cpu_user_s: record.generator.cpu_user.as_secs_f64(),
            cpu_system_s: record.generator.cpu_system.as_secs_f64(),
            rss_bytes_max: record.generator.rss_bytes_max,
        },
        slo: slo.map(|slo| slo::judge(slo, seconds)),
        valid: is_valid,
        warnings,
        warm_up_s: warm_up.as_secs_f64(),
        cached: all.cached,
        via: all.via,
        retries: all.retries,
        route: None,
    }
}

/// All seconds as one; the fields that go by the clock stay empty.
fn sum(seconds: &[LoadSecond]) -> LoadSecond {
    let mut all = LoadSecond::default();
    for second in seconds {
        all.add_requests(second);
    }
    all
}

/// What rates are divided by: until the last reply, or until the last request's second was over
/// when that is later (a reply that comes at once must not make one request a second look like
/// more).
fn span(record: &LoadRecord, warm_up: Duration) -> Duration {
    record.duration.max(record.last_reply).saturating_sub(warm_up)
}

/// 2xx and 3xx replies within the limit. Slow replies of other statuses cannot be told apart from
/// slow good ones and count against these: never too many.
fn good_within(all: &LoadSecond, good: u64, limit: Option<Duration>) -> u64 {
    let Some(limit) = limit else { return good };
    let given_up = all.errors.timeout + all.errors.dropped;
    let slow_replies = all.latency.count_above(limit).saturating_sub(given_up);
    good.saturating_sub(slow_replies)
}

fn quantile(latencies: &Latencies, q: f64) -> f64 {
    latencies.quantile(q).unwrap_or_default().as_secs_f64()
}

fn distribution(latencies: &Latencies) -> LatencySummary {
    let at = |q| quantile(latencies, q);
    LatencySummary {
        min: latencies.min().unwrap_or_default().as_secs_f64(),
        mean: latencies.mean().unwrap_or_default().as_secs_f64(),
        p50: at(0.5),
        p75: at(0.75),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: latencies.max().unwrap_or_default().as_secs_f64(),
    }
}

fn window(at: u32, second: &LoadSecond) -> Window {
    let at_quantile = |q| quantile(&second.latency, q);
    Window {
        start_s: f64::from(at),
        due: second.due,
        sent: second.sent,
        completed: second.completed(),
        errors: second.errors.total(),
        latency_s: WindowLatency {
            p50: at_quantile(0.5),
            p95: at_quantile(0.95),
            p99: at_quantile(0.99),
            max: at_quantile(1.0),
        },
        in_flight: second.in_flight,
    }
}

/// Whether the generator did what it was asked to, with every doubt.
fn check_instrument(
    record: &LoadRecord,
    seconds: &[LoadSecond],
    all: &LoadSecond,
    duration: Duration,
    slo: Option<&Slo>,
    rules: &Rules,
) -> (bool, Vec<Warning>) {
    let failures = [
        check_send_lag(all, slo, rules),
        check_cpu(record, rules),
        check_addresses(all, rules),
        check_little(seconds, all, duration, rules),
    ];
    let failures: Vec<Warning> = failures.into_iter().flatten().collect();
    let is_valid = failures.is_empty();
    let doubts = [
        doubt_waiting(all),
        doubt_addresses(all, rules),
        doubt_errors(record, all),
        doubt_status(all),
        between::doubt_cache(all),
        between::doubt_proxy(all),
        doubt_cut_short(record, all),
    ];
    let warnings = failures.into_iter().chain(doubts.into_iter().flatten());
    (is_valid, warnings.collect())
}

fn check_send_lag(all: &LoadSecond, slo: Option<&Slo>, rules: &Rules) -> Option<Warning> {
    let that_matters = match slo.and_then(Slo::tightest_limit) {
        Some(limit) => limit,
        None => all.latency.quantile(0.5).unwrap_or_default(),
    };
    let limit = rules.send_lag.max(that_matters.mul_f64(rules.send_lag_share));
    let late = all.send_lag.count_above(limit);
    // A single late one says nothing, however few there are in all.
    let is_late = late > 1 && late as f64 > 0.01 * all.send_lag.count() as f64;
    is_late.then(|| {
        Warning::new(
            "generator_send_lag",
            format!(
                "the generator sent {late} of {} requests more than {} late",
                all.send_lag.count(),
                milliseconds(limit)
            ),
            "give it a core of its own, ask for less load, or run it on another machine",
        )
    })
}

fn check_cpu(record: &LoadRecord, rules: &Rules) -> Option<Warning> {
    let busiest = record.generator.busiest_loop;
    (busiest >= rules.busiest_loop).then(|| {
        Warning::new(
            "generator_cpu",
            format!("the generator's busiest loop used {:.0} % of a core", busiest * 100.0),
            "use more loops (--loops), or run it on another machine",
        )
    })
}

fn check_addresses(all: &LoadSecond, rules: &Rules) -> Option<Warning> {
    let share = all.errors.address_unavailable as f64 / all.due.max(1) as f64;
    (share > rules.address_unavailable).then(|| out_of_addresses(all))
}

/// The same below the limit: a doubt only.
fn doubt_addresses(all: &LoadSecond, rules: &Rules) -> Option<Warning> {
    let is_some = all.errors.address_unavailable > 0 && check_addresses(all, rules).is_none();
    is_some.then(|| out_of_addresses(all))
}

fn out_of_addresses(all: &LoadSecond) -> Warning {
    Warning::new(
        "generator_address_unavailable",
        format!(
            "{} requests found no free port or file descriptor on this side",
            all.errors.address_unavailable
        ),
        "use --connection keep-alive, raise the limit on open files (ulimit -n), or widen \
         net.ipv4.ip_local_port_range",
    )
}

/// Little's law: mean number in flight = rate x mean latency. What lies across the ends of the
/// measured part is allowed for by what was in flight there, and the sampling by three standard
/// errors.
fn check_little(
    seconds: &[LoadSecond],
    all: &LoadSecond,
    duration: Duration,
    rules: &Rules,
) -> Option<Warning> {
    let length = duration.as_secs_f64();
    let mean_latency = all.latency.mean()?.as_secs_f64();
    if length < 1.0 {
        return None;
    }
    let last = seconds.len().saturating_sub(1);
    let weight = |at: usize| if at < last { 1.0 } else { length - last as f64 };
    let sampled: f64 =
        seconds.iter().enumerate().map(|(at, s)| s.in_flight_mean * weight(at)).sum::<f64>()
            / length;
    let expected = all.due as f64 * mean_latency / length;
    let longest = all.latency.max()?.as_secs_f64();
    let at_the_end = seconds.last().map_or(0, |second| second.in_flight) as f64;
    let across_the_ends = (at_the_end + expected) * longest.min(length) / length;
    // About a hundred samples a second, of a number that is at best Poisson distributed.
    let sampling = 3.0 * (expected / (100.0 * length)).sqrt() + 0.1;
    let tolerance = rules.little * expected + across_the_ends + sampling;
    ((sampled - expected).abs() > tolerance).then(|| {
        Warning::new(
            "generator_little",
            format!(
                "{sampled:.1} requests were in flight on average, but rate x mean latency is \
                 {expected:.1}"
            ),
            "the latencies or the counts cannot be right; the machine may have been suspended or \
             overloaded",
        )
    })
}

fn doubt_waiting(all: &LoadSecond) -> Option<Warning> {
    let waited = all.sent.saturating_sub(all.send_lag.count()) + all.errors.dropped;
    (waited > 0).then(|| {
        Warning::new(
            "max_in_flight",
            format!(
                "{waited} requests had to wait because as many were in flight as allowed; {} of \
                 them were never sent",
                all.errors.dropped
            ),
            "the server fell behind, or --max-in-flight or the limit on open files is too low",
        )
    })
}

/// Those that never left for our own reasons have warnings of their own.
fn doubt_errors(record: &LoadRecord, all: &LoadSecond) -> Option<Warning> {
    let ours = all.errors.address_unavailable + all.errors.dropped;
    let unanswered = all.errors.total() - ours;
    let share = unanswered as f64 / all.due.max(1) as f64;
    let silent = record.duration.saturating_sub(record.last_reply);
    let since = match all.completed() {
        1.. if silent >= SILENCE => {
            format!(", and none came in the last {:.1} s", silent.as_secs_f64())
        }
        _ => String::new(),
    };
    (share > 0.01).then(|| {
        Warning::new(
            "unanswered",
            format!(
                "{unanswered} of {} requests got no reply ({:.0} %){since}; the time they took is \
                 among the latencies",
                all.due,
                share * 100.0
            ),
            "see the errors: the server may have been down, have ended, or be overloaded",
        )
    })
}

fn doubt_status(all: &LoadSecond) -> Option<Warning> {
    let failed = all.completed() - slo::good(all);
    let share = failed as f64 / all.completed().max(1) as f64;
    (share > 0.01).then(|| {
        Warning::new(
            "status",
            format!("{:.0} % of the replies are neither 2xx nor 3xx", share * 100.0),
            "check the target, its headers and its credentials: errors are often faster than \
             answers",
        )
    })
}

fn doubt_cut_short(record: &LoadRecord, all: &LoadSecond) -> Option<Warning> {
    let when = if all.due == 0 { ", before anything was measured" } else { "" };
    record.is_cut_short.then(|| {
        Warning::new(
            "cut_short",
            format!("the load was ended after {:.1} s{when}", record.duration.as_secs_f64()),
            "",
        )
    })
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Arrivals, ErrorCounts, GeneratorUse, Rate};

    /// 100 requests a second, each 20 ms, two in flight on average.
    fn record(seconds: usize) -> LoadRecord {
        let second = || {
            let mut second = LoadSecond {
                due: 100,
                sent: 100,
                status: [(200, 100)].into(),
                replies: 100,
                in_flight: 2,
                in_flight_mean: 2.0,
                bytes_in: 1000,
                bytes_out: 500,
                ..LoadSecond::default()
            };
            second.latency.record_n(Duration::from_millis(20), 100);
            second.exchange_time.record_n(Duration::from_millis(20), 100);
            second.send_lag.record_n(Duration::from_micros(50), 100);
            second
        };
        LoadRecord {
            offered: Offered::Open {
                rate: Rate::per_second(100.0).unwrap(),
                arrivals: Arrivals::Uniform,
            },
            warm_up: Duration::ZERO,
            seconds: (0..seconds).map(|_| second()).collect(),
            duration: Duration::from_secs(seconds as u64),
            last_reply: Duration::from_millis(seconds as u64 * 1000 + 10),
            is_cut_short: false,
            generator: GeneratorUse::default(),
        }
    }

    fn summary(record: &LoadRecord, slo: Option<&str>) -> LoadSummary {
        let slo: Option<Slo> = slo.map(|slo| slo.parse().unwrap());
        summarise(record, record.warm_up, slo.as_ref(), &Rules::default())
    }

    fn codes(summary: &LoadSummary) -> Vec<&str> {
        summary.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    #[test]
    fn the_warm_up_is_left_out_of_everything_but_the_windows() {
        let mut record = record(5);
        record.warm_up = Duration::from_secs(2);
        record.seconds[0].errors.reset = 7;
        let summary = summary(&record, None);
        assert_eq!((summary.due, summary.completed, summary.errors.total()), (300, 300, 0));
        assert_eq!((summary.duration_s, summary.warm_up_s, summary.windows.len()), (3.0, 2.0, 5));
        assert_eq!(summary.windows[0].errors, 7);
        assert!((summary.throughput_rps - 300.0 / 3.01).abs() < 1e-9);
        assert_eq!(summary.bytes_in, 3000);
        assert!(summary.valid, "{:?}", summary.warnings);
    }

    #[test]
    fn a_server_that_has_gone_is_told() {
        let mut record = record(4);
        for second in &mut record.seconds[2..] {
            second.status.clear();
            second.errors.refused = 100;
        }
        record.last_reply = Duration::from_secs(2);
        let summary = summary(&record, None);
        assert_eq!(codes(&summary), ["unanswered"]);
        let message = &summary.warnings[0].message;
        assert!(message.starts_with("200 of 400 requests got no reply (50 %)"), "{message}");
        assert!(message.contains("none came in the last 2.0 s"), "{message}");
    }

    #[test]
    fn one_request_a_second_is_no_more_than_that() {
        let mut record = record(10);
        record.last_reply = Duration::from_millis(9_020);
        assert_eq!(summary(&record, None).throughput_rps, 100.0);
    }

    #[test]
    fn goodput_counts_good_replies_within_the_tightest_limit() {
        let mut record = record(10);
        let second = &mut record.seconds[3];
        second.latency = Latencies::default();
        second.latency.record_n(Duration::from_millis(20), 80);
        second.latency.record_n(Duration::from_millis(500), 15);
        second.latency.record_n(Duration::from_secs(10), 5);
        second.status = [(200, 90), (503, 5)].into();
        second.errors.timeout = 5;
        record.last_reply = record.duration;
        let with = summary(&record, Some("p95<100ms"));
        assert_eq!(with.goodput_rps, Some((900.0 + 90.0 - 15.0) / 10.0));
        assert_eq!(summary(&record, None).goodput_rps, None);
    }

    #[test]
    fn a_late_generator_is_no_result() {
        let mut record = record(10);
        record.seconds[5].send_lag = Latencies::default();
        record.seconds[5].send_lag.record_n(Duration::from_millis(8), 100);
        let late = summary(&record, None);
        assert!(!late.valid);
        assert_eq!(codes(&late), ["generator_send_lag"]);
        // 5 % of the limit: ten milliseconds are nothing against 200.
        assert!(summary(&record, Some("p95<200ms")).valid);
    }

    #[test]
    fn a_busy_generator_and_one_without_ports_are_no_result() {
        let mut busy = record(10);
        busy.generator.busiest_loop = 0.95;
        assert_eq!(codes(&summary(&busy, None)), ["generator_cpu"]);

        let mut without_ports = record(10);
        without_ports.seconds[0].errors.address_unavailable = 50;
        assert!(!summary(&without_ports, None).valid);
        without_ports.seconds[0].errors.address_unavailable = 1;
        let few = summary(&without_ports, None);
        assert!(few.valid, "a doubt only");
        assert_eq!(codes(&few), ["generator_address_unavailable"]);
    }

    #[test]
    fn counts_that_contradict_the_latencies_are_no_result() {
        let mut record = record(10);
        record.seconds.iter_mut().for_each(|second| second.in_flight_mean = 20.0);
        let wrong = summary(&record, None);
        assert_eq!((wrong.valid, codes(&wrong)), (false, vec!["generator_little"]));
    }

    #[test]
    fn waiting_for_a_free_place_is_a_doubt_and_no_lag() {
        let mut record = record(10);
        record.seconds[9].sent = 90;
        record.seconds[9].status = [(200, 90)].into();
        record.seconds[9].errors = ErrorCounts { dropped: 10, ..Default::default() };
        record.seconds[9].send_lag = Latencies::default();
        let waited = summary(&record, None);
        assert!(waited.valid);
        assert_eq!(codes(&waited), ["max_in_flight"]);
        assert!(waited.warnings[0].message.starts_with("100 requests"), "{}", waited.warnings[0]);
    }

    #[test]
    fn nothing_measured_is_all_zeros() {
        let mut record = record(1);
        record.warm_up = Duration::from_secs(5);
        record.is_cut_short = true;
        let nothing = summary(&record, Some("p95<200ms"));
        assert_eq!((nothing.due, nothing.throughput_rps, nothing.latency_s.max), (0, 0.0, 0.0));
        assert_eq!(nothing.slo.unwrap().met, None);
    }
}
