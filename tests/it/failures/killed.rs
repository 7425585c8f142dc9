//! `kill -9` at any moment: nothing is left, nothing that was stored is lost, and the next run goes
//! on to the answer of a run that nobody killed.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::site::{Running, trials};
use super::*;

const MOMENTS: usize = 50;

/// With limits, so that there are control groups where they can be made. One client thread today,
/// four hold about four times as much, on any machine.
const TUNE: &[&str] = &[
    "tune",
    "--workers",
    "1",
    "--threads",
    "1,4",
    "--slo",
    "p95<1s",
    "--budget",
    "60s",
    "--cpus",
    "1",
    "--yes",
    "--json",
];

/// Steele, Lea and Flood's SplitMix64, as a number from 0 to 1.
pub fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

/// A random moment of the first seconds or, one time in ten, soon after a trial was stored.
fn kill_at_some_moment(site: &Site, moment: usize, known: usize, seed: &mut u64) {
    let mut running = Running::begin(site.command(TUNE));
    let mut delay = 0.1 + 1.9 * random(seed);
    if moment % 10 == 9 {
        if known > 0 {
            // The known trials are shown once more before this line.
            running.expect("taking up session");
        }
        running.expect(" answered ");
        delay /= 4.0;
    }
    assert!(!running.wait_for("no line says this", Duration::from_secs_f64(delay)));
    assert!(!running.has_ended(), "moment {moment} came too late");
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    site.nothing_left.check();
}

fn known_trials(store: &Path) -> Vec<sweetspot::terms::TrialSummary> {
    if store.exists() { trials(store) } else { Vec::new() }
}

fn interval(report: &Value) -> (f64, f64) {
    let bound = |at: usize| report["decision"]["capacity_rps_interval"][at].as_f64().unwrap();
    (bound(0), bound(1))
}

#[test]
fn a_tune_killed_at_fifty_moments_leaves_nothing_and_goes_on_to_the_same_answer() {
    let [site, beside] = Site::two_waiting();
    let mut whole = Running::begin(beside.command(TUNE));
    let mut beside = Some(beside);
    let mut seed = 2026;
    let mut known = Vec::new();
    for moment in 0..MOMENTS {
        kill_at_some_moment(&site, moment, known.len(), &mut seed);
        if whole.has_ended() {
            // Others can have its part of the machine.
            beside = None;
        }
        let now = known_trials(&site.store());
        assert!(now.starts_with(&known), "moment {moment}: a stored trial is gone");
        let is_after_a_trial = moment % 10 == 9;
        assert!(!is_after_a_trial || now.len() > known.len(), "moment {moment}: not stored");
        known = now;
    }
    let ended = site.run(TUNE);
    ended.assert_code(0).assert_says(&[&format!("{} trials were known", known.len())]);
    assert!(site.trials().starts_with(&known));
    assert!(site.trials().len() > known.len(), "it went on");
    let (resumed, whole) = (ended.json(), whole.end());
    drop(beside);
    whole.assert_code(0);
    let whole = whole.json();
    let (a, b) = (interval(&resumed), interval(&whole));
    let is_same = configuration(&resumed["decision"]) == configuration(&whole["decision"]);
    assert!(is_same || (a.0 <= b.1 && b.0 <= a.1), "{resumed:#}\n{whole:#}");
}
