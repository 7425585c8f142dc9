//! Tests of the parts of `bench/load.rs` that only compute: what the tools print is read, and what
//! can't be read is refused; and of the rows that a bench goes on with when it was cut. (A bench
//! without a harness runs no tests of its own.)

#[path = "../../bench/load/counters.rs"]
mod counters;
#[path = "../../bench/load/parsers.rs"]
mod parsers;
#[path = "../../bench/load/rows.rs"]
mod rows;

use counters::{Exactness, Status};
use parsers::{Quantiles, Reading};
use rows::{Row, State};

use crate::common::rows::Rows;
use crate::common::spread::Spread;

fn quantiles(p50: f64, p99: f64, max: f64) -> Quantiles {
    Quantiles { p50: Some(p50), p99: Some(p99), max: Some(max) }
}

/// Times are read from decimals: equal to nine digits is equal.
fn assert_reads(read: Result<Reading, String>, expected: &Reading) {
    let mut read = read.unwrap();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    let is_close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => close(a, b),
        (a, b) => a == b,
    };
    let (ours, theirs) = (read.latency_s, expected.latency_s);
    assert!(close(read.seconds, expected.seconds), "{read:?}");
    assert!(is_close(ours.p50, theirs.p50) && is_close(ours.p99, theirs.p99), "{read:?}");
    assert!(is_close(ours.max, theirs.max), "{read:?}");
    (read.seconds, read.latency_s) = (expected.seconds, expected.latency_s);
    assert_eq!(read, *expected);
}

const SWEETSPOT: &str = r#"{
  "completed": 198, "duration_s": 2.0, "throughput_rps": 98.5,
  "latency_s": {"p50": 0.001, "p99": 0.002, "max": 0.003},
  "send_lag_s": {"p50": 0.00001, "p99": 0.00005, "max": 0.001},
  "status": {"200": 197, "503": 1}, "errors": {"timeout": 2, "reset": 0},
  "windows": [{"start_s": 0.0, "sent": 100}, {"start_s": 1.0, "sent": 99},
              {"start_s": 2.0, "sent": 0}],
  "valid": false, "warnings": [{"code": "generator_cpu", "message": "busy"}]
}"#;

#[test]
fn our_own_output_is_read_with_its_lag_and_its_seconds() {
    let expected = Reading {
        requests: 198,
        seconds: 2.0,
        errors: 3,
        latency_s: quantiles(0.001, 0.002, 0.003),
        send_lag_s: quantiles(0.00001, 0.00005, 0.001),
        sent_by_second: vec![100, 99],
        remark: "generator_cpu".into(),
        is_valid: Some(false),
    };
    assert_reads(parsers::sweetspot(SWEETSPOT), &expected);
    // Without a bad reply the rate is that of the program, which ends with the last reply.
    let clean =
        SWEETSPOT.replace("\"503\": 1", "\"204\": 1").replace("\"timeout\": 2", "\"dns\": 0");
    assert_eq!(parsers::sweetspot(&clean).unwrap().seconds, 198.0 / 98.5);
}

const WRK: &str = "\
Running 5s test @ http://127.0.0.1:8080/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us  190.20us  12.92ms   93.69%
    Req/Sec   101.23k     8.07k  112.00k    86.54%
  Latency Distribution
     50%  612.00us
     75%  700.00us
     90%    0.91ms
     99%    1.20ms
  505000 requests in 5.10s, 78.97MB read
Requests/sec:  99019.61
Transfer/sec:     15.48MB
";

#[test]
fn wrk_is_read() {
    let expected = Reading {
        requests: 505_000,
        seconds: 505_000.0 / 99_019.61,
        latency_s: quantiles(612e-6, 1.2e-3, 12.92e-3),
        ..Reading::default()
    };
    assert_reads(parsers::wrk(WRK), &expected);
    let troubled = WRK.replace(
        "Requests/sec:",
        "  Socket errors: connect 1, read 2, write 0, timeout 40\n  Non-2xx or 3xx responses: 7\n\
         Requests/sec:",
    );
    assert_eq!(parsers::wrk(&troubled).unwrap().errors, 50);
}

#[test]
fn wrk_without_an_answer_still_has_a_length() {
    let nothing = "  0 requests in 1.50m, 0.00B read\nRequests/sec:      0.00\n";
    let expected = Reading { seconds: 90.0, ..Reading::default() };
    assert_reads(parsers::wrk(nothing), &expected);
}

