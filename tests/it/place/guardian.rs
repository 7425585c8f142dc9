//! Nothing outlives us, however we die: the guardian, spoken to as we do.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use sweetspot::terms::{Doubt, MachineDoubt, Warning};

use super::*;
use crate::failures::unprivileged::is_root;
use crate::process::copy_of_program;

/// A guardian of the test's own; dropping it closes its input, as our death does.
struct TestGuardian {
    child: Child,
    orders: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    scratch: PathBuf,
    folders: Vec<PathBuf>,
    _scratch_in: tempfile::TempDir,
}

impl TestGuardian {
    fn begin(limits: Value) -> Self {
        Self::begin_with(Path::new(env!("CARGO_BIN_EXE_sweetspot")), limits).0
    }

    fn begin_with(program: &Path, limits: Value) -> (Self, Value) {
        let scratch_in = tempfile::tempdir().unwrap();
        set_mode(scratch_in.path(), 0o777);
        let mut command = Command::new(program);
        command.arg("__guardian").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut guardian = Self {
            orders: child.stdin.take(),
            replies: BufReader::new(child.stdout.take().unwrap()),
            child,
            scratch: PathBuf::new(),
            folders: Vec::new(),
            _scratch_in: scratch_in,
        };
        let place = guardian._scratch_in.path().to_path_buf();
        guardian.order(json!({"begin": {"scratch_in": [place], "limits": limits}}));
        let begun = guardian.reply()["begun"].take();
        guardian.scratch = begun["scratch"].as_str().unwrap().into();
        let folders = begun["group"]["folders"].as_array().unwrap();
        guardian.folders = folders.iter().map(|folder| folder.as_str().unwrap().into()).collect();
        (guardian, begun)
    }

    fn order(&mut self, order: Value) {
        // A guardian that was ended no longer reads, and the test sees that by itself.
        drop(writeln!(self.orders.as_mut().unwrap(), "{order}"));
    }

    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn start(&mut self, folder: &Path, arguments: &[&str]) {
        let command =
            json!({"arguments": arguments, "env": {}, "env_removed": [], "folder": folder});
        let log = self.log();
        self.order(json!({"start": {"command": command, "log": log, "cpus": []}}));
    }

    fn started(&mut self, folder: &Path, arguments: &[&str]) -> u32 {
        self.start(folder, arguments);
        let reply = self.reply();
        let pid = reply["started"]["pid"].as_u64();
        pid.unwrap_or_else(|| panic!("{reply}")).try_into().unwrap()
    }

    fn log(&self) -> PathBuf {
        self.scratch.join("server.log")
    }

    fn wait_for_log(&self, text: &str) {
        wait_until(text, || fs::read_to_string(self.log()).unwrap_or_default().contains(text));
    }

    /// Everything started by this guardian.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("SWEETSPOT_GUARDIAN={}-", self.child.id());
        let carries = |pid: &u32| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| {
                environ.split(|b| *b == 0).any(|v| v.starts_with(mark.as_bytes()))
            })
        };
        all_processes().into_iter().filter(carries).collect()
    }

    /// As when we die: our end of its input is closed. Then nothing is left.
    #[track_caller]
    fn abandon(&mut self) {
        self.orders = None;
        wait_until("the guardian ends", || self.child.try_wait().unwrap().is_some());
        self.assert_nothing_is_left();
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        let left: Vec<String> = self.processes().into_iter().map(title).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        assert!(!self.scratch.exists(), "{} is left", self.scratch.display());
        let groups: Vec<&PathBuf> = self.folders.iter().filter(|folder| folder.exists()).collect();
        assert!(groups.is_empty(), "left behind: {groups:?}");
    }
}

impl Drop for TestGuardian {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("its servers said:\n{}", fs::read_to_string(self.log()).unwrap_or_default());
        }
        self.orders = None;
        drop(self.child.wait());
    }
}

