//! The blocks of a session, in which what is close is measured again: by what the place was asked
//! to do, and by the trials that are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sweetspot::place::simulated::{Drift, SimulatedApp};
use sweetspot::place::{Observed, Offer};
use sweetspot::plan::Plan;
use sweetspot::terms::{Configuration, EventKind, Rate, TrialPurpose, TrialSummary, Verdict};
use tempfile::TempDir;

use crate::setbacks::{At, Spoiling};
use crate::tune::{Room, plan};

struct Seen {
    met: Vec<(u64, Configuration)>,
    chosen: Configuration,
    /// Windows of blocks that ask for the capacity, by start.
    starts: BTreeMap<u32, Vec<TrialSummary>>,
}

/// `start` is by how much starts differ, as a standard deviation of logarithms.
fn session(seed: u64, start: f64) -> Seen {
    let folder = TempDir::new().unwrap();
    let drift = Drift { start, window: 0.02, ..Drift::default() };
    let app = SimulatedApp { cpu_s: 0.012, wait_s: 0.024, drift, ..SimulatedApp::default() };
    let plan = Plan { budget: Duration::from_secs(900), seed, ..plan(&folder) };
    // Which setting met which arrivals.
    let mut met = Vec::new();
    let note = |(at, _): At, offer: &Offer, _: &mut Observed| met.push((offer.seed, at));
    let ended = Room::default().tune(&plan, &mut Spoiling::new(app, seed, note)).unwrap();
    let mut starts: BTreeMap<u32, Vec<TrialSummary>> = BTreeMap::new();
    // There the latencies of settings that hold as much are compared, once a start.
    let at_rps = ended.result.decision.as_ref().and_then(|decision| decision.latency_at_rps);
    let mut compared = BTreeSet::new();
    for event in &ended.events {
        if let EventKind::TrialFinished { summary, .. } = &event.kind
            && summary.purpose == TrialPurpose::Confirm
        {
            let rate_rps = summary.offered.rate().map(Rate::as_per_second);
            if at_rps.is_some() && rate_rps == at_rps {
                assert!(compared.insert(summary.start), "one window a start");
                continue;
            }
            starts.entry(summary.start).or_default().push((**summary).clone());
        }
    }
    let chosen = crate::tune::chosen(&ended);
    Seen { met, chosen, starts }
}

/// Whether these windows say on which side of each other the rates it holds and misses are.
fn is_between(windows: &[TrialSummary]) -> bool {
    let seen = |leaning| windows.iter().any(|it| it.edge.is_some() || it.leaning == leaning);
    seen(Verdict::Yes) && seen(Verdict::No)
}

/// Which setting was before which other in a block; each has every setting once.
fn orders(starts: impl Iterator<Item = Configuration>) -> BTreeSet<(Configuration, Configuration)> {
    let (mut orders, mut block) = (BTreeSet::new(), Vec::new());
    for configuration in starts {
        if block.contains(&configuration) {
            block.clear();
        }
        orders.extend(block.iter().map(|before| (*before, configuration)));
        block.push(configuration);
    }
    orders
}

#[test]
fn what_is_compared_meets_the_same_arrivals_in_random_order_until_both_sides_were_seen() {
    let (mut shared, mut has_both_orders) = (0, false);
    for (seed, start) in [(1, 0.015), (2, 0.015), (3, 0.3), (4, 0.3)] {
        let Seen { met, chosen, starts } = session(seed, start);
        let mut by_arrivals: BTreeMap<u64, Vec<Configuration>> = BTreeMap::new();
        for (arrivals, configuration) in met {
            by_arrivals.entry(arrivals).or_default().push(configuration);
        }
        for settings in by_arrivals.values() {
            let different: BTreeSet<_> = settings.iter().collect();
            assert_eq!(different.len(), settings.len(), "nobody meets the same twice");
            shared += usize::from(settings.len() > 1);
        }
        // Of settings that are far behind, and in the end, three windows are enough.
        for windows in starts.values().take(starts.len() - 1) {
            assert!((3..=6).contains(&windows.len()), "{windows:?}");
            let goes_on = windows.len() > 3;
            let before = &windows[..windows.len() - usize::from(goes_on)];
            let is_enough = !goes_on && windows[0].configuration != chosen;
            assert!(is_enough || is_between(before) != goes_on, "{windows:?}");
        }
        let before = orders(starts.values().map(|all| all[0].configuration));
        has_both_orders |= before.iter().any(|(a, b)| before.contains(&(*b, *a)));
    }
    assert!(shared >= 9, "three windows of every block are shared: {shared}");
    assert!(has_both_orders, "the same setting is always measured first");
}
