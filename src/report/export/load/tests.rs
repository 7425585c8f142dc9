use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::{About, Format, LoadResult, Report, RequestLine};
use crate::report::NamedForm;
use crate::terms::{
    ErrorCounts, GeneratorSummary, GoalSummary, Latencies, LatencySummary, LoadSecond, LoadSummary,
    SendLagSummary, TargetSummary, Window, WindowLatency,
};

/// A load of four measured seconds after one of warm-up, 25 requests a second.
pub struct Sample {
    pub about: About,
    pub summary: LoadSummary,
    pub all: LoadSecond,
}

impl Sample {
    pub fn new() -> Self {
        let all = all();
        Self { about: about(), summary: summary(&all), all }
    }

    pub fn result(&self) -> LoadResult<'_> {
        LoadResult { about: &self.about, summary: &self.summary, all: &self.all }
    }

    /// A load from 8 clients, in which everything went well.
    fn of_happy_clients() -> Self {
        let mut sample = Self::new();
        let (all, summary) = (&mut sample.all, &mut sample.summary);
        all.errors = ErrorCounts::default();
        all.status = [(200, 100)].into();
        (summary.offered_load_rps, summary.clients) = (None, Some(8));
        (summary.errors, summary.completed) = (all.errors, 100);
        summary.throughput_rps = 25.0;
        sample
    }

    fn render(&self, report: Report) -> String {
        report.render(&self.result())
    }
}

fn about() -> About {
    About {
        description: vec!["GET /orders?… on 127.0.0.1:9292 (127.0.0.1:9292)".into()],
        server: "http://127.0.0.1:9292".into(),
        host: "127.0.0.1".into(),
        port: 9292,
        targets: vec![RequestLine { method: "GET".into(), path: "/orders?…".into() }],
        has_bodies: false,
        began: Timestamp::from_nanosecond(1_700_000_000_250_000_000).unwrap(),
        duration: Some(Duration::from_secs(4)),
        loops: 1,
    }
}

/// 100 requests: 94 good, 3 of status 503, one each refused, timed out and dropped.
fn all() -> LoadSecond {
    let mut all = LoadSecond {
        due: 100,
        sent: 98,
        status: [(200, 90), (302, 4), (503, 3)].into(),
        errors: ErrorCounts { refused: 1, timeout: 1, dropped: 1, ..Default::default() },
        bytes_in: 250_000,
        bytes_out: 8000,
        ..Default::default()
    };
    let record = |times: &mut Latencies, pairs: &[(u64, u64)]| {
        for (us, count) in pairs {
            times.record_n(Duration::from_micros(*us), *count);
        }
    };
    record(&mut all.latency, &[(900, 50), (1200, 40), (1500, 6), (2000, 2), (1_000_000, 2)]);
    record(&mut all.exchange_time, &[(800, 50), (1100, 40), (1400, 6), (1900, 1)]);
    record(&mut all.send_lag, &[(100, 98)]);
    all
}

fn summary(all: &LoadSecond) -> LoadSummary {
    let window = |second: u32, completed: u64| Window {
        start_s: f64::from(second),
        due: 25,
        sent: 25,
        completed,
        errors: 25 - completed,
        failed: 25 - completed,
        latency_s: WindowLatency::default(),
        in_flight: u64::from(second),
    };
    let none = serde_json::to_value(LatencySummary::default()).unwrap();
    let summary = json!({
        "offered_load_rps": 25.0,
        "clients": null,
        "duration_s": 4.0,
        "due": all.due,
        "sent": all.sent,
        "completed": all.completed(),
        // Until the last reply, 0.7 seconds after the end.
        "throughput_rps": 94.0 / 4.7,
        "goodput_rps": null,
        "latency_s": none,
        "exchange_time_s": none,
        "send_lag_s": SendLagSummary::default(),
        "status": all.status,
        "errors": all.errors,
        "bytes_in": all.bytes_in,
        "bytes_out": all.bytes_out,
        "windows": [window(0, 1), window(1, 25), window(2, 25), window(3, 24), window(4, 23)],
        "generator": GeneratorSummary::default(),
        "slo": {"met": false, "text": "p95<1.5ms,p99.9<2s,errors<1%"},
        "valid": true,
        "warnings": [],
        "warm_up_s": 1.0,
    });
    serde_json::from_value(summary).unwrap()
}

/// The value after a label, as `grep | cut` takes it.
fn after<'a>(text: &'a str, label: &str) -> &'a str {
    let line = text.lines().find(|line| line.trim_start().starts_with(label));
    line.unwrap_or_else(|| panic!("no {label} in {text}")).trim_start()[label.len()..].trim()
}

#[test]
fn formats_are_found_by_their_names() {
    for (name, format) in Format::ALL {
        assert_eq!(Format::find(name), Some(*format));
        assert_eq!(format.name(), *name);
    }
    assert_eq!(Format::find("xml"), None);
}

