//! Other ways to look for the best setting, each on a simulated place of its own. All of them
//! measure a setting in the same way: ours, on a fresh start, for a goal that is given to them.
//!
//! In: a case, its goal and a seed. Out: what each would have answered, and since when. Must not
//! know the truth.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::place::simulated::Simulated;
use sweetspot::session::order::{Measured, measure};
use sweetspot::summary::trial::Context;
use sweetspot::terms::{Arrivals, Configuration, Goals, Slo};
use sweetspot::trial::Runner;

use super::apps::Case;
use super::bayes::{Observed, Process};
use crate::common::Result;
use crate::common::capacity::CapacitySearch;
use crate::common::trial::context;

/// The answer so far: since which second of the place's clock, and the setting.
pub type Course = Vec<(f64, Configuration)>;

/// A way to search, from its first measurement to its last.
pub type Method = fn(&mut Lab<'_>) -> Result<()>;

/// Each with its name.
pub const ALL: [(&str, Method); 6] = [
    ("full grid, 3 x 60 s", |lab| full_grid(lab, 3, Duration::from_secs(60))),
    ("full grid, 20 s", |lab| full_grid(lab, 1, Duration::from_secs(20))),
    ("hill climbing", hill_climbing),
    ("random search", random_search),
    ("Bayesian optimisation", bayesian_optimisation),
    ("rule of thumb", rule_of_thumb),
];

/// Load of one measurement where the method says nothing else.
const CELL: Duration = Duration::from_secs(30);
/// Cells that Bayesian optimisation measures before it believes anything.
const FIRST_CELLS: usize = 3;
/// The interval of a capacity reaches this many standard deviations either way.
const INTERVAL_SDS: f64 = 1.96;

/// One method's place, and what it has seen there.
pub struct Lab<'a> {
    case: &'a Case,
    goals: Goals,
    runner: Runner<'a>,
    seed: u64,
    trials: u32,
    /// Nothing is begun after this time of the place's clock.
    until: Duration,
    random: Xoshiro256PlusPlus,
    /// By setting: requests/s and the standard deviation of its noise; 0 where the server failed.
    measured: BTreeMap<Configuration, (f64, f64)>,
    course: Course,
}

/// The course of one method.
///
/// # Errors
/// The place fails us.
pub fn run(method: Method, case: &Case, slo: &Slo, seed: u64, until: Duration) -> Result<Course> {
    let mut place = Simulated::new(case.app.clone(), seed);
    let mut lab = Lab {
        case,
        goals: Goals::one(slo.clone()),
        runner: Runner::new(&mut place, 0),
        seed,
        trials: 0,
        until,
        random: Xoshiro256PlusPlus::seed_from_u64(!seed),
        measured: BTreeMap::new(),
        course: Vec::new(),
    };
    method(&mut lab)?;
    lab.runner.finish()?;
    Ok(lab.course)
}

impl Lab<'_> {
    /// Capacity of a setting on a fresh start, with the standard deviation of its noise: zero when
    /// the server does not boot or dies.
    fn capacity(&mut self, configuration: Configuration, time: Duration) -> Result<(f64, f64)> {
        let mut search = CapacitySearch::new(configuration, Arrivals::Poisson, time);
        while let Some(request) = search.next() {
            self.trials += 1;
            let context = Context {
                id: self.trials,
                purpose: request.purpose,
                ..context(&self.goals, self.case.app.cores)
            };
            match measure(&mut self.runner, &request, self.seed, context, &mut |_| {})? {
                Measured::Trial(summary, _) if summary.failure.is_none() => search.tell(&summary),
                _ => return Ok((0.0, 0.0)),
            }
        }
        let noise = |low: f64, high: f64| (high - low) / (2.0 * INTERVAL_SDS);
        Ok(search.capacity_rps().map_or((0.0, 0.0), |c| (c.value, noise(c.low, c.high))))
    }

    /// Measures a setting once; the answer is then the best measured so far.
    fn measure(&mut self, configuration: Configuration) -> Result<f64> {
        if let Some((rps, _)) = self.measured.get(&configuration) {
            return Ok(*rps);
        }
        let capacity = self.capacity(configuration, CELL)?;
        self.measured.insert(configuration, capacity);
        self.answer_best();
        Ok(capacity.0)
    }

    fn answer_best(&mut self) {
        let best = self.measured.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        if let Some((&best, _)) = best.filter(|(_, (rps, _))| *rps > 0.0) {
            self.answer(best);
        }
    }

    fn answer(&mut self, configuration: Configuration) {
        self.course.push((self.runner.elapsed().as_secs_f64(), configuration));
    }

    fn unmeasured(&self) -> Vec<Configuration> {
        let is_new = |c: &&Configuration| !self.measured.contains_key(c);
        self.case.grid.iter().filter(is_new).copied().collect()
    }

    /// One that was not measured; `None` when all were.
    fn random_unmeasured(&mut self) -> Option<Configuration> {
        let left = self.unmeasured();
        (!left.is_empty()).then(|| left[self.random.random_range(0..left.len())])
    }
}

