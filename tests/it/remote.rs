//! `sweetspot tune --apply`: a real Puma that runs elsewhere, as far as the program can tell: a
//! script of its users' starts it with each setting, and sweetspot only runs that script.

mod ecs;
mod from;
mod killed;
mod systemd;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustls::version::TLS13;
use serde_json::Value;

use crate::failures::nothing_left::processes_of;
use crate::failures::site::{Running, Site, configuration, set_mode};
use crate::load::tls_server::{Authority, TlsServer};
use crate::process::{unused_address, wait_until, write_files};
use crate::schema::assert_valid;

/// Ends what runs, and starts it with this many workers and threads. It says no to seven threads.
const SCRIPT: &str = r#"#!/bin/sh
set -eu
cd "$(dirname "$0")"
if [ -e pid ]; then
    read -r pid <pid
    kill "$pid" 2>/dev/null || :
    # Nobody may have waited for one that has ended, and a Puma that boots may not hear of it.
    looks=0
    while [ -e /proc/$pid ] && ! grep -q ') Z ' /proc/$pid/stat; do
        looks=$((looks + 1))
        [ "$looks" -lt 500 ] || kill -9 "-$pid" 2>/dev/null || :
        sleep 0.02
    done
fi
if [ -e hosts ]; then
    # A new machine or container each time: another address behind the same name.
    number=$(($(cat number) % 9 + 1))
    echo "$number" >number
    echo "127.0.0.1$number:$(cut -d: -f2 address)" >address
    echo "127.0.0.1$number app.test" >hosts
fi
[ "$2" != 7 ] || { echo "could not reach postgres://shop:s3cret@db/shop"; exit 3; }
[ ! -e broken ] || { echo "the platform is down"; exit 4; }
# Elsewhere nothing of who typed the command is there.
env -i PATH="$PATH" HOME="$PWD" setsid puma --quiet --bind "tcp://$(cat address)" -w "$1" \
    -t "$2:$2" config.ru </dev/null >>log 2>&1 &
echo "$!" >pid
echo "$1 x $2" >setting
[ -z "${SWEETSPOT_WITHIN_S:-}" ] || echo "$SWEETSPOT_WITHIN_S" >within
"#;

/// What runs elsewhere; ended with the test.
struct Elsewhere {
    folder: tempfile::TempDir,
    url: String,
}

impl Elsewhere {
    fn new() -> Self {
        let elsewhere = Self::not_started();
        assert!(elsewhere.script(&["1", "1"]).status().unwrap().success());
        elsewhere
    }

    fn not_started() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = unused_address().to_string();
        let files = [
            ("config.ru", "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n"),
            ("run", SCRIPT),
            ("address", &address),
        ];
        write_files(folder.path(), &files);
        set_mode(&folder.path().join("run"), 0o755);
        Self { folder, url: format!("http://{address}") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, arguments: &[&str]) -> Command {
        // What was just written may not be run by itself: another test's child may have it open.
        let mut command = Command::new("sh");
        command.arg(self.path("run")).args(arguments);
        command
    }

    /// From now on each setting gives it another address behind the same name.
    fn begin_to_move(&mut self) {
        write_files(self.folder.path(), &[("hosts", "127.0.0.1 app.test\n"), ("number", "0")]);
        self.url = self.url.replace("127.0.0.1", "app.test");
    }

    /// A command in a mount namespace of its own, whose names the script changes.
    fn apart(&self, site: &Site, command: &Command) -> Command {
        let hosts = self.path("hosts");
        let bind = format!("mount --bind '{}' /etc/hosts && exec \"$@\"", hosts.display());
        let mut apart = site.command_of("unshare".as_ref(), &["--mount", "sh", "-c", &bind, "sh"]);
        apart.arg(command.get_program()).args(command.get_args());
        apart
    }

    fn setting(&self) -> String {
        fs::read_to_string(self.path("setting")).unwrap().trim().to_string()
    }

