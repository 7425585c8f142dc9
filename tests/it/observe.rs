//! `observe`: a real Prometheus with some hours of a fleet, access logs, stand-ins for CloudWatch
//! and Datadog, and whatever can be wrong with each.

mod datadog;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use crate::failures::site::set_mode;
use crate::load::server::{Connection, Server, ok};
use crate::process::{
    Ended, Kept, ended, program, sweetspot, unused_address, wait_until, write_files,
};
use crate::schema::assert_valid;

/// Upper bounds in seconds.
const BOUNDS: [f64; 9] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 1.0];
const HOURS: i64 = 6;
const REQUESTS_A_MINUTE: f64 = 600.0;

/// A pod's cumulative figures after each minute.
#[derive(Clone, Copy)]
struct Pod {
    name: &'static str,
    /// How much slower than the first.
    factor: f64,
    /// Minutes without a scrape.
    gap: (i64, i64),
    /// When its process begins anew.
    reset: Option<i64>,
}

const PODS: [Pod; 4] = [
    Pod { name: "web-a-1", factor: 1.0, gap: (0, 0), reset: Some(200) },
    Pod { name: "web-a-2", factor: 1.0, gap: (0, 0), reset: None },
    Pod { name: "web-b-1", factor: 1.25, gap: (60, 110), reset: None },
    Pod { name: "web-b-2", factor: 1.25, gap: (60, 110), reset: None },
];

/// Between 0 and 1, always the same for the same place.
fn noise(minute: i64, pod: usize) -> f64 {
    let mixed = (minute * 8 + pod as i64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9_u64 as i64);
    (((mixed ^ (mixed >> 32)) as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A line for each sample of a series, as OpenMetrics writes them: a family's together.
fn samples(begin_s: i64, of: impl Fn(&Pod) -> Vec<(String, f64)>) -> Vec<(String, i64, f64)> {
    let mut lines = Vec::new();
    for (index, pod) in PODS.iter().enumerate() {
        let mut totals: Vec<(String, f64)> = Vec::new();
        for minute in 0..HOURS * 60 {
            if pod.reset == Some(minute) {
                totals.clear();
            }
            let slower = pod.factor * (0.95 + 0.1 * noise(minute, index));
            let part = Pod { factor: slower, ..*pod };
            for (at, (series, more)) in of(&part).into_iter().enumerate() {
                match totals.get_mut(at) {
                    Some(total) => total.1 += more,
                    None => totals.push((series, more)),
                }
            }
            if !(pod.gap.0..pod.gap.1).contains(&minute) {
                let at_s = begin_s + 60 * minute;
                lines.extend(totals.iter().map(|(series, value)| (series.clone(), at_s, *value)));
            }
        }
    }
    lines
}

/// Requests whose times are exponential with a mean of 60 ms times the pod's factor: p95 of the
/// first is 180 ms.
fn histogram(pod: &Pod) -> Vec<(String, f64)> {
    let name = "rails_request_duration_seconds";
    let labels = format!("pod=\"{}\",instance=\"{}:80\",status=\"200\"", pod.name, pod.name);
    let mean = 0.06 * pod.factor;
    let bucket = |bound: &f64| {
        let share = 1.0 - (-bound / mean).exp();
        let le = format!("{name}_bucket{{{labels},le=\"{bound}\"}}");
        (le, (share * REQUESTS_A_MINUTE).round())
    };
    let mut all: Vec<(String, f64)> = BOUNDS.iter().map(bucket).collect();
    all.push((format!("{name}_bucket{{{labels},le=\"+Inf\"}}"), REQUESTS_A_MINUTE));
    all.push((format!("{name}_sum{{{labels}}}"), REQUESTS_A_MINUTE * mean));
    all.push((format!("{name}_count{{{labels}}}"), REQUESTS_A_MINUTE));
    all
}

fn family(text: &mut String, name: &str, kind: &str, lines: &[(String, i64, f64)]) {
    writeln!(text, "# TYPE {name} {kind}").unwrap();
    for (series, at_s, value) in lines {
        writeln!(text, "{series} {value} {at_s}").unwrap();
    }
}

fn open_metrics(begin_s: i64) -> String {
    let mut text = String::new();
    let labels = |pod: &Pod| format!("{{pod=\"{}\",instance=\"{}:80\"}}", pod.name, pod.name);
    let plain = |name: &'static str, each: f64| {
        samples(begin_s, |pod| vec![(format!("{name}{}", labels(pod)), each * pod.factor)])
    };
    family(&mut text, "rails_request_duration_seconds", "histogram", &samples(begin_s, histogram));
    family(&mut text, "process_cpu_seconds", "counter", &plain("process_cpu_seconds_total", 30.0));
    let queue = "ruby_http_request_queue_duration_seconds";
    let queued = samples(begin_s, |pod| {
        let name = |ending: &str| format!("{queue}_{ending}{}", labels(pod));
        vec![(name("sum"), 6.0), (name("count"), REQUESTS_A_MINUTE)]
    });
    family(&mut text, queue, "summary", &queued);
    let memory: Vec<_> = plain("process_resident_memory_bytes", 1.0)
        .into_iter()
        .map(|(series, at_s, _)| (series, at_s, 3e8))
        .collect();
    family(&mut text, "process_resident_memory_bytes", "gauge", &memory);
    text + "# EOF\n"
}

/// A Prometheus with six hours until now, and where it is.
struct Recorded {
    _folder: TempDir,
    _process: Kept,
    url: String,
}

impl Recorded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let now_s = Timestamp::now().as_second();
        fs::write(path("metrics"), open_metrics(now_s - HOURS * 3600)).unwrap();
        fs::write(path("prometheus.yml"), "").unwrap();
        let mut import = Command::new("promtool");
        import.args(["tsdb", "create-blocks-from", "openmetrics"]);
        let imported = import.arg(path("metrics")).arg(path("data")).output().expect("promtool");
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
        let address = unused_address();
        let process = Kept::start(
            Command::new("prometheus")
                .arg(format!("--config.file={}", path("prometheus.yml").display()))
                .arg(format!("--storage.tsdb.path={}", path("data").display()))
                .arg(format!("--web.listen-address={address}"))
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        let url = format!("http://{address}");
        let is_ready = || {
            let asked = ureq::get(format!("{url}/-/ready")).call();
            asked.is_ok_and(|reply| reply.status() == 200)
        };
        wait_until("Prometheus is ready", is_ready);
        Self { _folder: folder, _process: process, url }
    }

    fn observe(&self, arguments: &[&str]) -> Ended {
        let here = ["observe", "--prometheus", &self.url];
        sweetspot(Path::new("."), &[&here, arguments].concat())
    }
}

fn figure<'a>(report: &'a Value, name: &str) -> &'a Value {
    let figures = report["figures"].as_array().unwrap();
    figures.iter().find(|it| it["figure"] == name).unwrap_or_else(|| panic!("no {name}: {report}"))
}

