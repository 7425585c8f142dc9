//! `kill -9` of sweetspot and its guardian at once, at any moment: what they had started ends all
//! the same, or the next command ends it and says so. `KILLS=100` tries more moments than CI has
//! time for.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::killed::random;
use super::site::Running;
use super::*;
use crate::place::{parent, title};
use crate::process::kill;

const PUMA: &[(&str, &str)] = &[
    ("config.ru", "run ->(env) { sleep 0.02; [200, {}, ['ok']] }\n"),
    ("config/puma.rb", "workers 2\nthreads 1, 1\n"),
];

/// A server that hides: in a session of its own, with an empty environment, output and folder that
/// are not ours, and a parent that has ended.
const HIDING: &str = r#"
require "rbconfig"
require "socket"
unless ARGV[1]
  fork do
    Process.setsid
    fork do
      exec({}, RbConfig.ruby, File.expand_path(__FILE__), ARGV[0], "serving",
           unsetenv_others: true, chdir: "/", out: "/dev/null", err: "/dev/null")
    end
  end
  sleep
end
server = TCPServer.new("127.0.0.1", Integer(ARGV[0]))
loop do
  Thread.new(server.accept) do |client|
    nil until client.gets.to_s.strip.empty?
    sleep 0.02
    client.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    client.close
  end
end
"#;

fn kills(default: usize) -> usize {
    std::env::var("KILLS").map_or(default, |text| text.parse().unwrap())
}

/// The processes of ours below this one: its guardians, and who waits for their ends.
fn helpers(of: u32) -> (Vec<u32>, Vec<u32>) {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = ids.filter(|pid| parent(*pid) == Some(of) && title(*pid).contains("__guardian"));
    ours.partition(|pid| !title(*pid).contains("--after"))
}

/// Kills the command and its guardians at some moment of its first seconds, and who waits for their
/// ends when `all` of ours are to go. Where nobody waits, the next command has to do it; then
/// nothing is left.
fn kill_at_some_moment(site: &Site, arguments: &[&str], all: bool, seed: &mut u64) {
    let mut running = Running::begin(site.command(arguments));
    let moment = Duration::from_secs_f64(0.1 + 2.9 * random(seed));
    assert!(!running.wait_for("no line says this", moment));
    assert!(!running.has_ended(), "{}", running.stderr());
    if !kill_with_helpers(running, all) {
        site.run(&["doctor", "--quiet"]);
    }
    site.nothing_left.check();
}

/// Kills the command and its guardians, at the same moment for each of them: first all are stopped.
/// True where somebody waits for the end of every guardian: not where all of ours are killed, nor
/// in the moment before that process is there.
fn kill_with_helpers(running: Running, all: bool) -> bool {
    running.signal(libc::SIGSTOP);
    let (mut helpers, waiting) = helpers(running.pid());
    let is_awaited = !all && waiting.len() == helpers.len();
    if all {
        helpers.extend(waiting);
    }
    helpers.iter().for_each(|pid| kill(*pid, libc::SIGSTOP));
    running.signal(libc::SIGKILL);
    helpers.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
    assert_eq!(running.end().code, None);
    is_awaited
}

fn tune_and_kill(site: &Site, arguments: &[&str], kills: usize) {
    let mut seed = 2027;
    let common = ["--budget", "60s", "--slo", "p95<1s", "--cpus", "1", "--fresh-session", "--yes"];
    let arguments = [&["tune"], &common[..], arguments].concat();
    for number in 0..kills {
        // One time in four nobody is left to do it.
        kill_at_some_moment(site, &arguments, number % 4 == 3, &mut seed);
    }
}

#[test]
fn puma_ends_with_both() {
    tune_and_kill(&Site::new(PUMA), &[], kills(8));
}

#[test]
fn puma_behind_nginx_ends_with_both() {
    tune_and_kill(&Site::new(PUMA), &["--proxy", "nginx"], kills(8));
}

#[test]
fn a_server_that_hides_ends_with_both_where_there_are_control_groups() {
    if !can_make_groups() {
        eprintln!("not run: without a control group nothing tells such a server from others");
        return;
    }
    let site = Site::new(&[("hiding.rb", HIDING)]);
    let start = ["--start", "ruby hiding.rb {port}", "--workers", "1", "--threads", "1"];
    tune_and_kill(&site, &start, kills(8));
}

#[test]
fn a_labs_database_ends_with_both() {
    let site = Site::new(&[]);
    let mut seed = 2028;
    for number in 0..kills(4) {
        let lab = ["lab", "run", "weight-sinatra-mysql", "--quick"];
        kill_at_some_moment(&site, &lab, number % 4 == 3, &mut seed);
    }
}

fn can_make_groups() -> bool {
    let own = sweetspot::monitor::groups::own(Path::new("/"));
    own.cpu.is_some_and(|group| {
        let name = group.folder.join("sweetspot-test");
        let is_made = fs::create_dir(&name).is_ok();
        let _ = fs::remove_dir(&name);
        is_made
    })
}

#[test]
fn what_nobody_was_left_to_end_is_ended_and_named_by_the_next_command() {
    let site = Site::new(PUMA);
    let mut running = Running::begin(site.command(&["tune", "--budget", "60s", "--slo", "p95<1s"]));
    running.expect(" answered ");
    let (guardians, waiting) = helpers(running.pid());
    assert_eq!((guardians.len(), waiting.len()), (1, 1));
    kill_with_helpers(running, true);
    let scratch = fs::read_dir(site.path("tmp")).unwrap().flatten().map(|entry| entry.path());
    let scratch = scratch.into_iter().find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sweetspot-"))
    });
    let scratch = scratch.expect("its folder is left").display().to_string();
    let ended = site.run(&["sessions", "list"]);
    ended.assert_code(0);
    ended.assert_says(&["ended what a sweetspot that was killed had left: ", &scratch]);
    let again = site.run(&["sessions", "list"]);
    assert!(!again.stderr.contains("was killed"), "{}", again.stderr);
}