    /// `sweetspot tune` of it.
    fn tune(&self, site: &Site, more: &[&str]) -> Command {
        let run = self.path("run");
        let apply = format!("sh {} {{workers}} {{threads}}", run.display());
        let restore = format!("sh {} 1 1", run.display());
        let mut command = site.command(&["tune", "--apply", &apply, "--restore", &restore]);
        command.args(["--url", &self.url, "--cpus", "2", "--memory", "1GiB", "--workers", "1"]);
        command.args(["--slo", "p95<500ms", "--budget", "30s"]).args(more);
        command
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        for pid in processes_of(self.folder.path()) {
            // SAFETY: two integers; what runs a server has made it leader of a group of its own.
            unsafe { libc::kill(-pid.cast_signed(), libc::SIGKILL) };
        }
    }
}

fn note(site: &Site) -> PathBuf {
    let store = site.store();
    store.with_file_name("sweetspot.db.changed.json")
}

fn holds(path: &Path, text: &str) -> bool {
    fs::read(path).unwrap().windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn an_app_elsewhere_is_tuned_by_its_own_commands_and_runs_as_before() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let more = ["--threads", "8", "--today", "1x8", "--observe", "sh", "--json"];
    let more = [&more[..], &["--boot-timeout", "15m"]].concat();
    let ended = Running::begin(elsewhere.tune(&site, &more)).end();
    ended.assert_code(0);
    let within_s = fs::read_to_string(elsewhere.path("within")).unwrap();
    let within_s: u64 = within_s.trim().parse().unwrap();
    assert!((600..=900).contains(&within_s), "more than the usual ten minutes: {within_s} s");
    let result = ended.json();
    assert_valid("tune.schema.json", &result);
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    // Eight threads that wait for 20 ms each, and not the one that it had.
    let capacity = result["decision"]["capacity_rps"].as_f64().unwrap();
    assert!((60.0..=400.0).contains(&capacity), "{result:#}");
    let settings = &result["decision"]["settings"];
    let lines = settings["config_snippet"].as_str().unwrap();
    assert!(lines.ends_with("/run 1 8"), "{lines}");
    // Who is looked at here is the busiest of this whole machine, which other tests share.
    let trials = result["trials"].as_array().unwrap();
    let is_seen = |trial: &Value| trial["cpu_s"]["worker"].as_f64() > Some(0.0);
    assert!(trials.iter().any(is_seen), "{result:#}");
    assert_eq!(elsewhere.setting(), "1 x 1");
    assert!(!note(&site).exists());
    let missing = site.run(&["verify", "last"]);
    missing.assert_code(2).assert_says(&["measured an app elsewhere", "--apply"]);
}

#[test]
fn an_app_that_has_another_address_with_each_setting_is_found_by_its_name() {
    let (site, mut moving) = (Site::new(&[]), Elsewhere::new());
    moving.begin_to_move();
    let tune = moving.tune(&site, &["--threads", "8", "--today", "1x8", "--json"]);
    let ended = Running::begin(moving.apart(&site, &tune)).end();
    ended.assert_code(0);
    assert_eq!(configuration(&ended.json()["decision"]), (1, 8));
    let starts: u32 = fs::read_to_string(moving.path("number")).unwrap().trim().parse().unwrap();
    assert!(starts > 1 && moving.setting() == "1 x 1", "{starts}");
}

#[test]
fn a_setting_that_cannot_be_had_is_told_and_its_secret_is_nowhere() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let tune = elsewhere.tune(&site, &["--threads", "7", "--today", "1x7"]);
    let ended = site.run_command(tune);
    ended.assert_code(1);
    ended.assert_says(&["the command that applies it failed (exit status 3)", "could not reach"]);
    assert!(!ended.stderr.contains("s3cret") && !holds(&site.store(), "s3cret"));
    assert_eq!(elsewhere.setting(), "1 x 1");
    assert!(!note(&site).exists());
}

