//! One run of one tool: started, watched, read, and held against the server's own count.
//!
//! In: a case, a tool and a round. Out: a row. A tool that fails is a row that says so; an error
//! means that the bench itself can't go on, or was interrupted.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Cores;
use super::case::{Case, Server, Under};
use super::child::{Child, Usage};
use super::counters::{self, Exactness};
use super::nginx::Nginx;
use super::parsers::Reading;
use super::rows::{Row, State};
use super::stalling::Stalling;
use super::tool::{self, Found, Load, Tool};
use crate::common::process::last_line;
use crate::common::{Result, interrupt};

/// How often a child is looked at, and the host's theft with it.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long after its time a tool may still be busy with its own end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of the kernel's ticks, those of `/proc/stat`.
const TICKS_PER_SECOND: f64 = 100.0;

/// What counts system calls, and where it writes them.
pub const STRACE: [&str; 5] = ["strace", "-c", "-f", "-o", STRACE_TABLE];
const STRACE_TABLE: &str = "strace.txt";

/// Where tools run.
pub struct Bench {
    pub cores: Cores,
    pub nginx: Nginx,
}

/// What a run looked like from outside.
struct Watched {
    usage: Usage,
    wall_s: f64,
    /// Seconds since the start, and the server's count of requests then.
    requests: Vec<(f64, u64)>,
    connections_max: u64,
    /// Seconds since the start, and the ticks stolen from both cores so far.
    stolen: Vec<(f64, u64)>,
}

/// Who answers, and counts.
enum Target<'a> {
    Nginx(&'a Nginx),
    Stalling(Stalling),
}

impl Target<'_> {
    fn requests(&self) -> Result<u64> {
        match self {
            Self::Nginx(nginx) => Ok(nginx.status()?.requests),
            Self::Stalling(stalling) => Ok(stalling.requests()),
        }
    }
}

impl Bench {
    /// Runs a tool once; under a watcher when the case says so.
    pub fn run(&self, case: &Case, tool: Tool, found: &Found, round: u32) -> Result<Row> {
        let mut row = Row::new(case.name, tool.name(), round, case.seconds);
        let folder = TempDir::new()?;
        if case.under == Under::Callgrind {
            self.count_instructions(case, found, folder.path(), &mut row)?;
            return Ok(row);
        }
        let (target, url) = match case.server {
            Server::Nginx => (Target::Nginx(&self.nginx), self.nginx.url(case.load.path)),
            Server::NginxTls => (Target::Nginx(&self.nginx), self.nginx.tls_url(case.load.path)),
            Server::Stalling => {
                let stalling = Stalling::start()?;
                let url = stalling.url(case.load.path);
                (Target::Stalling(stalling), url)
            }
        };
        tool.prepare(&case.load, &url, case.seconds, folder.path())?;
        let mut command = tool.command(&found.program, &case.load, &url, case.seconds);
        if case.under == Under::Strace {
            command.splice(..0, STRACE.map(str::to_string));
        }
        let _busy = self.busy(case.busy, folder.path())?;
        let before = target.requests()?;
        let watched = self.watch(case, &command, folder.path())?;
        let served = target.requests()?.saturating_sub(before);
        used(&mut row, &watched);
        row.server_requests = Some(served as f64);
        match tool.read(&found.program, folder.path()) {
            Ok(reading) => {
                said(&mut row, &reading, &watched.usage);
                hold_against_the_server(&mut row, &reading, served, case.load.connections);
                rates(&mut row, case, &reading, &watched);
                row.late_said_s = late_said_s(folder.path());
            }
            Err(why) => failed(&mut row, &why, &watched.usage, folder.path()),
        }
        if case.under == Under::Strace && row.state == State::Ok {
            calls(&mut row, folder.path(), &watched.usage);
        }
        Ok(row)
    }

    /// Processes that compute, on the generator's core and the server's in turn, until they are
    /// dropped.
    fn busy(&self, count: u32, folder: &Path) -> Result<Vec<Child>> {
        let command = ["sh", "-c", "while :; do :; done"].map(str::to_string);
        let cores = [self.cores.generator, self.cores.server].into_iter().cycle();
        let own = folder.join("busy");
        fs::create_dir(&own)?;
        cores.take(count as usize).map(|core| Child::start(&command, core, &own)).collect()
    }

