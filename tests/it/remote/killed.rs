//! Killed at random moments, by `KILLS` as many as one likes: what `sweetspot restore` puts back is
//! as it was, whatever was being changed.

use std::fs;
use std::time::Duration;

use super::ecs::Account;
use super::{Elsewhere, note};
use crate::failures::killed::random;
use crate::failures::site::{Running, Site};

fn kills() -> usize {
    std::env::var("KILLS").map_or(3, |text| text.parse().unwrap())
}

/// Kills it at some moment of its first seconds, whatever it does then.
fn kill_at_some_moment(mut running: Running, seconds: f64, seed: &mut u64) {
    let moment = Duration::from_secs_f64(seconds * random(seed));
    assert!(!running.wait_for("no line says this", moment));
    assert!(!running.has_ended(), "{}", running.stderr());
    running.signal(libc::SIGKILL);
    let ended = running.end();
    assert_eq!(ended.code, None, "{ended:?}");
}

#[test]
fn an_app_elsewhere_is_put_back_whenever_its_session_was_killed() {
    let (site, elsewhere) = (Site::new(&[]), Elsewhere::new());
    let mut seed = 2029;
    for number in 0..kills() {
        let more = ["--threads", "2,8", "--today", "1x2", "--fresh-session"];
        kill_at_some_moment(Running::begin(elsewhere.tune(&site, &more)), 8.0, &mut seed);
        site.run(&["restore"]).assert_code(0);
        assert_eq!(elsewhere.setting(), "1 x 1", "kill {number}");
        assert!(!note(&site).exists());
    }
    site.nothing_left.check();
}

#[test]
fn a_service_of_ecs_is_put_back_whenever_its_session_was_killed() {
    let mut seed = 2030;
    for account in Account::with_and_without_room() {
        for _ in 0..kills().div_ceil(2) {
            kill_at_some_moment(account.tune("8", &["--fresh-session"]), 8.0, &mut seed);
            account.restore().assert_code(0);
            account.assert_as_before();
        }
        account.site.nothing_left.check();
    }
}

/// What puts it back is killed too, with the command that it runs.
#[test]
fn a_service_of_ecs_is_put_back_whenever_its_restore_was_killed() {
    let mut seed = 2031;
    for account in Account::with_and_without_room() {
        for number in 0..kills().div_ceil(2) {
            account.kill_a_tune();
            let restore = account.site.command(&["restore"]);
            let mut running = Running::begin(account.with_tools(restore));
            let moment = Duration::from_secs_f64(3.0 * random(&mut seed));
            // It may be over before.
            running.wait_for("no line says this", moment);
            running.signal(libc::SIGKILL);
            running.end();
            kill_command_of(&account.site);
            let restored = account.restore();
            assert_eq!(restored.code, Some(0), "kill {number}: {restored:?}");
            account.assert_as_before();
        }
        account.site.nothing_left.check();
    }
}

/// The command that a killed `restore` has left, where it still runs.
fn kill_command_of(site: &Site) {
    let mut file = note(site).into_os_string();
    file.push(".command");
    let Ok(text) = fs::read_to_string(file) else { return };
    let Ok(pid) = text.trim().parse::<i32>() else { return };
    let is_ours = fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|words| words.split(|byte| *byte == 0).any(|word| word == b"__ecs"));
    if is_ours {
        // SAFETY: two integers; the process is the command, by its own arguments.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}
