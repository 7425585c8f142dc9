//! The monitor on real processes: their clocks, threads, children, ends and listen queues.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sweetspot::monitor::{CoreChoice, Monitor, Sampler, Watched};
use sweetspot::terms::{BlindSpot, MonitorRecord, ProcessFacts, ProcessUse, Role};

use crate::process::{self, Ended, Kept, sweetspot};

fn ruby(program: &str) -> Kept {
    let mut command = Command::new("ruby");
    command.args(["--disable-gems", "-e", program]).stdin(Stdio::null()).stdout(Stdio::piped());
    Kept::start(&mut command)
}

/// Reads one line of a child's standard output.
fn line(child: &mut Kept) -> String {
    let mut text = String::new();
    let mut byte = [0u8];
    let stdout = child.0.stdout.as_mut().unwrap();
    while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        text.push(byte[0] as char);
    }
    text
}

fn watched(root_pid: u32) -> Watched {
    let role = |seen: ProcessFacts<'_>| match (seen.is_root, seen.title.contains("worker")) {
        (true, _) => Role::Master,
        (false, true) => Role::Worker,
        (false, false) => Role::Other,
    };
    let roots = vec![root_pid];
    Watched::processes(roots, Box::new(role))
}

fn uses_of(record: &MonitorRecord, pid: u32) -> Vec<&ProcessUse> {
    record.seconds.iter().flat_map(|second| &second.processes).filter(|p| p.pid == pid).collect()
}

/// Looks until `done`, at most twenty seconds.
fn look_until(sampler: &mut Sampler, mut done: impl FnMut(&mut Sampler) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done(sampler) {
        assert!(Instant::now() < deadline, "the condition did not come true in twenty seconds");
        std::thread::park_timeout(Duration::from_millis(20));
        sampler.look(false);
    }
}

