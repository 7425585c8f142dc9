//! Ctrl-C, once and twice.

use std::time::{Duration, Instant};

use sweetspot::store::{SessionId, Store};
use sweetspot::terms::{Reason, SessionState};

use super::site::Running;
use super::*;
use crate::schema::report_of;

const TUNE: &[&str] =
    &["tune", "--workers", "1", "--threads", "1", "--budget", "40s", "--slo", "p95<2s"];

/// Ctrl-C. Two that come before the first was taken count as one, so it waits for that.
fn press(running: &Running) {
    running.signal(libc::SIGINT);
    let is_pending = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap();
        u64::from_str_radix(pending.trim(), 16).unwrap() & (1 << (libc::SIGINT - 1)) != 0
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_pending() {
        assert!(Instant::now() < deadline, "the signal is never taken");
        std::thread::yield_now();
    }
}

fn state(site: &Site) -> SessionState {
    Store::open_existing(&site.store()).unwrap().sessions().unwrap()[0].state
}

#[test]
fn the_first_ctrl_c_ends_the_trial_stores_it_and_prints_the_answer_so_far() {
    let site = Site::waiting();
    let mut running = Running::begin(site.command(TUNE));
    running.expect("probe");
    running.expect("held");
    // The fourth, or the fifth where a burst was repeated.
    running.expect("trial ");
    let begun = running.stderr().lines().filter(|line| line.starts_with("trial ")).count();
    let site_has_puma = !site.nothing_left.with_title("puma").is_empty();
    press(&running);
    let ended = running.end();
    assert!(site_has_puma, "the server is known by the site's folder");
    site.nothing_left.check();
    ended.assert_code(0);
    ended.assert_says(&["stopped before its end: this is the answer so far", "it holds"]);
    assert_eq!(state(&site), SessionState::Stopped);
    let trials = site.trials();
    assert_eq!(trials.len(), begun, "the running trial is stored as well");
    let stopped = &trials[begun - 1];
    assert_eq!((stopped.valid, stopped.reason.fact()), (false, Some(&Reason::StoppedByUser)));
    let store = Store::open_existing(&site.store()).unwrap();
    let events = store.events(SessionId(1)).unwrap();
    assert!(report_of(&events, None).decision.is_some());
}

#[test]
fn ctrl_c_before_anything_is_known_says_so() {
    let site = Site::waiting();
    let mut running = Running::begin(site.command(TUNE));
    running.expect("trial 1:");
    press(&running);
    let ended = running.end();
    site.nothing_left.check();
    ended.assert_code(1).assert_says(&[
        "Stopped before it could decide (1 trial in",
        "was not measured far enough to say what it holds",
    ]);
}

#[test]
fn the_second_ctrl_c_ends_at_once_whatever_the_server_does() {
    // Holds every request, and its process holds out against SIGTERM as well.
    let holding = "trap('TERM') {}\nserved = 0\n\
                   run ->(env) { sleep 30 if (served += 1) > 30; [200, {}, ['ok']] }\n";
    let site = Site::new(&[("config.ru", holding)]);
    let mut running = Running::begin(site.command(TUNE));
    running.expect("trial 1:");
    let pressed = Instant::now();
    press(&running);
    press(&running);
    let ended = running.end();
    assert!(pressed.elapsed() < Duration::from_secs(8), "{:?}", pressed.elapsed());
    site.nothing_left.check();
    ended.assert_code(1);
    assert_eq!(state(&site), SessionState::Stopped);
}