#[test]
fn what_a_killed_session_leaves_is_put_back_by_restore_and_not_tuned_before() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let mut running = Running::begin(elsewhere.tune(&site, &["--threads", "8", "--today", "1x8"]));
    running.expect("1 x 8");
    running.expect(", unloaded, ");
    running.signal(libc::SIGKILL);
    running.end();
    assert_eq!(elsewhere.setting(), "1 x 8");
    let again = site.run_command(elsewhere.tune(&site, &["--threads", "8"]));
    again.assert_code(1).assert_says(&["has left the app changed", "sweetspot restore"]);
    let restored = site.run(&["restore"]);
    restored.assert_code(0);
    restored.assert_says(&["is put back, by the session's own command", &elsewhere.url]);
    assert_eq!(elsewhere.setting(), "1 x 1");
    assert!(!note(&site).exists());
    site.run(&["restore"]).assert_says(&["no session of", "has left an app changed"]);
}

#[test]
fn ctrl_c_puts_it_back_and_what_cannot_be_is_said_with_the_way_out() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let mut running = Running::begin(elsewhere.tune(&site, &["--threads", "8", "--today", "1x8"]));
    running.expect("held");
    running.signal(libc::SIGINT);
    running.end().assert_says(&["stopped before its end"]);
    assert_eq!(elsewhere.setting(), "1 x 1");
    assert!(!note(&site).exists());

    let mut running = Running::begin(
        elsewhere.tune(&site, &["--threads", "8", "--today", "1x8", "--fresh-session"]),
    );
    running.expect("held");
    fs::write(elsewhere.path("broken"), "").unwrap();
    running.signal(libc::SIGINT);
    let ended = running.end();
    ended.assert_code(1);
    ended.assert_says(&["could not be put back", "sweetspot restore", "the platform is down"]);
    site.run(&["restore"]).assert_code(1).assert_says(&["the platform is down", "exit status 4"]);
    assert!(note(&site).exists());
    fs::remove_file(elsewhere.path("broken")).unwrap();
    site.run(&["restore"]).assert_code(0);
    assert_eq!(elsewhere.setting(), "1 x 1");
}

#[test]
fn an_app_that_does_not_answer_is_told_and_put_back() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let more = ["--threads", "1", "--ready", "/", "--ready-command", "echo not yet; exit 9"];
    let running = Running::begin(elsewhere.tune(&site, &more));
    wait_until("it is being changed", || note(&site).exists());
    running.signal(libc::SIGINT);
    running.end_within(Duration::from_secs(60)).assert_code(1);
    assert_eq!(elsewhere.setting(), "1 x 1");
    assert!(!note(&site).exists());
    let plan = site.run_command(elsewhere.tune(&site, &["--threads", "1,8", "--dry-run"]));
    plan.assert_code(0).assert_says(&["app at", &elsewhere.url]);
    assert!(!plan.stdout.contains("/run"), "commands may hold secrets: {}", plan.stdout);
}