const A: &str = "pod=~\"web-a.*\"";
const B: &str = "pod=~\"web-b.*\"";

#[test]
fn two_halves_of_a_fleet_are_judged_by_what_a_real_prometheus_recorded() {
    let recorded = Recorded::new();
    let ended = recorded.observe(&[A, B, "--last", "5h30m", "--json"]);
    ended.assert_code(3);
    let report = ended.json();
    assert_valid("compare.schema.json", &report);
    assert_eq!(report["change"], "worse", "{report}");
    let p95 = figure(&report, "latency_p95");
    let (a, ratio) = (p95["a"].as_f64().unwrap(), p95["ratio"].as_f64().unwrap());
    assert!((0.165..0.195).contains(&a) && (1.15..1.35).contains(&ratio), "{p95}");
    assert!((figure(&report, "memory")["a"].as_f64().unwrap() - 3e8).abs() < 1.0);
    assert_eq!(figure(&report, "memory")["change"], "equivalent");
    assert!((figure(&report, "throughput")["a"].as_f64().unwrap() - 20.0).abs() < 0.5);
    assert!((figure(&report, "queue_time")["b"].as_f64().unwrap() - 0.01).abs() < 1e-4);
    assert_eq!(figure(&report, "cpu_per_request")["change"], "worse");
    assert_eq!(figure(&report, "errors")["change"], "equivalent");
    ended.assert_says(&["began anew", "blocks have no figure on one side", "in a bucket from"]);
    // Which metric was read, and how to look again.
    ended.assert_says(&["read: p95 by rails_request_duration_seconds", "say '--between 20"]);

    // The halves of A are alike.
    let same = recorded.observe(&["pod=\"web-a-1\"", "{pod=\"web-a-2\"}", "--last", "5h30m"]);
    assert!([0, 4].contains(&same.code.unwrap()), "{same:?}");
    what_is_wrong_with_the_question_is_said(&recorded);
}

