//! `sweetspot load --find-capacity` against real servers.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::command::text;
use super::server::{Server, ok};

fn find_capacity(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sweetspot"));
    command.args(["load", url, "--find-capacity"]).args(arguments).stdin(Stdio::null());
    command
}

/// One worker with one thread that takes 20 ms a request; ended when dropped.
struct Puma {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Puma {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // It waits and does not compute, so that its capacity is hardly less on a busy machine.
        let app = "run ->(env) { sleep 0.02; [200, {}, ['done']] }";
        std::fs::write(folder.path().join("config.ru"), app).unwrap();
        let address = {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            free.local_addr().unwrap().to_string()
        };
        let process = Command::new("puma")
            .args(["-b", &format!("tcp://{address}"), "-t", "1:1", "-w", "0"])
            .args(["-e", "production", "--no-config", "config.ru"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Puma is needed for this test (package puma)");
        let puma = Self { process, address, _folder: folder };
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(&puma.address).is_err() {
            assert!(Instant::now() < deadline, "it never listened");
            std::thread::yield_now();
        }
        puma
    }
}

impl Drop for Puma {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// On a machine whose other work left the generator too little, the program says so and claims no
/// more than a lower bound: a test of what it finds measures again then, at most three times.
fn measured_with_a_free_generator(run: impl Fn() -> Output) -> (Output, Value) {
    let mut measured = (0..3).map(|_| {
        let output = run();
        let result = json(&output);
        (output, result)
    });
    let was_free = |(_, result): &(Output, Value)| !result.to_string().contains("generator_limit");
    measured.find(was_free).expect("the generator fell behind each time")
}

#[test]
fn the_capacity_of_a_real_server_is_found() {
    let _turn = crate::turn::take();
    let puma = Puma::start();
    let arguments = ["--slo", "p95<400ms,errors<1%", "--duration", "30s", "--json"];
    let (output, result) = measured_with_a_free_generator(|| {
        find_capacity(&puma.address, &arguments).output().unwrap()
    });
    assert_eq!(output.status.code(), Some(0), "{result:#}\n{}", text(&output.stderr));
    crate::schema::assert_valid("capacity.schema.json", &result);
    assert_eq!(result["conclusion"], "found");
    let rps = result["capacity_rps"].as_f64().unwrap();
    // Never above 1 / 20 ms, but for the interval; how far below is the machine's affair.
    assert!((5.0..60.0).contains(&rps), "{result:#}");
    let interval = &result["capacity_rps_interval"];
    let (low, high) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
    assert!(low < rps && rps < high, "{interval}");
    let windows = result["windows"].as_array().unwrap().len();
    let said = text(&output.stderr);
    let shown = said.lines().filter(|line| line.contains("p95")).count();
    assert_eq!(shown, windows, "a line a window:\n{said}");
}

#[test]
fn a_server_that_is_not_there_ends_it_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = listener.local_addr().unwrap().to_string();
    drop(listener);
    let output = find_capacity(&url, &["--slo", "p95<200ms"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("were refused: nothing listens there"));
}

/// Answers each request after this many milliseconds, any number at once.
fn slow(milliseconds: u64) -> Server {
    Server::start(move |connection| {
        while connection.request().is_some() {
            std::thread::sleep(Duration::from_millis(milliseconds));
            connection.send(ok("slow"));
        }
    })
}

#[test]
fn a_goal_that_nothing_meets_ends_in_exit_code_3() {
    let _turn = crate::turn::share();
    let server = slow(100);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let json = format!("json={}", file.display());
    let arguments = ["--slo", "p95<50ms", "--duration", "14s", "-o", "text", "-o", &json];
    let output = find_capacity(&server.url(), &arguments).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}{}", text(&output.stderr));
    assert!(said.contains("Capacity    below "), "{said}");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    crate::schema::assert_valid("capacity.schema.json", &result);
    assert!(result["capacity_rps"].is_null() && result["bound_rps"].is_number(), "{result}");
}

#[test]
fn an_interrupt_gives_the_answer_so_far() {
    let _turn = crate::turn::share();
    let server = slow(5);
    let arguments = ["--slo", "p50<10s", "--duration", "30s", "--rate", "50/s", "--json"];
    let mut process = find_capacity(&server.url(), &[&arguments[..], &["--warmup", "1s"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut progress = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(progress.any(|line| line.contains("p95")), "no window");
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(process.id() as libc::pid_t, libc::SIGINT) };
    assert!(progress.any(|line| line.contains("stopping")), "it was not heard");
    progress.for_each(drop);
    let result = json(&process.wait_with_output().unwrap());
    assert_eq!(result["windows"].as_array().unwrap().len(), 1, "{result}");
    assert!(result["bound_rps"].as_f64().unwrap() > 40.0, "{result}");
    let codes = result["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]);
    assert!(codes.into_iter().any(|code| code == "cut_short"), "{result}");
}
