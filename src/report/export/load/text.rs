//! One load's result as text for people, and its progress a line a second.

use std::fmt::Write;

use super::LoadResult;
use crate::report::Language;
use crate::report::document::goals;
use crate::terms::{
    Bytes, Doubt, LatencySummary, LiveSecond, LoadDoubt, LoadSummary, Phase, SendLagSummary,
    Warning,
};

/// The result, ending in a line end.
pub fn render(result: &LoadResult<'_>) -> String {
    let summary = result.summary;
    let mut text = String::new();
    for line in &result.about.description {
        text += &format!("{line}\n");
    }
    text.push('\n');
    rates(&mut text, summary);
    let exchange = (summary.completed > 0).then_some(&summary.exchange_time_s);
    let lag = (summary.sent > 0).then_some(&summary.send_lag_s);
    distributions(&mut text, &summary.latency_s, exchange, lag);
    outcomes(&mut text, summary);
    generator(&mut text, summary);
    judgement(&mut text, summary);
    text
}

/// One second of a running load, without a line end; fits 80 columns at up to 99999 a second.
pub fn progress(second: &LiveSecond) -> String {
    let phase = match second.phase {
        Phase::WarmUp => "warming up",
        Phase::Measure => "measuring",
        Phase::Drain => "draining",
    };
    let p95 = second.p95.map_or("-".to_string(), |p95| time(p95.as_secs_f64()));
    format!(
        "{:>3} s {phase:<10} due {:<5} replies {:<5} errors {:<4} in flight {:<4} p95 {p95}",
        second.at.as_secs(),
        second.due,
        second.replies,
        second.errors,
        second.in_flight,
    )
}

/// The generator has fallen behind, said while the load runs; without a line end.
pub fn late(second: &LiveSecond) -> String {
    let lag = second.send_lag_p99.unwrap_or_default();
    format!(
        "the generator is late: for three seconds one request in a hundred has left {} or more \
         after it was due; this machine is measured now, and not the server (is it busy with \
         something else?)",
        time(lag.as_secs_f64())
    )
}

pub fn line(text: &mut String, label: &str, value: &str) {
    writeln!(text, "{label:<11} {value}").expect("writing to a string does not fail");
}

fn rates(text: &mut String, summary: &LoadSummary) {
    let per_second = |count: u64| match summary.duration_s {
        s if s > 0.0 => format!("{:.1}/s", count as f64 / s),
        _ => "-".to_string(),
    };
    let requests = format!(
        "{} due, {} sent, {} answered in {:.1} s",
        summary.due, summary.sent, summary.completed, summary.duration_s
    );
    line(text, "Requests", &requests);
    match (summary.offered_load_rps, summary.clients) {
        (Some(rate), _) => {
            line(text, "Offered", &format!("{rate:.1}/s, sent {}", per_second(summary.sent)));
        }
        (None, clients) => line(text, "Offered", &format!("{} clients", clients.unwrap_or(0))),
    }
    line(text, "Throughput", &format!("{:.1}/s (2xx and 3xx)", summary.throughput_rps));
    if let Some(goodput) = summary.goodput_rps {
        line(text, "Goodput", &format!("{goodput:.1}/s (within the SLO's tightest limit)"));
    }
    let bytes = format!("{} in, {} out", Bytes(summary.bytes_in), Bytes(summary.bytes_out));
    line(text, "Bytes", &bytes);
}

/// What never happened has no row.
fn distributions(
    text: &mut String,
    latency: &LatencySummary,
    exchange: Option<&LatencySummary>,
    lag: Option<&SendLagSummary>,
) {
    // 80 columns: 8 for the name and 8 for each figure.
    let row = |text: &mut String, label: &str, cells: [String; 9]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>7}")).collect();
        *text += format!("{label:<8}{cells}").trim_end();
        text.push('\n');
    };
    let names = ["min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"];
    text.push('\n');
    row(text, "", names.map(String::from));
    row(text, "Latency", times(latency));
    if let Some(exchange) = exchange {
        row(text, "Exchange", times(exchange));
    }
    if let Some(lag) = lag {
        let mut cells = [const { String::new() }; 9];
        [cells[2], cells[6], cells[8]] = [lag.p50, lag.p99, lag.max].map(time);
        row(text, "Send lag", cells);
    }
    text.push('\n');
}

fn times(summary: &LatencySummary) -> [String; 9] {
    let LatencySummary { min, mean, p50, p75, p90, p95, p99, p999, max } = *summary;
    [min, mean, p50, p75, p90, p95, p99, p999, max].map(time)
}

/// Three significant digits with the unit that suits them.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let digits = match value {
        v if v >= 99.95 || unit == "us" => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

fn outcomes(text: &mut String, summary: &LoadSummary) {
    if !summary.status.is_empty() {
        let counts = summary.status.iter().map(|(status, count)| format!("{status}: {count}"));
        line(text, "Status", &counts.collect::<Vec<_>>().join("  "));
    }
    let counts = summary.errors.by_class();
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(class, count)| format!("{class}: {count}")).collect();
    let none = "none".to_string();
    line(text, "Errors", &if counts.is_empty() { none } else { counts.join("  ") });
    if summary.retries > 0 {
        let why = "the server had closed the idle connection";
        line(text, "Sent again", &format!("{} requests: {why}", summary.retries));
    }
}