fn what_is_wrong_with_the_question_is_said(recorded: &Recorded) {
    for (arguments, code, expected) in [
        (&[A, "pod=~\"[\"", "--last", "2h"][..], 2, "parse error"),
        (
            &[A, "pod=\"none\"", "--last", "2h"],
            2,
            "B has no series: nothing matches {pod=\"none\"}",
        ),
        (&[A, B, "--between", "2001-01-01..2001-01-02"], 2, "A has no series"),
        (&[A, B, "--between", "2091-01-01..2091-01-02"], 2, "is yet to come"),
        (&[A, B, "--between", "2026-01-02..2026-01-01"], 2, "the range is empty"),
        (&[A, B, "--last", "10s"], 2, "shorter than a block"),
        (&[A, B], 2, "say --last or --between"),
        (&[A, "--last", "2h"], 2, "B is missing"),
        (&[A, A, "--last", "2h"], 2, "A and B are the same"),
        (
            &[A, "--before", "2026-01-01..2026-01-09", "--after", "2026-01-08..2026-01-16"],
            2,
            "overlaps with --after",
        ),
        (
            &[A, B, "--last", "2h", "--metric", "latency=rails_requests_duration_second"],
            2,
            "near it are rails_request_duration_seconds",
        ),
        (&[A, B, "--last", "40m"], 4, "blocks of 5 min in common, and it takes at least 12"),
        (&[A, B, "--last", "2h", "--metric", "memory=rss"], 4, "memory: no metric that says it"),
    ] {
        let ended = recorded.observe(arguments);
        ended.assert_says(&[expected]);
        if code != 4 {
            ended.assert_code(code);
        }
    }
}

#[test]
fn who_is_no_prometheus_or_refuses_is_told_with_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("header");
    fs::write(&header, "Authorization: Bearer secret\n").unwrap();
    let header = format!("@{}", header.display());
    let ask = |url: &str| {
        let arguments = ["observe", A, B, "--last", "2h", "--prometheus", url, "-H", &header];
        sweetspot(Path::new("."), &arguments)
    };
    let nobody = ask(&format!("http://{}", unused_address()));
    nobody.assert_code(1).assert_says(&["could not reach Prometheus at http://127.0.0.1"]);

    let other = Server::answering(ok("<html>hello</html>"));
    ask(&other.url()).assert_code(2).assert_says(&["answered 200, but not as Prometheus does"]);
    let asked = other.seen.requests.lock().unwrap().concat().to_lowercase();
    assert!(asked.contains("authorization: bearer secret"), "{asked}");
    assert!(asked.contains("get /api/v1/query?query=time%28%29 "), "{asked}");

    let body = "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out\"}";
    let head = format!("HTTP/1.1 503 No\r\nContent-Length: {}\r\n\r\n", body.len());
    let ended = ask(&Server::answering(head + body).url());
    ended.assert_code(1).assert_says(&["answered 503: query timed out"]);

    let refused = "HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\nwho's it?";
    let ended = ask(&Server::answering(refused).url());
    ended.assert_says(&["answered 401: who's it?"]);
    assert!(!format!("{ended:?}").contains("secret"), "{ended:?}");

    // Who wants to be asked less is asked again, after as long as it says.
    let busy = Server::start(move |connection: &mut Connection| {
        let is_first = connection.seen.connections.load(Ordering::SeqCst) == 1;
        let too_much = "HTTP/1.1 429 No\r\nRetry-After: 1\r\nContent-Length: 9\r\n\r\nslow down";
        while connection.request().is_some() {
            connection.send(if is_first { too_much } else { refused });
        }
    });
    let ended = ask(&busy.url());
    let said = "Prometheus wants to be asked less; it is asked again in 1 s";
    ended.assert_says(&[said, "answered 401: who's it?"]);

    ask("http://192.0.2.1").assert_code(2).assert_says(&["a public address", "--allow-public"]);
}