    /// Starts a command on the generator's core and looks at it until it ends.
    fn watch(&self, case: &Case, command: &[String], folder: &Path) -> Result<Watched> {
        let began = Instant::now();
        let deadline = began + Duration::from_secs(case.seconds) + PATIENCE;
        let mut child = Child::start(command, self.cores.generator, folder)?;
        let (mut requests, mut stolen, mut connections_max) = (Vec::new(), Vec::new(), 0);
        // The server is asked in the middle of seconds: its first and last ones are not whole.
        let mut ask_at = Duration::from_millis(500);
        let usage = loop {
            stolen.push((began.elapsed().as_secs_f64(), self.stolen_ticks()));
            if let Some(usage) = child.try_wait()? {
                break usage;
            }
            interrupt::check()?;
            if Instant::now() > deadline {
                // What it printed so far will not do: the row says that a signal ended it.
                child.kill();
            }
            if case.asks_server() && began.elapsed() >= ask_at {
                ask_at += Duration::from_secs(1);
                let from = began.elapsed();
                // A server that is too busy for us is looked at a second later.
                if let Ok(status) = self.nginx.status() {
                    requests.push((((from + began.elapsed()) / 2).as_secs_f64(), status.requests));
                    connections_max = connections_max.max(status.connections);
                }
            }
            thread::sleep(LOOK_EVERY);
        };
        let wall_s = began.elapsed().as_secs_f64();
        Ok(Watched { usage, wall_s, requests, connections_max, stolen })
    }

