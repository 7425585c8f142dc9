//! A unit of a real systemd, which runs a real Puma: each setting is a drop-in that systemd forgets
//! at the next boot, and the unit's own control group is what is looked at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::failures::site::{Running, Site, configuration};
use crate::failures::unprivileged::is_root;
use crate::process::{unused_address, wait_until, write_files};

/// Becomes a systemd of one user's in a control group of its own, on a machine that has, as far as
/// it sees, been booted with one.
const BECOME: &str = r#"
for top in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ ! -e "$top/cgroup.procs" ] || { mkdir -p "$top/$GROUP"; echo $$ >"$top/$GROUP/cgroup.procs"; }
done
mount -t tmpfs none /run
mkdir -p /run/systemd/system
exec /lib/systemd/systemd --user
"#;

/// What docs/remote.md tells people to have there, of one user's systemd in place of the machine's.
fn documented_script() -> String {
    let guide = include_str!("../../../docs/remote.md");
    let (_, section) = guide.split_once("## A unit of systemd").unwrap();
    let script = section.split("```").nth(1).unwrap().trim_start();
    let script = script.replace("/run/systemd/system", "$XDG_RUNTIME_DIR/systemd/user");
    script.replace("systemctl ", "systemctl --user ")
}

/// A systemd with one unit; all of it ends with the test.
struct Systemd {
    folder: TempDir,
    process: Child,
    group: String,
    url: String,
}

impl Systemd {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = unused_address();
        let unit = format!(
            "[Service]\nWorkingDirectory={}\nExecStart=/usr/bin/env puma --quiet --bind \
             tcp://{address} config.ru\nEnvironment=WEB_CONCURRENCY=1 RAILS_MAX_THREADS=1\n",
            folder.path().display()
        );
        let app = "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n";
        let files = [
            ("config.ru", app),
            ("shop-run", &documented_script()),
            ("config/systemd/user/shop.service", &unit),
            // A folder for its own files.
            ("run/empty", ""),
        ];
        write_files(folder.path(), &files);
        // Not by a name that other tests take for what a session left behind.
        let group = format!("systemd-of-a-test-{}", address.port());
        let mut begin = Command::new("unshare");
        begin.args(["--mount", "setsid", "sh", "-euc", BECOME]).env("GROUP", &group);
        begin.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        told(&mut begin, folder.path());
        let process = begin.spawn().expect("unshare");
        let systemd = Self { folder, process, group, url: format!("http://{address}") };
        wait_until("systemd takes a unit", || {
            let started = systemd.command("systemctl").args(["--user", "start", "shop"]).output();
            started.expect("systemctl").status.success()
        });
        systemd
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        told(&mut command, self.folder.path());
        command
    }

    /// What systemd says of the unit.
    fn says(&self, property: &str) -> String {
        let mut command = self.command("systemctl");
        let shown = command.args(["--user", "show", "shop", "--value", "-P", property]).output();
        String::from_utf8(shown.unwrap().stdout).unwrap().trim().to_string()
    }

    /// The unit's control group, of version 2.
    fn control_group(&self) -> PathBuf {
        let tops = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(Path::new);
        let top = tops.into_iter().find(|top| top.join("cgroup.procs").exists()).unwrap();
        top.join(self.says("ControlGroup").trim_start_matches('/'))
    }
}

/// Where this user's systemd is.
fn told(command: &mut Command, folder: &Path) {
    command.env("XDG_RUNTIME_DIR", folder.join("run"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
}

impl Drop for Systemd {
    fn drop(&mut self) {
        // It ends its units first, and is ended where it does not.
        drop(self.command("systemctl").args(["--user", "exit"]).output());
        let until = Instant::now() + Duration::from_secs(10);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(self.process.kill());
        drop(self.process.wait());
        for top in ["systemd", "unified", ""] {
            let group = Path::new("/sys/fs/cgroup").join(top).join(&self.group);
            let mut remove = Command::new("find");
            let remove = remove.arg(&group).args(["-depth", "-type", "d", "-delete"]);
            drop(remove.stderr(Stdio::null()).status());
        }
    }
}

#[test]
fn a_unit_of_systemd_is_tuned_by_a_drop_in_and_runs_as_before() {
    if !is_root() {
        eprintln!("not run: it takes root to start a systemd beside the machine's own");
        return;
    }
    let (site, systemd) = (Site::new(&[]), Systemd::new());
    let script = format!("sh {}", systemd.folder.path().join("shop-run").display());
    let group = systemd.control_group();
    let observe = format!("SWEETSPOT_CGROUP={} sh", group.display());
    let mut tune = site.command(&["tune", "--url", &systemd.url, "--observe", &observe]);
    told(&mut tune, systemd.folder.path());
    tune.args(["--apply", &format!("{script} {{workers}} {{threads}}")]);
    tune.args(["--restore", &format!("{script} restore"), "--cpus", "2", "--memory", "1GiB"]);
    tune.args(["--workers", "1", "--threads", "8", "--today", "1x8", "--slo", "p95<500ms"]);
    tune.args(["--budget", "30s", "--json"]);
    let ended = Running::begin(tune).end();
    ended.assert_code(0);
    let result = ended.json();
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    let trials = result["trials"].as_array().unwrap();
    // Of the unit's group alone, whatever else is busy here.
    let is_seen = |trial: &Value| trial["cpu_s"]["worker"].as_f64() > Some(0.0);
    assert!(trials.iter().any(is_seen), "{result:#}");
    assert_eq!(systemd.says("Environment"), "WEB_CONCURRENCY=1 RAILS_MAX_THREADS=1");
    assert_eq!(systemd.says("ActiveState"), "active");
    let drop_in = "run/systemd/user/shop.service.d/sweetspot.conf";
    assert!(!systemd.folder.path().join(drop_in).exists());
    let said = fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert!(said.contains(&systemd.says("MainPID")), "{said}");
}