#[test]
fn wrk2_is_read_as_wrk_with_finer_percents() {
    let text = "\
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.03ms  545.20us   8.12ms   69.14%
    Req/Sec    21.01k     1.20k   25.00k    71.20%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.97ms
 99.000%    2.45ms
100.000%    8.13ms
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)
       0.031     0.000000            1         1.00
#[Mean    =        1.031, StdDeviation   =        0.545]
  239900 requests in 12.00s, 37.52MB read
Requests/sec:  19991.67
";
    let expected = Reading {
        requests: 239_900,
        seconds: 239_900.0 / 19_991.67,
        latency_s: quantiles(0.97e-3, 2.45e-3, 8.13e-3),
        ..Reading::default()
    };
    assert_reads(parsers::wrk(text), &expected);
}

#[test]
fn ab_is_read_in_its_whole_milliseconds() {
    let text = "\
Document Length:        11 bytes

Concurrency Level:      64
Time taken for tests:   5.001 seconds
Complete requests:      412345
Failed requests:        2
   (Connect: 0, Receive: 0, Length: 2, Exceptions: 0)
Non-2xx responses:      3
Keep-Alive requests:    412345
Requests per second:    82452.51 [#/sec] (mean)

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    0   0.0      0       4
Total:          0    1   0.2      1       7

Percentage of the requests served within a certain time (ms)
  50%      1
  66%      1
  99%      2
 100%      7 (longest request)
";
    let expected = Reading {
        requests: 412_345,
        seconds: 5.001,
        errors: 5,
        latency_s: quantiles(0.001, 0.002, 0.007),
        ..Reading::default()
    };
    assert_reads(parsers::ab(text), &expected);
}

#[test]
fn h2load_is_read_without_quantiles() {
    let text = "\
starting benchmark...
spawning thread #0: 64 total client(s). Timing-based test with 0s of warm-up time and 5s of main \
duration for measurements.
Application protocol: http/1.1

finished in 5.00s, 81234.20 req/s, 12.71MB/s
requests: 406171 total, 406235 started, 406171 done, 406170 succeeded, 1 failed, 2 errored, \
1 timeout
status codes: 406170 2xx, 0 3xx, 1 4xx, 0 5xx
                     min         max         mean         sd        +/- sd
time for request:      102us      9.87ms       785us       120us    81.10%
time for connect:      210us      1.40ms       930us       310us    60.00%
";
    let latency_s = Quantiles { max: Some(9.87e-3), ..Quantiles::default() };
    let expected =
        Reading { requests: 406_171, seconds: 5.0, errors: 3, latency_s, ..Reading::default() };
    assert_reads(parsers::h2load(text), &expected);
}

const HEY: &str = "
Summary:
  Total:\t5.0012 secs
  Slowest:\t0.0123 secs
  Fastest:\t0.0001 secs
  Average:\t0.0016 secs
  Requests/sec:\t40003.1992

  Total data:\t2200660 bytes
  Size/request:\t11 bytes

Response time histogram:
  0.000 [1]\t|
  0.001 [150000]\t|\u{25a0}\u{25a0}

Latency distribution:
  10%% in 0.0009 secs
  50%% in 0.0015 secs
  99%% in 0.0041 secs

Status code distribution:
  [200]\t200055 responses
  [503]\t5 responses

Error distribution:
  [4]\tGet \"http://127.0.0.1:8080/\": EOF
";

#[test]
fn hey_is_read_with_one_percent_sign_or_two() {
    let expected = Reading {
        requests: 200_060,
        seconds: 5.0012,
        errors: 9,
        latency_s: quantiles(0.0015, 0.0041, 0.0123),
        ..Reading::default()
    };
    assert_reads(parsers::hey(HEY), &expected);
    assert_reads(parsers::hey(&HEY.replace("%%", "%")), &expected);
}

#[test]
fn the_replies_that_hey_counts_no_more_are_in_its_rate() {
    let long = HEY.replace("200055", "999995").replace("40003.1992", "400000.0");
    assert_eq!(parsers::hey(&long).unwrap().requests, 2_000_480 - 4);
}

#[test]
fn oha_is_read_and_what_it_aborts_at_the_end_is_no_error() {
    let text = r#"{
      "summary": {"successRate": 1.0, "total": 5.0009, "slowest": 0.0121},
      "latencyPercentiles": {"p50": 0.00078, "p99": 0.0013, "p99.9": 0.004},
      "statusCodeDistribution": {"200": 400665, "500": 2},
      "errorDistribution": {"aborted due to deadline": 64, "connection closed": 3}
    }"#;
    let expected = Reading {
        requests: 400_667,
        seconds: 5.0009,
        errors: 5,
        latency_s: quantiles(0.00078, 0.0013, 0.0121),
        ..Reading::default()
    };
    assert_reads(parsers::oha(text), &expected);
}

