//! A load, second by second, to the figures that `load --json` prints.
//!
//! In: seconds in order, each once, and the run as a whole at the end. Out: a summary. It keeps
//! sums and a few figures of each second, so that a load of any length is summarised while it runs.

use std::time::Duration;

use super::goals::{self, Judge};
use super::instrument::{self, InFlight, Seen};
use super::slo;
use crate::terms::{
    GeneratorSummary, Goals, Latencies, LoadRecord, LoadRun, LoadSecond, LoadSummary, Offered,
    SendLagSummary, Window,
};

/// The result of a load without its first `warm_up` (cut to whole seconds).
pub fn summarise(record: &LoadRecord, warm_up: Duration, goals: &Goals) -> LoadSummary {
    let mut fold = Fold::new(warm_up, goals);
    record.seconds.iter().for_each(|second| fold.take(second));
    fold.finish(&record.run).0
}

/// A summary in the making.
#[derive(Debug)]
pub struct Fold<'a> {
    /// Seconds at the beginning that are left out.
    cut: usize,
    goals: &'a Goals,
    judge: Judge<'a>,
    /// The measured seconds as one; the fields that go by the clock stay empty.
    all: LoadSecond,
    /// Of every second, warm-up included.
    windows: Vec<Window>,
    /// Mean numbers in flight, of the measured seconds.
    in_flight: Vec<f64>,
    /// At the beginning and the end of these, and before them.
    ends: InFlight<'static>,
}

impl<'a> Fold<'a> {
    /// The first `warm_up` (cut to whole seconds) will be left out of everything but the windows.
    pub fn new(warm_up: Duration, goals: &'a Goals) -> Self {
        Self {
            cut: warm_up.as_secs() as usize,
            goals,
            judge: Judge::new(goals),
            all: LoadSecond::default(),
            windows: Vec::new(),
            in_flight: Vec::new(),
            ends: InFlight::default(),
        }
    }

    /// Takes the next second.
    pub fn take(&mut self, second: &LoadSecond) {
        let at = self.windows.len();
        self.windows.push(window(at as u32, second));
        if at < self.cut {
            let longest = second.latency.max().unwrap_or_default();
            self.ends.longest_before = self.ends.longest_before.max(longest);
            self.ends.at_start = second.in_flight;
            return;
        }
        self.all.add_requests(second);
        self.ends.at_end = second.in_flight;
        self.in_flight.push(second.in_flight_mean);
        self.judge.take(second);
    }

    /// The load is over: its summary, and the measured seconds as one, with their whole
    /// distributions.
    pub fn finish(self, run: &LoadRun) -> (LoadSummary, LoadSecond) {
        let Self { goals, all, judge, .. } = self;
        let warm_up = Duration::from_secs(self.cut.min(self.windows.len()) as u64);
        let duration = run.duration.saturating_sub(warm_up);
        let good = slo::good(&all);
        let span = span(run, warm_up).as_secs_f64();
        let per_second = |count: u64| if span > 0.0 { count as f64 / span } else { 0.0 };
        let within = judge.good_within(&all);
        let in_flight = InFlight { means: &self.in_flight, ..self.ends };
        let seen = Seen { run, all: &all, in_flight, duration };
        let (is_valid, warnings) = instrument::check(&seen, goals.tightest_limit());
        let summary = LoadSummary {
            offered_load_rps: run.offered.rate().map(|rate| rate.as_per_second()),
            clients: match run.offered {
                Offered::Open { .. } => None,
                Offered::Closed { clients, .. } => Some(clients),
            },
            duration_s: duration.as_secs_f64(),
            due: all.due,
            sent: all.sent,
            completed: all.completed(),
            throughput_rps: per_second(good),
            goodput_rps: within.map(per_second),
            latency_s: all.latency.summary(),
            exchange_time_s: all.exchange_time.summary(),
            send_lag_s: SendLagSummary {
                p50: quantile(&all.send_lag, 0.5),
                p99: quantile(&all.send_lag, 0.99),
                max: quantile(&all.send_lag, 1.0),
            },
            status: all.status.iter().map(|(status, n)| (status.to_string(), *n)).collect(),
            errors: all.errors,
            bytes_in: all.bytes_in,
            bytes_out: all.bytes_out,
            windows: self.windows,
            generator: GeneratorSummary {
                cpu_user_s: run.generator.cpu_user.as_secs_f64(),
                cpu_system_s: run.generator.cpu_system.as_secs_f64(),
                rss_bytes_max: run.generator.rss_bytes_max,
            },
            slo: judge.conclude(),
            valid: is_valid,
            warnings,
            warm_up_s: warm_up.as_secs_f64(),
            cached: all.cached,
            via: all.via,
            retries: all.retries,
            route: None,
            fleet: Vec::new(),
            shape: None,
            arrivals: None,
            goals: judge.summaries(),
        };
        (summary, all)
    }
}

/// What rates are divided by: until the last reply, or until the last request's second was over
/// when that is later (a reply that comes at once must not make one request a second look like
/// more).
fn span(run: &LoadRun, warm_up: Duration) -> Duration {
    run.duration.max(run.last_reply).saturating_sub(warm_up)
}

fn quantile(latencies: &Latencies, q: f64) -> f64 {
    latencies.quantile(q).unwrap_or_default().as_secs_f64()
}