#[test]
fn ci_and_dashboards_get_the_goal_and_the_figures() {
    let mut sample = Sample::new();
    let junit = sample.render(Report::Junit);
    assert!(junit.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{junit}");
    let goal = "name=\"p95&lt;1.5ms,p99.9&lt;2s,errors&lt;1%\" classname=\"sweetspot.load\"";
    assert!(junit.contains(goal), "{junit}");
    sample.summary.slo.as_mut().unwrap().met = None;
    sample.summary.valid = false;
    let junit = sample.render(Report::Junit);
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"2\""), "{junit}");

    let prometheus = sample.render(Report::Prometheus);
    for line in [
        "sweetspot_load_throughput_requests_per_second{server=\"http://127.0.0.1:9292\"} 20",
        "sweetspot_load_replies{server=\"http://127.0.0.1:9292\",status=\"503\"} 3",
        "sweetspot_load_errors{server=\"http://127.0.0.1:9292\",class=\"timeout\"} 1",
        "sweetspot_load_valid{server=\"http://127.0.0.1:9292\"} 0",
    ] {
        assert!(prometheus.contains(&format!("{line}\n")), "no {line} in {prometheus}");
    }
    assert!(!prometheus.contains("goal_met"), "undecided is neither 1 nor 0: {prometheus}");
}

#[test]
fn no_case_of_a_server_that_answers_nothing_has_passed() {
    let mut sample = Sample::of_happy_clients();
    let summary = &mut sample.summary;
    (summary.slo, summary.completed) = (None, 0);
    summary.errors = ErrorCounts { refused: summary.due, ..Default::default() };
    let junit = sample.render(Report::Junit);
    assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""), "{junit}");
    let why = "message=\"not one request was answered: 100 of 100 were refused";
    assert!(junit.contains(why), "{junit}");
}

#[test]
fn a_goal_missed_in_a_load_that_is_not_valid_is_no_failure_of_the_server() {
    let mut sample = Sample::new();
    sample.summary.valid = false;
    let junit = sample.render(Report::Junit);
    assert!(junit.contains("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"2\""), "{junit}");
    let goals = [(false, "GET /a"), (true, "GET /b")].map(|(met, target)| GoalSummary {
        slo: Some("p95<1ms".parse().unwrap()),
        targets: vec![TargetSummary { target: target.into(), ..TargetSummary::default() }],
        met: Some(met),
        ..GoalSummary::default()
    });
    sample.summary.goals = goals.into();
    let junit = sample.render(Report::Junit);
    assert!(junit.contains("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"3\""), "{junit}");
}

#[test]
fn wrk_has_its_lines_and_columns() {
    assert_eq!(
        Sample::new().render(Report::Wrk),
        "\
Running 4s test @ http://127.0.0.1:9292/orders?…
  1 threads and 1 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    21.06ms  139.88ms   1.00s    98.00%
    Req/Sec    24.25      0.96    25.00     75.00%
  Latency Distribution
     50%    0.90ms
     75%    1.20ms
     90%    1.20ms
     99%    1.00s \n\
\x20 97 requests in 4.70s, 244.14KB read
  Socket errors: connect 1, read 0, write 0, timeout 2
  Non-2xx or 3xx responses: 3
Requests/sec:     20.64
Transfer/sec:     51.94KB
"
    );
}

#[test]
fn wrk_is_silent_about_errors_where_there_are_none() {
    let text = Sample::of_happy_clients().render(Report::Wrk);
    assert!(!text.contains("Socket errors") && !text.contains("Non-2xx"), "{text}");
    assert!(text.contains("  1 threads and 8 connections\n"), "{text}");
    assert_eq!(after(&text, "Requests/sec:"), "25.00");
    assert_eq!(after(&text, "99%"), "1.00s");
}