/// What the kernel counted for a child that has ended, in seconds.
fn wait_for_use(child: &mut Kept) -> f64 {
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`, which the kernel then fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = child.0.id() as libc::pid_t;
        assert_eq!(libc::wait4(pid, &mut status, 0, &mut usage), pid);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[test]
fn cpu_seconds_agree_with_what_the_kernel_counted_for_the_child() {
    let origin = Instant::now();
    let mut child = ruby(
        "t = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 1.5\n\
         n = 0\nn += 1 while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < t\n\
         $stdout.write(\"done\\n\")\n$stdout.flush\nsleep 20",
    );
    let pid = child.0.id();
    let monitor = Monitor::start(watched(pid), origin);
    assert_eq!(line(&mut child), "done");
    let record = monitor.stop();
    child.0.kill().unwrap();
    let counted = wait_for_use(&mut child);
    let uses = uses_of(&record, pid);
    let seen: f64 = uses.iter().map(|used| used.cpu_s).sum();
    // The kernel counts what ran before the first look too.
    assert!(
        (seen - counted).abs() < 0.05 * counted,
        "seen {seen} s, the kernel counted {counted} s"
    );
    let split: f64 = uses.iter().map(|used| used.user_s + used.system_s).sum();
    assert!((split - seen).abs() < 1e-9, "user and system make {split} s of {seen} s");
    assert!(uses.iter().any(|used| used.threads_runnable > 0.0), "{uses:?}");
    assert!(uses.iter().all(|used| used.role == Role::Master && used.name.starts_with("ruby")));
}

#[test]
fn intervals_join_without_gaps_and_end_at_whole_seconds_from_the_origin() {
    let origin = Instant::now() - Duration::from_millis(2_300);
    let mut child = ruby("sleep 1.2\n$stdout.write(\"x\\n\")\n$stdout.flush\nsleep 20");
    let monitor = Monitor::start(watched(child.0.id()), origin);
    line(&mut child);
    let record = monitor.stop();
    assert!(record.seconds.len() >= 2, "{} intervals", record.seconds.len());
    assert!(record.seconds[0].at_s >= 2.3);
    for pair in record.seconds.windows(2) {
        let end = pair[0].at_s + pair[0].length_s;
        assert!((end - pair[1].at_s).abs() < 1e-6);
        // A look may be late on a busy machine, never early.
        assert!(end.fract() < 0.9, "an interval ended at {end} s");
    }
    let cores = record.seconds[0].host.cores_busy.len();
    assert!(cores >= 1 && record.seconds.iter().all(|s| s.host.cores_busy.len() == cores));
    assert!(
        record.seconds.iter().all(|s| s.host.cores_busy.iter().all(|b| (0.0..=1.0).contains(b)))
    );
}

#[test]
fn threads_are_counted_and_so_are_those_that_run() {
    let mut child = ruby(
        "5.times { Thread.new { sleep } }\nThread.new { loop {} }\nThread.pass\n\
         $stdout.write(\"up\\n\")\n$stdout.flush\nsleep 20",
    );
    line(&mut child);
    let mut sampler = Sampler::start(watched(child.0.id()), CoreChoice::All);
    let mut used = sampler.close(Instant::now()).processes.remove(0);
    look_until(&mut sampler, |sampler| {
        used = sampler.close(Instant::now()).processes.remove(0);
        // Main thread, six of ours, and Ruby's own timer where it has one. Those that are to sleep
        // may still be on their way there.
        (7..=8).contains(&used.threads) && (1.0..=2.0).contains(&used.threads_runnable)
    });
}

#[test]
fn blocking_shows_as_voluntary_switches_and_competing_for_a_core_as_run_delay() {
    // Both pinned to one core, so that they have to take turns.
    let program = "2.times { fork { t = Time.now; nil while Time.now - t < 20 } }\n\
                   loop { sleep 0.001 }";
    let mut command = Command::new("taskset");
    let core = sweetspot::monitor::host::allowed_cores(0)[0].to_string();
    command.args(["-c", &core, "ruby", "--disable-gems", "-e", program]);
    let child = group_of(&mut command);
    let mut sampler = Sampler::start(watched(child.pid()), CoreChoice::Allowed);
    let origin = Instant::now();
    let (mut delay_s, mut voluntary, mut busy_cores) = (0.0, 0, 0);
    look_until(&mut sampler, |sampler| {
        let second = sampler.close(origin);
        for used in &second.processes {
            delay_s += used.run_delay_s;
            if used.pid == child.pid() {
                voluntary += used.voluntary_switches;
            }
        }
        busy_cores = second.host.cores_busy.len();
        delay_s > 0.2 && voluntary > 20
    });
    assert_eq!(busy_cores, 1, "only the core that the root may run on is looked at");
}

#[test]
fn busy_processes_beside_the_server_are_told_apart_by_whether_it_is_connected_to_them() {
    let burn = "loop {}";
    let mut backend = ruby(&format!(
        "require 'socket'\nserver = TCPServer.new('127.0.0.1', 0)\n\
         $stdout.write(\"#{{server.addr[1]}}\\n\")\n$stdout.flush\nclient = server.accept\n{burn}"
    ));
    let port = line(&mut backend);
    let stranger = ruby(burn);
    let mut server = ruby(&format!(
        "require 'socket'\nbackend = TCPSocket.new('127.0.0.1', {port})\n\
         $stdout.write(\"up\\n\")\n$stdout.flush\nsleep 60"
    ));
    line(&mut server);
    let mut sampler = Sampler::start(watched(server.0.id()), CoreChoice::All);
    let wanted = [(backend.0.id(), Some(true)), (stranger.0.id(), Some(false))];
    look_until(&mut sampler, |sampler| {
        let neighbours = sampler.close(Instant::now()).host.neighbours;
        // The tests beside this one are neighbours too.
        wanted.iter().all(|(pid, serves_app)| {
            neighbours.iter().any(|one| one.pid == *pid && one.serves_app == *serves_app)
        })
    });
}

#[test]
fn open_files_faults_and_memory_of_a_process_are_seen() {
    let mut child = ruby(
        "sockets = 3.times.map { require 'socket'; TCPServer.new('127.0.0.1', 0) }\n\
         $stdout.write(\"up\\n\")\n$stdout.flush\n\
         loop { data = ' ' * 1_000_000; sleep 0.01 }",
    );
    line(&mut child);
    let mut sampler = Sampler::start(watched(child.0.id()), CoreChoice::All);
    look_until(&mut sampler, |sampler| {
        let used = sampler.close(Instant::now()).processes.remove(0);
        assert!(used.open_sockets >= Some(3) && used.open_files > used.open_sockets, "{used:?}");
        used.minor_faults > 0 && used.resident_bytes > 10 << 20
    });
}

/// A process and all below it, in a process group that ends with it.
fn group_of(command: &mut Command) -> Kept {
    Kept::lead(command.stdin(Stdio::piped()).stdout(Stdio::piped()))
}

#[test]
fn a_grandchild_is_found_named_and_kept_when_its_parent_ends() {
    let program = "fork do\n\
          fork { Process.setproctitle('app: worker (1) R 2'); $stdout.write(\"#{$$}\\n\"); \
                 $stdout.flush; sleep 20 }\n\
          $stdin.gets\nexit!(0)\nend\nProcess.wait\nsleep 20";
    let mut command = Command::new("ruby");
    command.args(["--disable-gems", "-e", program]);
    let mut child = group_of(&mut command);
    let grandchild: u32 = line(&mut child).parse().unwrap();
    let mut sampler = Sampler::start(watched(child.pid()), CoreChoice::All);
    assert_eq!(sampler.close(Instant::now()).processes.len(), 3);
    // The process in between waits for the end of this.
    drop(child.0.stdin.take());
    let mut processes = Vec::new();
    look_until(&mut sampler, |sampler| {
        processes = sampler.close(Instant::now()).processes;
        processes.len() == 2
    });
    let found = processes.iter().find(|used| used.pid == grandchild).unwrap();
    assert_eq!((found.role, found.index), (Role::Worker, Some(0)));
    assert_eq!(found.name, "app: worker (1) R 2");
    let memory = sampler.memory();
    let of_grandchild = memory.iter().find(|one| one.pid == grandchild).unwrap();
    assert!(of_grandchild.uss_bytes <= of_grandchild.pss_bytes);
    assert!(of_grandchild.pss_bytes <= of_grandchild.rss_bytes);
}

#[test]
fn a_process_that_ends_gives_its_last_use_and_is_then_forgotten() {
    let mut command = Command::new("ruby");
    let program = "fork { Process.setproctitle('worker brief'); \
        t = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.3; \
        nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < t; \
        $stdout.write(\"#{$$}\\n\"); $stdout.flush; sleep 20 }\n\
        Process.wait\nsleep 20";
    let program = format!("$stdin.gets\n{program}");
    let mut child = group_of(command.args(["--disable-gems", "-e", &program]));
    let mut sampler = Sampler::start(watched(child.pid()), CoreChoice::All);
    let first = sampler.close(Instant::now());
    assert_eq!(first.processes.len(), 1);
    // Only now it forks: its start is told from the watch's by clock ticks, so one has to pass.
    let began = Instant::now();
    look_until(&mut sampler, |_| began.elapsed() > Duration::from_millis(20));
    drop(child.0.stdin.take());
    let brief: u32 = line(&mut child).parse().unwrap();
    sampler.look(true);
    process::kill(brief, libc::SIGKILL);
    look_until(&mut sampler, |_| !std::path::Path::new(&format!("/proc/{brief}")).exists());
    let last = sampler.close(Instant::now()).processes;
    let used = last.iter().find(|used| used.pid == brief).unwrap();
    assert!(used.cpu_s >= 0.3, "born after the watch began, so all of it counts: {used:?}");
    let later = sampler.close(Instant::now()).processes;
    assert!(later.iter().all(|used| used.pid != brief));
}

#[test]
fn a_root_that_is_not_there_is_a_blind_spot_and_no_panic() {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let record = Monitor::start(watched(child.id()), Instant::now()).stop();
    assert!(record.memory.is_empty());
    assert!(record.seconds.iter().all(|second| second.processes.is_empty()));
    let gone = matches!(record.blind_spots[0].fact(), Some(BlindSpot::ProcessGone { .. }));
    assert!(gone, "{:?}", record.blind_spots);
}

#[test]
fn connections_that_nobody_accepts_show_in_the_listen_queue() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut what = watched(std::process::id());
    what.port = Some(port);
    let mut sampler = Sampler::start(what, CoreChoice::All);
    assert_eq!(sampler.close(Instant::now()).listen_queue, Some(0));
    let waiting: Vec<_> =
        (0..7).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let mut depth = None;
    look_until(&mut sampler, |sampler| {
        depth = sampler.close(Instant::now()).listen_queue;
        depth == Some(7)
    });
    assert!(listener.as_raw_fd() >= 0 && waiting.len() == 7);
    drop(listener);
    look_until(&mut sampler, |sampler| sampler.close(Instant::now()).listen_queue.is_none());
    assert_eq!(sampler.blind_spots()[0], BlindSpot::ListenQueueUnseen { port: Some(port) });
}

fn watch(arguments: &[&str]) -> Ended {
    sweetspot(Path::new("."), &[&["watch"], arguments].concat())
}

/// A real Puma with two workers on a port of its own.
struct Puma {
    port: u16,
    _process: Kept,
    _folder: tempfile::TempDir,
}

fn puma() -> Puma {
    let folder = process::app(&[("config.ru", "run ->(_) { [200, {}, ['ok']] }")]);
    let mut command = Command::new("puma");
    command.args(["-w", "2", "-t", "2:2", "-b", "tcp://127.0.0.1:0", "-e", "production"]);
    let mut process = group_of(command.current_dir(folder.path()));
    let (mut port, mut booted) = (None, 0);
    while booted < 2 {
        let text = line(&mut process);
        assert!(!text.is_empty() || port.is_none(), "puma ended before it was ready");
        if let Some((_, found)) = text.split_once("Listening on http://127.0.0.1:") {
            port = found.trim().parse().ok();
        }
        booted += usize::from(text.contains("booted"));
    }
    Puma { port: port.expect("puma says where it listens"), _process: process, _folder: folder }
}

#[test]
fn watch_finds_puma_by_its_port_and_tells_master_from_workers() {
    let puma = puma();
    let address = format!("127.0.0.1:{}", puma.port);
    let twice = ["--count", "2", "--interval", "500ms", "--json"];
    let watched = watch(&[&["--listen", &address], &twice[..]].concat());
    watched.assert_code(0);
    let seconds: Vec<serde_json::Value> =
        watched.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seconds.len(), 2);
    let processes = seconds[1]["processes"].as_array().unwrap();
    let roles: Vec<_> = processes
        .iter()
        .map(|one| (one["role"].as_str().unwrap(), one["index"].as_u64()))
        .collect();
    assert_eq!(roles, [("master", None), ("worker", Some(0)), ("worker", Some(1))]);
    assert!(processes[1]["name"].as_str().unwrap().starts_with("puma: cluster worker"));
    assert_eq!(seconds[1]["listen_queue"], 0);
    assert!((seconds[1]["length_s"].as_f64().unwrap() - 0.5).abs() < 0.4);
    let memory = seconds[1]["memory"].as_array().unwrap();
    assert!(memory.len() == 3 && memory.iter().all(|one| one["pss_bytes"].as_u64() > Some(0)));
    assert!(seconds[1]["time"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn watch_prints_csv_rows_and_lines_for_a_pid() {
    let child = ruby("sleep 20");
    let pid = child.0.id().to_string();
    let ended = watch(&["--pid", &pid, "--count", "2", "--interval", "200ms", "--csv"]);
    ended.assert_code(0);
    let csv = ended.stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.starts_with("time,at_s,length_s,pid,role,"));
    assert!(
        csv.lines().skip(1).all(|row| row.contains(&format!(",{pid},worker,0,ruby,"))),
        "{csv}"
    );
    let ended = watch(&["--pid", &pid, "--duration", "300ms"]);
    ended.assert_code(0);
    let plain = ended.stdout;
    assert!(plain.contains(&pid) && !plain.contains('\x1b'), "{plain}");
}

#[test]
fn watch_says_who_is_not_there_and_what_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = listener.local_addr().unwrap().to_string();
    // A port that was free a moment ago and that nobody asks the kernel for.
    let free = TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap().to_string();
    for (arguments, expected) in [
        (["--listen", &free], there.as_str()),
        (["--pid", "8388609"], "no process 8388609"),
        (["--cgroup", "/no/such/group"], "/no/such/group is no control group"),
    ] {
        let failed = watch(&arguments);
        failed.assert_code(1);
        assert!(failed.stderr.contains(expected), "{failed:?}");
    }
    watch(&["--listen", "somewhere"]).assert_code(2);
    watch(&[]).assert_code(2);
}

#[test]
fn watch_ends_cleanly_on_an_interrupt_and_when_the_process_ends() {
    let mut child = ruby("sleep 20");
    let mut command = process::program(Path::new("."));
    let pid = child.0.id().to_string();
    command.args(["watch", "--pid", &pid, "--json", "--interval", "100ms"]).stdout(Stdio::piped());
    let mut watch = Kept::start(&mut command);
    assert!(line(&mut watch).starts_with('{'));
    watch.signal(libc::SIGINT);
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));

    let mut watch = Kept::start(&mut command);
    assert!(line(&mut watch).starts_with('{'));
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));
}
