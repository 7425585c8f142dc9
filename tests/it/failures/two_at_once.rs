//! Two measurements on one machine, and two programs on one store.

use std::process::Command;

use super::site::Running;
use super::unprivileged::is_root;
use super::*;
use crate::place::title;
use crate::process::{kill, wait_until};

const TUNE: &[&str] = &["tune", "--budget", "60s", "--slo", "p95<1s"];

/// The command, whose measurements see those of others who lock this file of the site's.
fn locking(lock: &str, site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command(arguments);
    command.env("SWEETSPOT_LOCK", site.path(lock));
    command
}

fn command(site: &Site, arguments: &[&str]) -> Command {
    locking("lock", site, arguments)
}

#[test]
fn a_second_measurement_waits_for_the_first_or_is_refused_as_asked() {
    let site = Site::waiting();
    let mut first = Running::begin(command(&site, TUNE));
    first.expect(" answered ");
    let named = format!("another sweetspot measures (process {})", first.pid());
    let load = ["load", "http://127.0.0.1:9/", "--rate", "1/s", "--duration", "1s", "--no-wait"];
    let verbs = [[TUNE, &["--no-wait"]].concat(), load.to_vec()];
    for arguments in verbs {
        let refused = Running::begin(command(&site, &arguments)).end();
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        refused.assert_says(&[&named, "two at once disturb each other"]);
    }
    let mut second = Running::begin(command(&site, &[TUNE, &["--fresh-session"]].concat()));
    second.expect(&format!("{named} on this machine: waiting"));
    first.signal(libc::SIGKILL);
    assert_eq!(first.end().code, None);
    second.expect(" answered ");
    second.signal(libc::SIGINT);
    // It has no answer yet.
    second.end().assert_code(1);
}

/// What a container doesn't see of another are its processes and its folder for temporary files; a
/// store they may have in common.
#[test]
fn two_measurements_into_one_store_are_one_after_the_other_also_out_of_sight() {
    let site = Site::waiting();
    let apart = |arguments: &[&str], lock: &str| locking(lock, &site, arguments);
    let mut first = Running::begin(apart(TUNE, "lock-a"));
    first.expect(" answered ");
    let refused = Running::begin(apart(&[TUNE, &["--no-wait"]].concat(), "lock-b")).end();
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    refused.assert_says(&["two at once disturb each other"]);
    first.signal(libc::SIGINT);
    // It has no answer yet.
    first.end().assert_code(1);
    let other = ["--store", "other.db", "--no-wait", "--dry-run"];
    Running::begin(apart(&[TUNE, &other].concat(), "lock-b")).end().assert_code(0);
}

#[test]
fn who_waits_can_be_stopped() {
    let site = Site::waiting();
    let mut first = Running::begin(command(&site, TUNE));
    first.expect(" answered ");
    let mut second = Running::begin(command(&site, TUNE));
    second.expect("waiting until that has ended");
    second.signal(libc::SIGINT);
    let ended = second.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    ended.assert_says(&["stopped while waiting"]);
    first.signal(libc::SIGINT);
    // It has no answer yet.
    first.end().assert_code(1);
}

#[test]
fn a_session_that_is_written_out_of_sight_is_seen_to_be_written() {
    if !is_root() {
        eprintln!("not run: it takes root to make a process namespace, as a container has");
        return;
    }
    let site = Site::waiting();
    let inside = site.command(TUNE);
    // A shell is the container's first process, so that the command can end without it.
    let script = "\"$@\"; echo it has ended >&2; sleep 60";
    let mut container = site.command_of("unshare".as_ref(), &["--pid", "--fork", "--kill-child"]);
    container.args(["--mount-proc", "sh", "-c", script, "sh"]).arg(inside.get_program()).args(TUNE);
    let mut first = Running::begin(container);
    first.expect(" answered ");
    let state = || {
        let listed = Running::begin(site.command(&["sessions", "list", "--json"])).end();
        listed.json()[0]["state"].as_str().unwrap().to_string()
    };
    assert_eq!(state(), "running");
    let removed = Running::begin(site.command(&["sessions", "rm", "1"])).end();
    assert_eq!(removed.code, Some(1), "{}", removed.stderr);
    removed.assert_says(&["session 1 is being written by another program"]);
    let tune = site.nothing_left.with_title("tune --budget");
    let tune = tune.into_iter().find(|pid| !title(*pid).contains("sh -c")).unwrap();
    let guardians = || site.nothing_left.with_title(" __guardian");
    assert!(!guardians().is_empty());
    kill(tune, libc::SIGKILL);
    first.expect("it has ended");
    assert_eq!(state(), "interrupted");
    // The container's end would kill the guardian while it cleans up.
    wait_until("the guardian has ended", || guardians().is_empty());
    first.signal(libc::SIGKILL);
    assert_eq!(first.end().code, None);
    site.nothing_left.check();
}
