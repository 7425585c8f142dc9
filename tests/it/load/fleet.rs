//! A load that several programs send together.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;
use sweetspot::fleet::{self, Order, Relay, hand_over};
use sweetspot::terms::{Arrivals, ConnectionMode, Offered, Rate};

use super::command::EASY;
use super::server::{Server, ok};
use crate::failures::site::Running;
use crate::process::{codes, program, unused_address, wait_until};
use crate::schema::assert_valid;

/// A program that collects, and those that join it, all with these arguments.
struct Fleet {
    collector: Running,
    generators: Vec<Running>,
}

fn command(arguments: &[&str], of: usize, role: &[&str], token: &str) -> Command {
    let mut command = program(Path::new("."));
    command.arg("load").args(arguments).args(["--generators", &of.to_string()]).args(role);
    command.env("SWEETSPOT_FLEET_TOKEN", token).env("SWEETSPOT_LOCK", "");
    command
}

impl Fleet {
    fn begin(of: usize, arguments: &[&str], collecting: &[&str]) -> Self {
        let address = unused_address().to_string();
        let collect = [&["--collect", &address, "--json"], collecting].concat();
        let collector = Running::begin(command(arguments, of, &collect, "t0k3n"));
        let join = |_| Running::begin(command(arguments, of, &["--join", &address], "t0k3n"));
        Self { collector, generators: (0..of).map(join).collect() }
    }

    /// The result, and the exit code.
    fn end(self) -> (Value, Option<i32>) {
        let ended = self.collector.end();
        for generator in self.generators {
            generator.end().assert_code(0);
        }
        assert!(!ended.stdout.is_empty(), "{ended:?}");
        let result = ended.json();
        assert_valid("load.schema.json", &result);
        (result, ended.code)
    }
}

fn counts(members: &Value, name: &str) -> Vec<u64> {
    members.as_array().unwrap().iter().map(|member| member[name].as_u64().unwrap()).collect()
}

/// It used to be over before it had begun; where that was told early, it was waited for for ever.
#[test]
fn the_load_after_one_that_was_ended_early_is_sent() {
    let _turn = crate::turn::most();
    let server = Server::answering(ok(""));
    let (url, orders) = (server.url(), unused_address());
    let (address, at) = (unused_address().to_string(), orders.to_string());
    let load = [&[&url, "--rate", "50/s", "--duration", "30s"][..], &EASY].concat();
    let collect = ["--collect", &address, "--relay", "--orders", &at];
    let collector = Running::begin(command(&load, 1, &collect, "t0k3n"));
    let generator = Running::begin(command(&load, 1, &["--join", &address], "t0k3n"));
    let tell = |order: Order| {
        let text = serde_json::to_string(&order).unwrap();
        wait_until("it takes orders", || hand_over(orders, &text).is_ok());
    };
    let send = |number, seconds| {
        let rate = Rate::per_second(50.0).unwrap();
        let offer = fleet::Offer {
            offered: Offered::Open { rate, arrivals: Arrivals::Uniform },
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(seconds),
            seed: 7,
            connection: ConnectionMode::Fresh,
        };
        Order::Send { number, offer, loops: 1 }
    };
    tell(send(1, 60));
    wait_until("the first load runs", || !server.seen.requests.lock().unwrap().is_empty());
    tell(Order::Stop { now: false });
    tell(send(2, 1));
    tell(Order::Bye);
    let ended = collector.end();
    ended.assert_code(0);
    generator.end().assert_code(0);
    let gathered = ended.stdout.lines().filter_map(|line| match Relay::read(line)?.1 {
        Relay::Gathered { generators, .. } => Some(generators[0].due),
        _ => None,
    });
    let due: Vec<u64> = gathered.collect();
    assert!(matches!(due[..], [1..3000, 50]), "{due:?}");
}