fn window(at: u32, second: &LoadSecond) -> Window {
    Window {
        start_s: f64::from(at),
        due: second.due,
        sent: second.sent,
        completed: second.completed(),
        errors: second.errors.total(),
        failed: second.due.saturating_sub(slo::good(second)),
        latency_s: goals::quantiles(&second.latency),
        in_flight: second.in_flight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Arrivals, ErrorCounts, GeneratorUse, LoadDoubt, Rate, Warning};

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
        let run = LoadRun {
            offered: Offered::Open {
                rate: Rate::per_second(100.0).unwrap(),
                arrivals: Arrivals::Uniform,
            },
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(seconds as u64),
            last_reply: Duration::from_millis(seconds as u64 * 1000 + 10),
            is_cut_short: false,
            tls_trouble: None,
            rows_left_out: 0,
            generator: GeneratorUse::default(),
        };
        LoadRecord { run, seconds: (0..seconds).map(|_| second()).collect() }
    }

    fn summary(record: &LoadRecord, slo: Option<&str>) -> LoadSummary {
        let goals = slo.map(|slo| Goals::one(slo.parse().unwrap())).unwrap_or_default();
        summarise(record, record.run.warm_up, &goals)
    }

    fn codes(summary: &LoadSummary) -> Vec<String> {
        summary.warnings.iter().map(Warning::code).collect()
    }

    #[test]
    fn the_warm_up_is_left_out_of_everything_but_the_windows() {
        let mut record = record(5);
        record.run.warm_up = Duration::from_secs(2);
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
        record.run.last_reply = Duration::from_secs(2);
        let summary = summary(&record, None);
        assert_eq!(codes(&summary), ["unanswered"]);
        let gone = LoadDoubt::Unanswered { requests: 200, due: 400, silent_s: Some(2.0) };
        assert_eq!(summary.warnings, [gone.into()]);
    }

    #[test]
    fn of_replies_that_failed_the_commonest_status_is_told() {
        let mut record = record(4);
        for second in &mut record.seconds[1..] {
            second.status = [(200, 60), (302, 10), (429, 20), (503, 10)].into();
        }
        let limited =
            LoadDoubt::FailedReplies { failed: 90, replies: 400, commonest_status: Some(429) };
        assert_eq!(summary(&record, None).warnings, [limited.into()]);
    }

    #[test]
    fn one_request_a_second_is_no_more_than_that() {
        let mut record = record(10);
        record.run.last_reply = Duration::from_millis(9_020);
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
        record.run.last_reply = record.run.duration;
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

        let one_late = |of: u64| {
            let mut record = self::record(1);
            record.seconds[0].send_lag = Latencies::default();
            record.seconds[0].send_lag.record_n(Duration::from_micros(50), of - 1);
            record.seconds[0].send_lag.record_n(Duration::from_millis(8), 1);
            summary(&record, None).valid
        };
        assert!(one_late(20), "a single one says nothing");
    }

    #[test]
    fn a_busy_generator_and_one_without_ports_are_no_result() {
        let mut busy = record(10);
        busy.run.generator.busiest_loop = 0.95;
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
        assert_eq!((wrong.valid, codes(&wrong)), (false, vec!["generator_little".to_string()]));
    }

    /// A load whose requests are all due at the start of a second, take so long, and whose number
    /// in flight is counted `times` over.
    fn counted(latencies_s: &[f64], warm_up_s: u64, times: f64) -> LoadSummary {
        let mut record = record(latencies_s.len());
        record.run.warm_up = Duration::from_secs(warm_up_s);
        let overlap = |from: f64, to: f64, at: f64| (to.min(at + 1.0) - from.max(at)).max(0.0);
        for at in 0..latencies_s.len() {
            let second = &mut record.seconds[at];
            second.latency = Latencies::default();
            second.latency.record_n(Duration::from_secs_f64(latencies_s[at]), 100);
            let of = |due: usize, from: f64| {
                let due_s = due as f64;
                100.0 * overlap(due_s, due_s + latencies_s[due], from)
            };
            let area: f64 = (0..=at).map(|due| of(due, at as f64)).sum();
            second.in_flight_mean = times * area;
            let is_out = |due: &usize| *due as f64 + latencies_s[*due] > at as f64 + 1.0;
            let out = 100.0 * (0..=at).filter(is_out).count() as f64;
            second.in_flight = (times * out) as u64;
        }
        record.run.last_reply = Duration::from_secs(latencies_s.len() as u64);
        summary(&record, Some("p95<100s"))
    }

    #[test]
    fn latencies_that_are_too_short_for_what_was_in_flight_are_no_result() {
        let long = [1.5; 30];
        // The queue grows all the time: half of what is due is still out at the end.
        let growing: Vec<f64> = (0..30).map(|at| 0.1 + 0.5 * f64::from(at)).collect();
        let shrinking: Vec<f64> = growing.iter().rev().copied().collect();
        for (latencies_s, warm_up_s) in [(&long[..], 5), (&growing, 0), (&growing, 5)] {
            let right = counted(latencies_s, warm_up_s, 1.0);
            assert!(right.valid, "{warm_up_s} {:?}", right.warnings);
            let twice = counted(latencies_s, warm_up_s, 2.0);
            assert_eq!(codes(&twice), ["generator_little"], "{latencies_s:?} {warm_up_s}");
        }
        assert!(counted(&shrinking, 5, 1.0).valid, "what was out at the start counts");
        assert!(!counted(&long, 5, 0.5).valid, "half of them were not seen");
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
        let expected = LoadDoubt::WaitedForPlace { requests: 100, dropped: 10 };
        assert_eq!(waited.warnings, [expected.into()]);
    }

    #[test]
    fn nothing_measured_is_all_zeros() {
        let mut record = record(1);
        record.run.warm_up = Duration::from_secs(5);
        record.run.is_cut_short = true;
        let nothing = summary(&record, Some("p95<200ms"));
        assert_eq!((nothing.due, nothing.throughput_rps, nothing.latency_s.max), (0, 0.0, 0.0));
        assert_eq!(nothing.slo.unwrap().met, None);
    }
}