/// Lines of nginx's combined format with `$request_time`, so many a block, for so many blocks.
fn log(begin: &str, blocks: i64, block_s: i64, lines: i64, mean_s: f64) -> String {
    let begin_s = begin.parse::<Timestamp>().unwrap().as_second();
    let mut text = String::new();
    for block in 0..blocks {
        for line in 0..lines {
            let at_s = begin_s + block * block_s + line * block_s / lines;
            let at = Timestamp::from_second(at_s).unwrap().strftime("%d/%b/%Y:%H:%M:%S +0000");
            let hour = 1.0 + 0.3 * ((at_s / 3600 % 24) as f64 / 24.0);
            let share = (line as f64 + 0.5) / lines as f64;
            let block_noise = 0.95 + 0.1 * noise(block, usize::from(mean_s > 0.06));
            let took_s = -mean_s * hour * block_noise * (1.0 - share).ln();
            writeln!(text, "h - - [{at}] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\" {took_s:.3}")
                .unwrap();
        }
    }
    text
}

#[test]
fn access_logs_are_judged_side_by_side_and_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.log", &log("2026-11-16T00:00:00Z", 72, 300, 100, 0.05));
    write("b.log", &log("2026-11-16T00:00:00Z", 72, 300, 100, 0.07));
    let ended = sweetspot(folder.path(), &["observe", "a.log", "b.log", "-o", "markdown=o.md"]);
    ended.assert_code(3).assert_says(&[
        "Worse: b.log than a.log: p95 changed beyond doubt",
        "an access log does not",
    ]);
    assert!(fs::read_to_string(folder.path().join("o.md")).unwrap().contains("Worse"));
    let quiet = sweetspot(folder.path(), &["observe", "b.log", "a.log", "--quiet"]);
    quiet.assert_code(0);
    assert!(quiet.stdout.starts_with("Better"), "{quiet:?}");

    // Two weeks, hour by hour.
    let weeks = [("2026-11-02T00:00:00Z", 0.05), ("2026-11-09T00:00:00Z", 0.08)];
    let text: String = weeks.iter().map(|(from, mean)| log(from, 168, 3600, 25, *mean)).collect();
    write("long.log", &text);
    let ranges = ["--before", "2026-11-02..2026-11-09", "--after", "2026-11-09..2026-11-16"];
    let ended = sweetspot(folder.path(), &[&["observe", "long.log"], &ranges[..]].concat());
    ended.assert_code(3);
    ended.assert_says(&["Worse: long.log after than long.log before", "hours of the same weekday"]);
    let ranges = ["--before", "2026-11-02..2026-11-04", "--after", "2026-11-12..2026-11-14"];
    let ended = sweetspot(folder.path(), &[&["observe", "long.log"], &ranges[..]].concat());
    ended.assert_code(4).assert_says(&["cannot tell: no day of the later range has twelve hours"]);
    let ranges = ["--before", "2026-11-02..2026-11-04", "--after", "2026-11-09..2026-11-11"];
    let ended = sweetspot(folder.path(), &[&["observe", "long.log"], &ranges[..]].concat());
    ended.assert_code(4).assert_says(&["cannot tell: of the later range 2 days can be set beside"]);

    write("plain.log", "h - - [16/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"\n");
    let ended = sweetspot(folder.path(), &["observe", "plain.log", "a.log"]);
    ended.assert_code(2).assert_says(&["says no response times", "$request_time"]);
    let ended = sweetspot(folder.path(), &["observe", "a.log", "long.log"]);
    ended.assert_code(2).assert_says(&["have no time in common"]);
}

