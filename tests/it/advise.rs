//! `advise`: real Pumas at their own traffic with the probe in them, perfm's rows, and what can be
//! wrong.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ended, Kept, program, sweetspot, unused_address, wait_until};
use crate::schema::assert_valid;
use crate::turn::Turn;

/// Two pages: one that computes a little and waits a little, one that waits for long. There is a
/// file once it was asked.
const APP: &str = r#"
run(lambda do |env|
  $asked ||= File.write("asked", "")
  end_s = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.001
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < end_s
  sleep(env["PATH_INFO"].start_with?("/reports") ? 0.06 : 0.004)
  [200, {}, ["ok"]]
end)
"#;

/// A folder with the probe, and a Puma that has loaded it.
struct Site {
    folder: TempDir,
    _puma: Kept,
    address: SocketAddr,
    /// What is told of its traffic goes by the processor that it gets.
    _turn: Turn,
}

impl Site {
    fn new(workers: &str, threads: &str, rubyopt: impl FnOnce(&str) -> String) -> Self {
        let turn = crate::turn::most();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.ru"), APP).unwrap();
        let wrote = sweetspot(folder.path(), &["advise", "--write-probe", "probe"]);
        wrote.assert_code(0);
        let line = wrote.stdout.lines().find(|line| line.trim().starts_with("RUBYOPT="));
        let option = line.unwrap().trim().strip_prefix("RUBYOPT=").unwrap();
        let address = unused_address();
        let puma = Kept::start(
            Command::new("puma")
                .args(["-q", "-e", "production", "-w", workers, "-t", threads])
                .args(["-b", &format!("tcp://{address}"), "config.ru"])
                .env("RUBYOPT", rubyopt(option))
                .env_remove("WEB_CONCURRENCY")
                .current_dir(folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        wait_until("Puma answers", || TcpStream::connect(address).is_ok());
        Self { folder, _puma: puma, address, _turn: turn }
    }

    /// Poisson traffic for a while, on two pages; it has begun. Over connections that are kept Puma
    /// 5 may not keep up with it: a thread waits for the next request of its connection.
    fn traffic(&self) -> Kept {
        let url = format!("http://{}", self.address);
        let mut command = program(self.folder.path());
        command.args([
            "load",
            &url,
            "--rate",
            "110/s",
            "--arrivals",
            "poisson",
            "--duration",
            "30s",
            "--connection",
            "fresh",
        ]);
        command.args(["--target", "GET /items/17 weight=4", "--target", "GET /reports/2026", "-q"]);
        let traffic = Kept::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        wait_until("there is traffic", || self.folder.path().join("asked").exists());
        traffic
    }

    fn advise(&self, arguments: &[&str]) -> Ended {
        let listen = self.address.to_string();
        let here = ["advise", "--listen", &listen, "--probe", "probe"];
        sweetspot(self.folder.path(), &[&here, arguments].concat())
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_puma_at_its_own_traffic_is_advised_more_threads_and_its_slow_page_is_named() {
    let site = Site::new("1", "3:3", str::to_string);
    let _traffic = site.traffic();
    let ended = site.advise(&["--for", "10s", "--slo", "p95<200ms", "--json"]);
    ended.assert_code(0);
    let report = ended.json();
    assert_valid("advise.schema.json", &report);
    let seen = &report["seen"];
    assert_eq!((number(&seen["workers"]), number(&seen["threads"])), (1.0, 3.0), "{seen}");
    assert!((number(&seen["rate_rps"]) / 110.0 - 1.0).abs() < 0.25, "{seen}");
    assert!(number(&seen["requests_told"]) > 0.9 * number(&seen["requests"]), "{seen}");
    // The mean of both pages: 1 ms of CPU at least, and 15 ms of waiting.
    let demand = &report["demand"];
    assert!((0.001..0.004).contains(&number(&demand["cpu_s"]["value"])), "{demand}");
    assert!((0.012..0.019).contains(&number(&demand["wait_s"]["value"])), "{demand}");
    let (advised, current) = (&report["advised"], &report["current"]);
    assert!(number(&advised["threads"]) > 3.0, "{advised}");
    let rps = |setting: &Value| number(&setting["capacity_rps"]);
    assert!(rps(advised) > 1.3 * rps(current), "{advised} {current}");
    assert_eq!(current["limit"]["kind"], "threads");
    assert!(number(&report["growth"]["times"]) > 1.0, "{report}");
    let routes = report["routes"].as_array().unwrap();
    assert_eq!(
        (&routes[0]["name"], &routes[1]["name"]),
        (&"GET /reports/:id".into(), &"GET /items/:id".into())
    );
    assert_eq!(routes[0]["is_io_bound"], true, "{routes:?}");
    let told = number(&routes[1]["requests"]) / number(&routes[0]["requests"]);
    assert!((2.5..6.0).contains(&told), "four to one: {told}");
    assert!(number(&seen["watching_cores"]) < 0.1, "{seen}");
}

#[test]
fn what_nobody_tells_anything_of_is_said_with_what_to_do() {
    let site = Site::new("2", "1:3", |_| String::new());
    let _traffic = site.traffic();
    let ended = site.advise(&["--for", "10s"]);
    ended.assert_code(1).assert_says(&["nothing was told of any request", "--write-probe"]);
    let (folder, nobody) = (site.folder.path(), unused_address().to_string());
    for (arguments, code, expected) in [
        (&["advise", "--listen", &nobody, "--probe", "probe"][..], 1, "nothing listens on"),
        (&["advise", "--pid", "1", "--probe", "none"], 1, "could not listen at"),
        (&["advise", "--probe", "probe"], 2, "--listen <ADDRESS>"),
        (&["advise", "--listen", &nobody], 2, "--probe <FOLDER>"),
        (&["advise", "--listen", &nobody, "--probe", "p", "--for", "1s"], 2, "shortest time"),
        (&["advise", "--write-probe", "a folder"], 1, "name a folder without any"),
        (&["advise", "--perfm", "x", "--workers", "2"], 2, "--cpus"),
        (&["advise", "--perfm", "x", "--workers", "2", "--cpus", "2"], 2, "could not read x"),
    ] {
        sweetspot(folder, arguments).assert_code(code).assert_says(&[expected]);
    }
}

/// Rows as perfm keeps them: 100 a second, 5 ms of computing and 45 ms of waiting each, give or
/// take.
fn rows(count: usize) -> String {
    let mut text =
        String::from("run_ms,idle_ms,stall_ms,controller,action,puma_max_threads,created_at\n");
    for index in 0..count {
        let size = 0.5 + (index % 10) as f64 / 9.0;
        let (run, idle) = (5.0 * size, 45.0 * size);
        let (minute, second) = (index / 6000, index / 100 % 60);
        text +=
            &format!("{run},{idle},0.5,items,show,3,2026-11-01 10:{minute:02}:{second:02}.25\n");
    }
    text
}

#[test]
fn what_perfm_recorded_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("many.csv", &rows(6000));
    write("few.csv", &rows(50));
    let ask = |file: &str, more: &[&str]| {
        let here = ["advise", "--perfm", file, "--workers", "2", "--cpus", "2"];
        sweetspot(folder.path(), &[&here, more].concat())
    };
    ask("many.csv", &["--instances", "2"]).assert_code(0).assert_says(&[
        "6000 requests of 2 instances in 1 min: 50.0/s each at 2 x 3 on 2 cores",
        "items#show",
        "expected, not measured",
        "CPU outside the app's own call",
    ]);
    let quiet = ask("many.csv", &["--quiet"]);
    quiet.assert_code(0);
    assert!(quiet.stdout.starts_with("run 4 x 8: it is expected to hold"), "{quiet:?}");
    // Of a cluster perfm does not know how many threads a worker has.
    write("cluster.csv", &rows(6000).replace(",3,2026", ",,2026"));
    ask("cluster.csv", &[]).assert_code(2).assert_says(&["say it with --threads"]);
    ask("cluster.csv", &["--threads", "3"]).assert_code(0);
    let few = ask("few.csv", &[]);
    few.assert_code(4).assert_says(&["nothing is advised: not enough seen: 50 requests"]);
}
