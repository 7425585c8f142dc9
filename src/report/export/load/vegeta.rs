//! As `vegeta report` prints it, as text and as JSON.
//!
//! vegeta divides by the time between the first and the last request, which is one interval shorter
//! than the load; so its rate is a little above the rate that was asked for, and so is ours here.
//! What is not as in vegeta: quantiles are those of a histogram with three digits; the time is when
//! requests were due; bytes are those of whole messages, heads included; and a reply that is
//! neither 2xx nor 3xx stands in the error set with its code alone.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::LoadResult;
use crate::terms::{GOOD_STATUSES, Latencies};

/// The result as `-type=text`.
pub fn text(result: &LoadResult<'_>) -> String {
    let metrics = Metrics::of(result);
    let Metrics { requests, rate, throughput, duration, wait, .. } = metrics;
    let mut text = String::new();
    let mut row = |name: &str, columns: &str, values: String| {
        text += &format!("{name:<14}{columns:<34}{values}\n");
    };
    let times = |all: &[u64]| {
        let texts: Vec<String> = all.iter().map(|ns| go_duration(rounded(*ns))).collect();
        texts.join(", ")
    };
    let bytes = |bytes: &Bytes| format!("{}, {:.2}", bytes.total, bytes.mean);
    let Times { mean, p50, p90, p95, p99, max, min, .. } = metrics.latencies;
    row("Requests", "[total, rate, throughput]", format!("{requests}, {rate:.2}, {throughput:.2}"));
    row("Duration", "[total, attack, wait]", times(&[duration + wait, duration, wait]));
    row(
        "Latencies",
        "[min, mean, 50, 90, 95, 99, max]",
        times(&[min, mean, p50, p90, p95, p99, max]),
    );
    row("Bytes In", "[total, mean]", bytes(&metrics.bytes_in));
    row("Bytes Out", "[total, mean]", bytes(&metrics.bytes_out));
    row("Success", "[ratio]", format!("{:.2}%", metrics.success * 100.0));
    let codes = metrics.status_codes.iter().map(|(code, count)| format!("{code}:{count}  "));
    row("Status Codes", "[code:count]", codes.collect());
    text += "Error Set:\n";
    for error in &metrics.errors {
        text += &format!("{error}\n");
    }
    text
}

/// The result as `-type=json`.
pub fn json(result: &LoadResult<'_>) -> String {
    let mut text = serde_json::to_string(&Metrics::of(result))
        .expect("figures and strings are all that it holds");
    text.push('\n');
    text
}

