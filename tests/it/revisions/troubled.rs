//! A simulated place some of whose starts are in trouble, whatever their load.

use std::ops::ControlFlow;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::place::simulated::{Simulated, SimulatedApp};
use sweetspot::place::{Observed, Offer, Place, PlaceError, Started};
use sweetspot::server::Inspection;
use sweetspot::terms::{
    Configuration, LiveSecond, LoadSecond, Machine, ProcessEnd, ServerEnd, TrialFailure, Variant,
    Warning,
};

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

/// A place whose starts are in trouble by chance.
pub struct Troubled {
    inner: Simulated,
    trouble: Trouble,
    /// Of all starts.
    share: f64,
    random: Xoshiro256PlusPlus,
    is_in_trouble: bool,
}

impl Troubled {
    pub fn new(app: SimulatedApp, seed: u64, trouble: Trouble, share: f64) -> Self {
        // Not what the simulation draws.
        let random = Xoshiro256PlusPlus::seed_from_u64(!seed);
        let inner = Simulated::new(app, seed);
        Self { inner, trouble, share, random, is_in_trouble: false }
    }
}

impl Place for Troubled {
    fn machine(&self) -> &Machine {
        self.inner.machine()
    }
    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }
    fn warnings(&self) -> Vec<Warning> {
        self.inner.warnings()
    }
    fn inspect(&mut self) -> Result<Inspection, PlaceError> {
        self.inner.inspect()
    }
    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError> {
        self.is_in_trouble = self.random.random::<f64>() < self.share;
        self.inner.start_variant(configuration, variant)
    }
    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError> {
        let mut observed = self.inner.offer(offer, watch)?;
        match self.trouble {
            _ if !self.is_in_trouble || offer.warm_up != WARM_UP_AT_RATE => {}
            Trouble::Fails(share) => {
                observed.load.seconds.iter_mut().for_each(|second| fail(second, share));
            }
            Trouble::Dies => {
                let how = ProcessEnd::Signal(libc::SIGKILL);
                let status = ServerEnd::ProcessEnded { how }.into();
                observed.failure = Some(TrialFailure::Died { status, last_lines: Vec::new() });
            }
        }
        Ok(observed)
    }
    fn stop(&mut self) -> Result<(), PlaceError> {
        self.inner.stop()
    }
}

/// As many of its good replies become failures.
fn fail(second: &mut LoadSecond, share: f64) {
    let good = second.status.entry(200).or_default();
    let failed = (*good as f64 * share).round() as u64;
    *good -= failed;
    *second.status.entry(503).or_default() += failed;
}