#[test]
fn each_request_of_the_load_is_sent_by_exactly_one_of_three() {
    let _turn = crate::turn::most();
    let server = Server::answering(ok(""));
    let (url, target) = (server.url(), ["--target", "GET /{{seq}}"]);
    let load = [&url, "--rate", "300/s", "--requests", "600", "--loops", "2"];
    let (result, code) = Fleet::begin(3, &[&load[..], &target, &EASY].concat(), &[]).end();
    assert_eq!(code, Some(0), "{result:#}");
    assert_eq!((&result["due"], &result["status"]["200"]), (&600.into(), &600.into()));
    assert_eq!(counts(&result["fleet"], "due"), [200, 200, 200]);
    assert_eq!(counts(&result["fleet"], "sent"), [200, 200, 200]);
    for member in result["fleet"].as_array().unwrap() {
        assert!(member["lost_after_s"].is_null() && member["late_s"].is_number(), "{member}");
        assert!(member["round_trip_s"].as_f64().unwrap() < 1.0, "{member}");
    }
    let requests = server.seen.requests.lock().unwrap();
    let paths = requests.iter().map(|request| request.split(' ').nth(1).unwrap().to_string());
    let paths: BTreeSet<String> = paths.collect();
    let expected: BTreeSet<String> = (0..600).map(|number| format!("/{number}")).collect();
    assert_eq!(paths, expected, "each number once");
}

#[test]
fn clients_are_shared_out_and_a_time_is_everybodys() {
    let _turn = crate::turn::most();
    let server = Server::answering(ok(""));
    let url = server.url();
    let load = [&url, "--clients", "5", "--think", "50ms", "--duration", "2s", "--warmup", "1s"];
    let (result, code) = Fleet::begin(2, &[&load[..], &EASY].concat(), &[]).end();
    assert_eq!(code, Some(0), "{result:#}");
    assert_eq!((&result["clients"], &result["duration_s"]), (&5.into(), &2.0.into()));
    let due = counts(&result["fleet"], "due");
    let ratio = due[0] as f64 / due[1] as f64;
    assert!((1.2..1.8).contains(&ratio), "three clients beside two: {due:?}");
    assert_eq!(result["windows"].as_array().unwrap().len(), 3, "{result:#}");
}

/// One without a client used to divide by zero, and to be waited for for ever; one with fewer than
/// loops took another part than the others left it.
#[test]
fn fewer_clients_than_generators_or_loops_are_as_many_as_were_asked_for() {
    let _turn = crate::turn::most();
    for (generators, arguments) in
        [(3, ["--clients", "2"].as_slice()), (2, &["--clients", "5", "--loops", "4"])]
    {
        let busy = Server::start(|connection| {
            while connection.request().is_some() {
                connection.busy(|_| std::thread::sleep(Duration::from_millis(20)));
                connection.send(ok(""));
            }
        });
        let (url, target) = (busy.url(), ["--target", "GET /{{seq}}", "--duration", "2s"]);
        let load = [&[url.as_str()][..], arguments, &target, &EASY].concat();
        let (result, code) = Fleet::begin(generators, &load, &[]).end();
        assert_eq!(code, Some(0), "{result:#}");
        let clients = result["clients"].as_u64().unwrap();
        let at_once = busy.seen.busy_max.load(Ordering::SeqCst) as u64;
        assert!((1..=clients).contains(&at_once), "{at_once}: {result:#}");
        let requests = busy.seen.requests.lock().unwrap();
        let all: BTreeSet<&str> = requests.iter().map(|it| it.split(' ').nth(1).unwrap()).collect();
        assert_eq!(all.len(), requests.len(), "each number once");
    }
}

#[test]
fn a_count_of_requests_needs_a_client_on_each_generator() {
    let load = ["http://127.0.0.1:9", "--clients", "2", "--requests", "9"];
    let joining = ["--join", &unused_address().to_string()];
    let refused = Running::begin(command(&load, 3, &joining, "t0k3n")).end();
    refused.assert_says(&["needs a client for each of them"]);
}

/// The result of a load of two generators, one of which gets this signal, and how long it took.
fn with_a_lost_one(signal: i32, collecting: &[&str]) -> (Value, Option<i32>, f64) {
    let server = Server::answering(ok(""));
    let url = server.url();
    let load = [&url, "--rate", "50/s", "--duration", "4s", "--slo", "p50<10s"];
    let mut fleet = Fleet::begin(2, &load, collecting);
    // Said with the first second.
    fleet.collector.expect("due 50");
    let began = Instant::now();
    let killed = fleet.generators.remove(0);
    killed.signal(signal);
    let ended = killed.end();
    assert_eq!(ended.code, (signal != libc::SIGKILL).then_some(0), "{}", ended.stderr);
    let (result, code) = fleet.end();
    (result, code, began.elapsed().as_secs_f64())
}