/// What both forms show, in the order of the JSON; times in nanoseconds.
#[derive(Serialize)]
struct Metrics {
    latencies: Times,
    bytes_in: Bytes,
    bytes_out: Bytes,
    /// RFC 3339, as are the next two.
    earliest: String,
    latest: String,
    end: String,
    /// From the first due time to the last.
    duration: u64,
    /// From the last due time to the last reply.
    wait: u64,
    requests: u64,
    rate: f64,
    throughput: f64,
    /// 0..=1.
    success: f64,
    /// 0 is a request without a reply.
    status_codes: BTreeMap<String, u64>,
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Times {
    total: u64,
    mean: u64,
    #[serde(rename = "50th")]
    p50: u64,
    #[serde(rename = "90th")]
    p90: u64,
    #[serde(rename = "95th")]
    p95: u64,
    #[serde(rename = "99th")]
    p99: u64,
    max: u64,
    min: u64,
}

#[derive(Serialize)]
struct Bytes {
    total: u64,
    mean: f64,
}

impl Metrics {
    fn of(result: &LoadResult<'_>) -> Self {
        let LoadResult { about, summary, all } = *result;
        let requests = all.due;
        let (attack, wait) = attack_and_wait(result);
        // As vegeta has it: counts instead of rates when there was no time between them.
        let divided = |count: u64, by: Duration| match attack.is_zero() {
            true => count as f64,
            false => count as f64 / by.as_secs_f64(),
        };
        let earliest = after(about.began, seconds(summary.warm_up_s));
        let latest = after(earliest, attack);
        let mean = |total: u64| Bytes { total, mean: total as f64 / requests.max(1) as f64 };
        let mut status_codes: BTreeMap<String, u64> =
            all.status.iter().map(|(status, count)| (status.to_string(), *count)).collect();
        if all.errors.total() > 0 {
            status_codes.insert("0".to_string(), all.errors.total());
        }
        let classes = all.errors.by_class().into_iter().filter(|(_, count)| *count > 0);
        let unhappy = all.status.keys().filter(|status| !GOOD_STATUSES.contains(*status));
        let errors = classes.map(|(class, _)| class.to_string());
        Self {
            latencies: Times::of(&all.latency),
            bytes_in: mean(all.bytes_in),
            bytes_out: mean(all.bytes_out),
            earliest: earliest.to_string(),
            latest: latest.to_string(),
            end: after(latest, wait).to_string(),
            duration: ns(attack),
            wait: ns(wait),
            requests,
            rate: divided(requests, attack),
            throughput: divided(result.good(), attack + wait),
            success: result.good() as f64 / requests.max(1) as f64,
            status_codes,
            errors: errors.chain(unhappy.map(u16::to_string)).collect(),
        }
    }
}

impl Times {
    fn of(latencies: &Latencies) -> Self {
        let ns = |time: Option<Duration>| ns(time.unwrap_or_default());
        let mean = ns(latencies.mean());
        Self {
            total: mean.saturating_mul(latencies.count()),
            mean,
            p50: ns(latencies.quantile(0.5)),
            p90: ns(latencies.quantile(0.9)),
            p95: ns(latencies.quantile(0.95)),
            p99: ns(latencies.quantile(0.99)),
            max: ns(latencies.max()),
            min: ns(latencies.min()),
        }
    }
}

/// From the first due time to the last, and from there to the last reply.
///
/// The last request stands for the time until the next would have been due, so the load is one mean
/// interval longer than from the first to the last. A wait is never longer than the longest
/// latency, which tells it from the rest of that interval.
fn attack_and_wait(result: &LoadResult<'_>) -> (Duration, Duration) {
    let (due, length) = (result.all.due, result.summary.duration_s);
    if due == 0 {
        return Default::default();
    }
    let attack_s = length - length / due as f64;
    let wait = seconds(result.span_s() - attack_s);
    (seconds(attack_s), wait.min(result.all.latency.max().unwrap_or_default()))
}

/// To the nanosecond; zero for what is negative.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

fn ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn after(time: Timestamp, span: Duration) -> Timestamp {
    // Only beyond the year 9999 is there nothing to add to.
    time.checked_add(span).unwrap_or(time)
}

/// To the next smaller unit, as vegeta's text has its times; halves away from zero.
fn rounded(ns: u64) -> u64 {
    const UNITS: [u64; 6] = [3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1_000_000, 1000, 1];
    let unit = UNITS.windows(2).find(|pair| ns >= pair[0]).map_or(1, |pair| pair[1]);
    (ns + unit / 2) / unit * unit
}

/// Nanoseconds as Go writes a duration: `1.5ms`, `2.034s`, `1m2.5s`, `1h0m0s`.
fn go_duration(ns: u64) -> String {
    match ns {
        0 => "0s".to_string(),
        1..1000 => format!("{ns}ns"),
        1000..1_000_000 => decimal(ns, 3) + "µs",
        1_000_000..1_000_000_000 => decimal(ns, 6) + "ms",
        _ => {
            let minutes = ns / 60_000_000_000;
            let seconds = decimal(ns % 60_000_000_000, 9) + "s";
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

/// A number with its point moved by `digits` digits, without zeros at its end.
fn decimal(number: u64, digits: usize) -> String {
    let one = 10u64.pow(digits as u32);
    let fraction = format!("{:0digits$}", number % one);
    match fraction.trim_end_matches('0') {
        "" => (number / one).to_string(),
        fraction => format!("{}.{fraction}", number / one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (999, "999ns"),
            (1000, "1µs"),
            (1500, "1.5µs"),
            (123_456, "123.456µs"),
            (1_234_567, "1.234567ms"),
            (20_000_000, "20ms"),
            (1_000_000_000, "1s"),
            (1_001_000_000, "1.001s"),
            (59_999_999_999, "59.999999999s"),
            (60_000_000_000, "1m0s"),
            (62_500_000_000, "1m2.5s"),
            (3_600_000_000_000, "1h0m0s"),
            (5_400_500_000_000, "1h30m0.5s"),
            (90_000_000_000_000, "25h0m0s"),
        ] {
            assert_eq!(go_duration(ns), text);
        }
    }

    #[test]
    fn times_are_rounded_to_the_next_smaller_unit() {
        for (ns, expected) in [
            (0, 0),
            (999, 999),
            (1_499, 1_499),
            (1_234_567, 1_235_000),
            (1_234_499, 1_234_000),
            (999_999_999, 1_000_000_000),
            (1_234_567_890, 1_235_000_000),
            (61_499_999_999, 61_000_000_000),
            (3_629_999_999_999, 3_600_000_000_000),
            (3_630_000_000_000, 3_660_000_000_000),
        ] {
            assert_eq!(rounded(ns), expected, "{ns}");
        }
    }
}
