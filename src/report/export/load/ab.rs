//! As ab prints it (that of httpd 2.4), without its greeting.
//!
//! What is not as in ab: the server's software and the lengths of bodies are not known ("Variable",
//! 0 bytes of HTML), nor how many requests found their connection open, nor when a connection was
//! established or the first byte came ("Connect" and "Waiting" are 0). "Processing" is the exchange
//! time, "Total" and the percentages are the latency, so their difference is the wait before
//! sending. "Concurrency Level" are the clients, or what was in flight on average
//! ([`LoadResult::concurrency`]); "Time per request" is the mean latency, which is what ab computes
//! where clients don't think. Only whole replies are complete, and no reply fails for its length.

use std::time::Duration;

use super::{LoadResult, milliseconds};
use crate::terms::Latencies;

pub fn render(result: &LoadResult<'_>) -> String {
    let mut text = head(result);
    text += &outcomes(result);
    if result.summary.completed > 0 && result.span_s() > 0.0 {
        text += &rates(result);
        text += &times(result);
    }
    text
}

fn head(result: &LoadResult<'_>) -> String {
    let about = result.about;
    let mut text = line("Server Software:", "");
    text += &line("Server Hostname:", &about.host);
    text += &line("Server Port:", &about.port.to_string());
    text.push('\n');
    text += &line("Document Path:", about.path());
    text += &line("Document Length:", "Variable");
    text.push('\n');
    text
}

fn outcomes(result: &LoadResult<'_>) -> String {
    let LoadResult { about, summary, all } = *result;
    let errors = &summary.errors;
    let connect = errors.refused + errors.address_unavailable + errors.dns + errors.tls;
    let receive = errors.reset + errors.closed_early;
    let exceptions = errors.timeout + errors.malformed + errors.dropped;
    let others = all.status.iter().filter(|(status, _)| !(200..300).contains(*status));
    let others: u64 = others.map(|(_, count)| count).sum();

    let mut text = line("Concurrency Level:", &result.concurrency().to_string());
    text += &line("Time taken for tests:", &format!("{:.3} seconds", result.span_s()));
    text += &line("Complete requests:", &summary.completed.to_string());
    text += &line("Failed requests:", &errors.total().to_string());
    if errors.total() > 0 {
        text += &format!(
            "   (Connect: {connect}, Receive: {receive}, Length: 0, Exceptions: {exceptions})\n"
        );
    }
    if others > 0 {
        text += &line("Non-2xx responses:", &others.to_string());
    }
    text += &line("Total transferred:", &format!("{} bytes", all.bytes_in));
    if about.has_bodies {
        text += &line("Total body sent:", &all.bytes_out.to_string());
    }
    text += &line("HTML transferred:", "0 bytes");
    text
}

fn rates(result: &LoadResult<'_>) -> String {
    let LoadResult { about, summary, all } = *result;
    let rate = result.per_second(summary.completed);
    let kilobytes = |bytes: u64| result.per_second(bytes) / 1024.0;
    let mean_ms = milliseconds(all.latency.mean());
    let across_ms = 1000.0 / rate;
    let mut text = line("Requests per second:", &format!("{rate:.2} [#/sec] (mean)"));
    text += &line("Time per request:", &format!("{mean_ms:.3} [ms] (mean)"));
    let across = format!("{across_ms:.3} [ms] (mean, across all concurrent requests)");
    text += &line("Time per request:", &across);
    let received = kilobytes(all.bytes_in);
    text += &line("Transfer rate:", &format!("{received:.2} [Kbytes/sec] received"));
    if about.has_bodies {
        let sent = kilobytes(all.bytes_out);
        text += &line("", &format!("{sent:.2} kb/s sent"));
        text += &line("", &format!("{:.2} kb/s total", received + sent));
    }
    text
}

fn times(result: &LoadResult<'_>) -> String {
    let all = result.all;
    let unknown = Latencies::default();
    let mut text = "\nConnection Times (ms)\n".to_string();
    text += "              min  mean[+/-sd] median   max\n";
    text += &row("Connect:", &unknown);
    text += &row("Processing:", &all.exchange_time);
    text += &row("Waiting:", &unknown);
    text += &row("Total:", &all.latency);
    text += "\nPercentage of the requests served within a certain time (ms)\n";
    for percent in [50, 66, 75, 80, 90, 95, 98, 99] {
        let quantile = whole_ms(all.latency.quantile(f64::from(percent) / 100.0));
        text += &format!("  {percent}%  {quantile:>5}\n");
    }
    text += &format!(" 100%  {:>5} (longest request)\n", whole_ms(all.latency.max()));
    text
}

fn row(name: &str, times: &Latencies) -> String {
    format!(
        "{name:<11} {:>5} {:>4} {:>5.1} {:>6} {:>7}\n",
        whole_ms(times.min()),
        whole_ms(times.mean()),
        milliseconds(times.standard_deviation()),
        whole_ms(times.quantile(0.5)),
        whole_ms(times.max()),
    )
}

fn whole_ms(time: Option<Duration>) -> u128 {
    (time.unwrap_or_default().as_micros() + 500) / 1000
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<23} {value}\n")
}