#[test]
fn ab_has_its_lines_and_columns() {
    assert_eq!(
        Sample::new().render(Report::Ab),
        "\
Server Software:        \n\
Server Hostname:        127.0.0.1
Server Port:            9292

Document Path:          /orders?…
Document Length:        Variable

Concurrency Level:      1
Time taken for tests:   4.700 seconds
Complete requests:      97
Failed requests:        3
   (Connect: 1, Receive: 0, Length: 0, Exceptions: 2)
Non-2xx responses:      7
Total transferred:      250000 bytes
HTML transferred:       0 bytes
Requests per second:    20.64 [#/sec] (mean)
Time per request:       21.064 [ms] (mean)
Time per request:       48.454 [ms] (mean, across all concurrent requests)
Transfer rate:          51.94 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.0      0       0
Processing:     1    1   0.2      1       2
Waiting:        0    0   0.0      0       0
Total:          1   21 139.9      1    1000

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  75%      1
  80%      1
  90%      1
  95%      2
  98%      2
  99%   1000
 100%   1000 (longest request)
"
    );
}

#[test]
fn ab_tells_of_bodies_sent_and_not_of_errors_that_were_none() {
    let mut sample = Sample::of_happy_clients();
    sample.about.has_bodies = true;
    let text = sample.render(Report::Ab);
    assert_eq!(after(&text, "Failed requests:"), "0");
    assert_eq!(after(&text, "Concurrency Level:"), "8");
    assert_eq!(after(&text, "Requests per second:"), "25.00 [#/sec] (mean)");
    assert_eq!(after(&text, "Total body sent:"), "8000");
    assert!(text.contains("\n                        1.95 kb/s sent\n"), "{text}");
    assert!(!text.contains("(Connect:") && !text.contains("Non-2xx"), "{text}");
}

#[test]
fn vegeta_has_its_lines_and_columns() {
    assert_eq!(
        Sample::new().render(Report::Vegeta),
        "\
Requests      [total, rate, throughput]         100, 25.25, 20.00
Duration      [total, attack, wait]             4.7s, 3.96s, 740ms
Latencies     [min, mean, 50, 90, 95, 99, max]  900µs, 21.064ms, 900µs, 1.2ms, 1.5ms, 1s, 1s
Bytes In      [total, mean]                     250000, 2500.00
Bytes Out     [total, mean]                     8000, 80.00
Success       [ratio]                           94.00%
Status Codes  [code:count]                      0:3  200:90  302:4  503:3  \n\
Error Set:
refused
timeout
dropped
503
"
    );
}

#[test]
fn vegetas_json_has_its_fields_in_order() {
    let text = Sample::new().render(Report::VegetaJson);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["latencies"]["50th"], 900_000);
    assert_eq!(value["latencies"]["min"], 900_000);
    assert_eq!(value["earliest"], "2023-11-14T22:13:21.25Z");
    assert_eq!(value["latest"], "2023-11-14T22:13:25.21Z");
    assert_eq!(value["end"], "2023-11-14T22:13:25.95Z");
    assert_eq!(value["duration"], 3_960_000_000u64);
    assert_eq!(value["wait"], 740_000_000);
    assert_eq!(value["status_codes"]["0"], 3);
    assert_eq!(value["success"], 0.94);
    assert_eq!(value["errors"][0], "refused");
    let names = ["latencies", "bytes_in", "bytes_out", "earliest", "latest", "end", "duration"];
    let more = ["wait", "requests", "rate", "throughput", "success", "status_codes", "errors"];
    let places: Vec<usize> = [&names[..], &more]
        .concat()
        .iter()
        .map(|name| text.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
    assert!(text.ends_with("}\n") && text.lines().count() == 1);
}

#[test]
fn vegetas_wait_is_never_longer_than_a_request() {
    let mut sample = Sample::of_happy_clients();
    sample.all.latency = Latencies::default();
    sample.all.latency.record_n(Duration::from_millis(5), 100);
    let text = sample.render(Report::Vegeta);
    // The last was due at 3.96 s, and nothing says when its reply came but that it took 5 ms.
    assert!(after(&text, "Duration").ends_with("3.96s, 5.003ms"), "{text}");
    assert!(text.ends_with("200:100  \nError Set:\n"), "{text}");
}

#[test]
fn k6_has_its_metrics_and_says_what_was_crossed() {
    let text = Sample::new().render(Report::K6);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let metrics = &value["metrics"];
    let duration = &metrics["http_req_duration"];
    assert_eq!(duration["med"], 0.9);
    assert_eq!(duration["p(90)"], 1.2);
    assert!((duration["avg"].as_f64().unwrap() - 21.07).abs() < 0.02, "{duration}");
    assert_eq!(duration["thresholds"]["p(95)<1.5"], true, "crossed");
    assert_eq!(duration["thresholds"]["p(99.9)<2000"], false);
    let failed = &metrics["http_req_failed"];
    assert_eq!(failed["passes"], 5);
    assert_eq!(failed["fails"], 94);
    assert_eq!(failed["thresholds"]["rate<0.01"], true);
    assert_eq!(metrics["http_reqs"]["count"], 99, "one was never sent");
    assert_eq!(metrics["dropped_iterations"]["count"], 1);
    assert_eq!(metrics["vus"], json!({"value": 4, "min": 1, "max": 4}));
    assert_eq!(metrics["http_req_tls_handshaking"]["max"], 0.0);
    assert!(metrics["http_req_waiting"].get("thresholds").is_none());
    assert_eq!(value["root_group"]["groups"], json!({}));
    assert!(text.starts_with("{\n    \"metrics\": {\n        \"data_received\": {"), "{text}");
}

#[test]
fn k6_of_clients_without_a_goal_has_no_thresholds_and_nothing_dropped() {
    let mut sample = Sample::of_happy_clients();
    sample.summary.slo = None;
    let text = sample.render(Report::K6);
    assert!(!text.contains("thresholds") && !text.contains("dropped_iterations"), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["metrics"]["vus"]["value"], 8);
    assert_eq!(value["metrics"]["http_req_failed"]["value"], 0.0);
}

#[test]
fn a_load_that_measured_nothing_has_a_report_in_every_form() {
    let mut sample = Sample::new();
    sample.all = LoadSecond::default();
    let summary = &mut sample.summary;
    (summary.due, summary.completed, summary.duration_s) = (0, 0, 0.0);
    (summary.throughput_rps, summary.errors) = (0.0, ErrorCounts::default());
    summary.windows.clear();
    for (name, format) in Format::ALL {
        let Format::Report(report) = format else { continue };
        let text = sample.render(*report);
        assert!(text.ends_with('\n'), "{name}: {text}");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{name}: {text}");
    }
}