fn generator(text: &mut String, summary: &LoadSummary) {
    let cpu_s = summary.generator.cpu_user_s + summary.generator.cpu_system_s;
    // The CPU is that of the whole run, so are the requests.
    let sent: u64 = summary.windows.iter().map(|window| window.sent).sum();
    let each = if sent > 0 { cpu_s / sent as f64 * 1e6 } else { 0.0 };
    let whole_s = summary.duration_s + summary.warm_up_s;
    let cores = if whole_s > 0.0 { cpu_s / whole_s * 100.0 } else { 0.0 };
    let memory = Bytes(summary.generator.rss_bytes_max);
    let figures =
        format!("{each:.1} us of CPU a request, {cores:.1} % of a core, {memory} of memory");
    line(text, "Generator", &figures);
    route(text, summary);
}

fn route(text: &mut String, summary: &LoadSummary) {
    let Some(route) = summary.route else { return };
    let jitter = match route.jitter_s {
        Some(jitter) => format!(", jitter {}", time(jitter)),
        None => String::new(),
    };
    let connect = format!("{} to connect{jitter} ({} times)", time(route.connect_s), route.samples);
    line(text, "Route", &connect);
}

fn judgement(text: &mut String, summary: &LoadSummary) {
    if let Some(slo) = &summary.slo {
        let verdict = match slo.met {
            Some(true) => "met",
            Some(false) => "not met",
            None => "undecided",
        };
        let reason = Language::English.say_or_empty(slo.reason.as_ref());
        line(text, "SLO", &format!("{}: {verdict} ({reason})", slo.goals));
    }
    for target in goals::lines(&summary.goals, Language::English) {
        line(text, "Targets", &target);
    }
    for warning in &summary.warnings {
        line(text, "Warning", &Language::English.say_warning(warning));
    }
    if !summary.valid {
        line(text, "Not valid", "the generator was the limit; this says nothing about the server");
    }
}

/// What happened instead where nothing was answered, most frequent first, and where to look.
pub fn nothing_answered(summary: &LoadSummary) -> String {
    let errors = &summary.errors;
    let tls = tls_doubt(summary).map(|doubt| Language::DATA.say_warning(doubt));
    let not_http = tls.clone().unwrap_or("is that the right port?".into());
    let malformed = format!("answered with something other than the HTTP asked for: {not_http}");
    let tls = format!("ended by TLS: {}", tls.unwrap_or("the server's log may say why".into()));
    let kinds = [
        (
            errors.refused,
            "refused: nothing listens there; is the server running, on that port or socket?",
        ),
        (
            errors.timeout,
            "not answered in time: is the server overloaded, or the timeout too short?",
        ),
        (errors.reset, "reset by the server: its own log may say why"),
        (errors.closed_early, "cut off by the server before a whole reply: its log may say why"),
        (errors.malformed, malformed.as_str()),
        (errors.tls, tls.as_str()),
        (
            errors.address_unavailable,
            "without a free port or descriptor on this side ('ulimit -n')",
        ),
        (errors.dropped, "never sent"),
    ];
    match kinds.iter().max_by_key(|(count, _)| *count) {
        Some((count, what)) if *count > 0 => {
            format!("not one request was answered: {count} of {} were {what}", summary.due)
        }
        _ => "the load was ended before anything was measured".to_string(),
    }
}

fn tls_doubt(summary: &LoadSummary) -> Option<&Warning> {
    let is_of_tls =
        |doubt: Option<&Doubt>| matches!(doubt, Some(Doubt::Load(LoadDoubt::TlsFailed { .. })));
    summary.warnings.iter().find(|warning| is_of_tls(warning.doubt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_fit_a_terminal_of_80_columns() {
        let wide = LatencySummary { max: 123.4, p999: 0.099_94, p99: 0.0123, ..Default::default() };
        let lag = SendLagSummary { max: 0.0456, ..Default::default() };
        let mut text = String::new();
        distributions(&mut text, &wide, Some(&wide), Some(&lag));
        assert!(text.contains("Latency     0 us"), "{text}");
        let second = LiveSecond {
            at: std::time::Duration::from_secs(999),
            phase: Phase::WarmUp,
            due: 99_999,
            sent: 99_999,
            replies: 99_999,
            errors: 9999,
            in_flight: 9999,
            in_flight_mean: 0.0,
            p95: Some(std::time::Duration::from_micros(12_345)),
            send_lag_p99: None,
        };
        text += &progress(&second);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.len());
        }
    }

    #[test]
    fn times_have_three_digits_and_their_unit() {
        for (seconds, expected) in [
            (0.0, "0 us"),
            (0.000_042, "42 us"),
            (0.000_999_6, "1.00 ms"),
            (0.001_234, "1.23 ms"),
            (0.012_34, "12.3 ms"),
            (0.1234, "123 ms"),
            (0.9996, "1.00 s"),
            (12.34, "12.3 s"),
        ] {
            assert_eq!(time(seconds), expected);
        }
    }
}
