//! A simulated place some of whose starts are in trouble, whatever their load.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::place::simulated::SimulatedApp;
use sweetspot::place::{Observed, Offer, Place};
use sweetspot::terms::LoadSecond;

use crate::setbacks::{At, Spoiling, died};

/// The warm-up of loads at the rate that both revisions are sent; others have a longer one.
const WARM_UP_AT_RATE: Duration = Duration::from_secs(1);

/// What befalls a start at the rate that both revisions are sent.
#[derive(Debug, Clone, Copy)]
pub enum Trouble {
    /// This share of its requests fails.
    Fails(f64),
    /// Its server dies.
    Dies,
}

/// A place this share of whose starts, all of one setting, are in trouble by chance.
pub fn troubled(app: SimulatedApp, seed: u64, trouble: Trouble, share: f64) -> impl Place {
    // Not what the simulation draws.
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    let (mut drawn, mut is_in_trouble) = (0, false);
    Spoiling::new(app, seed, move |(_, starts): At, offer: &Offer, seen: &mut Observed| {
        // Once for each start, whether or not it was sent anything.
        while drawn < starts {
            is_in_trouble = random.random::<f64>() < share;
            drawn += 1;
        }
        match trouble {
            _ if !is_in_trouble || offer.warm_up != WARM_UP_AT_RATE => {}
            Trouble::Fails(share) => {
                seen.load.seconds.iter_mut().for_each(|second| fail(second, share));
            }
            Trouble::Dies => seen.failure = Some(died()),
        }
    })
}

/// As many of its good replies become failures.
fn fail(second: &mut LoadSecond, share: f64) {
    let good = second.status.entry(200).or_default();
    let failed = (*good as f64 * share).round() as u64;
    *good -= failed;
    *second.status.entry(503).or_default() += failed;
}