/// Not for the ten minutes that an app may take which does not answer yet.
#[test]
fn an_app_whose_certificate_is_not_trusted_is_not_waited_for_and_the_reason_is_told() {
    let (site, theirs, trusted) = (Site::new(&[]), Authority::new(), Authority::named("another"));
    let config = theirs.identity("127.0.0.1").server(&[&TLS13]);
    let server = TlsServer::answering(config, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let asked = ["tune", "--apply", "true {workers} {threads}", "--restore", "true"];
    let mut command = site.command(&asked);
    command.args(["--url", &server.url(), "--cpus", "2", "--memory", "1GiB", "--workers", "1"]);
    command.args(["--threads", "1", "--slo", "p95<500ms", "--budget", "30s"]);
    // In place of this system's CAs, of which there may be none.
    command.env("SSL_CERT_FILE", trusted.ca_file());
    let ended = Running::begin(command).end();
    ended.assert_code(1);
    ended.assert_says(&["UnknownIssuer", "signed by no CA that this machine trusts"]);
    ended.assert_says(&["SSL_CERT_FILE=FILE"]);
}

/// What Kamal deploys: two variables for all, one of them for the role that answers, too.
const DEPLOY: &str = r#"
# The shop's own.
service: shop
servers:
  web:
    hosts: [10.0.0.7]
    env:
      clear:
        RAILS_MAX_THREADS: "<%= 1 %>"
  job: [10.0.0.8]
env:
  clear:
    WEB_CONCURRENCY: "1"
    COLOUR: blue
  secret: [SECRET_KEY_BASE]
"#;

/// In place of ssh: the command is run here, and docker's part of it answered.
const SSH: &str = r#"#!/bin/sh
echo "$*" >>"$HOST_FOLDER/ssh"
exec sh
"#;

#[test]
fn what_kamal_deploys_is_tuned_by_kamals_own_commands() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let app = site.path("app");
    let stand_in = include_str!("remote/kamal.rb");
    write_files(&app, &[("config/deploy.yml", DEPLOY), ("config/deploy.eu.yml", "{}\n")]);
    write_files(&app, &[("bin/kamal", stand_in), ("tools/ssh", SSH)]);
    ["bin/kamal", "tools/ssh"].iter().for_each(|name| set_mode(&app.join(name), 0o755));
    fs::write(elsewhere.path("version"), "abc123").unwrap();
    let kamal = |arguments: &[&str]| {
        let mut command = Command::new("ruby");
        command
            .arg(app.join("bin/kamal"))
            .args(arguments)
            .current_dir(&app)
            .env("HOST_FOLDER", elsewhere.folder.path());
        assert!(command.status().unwrap().success());
    };
    kamal(&["app", "boot", "--version", "abc123"]);
    let before = fs::read_to_string(elsewhere.path("env")).unwrap();
    assert_eq!(before, "COLOUR=blue\nRAILS_MAX_THREADS=1\nWEB_CONCURRENCY=1\n");

    let tools = format!("{}:{}", app.join("tools").display(), std::env::var("PATH").unwrap());
    let tune = |threads: &str, more: &[&str]| {
        let asked = ["tune", "--kamal", "--kamal-destination", "eu", "--url", &elsewhere.url];
        let mut command = site.command(&asked);
        command.args(["--cpus", "2", "--memory", "1GiB", "--workers", "1", "--threads", threads]);
        command.args(["--today", &format!("1x{threads}"), "--slo", "p95<500ms"]);
        command.args(["--budget", "40s"]).args(more);
        command.env("HOST_FOLDER", elsewhere.folder.path()).env("PATH", &tools);
        Running::begin(command).end()
    };
    let ended = tune("8", &["--json"]);
    ended.assert_code(0);
    let result = ended.json();
    assert_eq!(configuration(&result["decision"]), (1, 8), "{result:#}");
    let settings = &result["decision"]["settings"];
    let lines = "env:\n  clear:\n    RAILS_MAX_THREADS: \"8\"\n    WEB_CONCURRENCY: \"1\"";
    assert_eq!(settings["config_snippet"], lines);
    assert_eq!(fs::read_to_string(elsewhere.path("env")).unwrap(), before);
    // One that does not come up leaves the one before it renamed, which is put back all the same.
    fs::write(elsewhere.path("old"), "").unwrap();
    tune("7", &[]).assert_code(1).assert_says(&["failed to become healthy"]);
    assert_eq!(fs::read_to_string(elsewhere.path("version")).unwrap(), "abc123");
    // As it was, by its own configuration, which nobody has touched.
    assert_eq!(fs::read_to_string(elsewhere.path("env")).unwrap(), before);
    assert_eq!(fs::read_to_string(app.join("config/deploy.yml")).unwrap(), DEPLOY);
    let reached = fs::read_to_string(elsewhere.path("ssh")).unwrap();
    for part in
        ["-p 2222", "deploy@10.0.0.7 docker exec -i", "label=role=web", "label=service=shop "]
    {
        assert!(reached.contains(part), "{part} is missing in {reached}");
    }
    site.nothing_left.check();
}
