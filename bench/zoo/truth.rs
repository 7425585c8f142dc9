//! What the settings of a case really hold: the highest rate at which long simulations meet the
//! goal. Kept in `target/bench-zoo` by seed and goal, for as long as the zoo's apps are the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use sweetspot::terms::{Configuration, Slo};

use super::app::Case;
use super::job::{Ending, Outcome};
use super::kinds::users;
use super::simulation::{Simulation, TIMEOUT_S};
use crate::common::Result;
use crate::common::rows::Rows;

/// Of a simulation whose figure is used; longer at few requests a second, where ten minutes leave
/// much to chance, on a machine that wanders, and where a single request may be as long as
/// hundreds of others. Seconds; requests; seconds.
const FINE_S: f64 = 600.0;
const FINE_REQUESTS: f64 = 50_000.0;
const LONGEST_S: f64 = 3_600.0;
/// Of one that only says who cannot be the best, by how much it may be wrong, and how many more
/// than allowed may be late in it.
const COARSE_S: f64 = 60.0;
const COARSE_REQUESTS: f64 = 5_000.0;
const COARSE_RATE: f64 = 0.95;
const COARSE_LATE: f64 = 1.3;
/// Before anything is counted, seconds.
const WARM_UP_S: f64 = 30.0;
/// Of a fresh start, whose workers are young.
const YOUNG_WARM_UP_S: f64 = 60.0;
/// Who is better by less is not looked for.
const BETTER: f64 = 1.005;
/// How near the ends of a bisection come to each other.
const NEAR: f64 = 1.006;
/// Requests a second below which a setting holds nothing.
const NOTHING: f64 = 0.2;
/// One simulation: of what, and how strictly it is judged.
#[derive(Clone, Copy)]
struct Test {
    rate_per_s: f64,
    seconds: f64,
    warm_up_s: f64,
    late: f64,
    seed: u64,
    /// Its own speed, with workers that are young; else the mean start, warm.
    is_fresh: bool,
}

/// What is known of a case under a goal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Known {
    seed: u64,
    goal: String,
    pub best: Configuration,
    pub best_rps: f64,
    capacities: Vec<(Configuration, f64)>,
}

/// True capacities of one case, requests/s.
pub struct Truth<'a> {
    case: &'a Case,
    slo: &'a Slo,
    seed: u64,
    all: BTreeMap<Configuration, f64>,
    pub best: Configuration,
    pub best_rps: f64,
}

impl<'a> Truth<'a> {
    /// `first` is looked at first: the nearer it is to the best, the sooner the others are out.
    pub fn find(
        case: &'a Case,
        slo: &'a Slo,
        seed: u64,
        first: (Configuration, f64),
        kept: &Kept,
    ) -> Result<Self> {
        let (best, guess) = first;
        let mut new = Self { case, slo, seed, all: BTreeMap::new(), best, best_rps: guess };
        let goal = slo.to_string();
        if let Some(known) = kept.of(seed, &goal) {
            new.all = known.capacities.into_iter().collect();
            (new.best, new.best_rps) = (known.best, known.best_rps);
            return Ok(new);
        }
        new.best_rps = new.of(best);
        for configuration in case.grid.iter().copied().filter(|it| fits(case, *it)) {
            if new.may_be_better(configuration) {
                let rps = new.of(configuration);
                if rps > new.best_rps {
                    (new.best, new.best_rps) = (configuration, rps);
                }
            }
        }
        let capacities = new.all.iter().map(|(c, rps)| (*c, *rps)).collect();
        kept.add(Known { seed, goal, best: new.best, best_rps: new.best_rps, capacities })?;
        Ok(new)
    }

    /// Of one setting, by itself.
    pub fn capacity(case: &Case, slo: &Slo, seed: u64, configuration: Configuration) -> f64 {
        let (all, best, best_rps) = (BTreeMap::new(), configuration, 0.0);
        Truth { case, slo, seed, all, best, best_rps }.of(configuration)
    }

    /// Of one setting.
    pub fn of(&mut self, configuration: Configuration) -> f64 {
        if let Some(known) = self.all.get(&configuration) {
            return *known;
        }
        let rps = self.measured(configuration);
        self.all.insert(configuration, rps);
        rps
    }

    /// Of one setting as a share of the best; 0 where nothing holds.
    pub fn quality(&mut self, configuration: Configuration) -> f64 {
        if self.best_rps <= 0.0 {
            return 0.0;
        }
        match fits(self.case, configuration) {
            true => self.of(configuration) / self.best_rps,
            false => 0.0,
        }
    }

    /// Whether a fresh start, one of many, meets what was printed at a rate over ten minutes.
    pub fn holds_afresh(
        &self,
        printed: &Slo,
        configuration: Configuration,
        rate_per_s: f64,
        start: u64,
    ) -> bool {
        let seed = self.seed.rotate_left(17) ^ start;
        let warm_up_s = YOUNG_WARM_UP_S;
        let test = Test { rate_per_s, seconds: FINE_S, warm_up_s, late: 1.0, seed, is_fresh: true };
        meets(self.case, printed, configuration, test)
    }

    fn may_be_better(&self, configuration: Configuration) -> bool {
        if self.best_rps < NOTHING {
            return true;
        }
        let rate_per_s = COARSE_RATE * self.best_rps;
        let seconds = COARSE_S.max(COARSE_REQUESTS / rate_per_s);
        let coarse = Test { seconds, late: COARSE_LATE, ..self.fine(rate_per_s) };
        !self.all.contains_key(&configuration)
            && meets(self.case, self.slo, configuration, coarse)
            && self.holds(configuration, BETTER * self.best_rps)
    }