#[test]
fn vegeta_counts_a_request_without_a_reply_as_code_0() {
    let text = r#"{
      "latencies": {"mean": 1, "50th": 1500000, "99th": 30000000000, "max": 30000100000},
      "duration": 4999950000, "wait": 30, "requests": 100000, "rate": 20000.2,
      "status_codes": {"0": 80500, "200": 19499, "502": 1}, "errors": ["timeout"]
    }"#;
    let expected = Reading {
        requests: 19_500,
        seconds: 4.99995,
        errors: 80_501,
        latency_s: quantiles(0.0015, 30.0, 30.0001),
        ..Reading::default()
    };
    assert_reads(parsers::vegeta(text), &expected);
}

#[test]
fn k6_counts_what_it_dropped() {
    let text = r#"{"metrics": {
      "http_reqs": {"count": 56400, "rate": 14100.0},
      "http_req_duration": {"med": 0.9, "p(99)": 12.5, "max": 80.25},
      "http_req_failed": {"passes": 3, "fails": 56397, "value": 0.0},
      "dropped_iterations": {"count": 23600, "rate": 5900.0}
    }}"#;
    let expected = Reading {
        requests: 56_400,
        seconds: 4.0,
        errors: 23_603,
        latency_s: quantiles(0.0009, 0.0125, 0.08025),
        ..Reading::default()
    };
    assert_reads(parsers::k6(text), &expected);
}