/// A server of two processes, or behind a proxy, whose first ends before the second is started.
#[test]
fn what_a_process_said_stays_when_the_next_is_started_and_goes_with_the_end_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut guardian = TestGuardian::begin(json!({}));
    guardian.started(folder.path(), &["sh", "-c", "echo last words; exit 3"]);
    let ended = guardian.reply();
    assert_eq!(ended["exited"]["status"]["exit_status"], 3, "{ended}");
    guardian.started(folder.path(), &["sleep", "60"]);
    assert_eq!(fs::read_to_string(guardian.log()).unwrap(), "last words\n");
    guardian.order(json!("end"));
    while guardian.reply()["ended"].is_null() {}
    guardian.started(folder.path(), &["sh", "-c", "echo anew; exec sleep 60"]);
    guardian.wait_for_log("anew");
    assert_eq!(fs::read_to_string(guardian.log()).unwrap(), "anew\n");
    guardian.abandon();
}

/// Has daemons below it as well: double fork, session of its own.
const APP: &str = "\
if fork.nil?
  Process.daemon(true, true)
  $0 = 'the daemon'
  sleep
end
run ->(env) { [200, {}, ['ok']] }
";

const PUMA: [&str; 10] =
    ["puma", "-w", "2", "-t", "2:2", "-b", "tcp://127.0.0.1:0", "-e", "production", "config.ru"];

#[test]
fn a_long_order_is_read_to_its_end_and_what_it_starts_hears_every_signal() {
    let app = TestApp::answering("[200, {}, []]");
    let mut guardian = TestGuardian::begin(json!({}));
    // Between one and two of the buffers that it reads into.
    let long = "x".repeat(6000);
    let blocked = "grep SigBlk /proc/self/status >blocked; exec sleep 100";
    guardian.started(&app.path(), &["/bin/sh", "-c", blocked, &long]);
    let mask = || fs::read_to_string(app.path().join("blocked")).unwrap_or_default();
    wait_until("it was started", || mask().ends_with('\n'));
    assert_eq!(mask(), "SigBlk:\t0000000000000000\n");
    drop(guardian);
    wait_until("it has ended with its guardian", || app.processes().is_empty());
}

#[test]
fn what_is_started_has_the_folder_that_it_stands_in_for_its_own() {
    let app = TestApp::answering("[200, {}, []]");
    let mut guardian = TestGuardian::begin(json!({}));
    guardian.started(&app.path(), &["env"]);
    guardian.wait_for_log(&format!("PWD={}\n", app.path().display()));
}

#[test]
fn whenever_we_die_nothing_of_the_server_is_left() {
    let app = TestApp::new(&[("config.ru", APP)]);
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    let unprivileged = unprivileged_guardian(folder.path());
    let programs = [Path::new(env!("CARGO_BIN_EXE_sweetspot")), &unprivileged];
    // From before the start, through boot, into serving; with and without a control group.
    for round in 0..24 {
        let (mut guardian, _) = TestGuardian::begin_with(programs[round % 2], json!({}));
        if round > 1 {
            guardian.start(&app.path(), &PUMA);
        }
        // The moment itself, not a wait for something.
        std::thread::sleep(Duration::from_millis(40 * round as u64));
        guardian.abandon();
        app.assert_nothing_is_left();
    }
}

#[test]
fn a_daemon_is_caught_without_a_control_group_too() {
    let app = TestApp::new(&[("config.ru", APP)]);
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o755);
    let (mut guardian, begun) =
        TestGuardian::begin_with(&unprivileged_guardian(folder.path()), json!({}));
    guardian.started(&app.path(), &PUMA);
    wait_until("a daemon is there", || {
        guardian.processes().into_iter().any(|pid| title(pid) == "the daemon")
    });
    if is_root() {
        assert_eq!(begun["group"]["folders"], json!([]), "nobody may make control groups");
    }
    guardian.abandon();
    app.assert_nothing_is_left();
}

#[test]
fn a_serving_cluster_with_daemons_ends_with_us_and_its_control_group_with_it() {
    let app = TestApp::new(&[("config.ru", APP)]);
    let mut guardian = TestGuardian::begin(json!({"cores": 0.75, "memory_bytes": 1 << 30}));
    guardian.started(&app.path(), &PUMA);
    guardian.wait_for_log("Worker 1 (PID");
    wait_until("a daemon is there", || {
        guardian.processes().into_iter().any(|pid| title(pid) == "the daemon")
    });
    guardian.abandon();
    app.assert_nothing_is_left();
}