    fn fine(&self, rate_per_s: f64) -> Test {
        let app = &self.case.app;
        let is_steady = app.hardware.wander < 0.015 && !app.spread.has_tail();
        let requests_s = FINE_REQUESTS / rate_per_s;
        let seconds = if is_steady { requests_s } else { requests_s.max(0.5 * LONGEST_S) };
        let seconds = seconds.clamp(FINE_S, LONGEST_S);
        let seed = self.seed ^ 0x7472_7574_6800_0000;
        Test { rate_per_s, seconds, warm_up_s: WARM_UP_S, late: 1.0, seed, is_fresh: false }
    }

    fn holds(&self, configuration: Configuration, rate_per_s: f64) -> bool {
        meets(self.case, self.slo, configuration, self.fine(rate_per_s))
    }

    fn measured(&self, configuration: Configuration) -> f64 {
        // At a few requests a second chance would let it hold.
        if self.slo.errors.is_some_and(|most| self.case.app.failing > most.get()) {
            return 0.0;
        }
        let mut rate = if self.best_rps > 0.0 { self.best_rps } else { 10.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut step = 1.04;
        // Steps that grow, until one holds and one does not.
        while low == 0.0 || high.is_infinite() {
            if self.holds(configuration, rate) {
                low = rate;
                rate *= step;
            } else {
                high = rate;
                rate /= step;
            }
            if high < NOTHING {
                return 0.0;
            }
            step = (step * step).min(2.0);
        }
        while high > NEAR * low {
            let middle = (low * high).sqrt();
            if self.holds(configuration, middle) { low = middle } else { high = middle }
        }
        (low * high).sqrt()
    }
}

/// Whether it runs with the memory there is.
pub fn fits(case: &Case, configuration: Configuration) -> bool {
    case.app.memory.of(configuration) <= case.app.memory.limit_bytes
}

/// What has been counted of one simulation, by the terms of a goal.
struct Count<'a> {
    slo: &'a Slo,
    from_s: f64,
    until_s: f64,
    requests: f64,
    /// Too slow, for each quantile.
    late: Vec<f64>,
    errors: f64,
}

impl Count<'_> {
    fn see(&mut self, outcome: Outcome) {
        if outcome.due_s < self.from_s || outcome.due_s >= self.until_s {
            return;
        }
        self.requests += 1.0;
        for (late, quantile) in self.late.iter_mut().zip(&self.slo.quantiles) {
            *late += f64::from(outcome.latency_s() >= quantile.limit.as_secs_f64());
        }
        self.errors += f64::from(outcome.ending != Ending::Reply);
    }

    /// Of this many requests.
    fn is_within(&self, requests: f64, times: f64) -> bool {
        let late = self.late.iter().zip(&self.slo.quantiles);
        late.into_iter().all(|(late, it)| *late <= times * (1.0 - it.quantile.get()) * requests)
            && self.slo.errors.is_none_or(|most| self.errors <= times * most.get() * requests)
    }
}

fn meets(case: &Case, slo: &Slo, configuration: Configuration, test: Test) -> bool {
    let app = case.app.clone();
    let mut simulation = Simulation::new(app, false, test.seed ^ 0x6d, test.seed);
    let slowness = match test.is_fresh {
        true => simulation.machine.start(),
        false => {
            simulation.machine.stay_at_mean();
            1.0
        }
    };
    simulation.start(configuration, slowness, !test.is_fresh);
    simulation.offer(users(test.rate_per_s), test.seed ^ 0x61);
    let late = vec![0.0; slo.quantiles.len()];
    let (from_s, until_s) = (test.warm_up_s, test.warm_up_s + test.seconds);
    let mut count = Count { slo, from_s, until_s, requests: 0.0, late, errors: 0.0 };
    // Enough to tell early that the goal is missed, whatever comes yet.
    let expected = 1.02 * test.rate_per_s * test.seconds + 10.0;
    while simulation.now_s() < until_s {
        let next_s = (simulation.now_s() + 5.0).min(until_s);
        simulation.run_until(next_s, &mut |outcome| count.see(outcome));
        if !count.is_within(expected, test.late) {
            return false;
        }
    }
    simulation.end();
    simulation.run_until(until_s + TIMEOUT_S + 1.0, &mut |outcome| count.see(outcome));
    count.is_within(count.requests, test.late)
}

/// The rows of earlier runs.
pub struct Kept(Mutex<Rows<Known>>);

impl Kept {
    /// # Errors
    /// The folder `target/bench-zoo` cannot be written.
    pub fn open() -> Result<Self> {
        let folder = Path::new("target/bench-zoo");
        std::fs::create_dir_all(folder)?;
        let rows = Rows::open(&folder.join(format!("truth-{:016x}.jsonl", version())))?;
        println!("truths: {} ({} of an earlier run)", rows.path().display(), rows.len());
        Ok(Self(Mutex::new(rows)))
    }

    fn of(&self, seed: u64, goal: &str) -> Option<Known> {
        let rows = self.0.lock().expect("no other worker panicked");
        rows.iter().find(|it| it.seed == seed && it.goal == goal).cloned()
    }

    fn add(&self, known: Known) -> Result<()> {
        self.0.lock().expect("no other worker panicked").add(known)
    }
}

/// Of everything that a truth depends on.
fn version() -> u64 {
    let texts = [
        include_str!("app.rs"),
        include_str!("chance.rs"),
        include_str!("job.rs"),
        include_str!("kinds.rs"),
        include_str!("machine.rs"),
        include_str!("simulation.rs"),
        include_str!("truth.rs"),
    ];
    crate::common::seeds::hash(&texts.concat())
}