#[test]
fn two_target_groups_are_judged_by_what_cloudwatch_counted() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), &[("tools/aws", include_str!("observe/aws.rb"))]);
    set_mode(&folder.path().join("tools/aws"), 0o755);
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.path().join("tools").display());
    let observe = |arguments: &[&str], denied: &str| {
        let mut command = program(folder.path());
        command.env("PATH", &path).env("ASKED", folder.path().join("asked")).env("DENIED", denied);
        command.args(["observe", "--cloudwatch"]).args(arguments);
        ended(&mut command)
    };
    let group_b = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/web-b/98afd2a1c3d4e5f6";
    let worse = observe(&["web-a", group_b, "--last", "6h", "--json"], "");
    worse.assert_code(3);
    let report = worse.json();
    assert_valid("compare.schema.json", &report);
    let p95 = figure(&report, "latency_p95");
    let ratio = p95["ratio"].as_f64().unwrap();
    assert!((1.2..1.3).contains(&ratio), "{p95:#}");
    assert!((figure(&report, "throughput")["a"].as_f64().unwrap() - 10.0).abs() < 1.0);
    assert!((figure(&report, "errors")["a"].as_f64().unwrap() - 0.01).abs() < 0.005);
    worse.assert_says(&["not_at_load_balancer"]);

    for (arguments, code, expected) in [
        (&["web-a", "web-c", "--last", "6h"][..], 2, "B: CloudWatch knows no target group"),
        (&["web-a", "web-c", "--last", "6h"], 2, "there are app/shop/50dc6c495c0c9188"),
        (&["web-a", "web-b", "--last", "6h", "--block", "90s"], 2, "whole minutes"),
        (
            &["web-a", "web-b", "--between", "2025-01-01..2025-01-02"],
            2,
            "CloudWatch has no request of A (targetgroup/web-a",
        ),
    ] {
        observe(arguments, "").assert_code(code).assert_says(&[expected]);
    }
    let denied = observe(&["web-a", "web-b", "--last", "6h"], "get-metric-data");
    denied.assert_code(1);
    denied.assert_says(&["their policy needs cloudwatch:GetMetricData", "not authorized"]);
}

#[test]
fn two_versions_are_judged_by_what_datadogs_tracing_counted() {
    let datadog = datadog::start();
    let observe = |arguments: &[&str], api_key: &str| {
        let mut command = program(Path::new("."));
        command.env("DD_SITE", datadog.url()).env("DD_APP_KEY", "k3y-of-app");
        command.env("DD_API_KEY", api_key).args(["observe", "--datadog"]).args(arguments);
        let ended = ended(&mut command);
        assert!(!format!("{ended:?}").contains("k3y"), "{ended:?}");
        ended
    };
    let (one, two) = ("service:web,version:1", "service:web,version:2");
    let worse = observe(&[one, two, "--last", "6h", "--json"], "k3y-of-api");
    worse.assert_code(3);
    let report = worse.json();
    assert_valid("compare.schema.json", &report);
    let ratio = figure(&report, "latency_p95")["ratio"].as_f64().unwrap();
    assert!((1.2..1.3).contains(&ratio), "{report:#}");
    assert!((figure(&report, "throughput")["a"].as_f64().unwrap() - 10.0).abs() < 1.0);
    assert!((figure(&report, "errors")["b"].as_f64().unwrap() - 0.01).abs() < 0.005);
    worse.assert_says(&["not_in_traces"]);

    // More blocks than one answer holds points.
    let day = "2026-11-10..2026-11-11";
    observe(&[one, two, "--between", day, "--block", "1m"], "k3y-of-api").assert_code(3);

    for (arguments, api_key, code, expected) in [
        (
            &[one, "service:old", "--last", "6h"][..],
            "k3y-of-api",
            2,
            "no request of B (service:old)",
        ),
        (&[one, "a}b", "--last", "6h"], "k3y-of-api", 2, "B: 'a}b' is no scope"),
        (&[one, two, "--last", "6h"], "", 2, "DD_API_KEY is not set"),
        (&[one, two, "--last", "6h"], "k3y-of-another", 1, "answered 403: Forbidden"),
        (
            &[one, two, "--between", "2026-11-01..2026-11-12", "--block", "15m"],
            "k3y-of-api",
            2,
            "give --block 3600s",
        ),
        (&[one, two, "--last", "6h", "--metric", "cpu=x"], "k3y-of-api", 2, "response times alone"),
        (
            &[one, two, "--last", "6h", "--metric", "latency=trace.django.request"],
            "k3y-of-api",
            2,
            "by the name trace.django.request",
        ),
    ] {
        observe(arguments, api_key).assert_code(code).assert_says(&[expected]);
    }
}