#[test]
fn a_server_that_ignores_every_wish_to_end_is_ended_on_order() {
    let app = TestApp::new(&[]);
    let mut guardian = TestGuardian::begin(json!({}));
    let ignoring = "trap '' TERM INT HUP QUIT; echo deaf; while :; do sleep 60; done";
    let pid = guardian.started(&app.path(), &["sh", "-c", ignoring]);
    guardian.wait_for_log("deaf");
    guardian.order(json!({"signal": {"pid": pid, "signal": libc::SIGTERM}}));
    guardian.order(json!("end"));
    let end = json!({"exited": {"pid": pid, "status": {"signal": 9}}});
    assert_eq!(guardian.reply(), end);
    assert_eq!(guardian.reply(), json!({"ended": {"left": []}}));
    assert_eq!(parent(pid), None);
    guardian.abandon();
}

#[test]
fn a_guardian_deaf_to_the_terminal_starts_servers_that_are_not() {
    let app = TestApp::new(&[]);
    let mut guardian = TestGuardian::begin(json!({}));
    let server = guardian.started(&app.path(), &["sleep", "60"]);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        kill(guardian.child.id(), signal);
    }
    let session = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_string()
    };
    assert_eq!(session(server), guardian.child.id().to_string());
    assert_ne!(session(server), session(std::process::id()));
    guardian.order(json!({"signal": {"pid": server, "signal": libc::SIGINT}}));
    let end = json!({"exited": {"pid": server, "status": {"signal": 2}}});
    assert_eq!(guardian.reply(), end);
}

#[test]
fn a_program_that_is_not_there_and_an_order_that_makes_no_sense_are_answered() {
    let app = TestApp::new(&[]);
    let mut guardian = TestGuardian::begin(json!({}));
    guardian.start(&app.path(), &["no-such-program-at-all"]);
    assert_eq!(guardian.reply()["not_started"]["is_missing"], json!(true));
    guardian.order(json!({"dance": 1}));
    assert!(guardian.reply()["refused"]["message"].as_str().unwrap().contains("dance"));
    guardian.abandon();
}

#[test]
fn several_processes_run_beside_each_other_write_to_one_log_and_are_told_apart() {
    let app = TestApp::new(&[]);
    let mut guardian = TestGuardian::begin(json!({}));
    let say = |what: &str| format!("echo {what}; exec sleep 60");
    let first = guardian.started(&app.path(), &["sh", "-c", &say("one")]);
    let second = guardian.started(&app.path(), &["sh", "-c", &say("two")]);
    guardian.wait_for_log("one");
    guardian.wait_for_log("two");
    guardian.order(json!({"signal": {"pid": second, "signal": libc::SIGTERM}}));
    let end = json!({"exited": {"pid": second, "status": {"signal": 15}}});
    assert_eq!(guardian.reply(), end);
    assert!(parent(first).is_some(), "only the one that was meant was asked to end");
    // Its number may be somebody else's by now; and no process is signalled that we did not start.
    guardian.order(json!({"signal": {"pid": second, "signal": libc::SIGTERM}}));
    guardian.abandon();
    app.assert_nothing_is_left();
}

