//! `sweetspot load --find-capacity` against real servers.

use std::path::Path;

use serde_json::Value;

use super::command::{Puma, sweetspot};
use super::server::Server;
use crate::failures::site::Running;
use crate::process::{Ended, codes, program, unused_address};

fn find_capacity(url: &str, arguments: &[&str]) -> Ended {
    sweetspot(&[&[url, "--find-capacity"], arguments].concat())
}

/// Takes 20 ms a request. It waits and does not compute, so that its capacity is hardly less on a
/// busy machine.
const APP: &str = "run ->(env) { sleep 0.02; [200, {}, ['done']] }";

/// On a machine whose other work left the generator too little, the program says so by this
/// warning and claims no more than a lower bound (a plain load: that it is not valid). A test of
/// what it finds measures again then, at most three times.
fn measured_with_a_free_generator(warning: &str, run: impl Fn() -> Ended) -> Ended {
    let was_free = |ended: &Ended| !ended.stdout.contains(warning);
    (0..3).map(|_| run()).find(was_free).expect("the generator fell behind each time")
}

/// Replies a second that four clients get who never pause: all that it can do at this moment.
fn saturated_rps(url: &str) -> f64 {
    // Over fresh connections, as the search has them: kept ones are served otherwise.
    let connection = ["--connection", "fresh"];
    let closed = [url, "--clients", "4", "--duration", "3s", "--json"];
    let load = || sweetspot(&[&closed[..], &connection].concat());
    let ended = measured_with_a_free_generator("generator_send_lag", load);
    ended.assert_code(0);
    ended.json()["throughput_rps"].as_f64().unwrap()
}

/// The latencies of a goal of twenty requests' length let it nearly be saturated (M/D/1: 92 %). A
/// busy machine may have done more before or after than in between.
#[test]
fn the_capacity_of_a_real_server_is_found() {
    let _turn = crate::turn::take();
    let (puma, arguments) = (Puma::start(APP, 1), ["--duration", "30s", "--json"]);
    let (url, goal) = (puma.address.to_string(), ["--slo", "p95<400ms,errors<1%"]);
    let before_rps = saturated_rps(&url);
    let search = || find_capacity(&url, &[&goal[..], &arguments].concat());
    let ended = measured_with_a_free_generator("generator_limit", search);
    let after_rps = saturated_rps(&url);
    let result = ended.json();
    ended.assert_code(0);
    crate::schema::assert_valid("capacity.schema.json", &result);
    assert_eq!(result["conclusion"], "found");
    let rps = result["capacity_rps"].as_f64().unwrap();
    let interval = &result["capacity_rps_interval"];
    let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
    assert!(low < rps && rps < high, "{interval}");
    assert!(low < 1.0 / 0.02, "one request at a time, 20 ms each: {result:#}");
    let (least_rps, most_rps) = (before_rps.min(after_rps), before_rps.max(after_rps));
    assert!(rps > 0.6 * least_rps && rps < 1.15 * most_rps, "{least_rps} {most_rps} {result:#}");
    let windows = result["windows"].as_array().unwrap().len();
    let said = &ended.stderr;
    let shown = said.lines().filter(|line| line.contains("p95")).count();
    assert_eq!(shown, windows, "a line a window:\n{said}");
}

#[test]
fn a_server_that_is_not_there_ends_it_with_the_reason() {
    let output = find_capacity(&unused_address().to_string(), &["--slo", "p95<200ms"]);
    output.assert_code(1);
    assert!(output.stderr.contains("were refused: nothing listens there"));
}

#[test]
fn a_goal_that_nothing_meets_ends_in_exit_code_3() {
    let _turn = crate::turn::share();
    let server = Server::slow(100);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let json = format!("json={}", file.display());
    let arguments = ["--slo", "p95<50ms", "--duration", "14s", "-o", "text", "-o", &json];
    let ended = find_capacity(&server.url(), &arguments);
    ended.assert_code(3);
    let said = ended.stdout;
    assert!(said.contains("Capacity    below "), "{said}");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    crate::schema::assert_valid("capacity.schema.json", &result);
    assert!(result["capacity_rps"].is_null() && result["bound_rps"].is_number(), "{result}");
}

#[test]
fn an_interrupt_gives_the_answer_so_far() {
    let _turn = crate::turn::share();
    let server = Server::slow(5);
    let arguments = ["--slo", "p50<10s", "--duration", "30s", "--rate", "50/s", "--json"];
    let mut load = program(Path::new("."));
    load.args(["load", &server.url(), "--find-capacity", "--warmup", "1s"]).args(arguments);
    let mut running = Running::begin(load);
    running.expect("p95");
    running.signal(libc::SIGINT);
    running.expect("stopping");
    let result = running.end().json();
    assert_eq!(result["windows"].as_array().unwrap().len(), 1, "{result}");
    assert!(result["bound_rps"].as_f64().unwrap() > 40.0, "{result}");
    assert!(codes(&result).contains(&"cut_short"), "{result}");
}