#[test]
fn a_lost_generator_ends_the_load_at_once_and_its_result_is_not_valid() {
    let _turn = crate::turn::most();
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let (result, code, took_s) = with_a_lost_one(signal, &[]);
        assert_eq!((code, &result["valid"]), (Some(4), &Value::Bool(false)), "{result:#}");
        assert!(codes(&result).contains(&"generator_lost"), "{result:#}");
        assert!(took_s < 2.5, "{took_s}");
        let members = result["fleet"].as_array().unwrap();
        let lost = members.iter().filter(|member| member["lost_after_s"].is_number()).count();
        assert_eq!(lost, 1, "{result:#}");
    }
}

#[test]
fn where_that_was_asked_for_the_others_go_on_and_it_is_said() {
    let _turn = crate::turn::most();
    for signal in [libc::SIGKILL, libc::SIGTERM] {
        let (result, code, _) = with_a_lost_one(signal, &["--on-loss", "go-on"]);
        assert_eq!((code, &result["valid"]), (Some(0), &Value::Bool(true)), "{result:#}");
        assert!(codes(&result).contains(&"generator_lost"), "{result:#}");
        let due = result["due"].as_u64().unwrap();
        assert!((100..200).contains(&due), "half of it, and what the lost one had told: {due}");
    }
}

/// Starts a collector of one generator that has a second, and one that joins with these.
fn refused(address: SocketAddr, joining: &[&str], token: &str) -> String {
    let address = address.to_string();
    let load = ["127.0.0.1:9", "--rate", "10/s", "--duration", "1s"];
    let collect = ["--collect", &address, "--gather", "1s"];
    let collector = Running::begin(command(&load, 1, &collect, "t0k3n"));
    let join = ["--join", &address, "--gather", "1s"];
    let generator = Running::begin(command(joining, 1, &join, token)).end();
    generator.assert_code(1);
    collector.end().assert_code(1).assert_says(&["only 0 of 1 generators joined within 1 s"]);
    generator.stderr
}

#[test]
fn who_does_not_know_the_token_or_has_another_load_is_told_so() {
    let same = ["127.0.0.1:9", "--rate", "10/s", "--duration", "1s"];
    let said = refused(unused_address(), &same, "gu3ss");
    assert!(said.contains("the token is another") && !said.contains("gu3ss"), "{said}");
    let other = ["127.0.0.1:9", "--rate", "11/s", "--duration", "1s"];
    let said = refused(unused_address(), &other, "t0k3n");
    assert!(said.contains("its load is another"), "{said}");
}

#[test]
fn whoever_asked_for_it_elsewhere_is_told_how_many_have_joined_so_far() {
    let address = unused_address().to_string();
    let load = ["127.0.0.1:9", "--rate", "10/s", "--duration", "1s"];
    let collect = ["--collect", &address, "--relay", "--gather", "5s"];
    let collector = Running::begin(command(&load, 2, &collect, "t0k3n"));
    let generator = Running::begin(command(&load, 2, &["--join", &address], "t0k3n"));
    let ended = collector.end();
    ended.assert_code(1);
    generator.end().assert_code(1);
    let said = ended.stdout.lines().filter_map(|line| Some(Relay::read(line)?.1));
    let few = Relay::TooFew { joined: 1, wanted: 2, within: Duration::from_secs(5) };
    assert_eq!(said.collect::<Vec<_>>(), [Relay::Joined { joined: 1 }, few]);
}

#[test]
fn a_collector_that_is_not_there_and_roles_that_make_no_sense_are_named() {
    let load = ["127.0.0.1:9", "--rate", "10/s"];
    let nobody = unused_address().to_string();
    let join = ["--join", &nobody, "--gather", "300ms"];
    let ended = Running::begin(command(&load, 1, &join, "")).end();
    ended.assert_code(1).assert_says(&["could not reach the collector at"]);
    let alone = Running::begin(command(&load, 2, &[], "")).end();
    alone.assert_code(2);
    assert!(alone.stderr.contains("--collect") && alone.stderr.contains("--join"), "{alone:?}");
    let rows = ["--collect", &nobody, "-o", "csv"];
    let ended = Running::begin(command(&load, 1, &rows, "")).end();
    ended.assert_code(2).assert_says(&["leave out -o csv"]);
}

#[cfg(not(feature = "kubernetes"))]
#[test]
fn a_build_that_knows_no_clusters_says_how_to_get_one_that_does() {
    let mut command = program(Path::new("."));
    command.args(["load", "http://shop.default.svc/", "--rate", "10/s", "--image", "x:1"]);
    command.args(["--place", "kubernetes"]).env("SWEETSPOT_LOCK", "");
    let ended = Running::begin(command).end();
    ended.assert_code(2).assert_says(&["knows no Kubernetes", "--features kubernetes"]);
}