    /// The least peak memory that can be seen: a child begins as a copy of the bench.
    pub fn memory_floor_bytes(&self) -> Result<u64> {
        let folder = TempDir::new()?;
        let mut child = Child::start(&["true".to_string()], self.cores.generator, folder.path())?;
        loop {
            if let Some(usage) = child.try_wait()? {
                return Ok(usage.rss_bytes_max);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn stolen_ticks(&self) -> u64 {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        counters::stolen_ticks(&text, &[self.cores.server, self.cores.generator])
    }

    /// Ours with few and with many requests: the difference is what requests cost.
    fn count_instructions(
        &self,
        case: &Case,
        found: &Found,
        folder: &Path,
        row: &mut Row,
    ) -> Result<()> {
        let url = self.nginx.url(case.load.path);
        let mut counted = Vec::new();
        for requests in CALLGRIND_REQUESTS {
            let command = under_callgrind(&found.program, &case.load, &url, requests);
            let watched = self.watch(case, &command, folder)?;
            let said = fs::read_to_string(folder.join("stderr"))?;
            match counters::callgrind(&said) {
                // Valgrind prints what it counted of a program that crashed as well.
                Ok(_) if watched.usage.exit_code.is_none() => {
                    failed(row, "it did not end by itself", &watched.usage, folder);
                    return Ok(());
                }
                Ok(instructions) => counted.push(instructions),
                Err(why) => {
                    failed(row, &why, &watched.usage, folder);
                    return Ok(());
                }
            }
        }
        let [few, many] = CALLGRIND_REQUESTS;
        let difference = counted[1].saturating_sub(counted[0]) as f64;
        row.requests = Some((many - few) as f64);
        row.instructions_per_request = Some(difference / (many - few) as f64);
        Ok(())
    }

    /// Why our own program won't speak https, or `None` when it does.
    pub fn https_refusal(&self, found: &Found) -> Result<Option<String>> {
        let output = std::process::Command::new(&found.program)
            .args(["load", &self.nginx.tls_url("/"), "--insecure", "--clients", "1"])
            .args(["--requests", "1", "--quiet"])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("it said nothing").to_string();
        // 2 is the exit code for a command line that it can't follow.
        Ok((output.status.code() == Some(2)).then_some(first))
    }
}

pub const CALLGRIND_REQUESTS: [u64; 2] = [20_000, 60_000];

/// Ours with this many requests, its instructions counted; slowly, so that it gets time.
pub fn under_callgrind(program: &str, load: &Load, url: &str, requests: u64) -> Vec<String> {
    let length = format!("--requests {requests} --timeout 60s");
    let mut command = tool::ours(program, load, url, &length);
    let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=callgrind.out"];
    command.splice(..0, valgrind.map(str::to_string));
    command
}

fn used(row: &mut Row, watched: &Watched) {
    let stolen = match (watched.stolen.first(), watched.stolen.last()) {
        (Some(first), Some(last)) => last.1.saturating_sub(first.1),
        _ => 0,
    };
    row.cpu_user_s = Some(watched.usage.user_s);
    row.cpu_system_s = Some(watched.usage.system_s);
    row.rss_bytes_max = Some(watched.usage.rss_bytes_max as f64);
    row.stolen_s = Some(stolen as f64 / TICKS_PER_SECOND);
    row.wall_s = Some(watched.wall_s);
    row.connections = (watched.connections_max > 0).then_some(watched.connections_max as f64);
}

/// What the tool says of its own run.
fn said(row: &mut Row, reading: &Reading, usage: &Usage) {
    let requests = reading.requests as f64;
    row.requests = Some(requests);
    row.errors = Some(reading.errors as f64);
    row.latency_s_p50 = reading.latency_s.p50;
    row.latency_s_p99 = reading.latency_s.p99;
    row.latency_s_max = reading.latency_s.max;
    row.send_lag_s_p50 = reading.send_lag_s.p50;
    row.send_lag_s_p99 = reading.send_lag_s.p99;
    row.valid = reading.is_valid.map(f64::from);
    row.throughput_rps = (reading.seconds > 0.0).then(|| requests / reading.seconds);
    let a_request = |s: f64| (reading.requests > 0).then(|| s / requests);
    row.cpu_s_per_request = a_request(usage.user_s + usage.system_s);
    row.cpu_user_s_per_request = a_request(usage.user_s);
    if !reading.remark.is_empty() {
        row.remark(&format!("it warns: {}", reading.remark));
    }
}

/// What was on its way at the end may be counted or not; beyond that the two must agree.
fn hold_against_the_server(row: &mut Row, reading: &Reading, served: u64, connections: u32) {
    let allowed = 2 * u64::from(connections) + served / 500 + reading.errors;
    if reading.requests.abs_diff(served) > allowed {
        row.remark(&format!(
            "says {} requests were answered but the server counted {served}",
            reading.requests
        ));
    }
}

fn failed(row: &mut Row, why: &str, usage: &Usage, folder: &Path) {
    let said = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    let said = last_line(&said).unwrap_or("nothing");
    let code = usage.exit_code.map_or("a signal".to_string(), |code| format!("exit code {code}"));
    row.remark(&format!("{why} ({code}; its last words: {said})"));
    row.state = State::Error;
}

/// How exact the rate was in the seconds in which the host took nothing away.
fn rates(row: &mut Row, case: &Case, reading: &Reading, watched: &Watched) {
    let Some(planned) = case.load.rate.map(f64::from) else { return };
    row.planned_rps = Some(planned);
    let is_clean = |from: f64, to: f64| {
        // What lies before the first look or after the last was all seen by that.
        let looks = &watched.stolen;
        let since = looks.iter().rfind(|look| look.0 <= from).or(looks.first());
        let until = looks.iter().find(|look| look.0 >= to).or(looks.last());
        match (since, until) {
            (Some(before), Some(after)) => before.1 == after.1,
            _ => false,
        }
    };
    let mut seen = Exactness::default();
    let end = case.seconds as f64;
    for pair in watched.requests.windows(2).filter(|pair| pair[1].0 <= end) {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let rps = after.saturating_sub(before) as f64 / (to - from);
        seen.add(is_clean(from, to), rps, planned);
    }
    row.clean_seconds = Some(f64::from(seen.clean));
    row.exact_share = seen.share();
    let mut planned_for = Exactness::default();
    for (second, &sent) in reading.sent_by_second.iter().enumerate() {
        let from = second as f64;
        // It begins a few milliseconds after its process does.
        planned_for.add(is_clean(from, from + 1.1), sent as f64, planned);
    }
    row.exact_share_planned = planned_for.share();
}

/// The second, as its progress counts them, after which ours said that it was late.
fn late_said_s(folder: &Path) -> Option<f64> {
    let said = fs::read_to_string(folder.join("stderr")).ok()?;
    let (before, _) = said.split_once("the generator is late")?;
    let last = before.lines().rev().find(|line| line.contains(" s "))?;
    last.split_whitespace().next()?.parse().ok()
}

/// What strace counted, by request; the most frequent calls go into the note.
fn calls(row: &mut Row, folder: &Path, usage: &Usage) {
    let text = fs::read_to_string(folder.join(STRACE_TABLE)).unwrap_or_default();
    let (calls, requests) = match (counters::strace(&text), row.requests) {
        (Ok(calls), Some(requests)) if requests > 0.0 => (calls, requests),
        (Err(why), _) => return failed(row, &why, usage, folder),
        _ => return failed(row, "no request was answered", usage, folder),
    };
    let total: u64 = calls.iter().map(|(_, count)| count).sum();
    row.system_calls_per_request = Some(total as f64 / requests);
    let most = calls.iter().take(5);
    let most: Vec<String> =
        most.map(|(name, count)| format!("{name} {:.3}", *count as f64 / requests)).collect();
    row.remark(&most.join(" "));
}