/// Where the machine lets us, the limit must hold; else it must be said that it does not.
#[test]
fn a_quota_really_throttles_or_is_named_as_not_enforced() {
    let app = TestApp::new(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_sweetspot"));
    let (mut guardian, begun) = TestGuardian::begin_with(program, json!({"cores": 0.2}));
    let Some(group) = begun["group"]["cpu"].as_str().map(PathBuf::from) else {
        assert_eq!(begun["group"]["not_enforced"][0]["limit"], json!("cores"));
        return;
    };
    guardian.started(&app.path(), &["sh", "-c", "while :; do :; done"]);
    wait_until("the busy loop is throttled", || {
        let stat = fs::read_to_string(group.join("cpu.stat")).unwrap();
        let throttled = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        throttled.unwrap().trim().parse::<u64>().unwrap() >= 3
    });
    guardian.abandon();
}

#[test]
fn a_memory_limit_really_ends_what_exceeds_it_or_is_named_as_not_enforced() {
    let app = TestApp::new(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_sweetspot"));
    let limits = json!({"memory_bytes": 64 << 20});
    let (mut guardian, begun) = TestGuardian::begin_with(program, limits);
    if begun["group"]["memory"].is_null() {
        assert_eq!(begun["group"]["not_enforced"][0]["limit"], json!("memory"));
        return;
    }
    // Twice the limit at most, so that nothing happens to the machine should the limit not hold.
    let greedy = "a = Array.new(128) { 'x' * (1 << 20) }; sleep";
    let pid = guardian.started(&app.path(), &["ruby", "-e", greedy]);
    let end = json!({"exited": {"pid": pid, "status": {"signal": 9}}});
    assert_eq!(guardian.reply(), end);
    guardian.abandon();
}

#[test]
fn when_the_guardian_itself_is_killed_its_servers_die_and_the_next_start_has_a_new_one() {
    let app = TestApp::new(&[("config.ru", APP)]);
    let mut local = started(app.settings(), 2, 1);
    let guardian = parent(local.server_pid().unwrap()).unwrap();
    assert!(title(guardian).contains("__guardian"), "{}", title(guardian));
    kill(guardian, libc::SIGKILL);
    start(&mut local, 1, 1);
    assert_eq!(get(local.address().unwrap(), "/"), "ok");
    assert_ne!(parent(local.server_pid().unwrap()).unwrap(), guardian);
    drop(local);
    app.assert_nothing_is_left();
}

/// As nobody, when we are root; as ourselves otherwise, which is just as unprivileged.
fn unprivileged_guardian(folder: &Path) -> PathBuf {
    let copy = copy_of_program(folder);
    if !is_root() {
        return copy;
    }
    let script = folder.join("as-nobody");
    let copy = copy.display();
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    fs::write(&script, format!("#!/bin/sh\nexec {nobody} {copy} \"$@\"\n")).unwrap();
    set_mode(&script, 0o755);
    script
}

#[test]
fn without_permission_the_server_runs_on_fewer_cores_and_what_is_not_enforced_is_said() {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o777);
    let app = TestApp::answering("[200, {}, [File.read('/proc/self/status')]]");
    let mut settings = app.settings();
    settings.guardian = unprivileged_guardian(folder.path());
    settings.scratch_in = vec![folder.path().into()];
    settings.cores = Some("0.5".parse().unwrap());
    settings.memory = Some("512MiB".parse().unwrap());
    let local = started(settings, 2, 1);
    let status = get(local.address().unwrap(), "/");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    assert_eq!(allowed.trim().parse::<u32>().ok(), Some(0), "{allowed}");
    let warnings = local.warnings();
    let has = |is_it: &dyn Fn(&MachineDoubt) -> bool| {
        warnings
            .iter()
            .filter_map(Warning::doubt)
            .any(|doubt| matches!(doubt, Doubt::Machine(it) if is_it(it)))
    };
    let (half, limit) = (0.5, 512 << 20);
    let is_of_cores =
        |it: &_| matches!(it, MachineDoubt::CoresNotEnforced { cores, .. } if *cores == half);
    let is_of_memory = |it: &_| match it {
        MachineDoubt::MemoryNotEnforced { limit_bytes, .. } => *limit_bytes == limit,
        _ => false,
    };
    assert!(has(&is_of_cores), "{warnings:?}");
    assert!(has(&is_of_memory), "{warnings:?}");
    drop(local);
    app.assert_nothing_is_left();
}

#[test]
fn an_order_may_be_longer_than_any_buffer() {
    let app = TestApp::answering("[200, {}, [ENV['LONG'].size.to_s]]");
    for length in [3_000, 5_000, 9_000, 100_000] {
        let mut settings = app.settings();
        settings.app.env.insert("LONG".into(), "x".repeat(length));
        let local = started(settings, 1, 1);
        assert_eq!(get(local.address().unwrap(), "/"), length.to_string());
    }
}
