//! Pairs of revisions whose difference is known: starts of both are drawn block by block, and the
//! program's own judgement says what they mean, and when more would change nothing.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::model::Form;
use sweetspot::search::{Revisions, RevisionsAnswer, RevisionsPlan, SideFigures};
use sweetspot::stats::normal;
use sweetspot::terms::{Arrivals, Configuration};

/// Requests of each side that are due in a block.
const DUE: u64 = 800;
/// How well one burst and one probe tell a start's capacity: standard deviation of its logarithm.
const CAPACITY_SD_LOG: f64 = 0.02;

/// Which requests fail: this share of those of this share of starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failing {
    pub starts: f64,
    pub requests: f64,
}

/// What two revisions differ by, and by what starts of either do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Of starts' CPU, capacity, p95 and memory: standard deviations of logarithms.
    pub sd_log: [f64; 4],
    /// CPU of a request, B's by A's.
    pub cpu_ratio: f64,
    /// Capacity, B's by A's.
    pub capacity_ratio: f64,
    /// Of A and of B.
    pub failing: [Failing; 2],
    /// Requests that fail cost no CPU.
    pub is_failing_free: bool,
}

impl Failing {
    pub const NONE: Self = Self::always(0.0);
    /// 30 % in half of the starts.
    pub const HALF: Self = Self { starts: 0.5, requests: 0.3 };

    /// In every start.
    pub const fn always(requests: f64) -> Self {
        Self { starts: 1.0, requests }
    }

    fn share(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        if random.random::<f64>() < self.starts { self.requests } else { 0.0 }
    }
}

impl Kind {
    /// Equal revisions none of whose requests fail; starts differ by what is expected beforehand.
    pub const EQUAL: Self = Self {
        sd_log: [0.015, 0.028, 0.06, 0.01],
        cpu_ratio: 1.0,
        capacity_ratio: 1.0,
        failing: [Failing::NONE; 2],
        is_failing_free: false,
    };

    /// A request of B takes this many times the CPU, and B holds as much less.
    pub fn slower(cpu_ratio: f64) -> Self {
        Self { cpu_ratio, capacity_ratio: 1.0 / cpu_ratio, ..Self::EQUAL }
    }

    /// What is said of one pair after at most this many blocks.
    pub fn answer(&self, blocks_max: u32, seed: u64) -> RevisionsAnswer {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut compared = Revisions::new(plan());
        for _ in 0..blocks_max {
            let a = self.start([1.0; 2], self.failing[0], &mut random);
            let ratios = [self.cpu_ratio, self.capacity_ratio];
            let b = self.start(ratios, self.failing[1], &mut random);
            compared.take_figures([a, b]);
            if compared.is_sure() {
                break;
            }
        }
        compared.answer()
    }

    /// `cpu_ratio`, `capacity_ratio`: its figures by A's.
    fn start(
        &self,
        [cpu_ratio, capacity_ratio]: [f64; 2],
        failing: Failing,
        random: &mut Xoshiro256PlusPlus,
    ) -> SideFigures {
        let factor =
            |sd_log: f64| (sd_log * normal::quantile(random.random_range(1e-9..1.0 - 1e-9))).exp();
        let [cpu, capacity, p95, memory] = self.sd_log.map(factor);
        let share = failing.share(random);
        let failed = (0..DUE).filter(|_| random.random::<f64>() < share).count() as u64;
        let paid = if self.is_failing_free { 1.0 - share } else { 1.0 };
        SideFigures {
            capacity: Some((100.0 * capacity * capacity_ratio, CAPACITY_SD_LOG)),
            cpu_s: 0.01 * cpu * cpu_ratio * paid,
            completed: 1,
            p95_s: vec![0.1 * p95],
            memory_bytes: Some((2e8 * memory) as u64),
            failed: (DUE, failed),
        }
    }
}

/// Of what it says nothing goes into a verdict from whole blocks.
fn plan() -> RevisionsPlan {
    RevisionsPlan {
        configuration: Configuration::new(2, 1).expect("neither is zero"),
        form: Form::Threads,
        slo: None,
        arrivals: Arrivals::Poisson,
        budget: Duration::from_secs(360),
    }
}