#[test]
fn what_is_not_there_is_named_and_nothing_is_guessed() {
    for (read, missing) in [
        (parsers::sweetspot("{}"), "/completed"),
        (parsers::wrk("unable to connect to 127.0.0.1:1"), "requests in"),
        (parsers::wrk("  5 requests in 5.00s, 1B read\n"), "Requests/sec:"),
        (parsers::ab("apr_pollset_poll: The timeout specified has expired (70007)"), "Complete"),
        (parsers::h2load("finished in soon"), "'soon' is no time"),
        (parsers::h2load("finished in 5.00s, x\nrequests: 1 total, 2 started\n"), "'done'"),
        (parsers::hey("Total: 5 secs\nRequests/sec: 0\n"), "Status code"),
        (parsers::hey("Total: a while\n"), "'a' is no number"),
        (parsers::oha("Usage: oha"), "not JSON"),
        (parsers::oha(r#"{"statusCodeDistribution": {"200": "x"}}"#), "no count"),
        (parsers::vegeta(r#"{"status_codes": {}}"#), "/duration"),
        (parsers::k6(r#"{"metrics": {"http_reqs": {"count": 1}}}"#), "/metrics/http_reqs/rate"),
    ] {
        let why = read.unwrap_err();
        assert!(why.contains(missing), "{why} should name {missing}");
    }
}

#[test]
fn the_servers_own_count_is_read() {
    let page = "Active connections: 65 \nserver accepts handled requests\n \
                66 66 505070 \nReading: 0 Writing: 1 Waiting: 64 \n";
    let expected = Status { connections: 65, requests: 505_070 };
    assert_eq!(counters::nginx_status(page), Some(expected));
    assert_eq!(counters::nginx_status("404 Not Found"), None);
}

#[test]
fn stolen_ticks_are_those_of_the_cores_named() {
    let text = "cpu  9 9 9 9 9 0 9 1111 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\n\
                cpu1 1 2 3 4 5 6 7 20 0 0\ncpu10 1 2 3 4 5 6 7 3 0 0\nintr 5 6 7 8 9 10 11 12\n";
    assert_eq!(counters::stolen_ticks(text, &[0, 1]), 120);
    assert_eq!(counters::stolen_ticks(text, &[10]), 3);
}

#[test]
fn system_calls_are_summed_from_straces_rows() {
    let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.20    0.512345           5    100000           sendto
 38.70    0.323456           3    100064        64 recvfrom
  0.10    0.000800           8       100           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.836601           4    200164        64 total
";
    let calls = counters::strace(text).unwrap();
    let names: Vec<(&str, u64)> = calls.iter().map(|(name, count)| (&name[..], *count)).collect();
    assert_eq!(names, [("recvfrom", 100_064), ("sendto", 100_000), ("epoll_wait", 100)]);
    assert!(counters::strace("strace: attach: Operation not permitted").is_err());
}

#[test]
fn instructions_are_read_from_callgrinds_last_words() {
    let text = "==7== Events    : Ir\n==7== Collected : 123456789\n==7==\n";
    assert_eq!(counters::callgrind(text), Ok(123_456_789));
    assert!(counters::callgrind("valgrind: cannot execute").is_err());
}

#[test]
fn a_spread_has_its_median_quartiles_and_ends() {
    let seven = Spread::of(&[5.0, 1.0, 4.0, 2.0, 7.0, 3.0, 6.0]).unwrap();
    assert_eq!((seven.count, seven.min, seven.max), (7, 1.0, 7.0));
    assert_eq!((seven.lower_quartile, seven.median, seven.upper_quartile), (2.5, 4.0, 5.5));
    assert_eq!(seven.text(10.0, 0), "40 (10..70; 25..55)");
    let two = Spread::of(&[1.0, 2.0]).unwrap();
    assert_eq!((two.lower_quartile, two.median, two.upper_quartile), (1.25, 1.5, 1.75));
    assert_eq!(Spread::of(&[0.25]).unwrap().text(1.0, 2), "0.25");
    assert_eq!(Spread::of(&[]), None);
}

#[test]
fn only_undisturbed_seconds_are_judged() {
    let mut seconds = Exactness::default();
    assert_eq!(seconds.share(), None);
    seconds.add(true, 1_004.0, 1_000.0);
    seconds.add(true, 994.0, 1_000.0);
    seconds.add(false, 10.0, 1_000.0);
    assert_eq!(seconds, Exactness { clean: 2, exact: 1 });
    assert_eq!(seconds.share(), Some(0.5));
}

fn row(tool: &str, round: u32, throughput_rps: f64) -> Row {
    Row { throughput_rps: Some(throughput_rps), ..Row::new("closed", tool, round, 5) }
}

#[test]
fn a_bench_that_was_cut_goes_on_with_the_rows_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let mut rows = Rows::<Row>::of_build(&path, "build 1").unwrap();
    rows.add(row("wrk", 1, 80_000.5)).unwrap();
    let mut failed = row("ab", 1, 1.0);
    failed.state = State::Error;
    failed.remark("no, it\ndid not");
    failed.remark("answer");
    rows.add(failed).unwrap();

    let mut again = Rows::<Row>::of_build(&path, "build 1").unwrap();
    assert!(again.has(&row("wrk", 1, 0.0)));
    assert!(!again.has(&row("wrk", 2, 0.0)), "another round");
    assert!(!again.has(&Row::new("closed", "wrk", 1, 60)), "another length");
    assert!(!again.has(&row("ab", 1, 0.0)), "what failed is tried again");
    let notes: Vec<&str> = again.of("closed", 5).iter().map(|row| row.note.as_str()).collect();
    assert_eq!(notes, ["no  it did not; answer", ""]);
    again.add(row("ab", 1, 70_000.0)).unwrap();
    let rows = again.of("closed", 5);
    let rates: Vec<f64> = rows.iter().filter_map(|row| row.throughput_rps).collect();
    assert_eq!(rates, [70_000.0, 80_000.5], "the last word on each run");
}

#[test]
fn rows_of_another_build_are_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    for build in ["build 1", "build 2", "build 3"] {
        let mut rows = Rows::<Row>::of_build(&path, build).unwrap();
        assert!(!rows.has(&row("wrk", 1, 0.0)));
        rows.add(row("wrk", 1, 1.0)).unwrap();
    }
    let aside = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(aside("rows-1.csv").starts_with("# build 1\n"));
    assert!(aside("rows-2.csv").starts_with("# build 2\n"));
}