/// Every setting in the grid's order, several times each, as in published experiments.
fn full_grid(lab: &mut Lab<'_>, times: u32, time: Duration) -> Result<()> {
    for &configuration in &lab.case.grid {
        let mut sum = 0.0;
        for _ in 0..times {
            if lab.runner.elapsed() >= lab.until {
                return Ok(());
            }
            sum += lab.capacity(configuration, time)?.0;
        }
        lab.measured.insert(configuration, (sum / f64::from(times), 0.0));
        lab.answer_best();
    }
    Ok(())
}

/// From the current setting to the best of its neighbours until none is better, and again from
/// elsewhere until all is measured.
fn hill_climbing(lab: &mut Lab<'_>) -> Result<()> {
    let mut start = Some(lab.case.app.current);
    while let Some(mut current) = start {
        let mut current_rps = lab.measure(current)?;
        loop {
            let mut better = None;
            let mut best_rps = current_rps;
            for neighbour in neighbours(&lab.case.grid, current) {
                let rps = lab.measure(neighbour)?;
                if rps > best_rps {
                    (better, best_rps) = (Some(neighbour), rps);
                }
            }
            let Some(better) = better else { break };
            (current, current_rps) = (better, best_rps);
        }
        start = lab.random_unmeasured();
    }
    Ok(())
}

/// Those one step away in workers or in threads.
fn neighbours(grid: &[Configuration], current: Configuration) -> Vec<Configuration> {
    let place = |c: Configuration| {
        let workers = grid.iter().filter(|o| o.threads == c.threads && o.workers < c.workers);
        let threads = grid.iter().filter(|o| o.workers == c.workers && o.threads < c.threads);
        (workers.count(), threads.count())
    };
    let (workers, threads) = place(current);
    let is_near = |&c: &Configuration| {
        let (w, t) = place(c);
        w.abs_diff(workers) + t.abs_diff(threads) == 1
    };
    grid.iter().copied().filter(is_near).collect()
}

/// Without replacement.
fn random_search(lab: &mut Lab<'_>) -> Result<()> {
    let mut cells = lab.case.grid.clone();
    cells.shuffle(&mut lab.random);
    cells.into_iter().try_for_each(|cell| lab.measure(cell).map(drop))
}

/// Expected improvement over a Gaussian process; the answer is the measured setting of the highest
/// expected capacity, so that one lucky measurement does not decide.
fn bayesian_optimisation(lab: &mut Lab<'_>) -> Result<()> {
    for _ in 0..FIRST_CELLS {
        if let Some(cell) = lab.random_unmeasured() {
            lab.measure(cell)?;
        }
    }
    while let Some((process, best)) = believed(lab) {
        let improvement = |c: &Configuration| process.improvement(at(*c), best);
        let by_improvement =
            |a: &Configuration, b: &Configuration| improvement(a).total_cmp(&improvement(b));
        let Some(next) = lab.unmeasured().into_iter().max_by(by_improvement) else { break };
        let capacity = lab.capacity(next, CELL)?;
        lab.measured.insert(next, capacity);
        answer_expected(lab);
    }
    Ok(())
}

fn answer_expected(lab: &mut Lab<'_>) {
    let Some((process, _)) = believed(lab) else { return };
    let expected = |c: &Configuration| process.expected(at(*c)).0;
    // A server that failed is not recommended, whatever its neighbours are like.
    let works = lab.measured.iter().filter(|(_, (rps, _))| *rps > 0.0).map(|(c, _)| *c);
    if let Some(best) = works.max_by(|a, b| expected(a).total_cmp(&expected(b))) {
        lab.answer(best);
    }
}

/// The process after what was measured, and the highest capacity that it expects there.
fn believed(lab: &Lab<'_>) -> Option<(Process, f64)> {
    let observed: Vec<Observed> = lab
        .measured
        .iter()
        .map(|(&c, &(value, noise))| Observed { at: at(c), value, noise })
        .collect();
    let process = Process::fitted(&observed)?;
    let best = observed.iter().map(|one| process.expected(one.at).0).fold(0.0, f64::max);
    Some((process, best))
}

/// Doublings are what matters of both numbers.
fn at(configuration: Configuration) -> [f64; 2] {
    let log2 = |count: u16| f64::from(count).log2();
    [log2(configuration.workers.get()), log2(configuration.threads.get())]
}

/// A worker for each core and three threads, measured by nobody.
fn rule_of_thumb(lab: &mut Lab<'_>) -> Result<()> {
    let rule = [lab.case.app.cores.log2(), 3f64.log2()];
    let far = |c: &Configuration| (at(*c)[0] - rule[0]).hypot(at(*c)[1] - rule[1]);
    let nearest = lab.case.grid.iter().copied().min_by(|a, b| far(a).total_cmp(&far(b)));
    nearest.into_iter().for_each(|c| lab.answer(c));
    Ok(())
}
