//! As wrk prints it with `--latency`, for the scripts that take it apart.
//!
//! What is not as in wrk: "connections" are the clients, or what was in flight on average
//! ([`LoadResult::concurrency`]); the latencies of requests that were given up are among the
//! others, and a request that was never sent counts as a timeout; failed writes are not told from
//! failed reads (`write 0`). The deviation that the share "+/- Stdev" belongs to is that of the
//! histogram.

use super::LoadResult;
use crate::terms::Latencies;

pub fn render(result: &LoadResult<'_>) -> String {
    let LoadResult { about, summary, all } = *result;
    let asked = about.duration.map_or(summary.duration_s, |duration| duration.as_secs_f64());
    let (length, url) = (whole_time(asked), format!("{}{}", about.server, about.path()));
    let mut text = format!("Running {length} test @ {url}\n");
    text += &format!("  {} threads and {} connections\n", about.loops, result.concurrency());
    text += "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n";
    text += &latencies(&all.latency).row("Latency", time);
    text += &Spread::of(&rates(result)).row("Req/Sec", |rate| scaled(rate, 1000.0, &METRIC, 2));
    text += "  Latency Distribution\n";
    for percent in [50, 75, 90, 99] {
        let quantile = all.latency.quantile(f64::from(percent) / 100.0).unwrap_or_default();
        let cell = cell(&time(quantile.as_secs_f64() * 1e6), 10);
        text += &format!("{percent:>7}%{cell}\n");
    }
    let read = scaled(all.bytes_in as f64, 1024.0, &BINARY, 2);
    let runtime = time(result.span_s() * 1e6);
    text += &format!("  {} requests in {runtime}, {read}B read\n", summary.completed);
    text += &failures(result);
    text += &format!("Requests/sec: {:9.2}\n", result.per_second(summary.completed));
    let transfer = scaled(result.per_second(all.bytes_in), 1024.0, &BINARY, 2);
    text += &format!("Transfer/sec: {transfer:>10}B\n");
    text
}

/// Lines that are there only when something failed.
fn failures(result: &LoadResult<'_>) -> String {
    let errors = &result.summary.errors;
    let connect = errors.refused + errors.address_unavailable + errors.dns + errors.tls;
    let read = errors.reset + errors.closed_early + errors.malformed;
    let timeout = errors.timeout + errors.dropped;
    let mut text = String::new();
    if connect + read + timeout > 0 {
        text += &format!(
            "  Socket errors: connect {connect}, read {read}, write 0, timeout {timeout}\n"
        );
    }
    let unhappy: u64 = result.all.status.range(400..).map(|(_, count)| count).sum();
    if unhappy > 0 {
        text += &format!("  Non-2xx or 3xx responses: {unhappy}\n");
    }
    text
}

/// Replies a second of each loop, for each whole measured second.
fn rates(result: &LoadResult<'_>) -> Vec<f64> {
    let summary = result.summary;
    let loops = f64::from(result.about.loops.max(1));
    let measured = summary.windows.iter().filter(|window| window.start_s >= summary.warm_up_s);
    let whole = measured.take(summary.duration_s as usize);
    let rates: Vec<f64> = whole.map(|window| window.completed as f64 / loops).collect();
    match rates.is_empty() {
        true => vec![result.per_second(summary.completed) / loops],
        false => rates,
    }
}

/// What wrk tells of a distribution.
struct Spread {
    mean: f64,
    deviation: f64,
    max: f64,
    /// Share within one deviation of the mean, 0..=1.
    within: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
        let within = values.iter().filter(|value| (*value - mean).abs() <= deviation).count();
        let max = values.iter().copied().fold(0.0, f64::max);
        Self { mean, deviation, max, within: within as f64 / count }
    }

    fn row(&self, name: &str, format: impl Fn(f64) -> String) -> String {
        let [mean, deviation, max] = [(self.mean, 8), (self.deviation, 10), (self.max, 9)]
            .map(|(value, width)| cell(&format(value), width));
        format!("    {name:<10}{mean}{deviation}{max}{:8.2}%\n", self.within * 100.0)
    }
}

/// In microseconds.
fn latencies(latencies: &Latencies) -> Spread {
    let us = |time: Option<std::time::Duration>| time.unwrap_or_default().as_secs_f64() * 1e6;
    Spread {
        mean: us(latencies.mean()),
        deviation: us(latencies.standard_deviation()),
        max: us(latencies.max()),
        within: latencies.share_within_deviation().unwrap_or(0.0),
    }
}

const METRIC: [&str; 5] = ["", "k", "M", "G", "T"];
const BINARY: [&str; 5] = ["", "K", "M", "G", "T"];

/// In the first unit of which it is less than 85 % of the next; the last has no next.
fn scaled(value: f64, step: f64, units: &[&str], digits: usize) -> String {
    let (mut value, mut at) = (value, 0);
    while value >= 0.85 * step && at + 1 < units.len() {
        value /= step;
        at += 1;
    }
    format!("{value:.digits$}{}", units[at])
}

fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => scaled(us / 1e6, 60.0, &["s", "m"], 2),
        us => scaled(us, 1000.0, &["us", "ms"], 2),
    }
}

fn whole_time(seconds: f64) -> String {
    scaled(seconds, 60.0, &["s", "m"], 0)
}

/// Right-aligned so that the numbers stand below each other, whether their units have no, one or
/// two letters; what is too long is cut off.
fn cell(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let (after, width) = (2 - letters, width - (2 - letters));
    format!("{text:>width$.width$}{:after$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_at_85_percent_of_the_next() {
        for (us, text) in [
            (0.0, "0.00us"),
            (849.0, "849.00us"),
            (850.0, "0.85ms"),
            (12_346.0, "12.35ms"),
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (50_900_000.0, "50.90s"),
            (60_000_000.0, "1.00m"),
            (7_200_000_000.0, "120.00m"),
        ] {
            assert_eq!(time(us), text);
        }
        assert_eq!(whole_time(30.0), "30s");
        assert_eq!(whole_time(120.0), "2m");
        assert_eq!(scaled(870.0, 1024.0, &BINARY, 2), "870.00");
        assert_eq!(scaled(900_000.0, 1024.0, &BINARY, 2), "0.86M");
        assert_eq!(scaled(56_200.0, 1000.0, &METRIC, 2), "56.20k");
    }

    #[test]
    fn cells_leave_room_for_units_of_two_letters() {
        assert_eq!(cell("635.91us", 8), "635.91us");
        assert_eq!(cell("1.25s", 9), "   1.25s ");
        assert_eq!(cell("56.20", 8), " 56.20  ");
        assert_eq!(cell("123456.00ms", 8), "123456.0");
    }

    #[test]
    fn a_spread_is_that_of_a_sample() {
        let spread = Spread::of(&[1.0, 2.0, 6.0]);
        assert_eq!((spread.mean, spread.max), (3.0, 6.0));
        assert!((spread.deviation - 7f64.sqrt()).abs() < 1e-12);
        assert!((spread.within - 2.0 / 3.0).abs() < 1e-12);
        let one = Spread::of(&[5.0]);
        assert_eq!((one.deviation, one.within), (0.0, 1.0));
    }
}
