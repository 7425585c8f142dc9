//! Probabilistic bisection: what is known of a capacity after noisy answers to "did this rate
//! hold?".
//!
//! Sources: Horstein (1963); Waeber, Frazier and Henderson (2013).

use std::f64::consts::{LN_2, PI};

use super::normal;

/// Grid step on the logarithm of the rate. Half the finest resolution that observations may claim.
const STEP: f64 = 0.005;
/// The finest resolution that is believed.
const RESOLUTION_MIN: f64 = 0.01;
/// Share of answers that may have nothing to do with the rate (a hiccup of the machine).
const LIES: f64 = 0.01;
/// Two windows on one server differ by about this much by themselves, as a logarithm of the rate.
const NOISE: f64 = 0.02;
/// How many powers of the rate are told apart.
const POWERS: usize = 6;
/// The smallest of them; each of the others is twice the one before. At the smallest a rate of half
/// as much makes two thirds as many late, which is next to nothing; at the largest 3 % less does.
const POWER_LEAST: f64 = 0.75;
/// Mass in an end cell of the grid from which on the grid is too narrow.
const PILED_UP: f64 = 1e-4;
/// A grid is not widened beyond this many cells: a factor of e^40 is no capacity any more.
const CELLS_MAX: usize = 8000;

/// What is known of a capacity, as probabilities over a grid of rates equally spaced on a log
/// scale. The grid widens by itself when the capacity turns out to lie outside.
///
/// Each answer multiplies in its likelihood
///
/// ```text
/// P(held | c) = l + (1 - 2 l) Phi(ln(c / rate) / sd)
/// ```
///
/// with c the capacity, rate the rate tried, sd the resolution of that trial (relative, at least
/// 1 %), l = 1 % of answers that say nothing. A trial that shows how many were late, by the
/// logarithm x of their number by how many may be, give or take e, has
///
/// ```text
/// P(x | c, m) ~ l + (1 - 2 l) (e / s) exp(-((x - m ln(rate / c)) / s)^2 / 2)
/// s^2 = e^2 + (2 % m)^2
/// ```
///
/// with m the power of the rate by which their share rises, which is learned as c is: trials at two
/// rates or more tell it.
#[derive(Debug, Clone)]
pub struct RatePosterior {
    prior: Prior,
    /// What its cells began with; `None` where nothing was expected yet.
    powers: Option<Powers>,
    /// Log-rate of the first cell.
    first: f64,
    /// Probability of each cell with each power; they add up to 1.
    mass: Vec<[f64; POWERS]>,
    observations: Vec<Observation>,
}

/// How fast the share of late requests rises with the rate near a capacity, as a power: how likely
/// 0.75, 1.5, and so on to 24 are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Powers([f64; POWERS]);

impl Powers {
    /// About this one, by half or twice as a rule; a tenth of the belief is that nothing is known.
    pub fn near(power: f64) -> Self {
        let log = power.clamp(POWER_LEAST, at(POWERS - 1)).ln();
        let bell = |it: usize| (-0.5 * ((at(it).ln() - log) / LN_2).powi(2)).exp();
        let all: f64 = (0..POWERS).map(bell).sum();
        Self(std::array::from_fn(|it| 0.9 * bell(it) / all + 0.1 / POWERS as f64))
    }
}

/// Mostly as sure as claimed, a tenth with a Cauchy's tails (scale twice the deviation): a wrong
/// prior must be able to give way.
#[derive(Debug, Clone, Copy)]
struct Prior {
    log_median: f64,
    sd_log: f64,
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    log_rate: f64,
    answer: Answer,
    sd: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Held,
    Missed,
    /// So many were late: the logarithm of their number by how many may be.
    Late {
        log: f64,
    },
}

impl RatePosterior {
    /// Expects `median`, give or take `sd_log` (0.1: about 10 %; at least 1 %).
    pub fn with_prior(median: f64, sd_log: f64) -> Self {
        let (log_median, sd_log) = (median.max(1e-6).ln(), sd_log.max(RESOLUTION_MIN));
        let reach = 6.0 * sd_log;
        Self::over(Prior { log_median, sd_log }, log_median - reach, log_median + reach)
    }

    fn over(prior: Prior, low: f64, high: f64) -> Self {
        let cells = (((high - low) / STEP).ceil() as usize + 1).clamp(3, CELLS_MAX);
        let mass = vec![[0.0; POWERS]; cells];
        let mut new = Self { prior, powers: None, first: low, mass, observations: Vec::new() };
        new.compute();
        new
    }

    /// The same belief with what other starts of the session have shown of the power.
    pub fn knowing(self, powers: Option<Powers>) -> Self {
        let mut new = Self { powers, ..self };
        new.compute();
        new
    }

    /// What is believed of the power by now; `None` before anything was.
    pub fn powers(&self) -> Option<Powers> {
        let of = |power: usize| self.mass.iter().map(|mass| mass[power]).sum();
        self.powers.map(|_| Powers(std::array::from_fn(of)))
    }

    /// Takes in that `rate` (requests/s) was `held` or not, in a trial that can tell relative
    /// differences of `resolution` apart.
    pub fn observe(&mut self, rate: f64, held: bool, resolution: f64) {
        self.take(rate, if held { Answer::Held } else { Answer::Missed }, resolution);
    }

    /// Takes in how many requests were late at `rate` (requests/s): `log` is the logarithm of their
    /// number by how many may be (0 at the capacity, more above it), known to `sd_log`. `power` is
    /// what to expect of how fast it rises, where nothing was seen of it.
    pub fn observe_late(&mut self, rate: f64, log: f64, sd_log: f64, power: f64) {
        if self.powers.is_none() {
            self.powers = Some(Powers::near(power));
            self.compute();
        }
        self.take(rate, Answer::Late { log }, sd_log);
    }

    fn take(&mut self, rate: f64, answer: Answer, sd_log: f64) {
        let (log_rate, sd) = (rate.max(1e-6).ln(), sd_log.max(RESOLUTION_MIN));
        let observation = Observation { log_rate, answer, sd };
        self.observations.push(observation);
        if self.reach(observation) {
            self.compute();
        } else {
            for (i, mass) in self.mass.iter_mut().enumerate() {
                let log_capacity = self.first + STEP * i as f64;
                for (power, mass) in mass.iter_mut().enumerate() {
                    *mass *= likelihood(observation, log_capacity, at(power));
                }
            }
            self.normalise();
        }
        self.widen();
    }

    /// Of each cell, whatever the power.
    fn masses(&self) -> impl Iterator<Item = f64> {
        self.mass.iter().map(|mass| mass.iter().sum())
    }

    /// Equally likely to be above or below, requests/s.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The rate below which the capacity lies with probability `q` (0..=1), requests/s.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        for (i, mass) in self.masses().enumerate() {
            if below + mass >= q && mass > 0.0 {
                let within = ((q - below) / mass).clamp(0.0, 1.0) - 0.5;
                return (self.first + STEP * (i as f64 + within)).exp();
            }
            below += mass;
        }
        (self.first + STEP * self.mass.len() as f64).exp()
    }

    /// The central interval that holds the capacity with probability `level`, requests/s.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        (self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level))
    }

    /// Standard deviation of the log-rate: 0.02 means about 2 %.
    pub fn sd_log(&self) -> f64 {
        let at = |i: usize| STEP * i as f64;
        let mean: f64 = self.masses().enumerate().map(|(i, m)| m * at(i)).sum();
        let spread: f64 = self.masses().enumerate().map(|(i, m)| m * (at(i) - mean).powi(2)).sum();
        spread.sqrt()
    }

    /// What the medians of beliefs like this one scatter by that began with the same prior and saw
    /// answers of their own: `sd sqrt(1 - sd^2 / prior^2)`, since what the prior holds in place
    /// does not scatter (of a normal prior and likelihood it is exact).
    pub fn scatter_sd_log(&self) -> f64 {
        let sd = self.sd_log();
        sd * (1.0 - (sd / self.prior.sd_log).powi(2)).max(0.25).sqrt()
    }

    /// How many answers were taken in.
    pub fn count(&self) -> usize {
        self.observations.len()
    }

    /// Adds cells so that both sides of an answer are in the grid, without masses yet; false when
    /// they were. Without them an answer from far outside would say the same of every cell, which
    /// is nothing, however often it came.
    fn reach(&mut self, observation: Observation) -> bool {
        let cells = |distance: f64| (distance / STEP).ceil().max(0.0) as usize;
        let last = self.first + STEP * (self.mass.len() - 1) as f64;
        let both_sides = 3.0 * observation.reach();
        let below = cells(self.first - (observation.log_rate - both_sides));
        let above = cells(observation.log_rate + both_sides - last);
        let more = below + above;
        if more == 0 || self.mass.len() + more > CELLS_MAX {
            return false;
        }
        self.first -= STEP * below as f64;
        self.mass.resize(self.mass.len() + more, [0.0; POWERS]);
        true
    }

    /// Adds cells where mass has piled up at an end.
    fn widen(&mut self) {
        while self.mass.len() < CELLS_MAX {
            let more = self.mass.len().max(100).min(CELLS_MAX - self.mass.len());
            let of = |cell: usize| self.mass[cell].iter().sum::<f64>();
            let (first, last) = (of(0), of(self.mass.len() - 1));
            // A flat prior's ends carry mass from the beginning: only what has grown counts.
            let limit = PILED_UP.max(1.5 / self.mass.len() as f64);
            if first.max(last) < limit {
                return;
            }
            if first > last {
                self.first -= STEP * more as f64;
            }
            self.mass.resize(self.mass.len() + more, [0.0; POWERS]);
            self.compute();
        }
    }

    /// From the prior and all observations anew; in logarithms, since thousands of factors
    /// underflow.
    fn compute(&mut self) {
        let Powers(powers) = self.powers.unwrap_or(Powers([1.0 / POWERS as f64; POWERS]));
        for (i, mass) in self.mass.iter_mut().enumerate() {
            let log_capacity = self.first + STEP * i as f64;
            let density = self.prior.density(log_capacity);
            for (power, mass) in mass.iter_mut().enumerate() {
                *mass = (density * powers[power]).ln();
                for &observation in &self.observations {
                    *mass += likelihood(observation, log_capacity, at(power)).ln();
                }
            }
        }
        let largest = self.mass.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        self.mass.iter_mut().flatten().for_each(|mass| *mass = (*mass - largest).exp());
        self.normalise();
    }

    fn normalise(&mut self) {
        let sum: f64 = self.mass.iter().flatten().sum();
        self.mass.iter_mut().flatten().for_each(|mass| *mass /= sum);
    }
}

impl Prior {
    fn density(self, log_capacity: f64) -> f64 {
        let z = (log_capacity - self.log_median) / self.sd_log;
        let bell = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
        let tails = 1.0 / (2.0 * PI * (1.0 + 0.25 * z * z));
        0.9 * bell + 0.1 * tails
    }
}

/// The power of this number.
fn at(power: usize) -> f64 {
    POWER_LEAST * f64::from(1_u32 << power)
}

impl Observation {
    /// How far from its rate it may say something of a capacity, by the logarithm.
    fn reach(self) -> f64 {
        match self.answer {
            Answer::Held | Answer::Missed => self.sd,
            Answer::Late { log } => ((log.abs() / 3.0).hypot(self.sd) / at(2)).hypot(NOISE),
        }
    }
}

fn likelihood(observation: Observation, log_capacity: f64, power: f64) -> f64 {
    let above = log_capacity - observation.log_rate;
    let told = match observation.answer {
        Answer::Held => normal::cdf(above / observation.sd),
        Answer::Missed => 1.0 - normal::cdf(above / observation.sd),
        Answer::Late { log } => {
            let sd = observation.sd.hypot(NOISE * power);
            let z = (log + power * above) / sd;
            observation.sd / sd * (-0.5 * z * z).exp()
        }
    };
    LIES + (1.0 - 2.0 * LIES) * told
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    impl RatePosterior {
        /// Knows nothing but an order of magnitude: flat on the log scale between two rates in
        /// requests per second.
        fn new(low: f64, high: f64) -> Self {
            let flat = Prior { log_median: 0.0, sd_log: f64::INFINITY };
            Self::over(flat, low.ln(), high.ln())
        }
    }

    /// Bisects a capacity of 100/s with answers of the given noise; returns the posterior.
    fn bisect(
        mut posterior: RatePosterior,
        noise: f64,
        windows: usize,
        seed: u64,
    ) -> RatePosterior {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..windows {
            let rate = posterior.median();
            let z = normal::quantile(random.random_range(1e-9..1.0));
            posterior.observe(rate, rate < 100.0 * (noise * z).exp(), noise);
        }
        posterior
    }

    #[test]
    fn nothing_known_is_the_middle_of_the_range_on_a_log_scale() {
        let posterior = RatePosterior::new(10.0, 1000.0);
        assert!((posterior.median() / 100.0 - 1.0).abs() < 0.01);
        let (low, high) = posterior.interval(0.9);
        assert!((low / 12.59 - 1.0).abs() < 0.02 && (high / 794.3 - 1.0).abs() < 0.02);
    }

    #[test]
    fn a_prior_is_what_was_asked_for() {
        let posterior = RatePosterior::with_prior(200.0, 0.1);
        assert!((posterior.median() / 200.0 - 1.0).abs() < 0.005);
        // Nine tenths as claimed, one tenth wider.
        assert!((0.1..0.2).contains(&posterior.sd_log()), "{}", posterior.sd_log());
    }

    #[test]
    fn one_answer_moves_it_the_right_way() {
        let mut posterior = RatePosterior::with_prior(100.0, 0.1);
        posterior.observe(100.0, true, 0.02);
        assert!(posterior.median() > 103.0);
        assert!(posterior.interval(0.8).0 > 100.0, "{:?}", posterior.interval(0.8));
        posterior.observe(110.0, false, 0.02);
        assert!((100.0..110.0).contains(&posterior.median()));
    }

    #[test]
    fn twenty_windows_find_the_capacity_and_the_interval_covers_as_often_as_it_says() {
        let (mut error, mut covered) = (0.0, 0);
        for seed in 0..200 {
            let posterior = bisect(RatePosterior::new(20.0, 300.0), 0.03, 20, seed);
            error += (posterior.median() / 100.0).ln().powi(2) / 200.0;
            let (low, high) = posterior.interval(0.9);
            covered += u32::from(low <= 100.0 && 100.0 <= high);
        }
        assert!(error.sqrt() < 0.015, "root mean square error {}", error.sqrt());
        assert!((170..=194).contains(&covered), "{covered} of 200 intervals of 90 % covered");
    }

    #[test]
    fn a_capacity_outside_the_grid_is_found_all_the_same() {
        for (low, high) in [(1.0, 10.0), (1000.0, 5000.0)] {
            let posterior = bisect(RatePosterior::new(low, high), 0.03, 40, 5);
            assert!((posterior.median() / 100.0 - 1.0).abs() < 0.05, "{}", posterior.median());
        }
    }

    #[test]
    fn a_wrong_prior_gives_way() {
        let posterior = bisect(RatePosterior::with_prior(160.0, 0.05), 0.03, 30, 9);
        assert!((posterior.median() / 100.0 - 1.0).abs() < 0.05, "{}", posterior.median());
    }

    #[test]
    fn answers_from_far_outside_the_grid_are_heard() {
        for (rate, held) in [(20.0, false), (300.0, true)] {
            let mut posterior = RatePosterior::with_prior(71.0, 0.12);
            posterior.observe(71.0, held, 0.2);
            posterior.observe(rate, held, 0.04);
            posterior.observe(rate, held, 0.04);
            let (low, high) = posterior.interval(0.8);
            let is_heard = if held { low > rate } else { high < rate };
            assert!(is_heard, "{low} to {high} after two answers at {rate}");
        }
    }

    #[test]
    fn a_single_lie_does_not_decide() {
        let mut posterior = bisect(RatePosterior::new(20.0, 300.0), 0.03, 20, 11);
        let before = posterior.median();
        posterior.observe(50.0, false, 0.02);
        assert!((posterior.median() / before - 1.0).abs() < 0.03);
    }

    #[test]
    fn answers_that_contradict_each_other_leave_it_open_and_not_in_between() {
        let mut posterior = RatePosterior::with_prior(95.0, 0.1);
        posterior.observe(90.0, false, 0.01);
        posterior.observe(100.0, true, 0.01);
        assert!(posterior.sd_log() > 0.05, "one of them is wrong: {}", posterior.sd_log());
    }

    /// Windows at these rates of a server that holds 100/s, where the share of late requests rises
    /// with this power of the rate.
    fn late(mut posterior: RatePosterior, power: f64, rates: &[f64]) -> RatePosterior {
        for rate in rates {
            posterior.observe_late(*rate, power * (rate / 100.0).ln(), 0.05 * power, 4.0);
        }
        posterior
    }

    #[test]
    fn how_fast_lateness_rises_is_learned_from_two_rates_and_tells_the_capacity_from_one() {
        for (index, power) in [(0, 0.75), (3, 6.0), (5, 24.0)] {
            let rates = [80.0, 90.0, 110.0, 125.0, 85.0, 120.0];
            let posterior = late(RatePosterior::new(30.0, 300.0), power, &rates);
            let Powers(powers) = posterior.powers().unwrap();
            assert!(powers[index] > 0.5, "{power}: {powers:?}");
            assert!((posterior.median() / 100.0 - 1.0).abs() < 0.01, "{}", posterior.median());
            // Another start: one window away from its edge is enough.
            let vague = late(RatePosterior::with_prior(100.0, 0.3), power, &[80.0]);
            let knowing = RatePosterior::with_prior(100.0, 0.3).knowing(posterior.powers());
            let knowing = late(knowing, power, &[80.0]);
            assert!(knowing.sd_log() < vague.sd_log(), "{power}: {vague:?}");
            let off = |it: &RatePosterior| (it.median() / 100.0).ln().abs();
            assert!(off(&knowing) < 0.05, "{power}: {}", knowing.median());
        }
    }

    #[test]
    fn a_power_that_is_thought_to_be_known_gives_way() {
        let Powers(weights) = Powers::near(5.0);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(weights[3] > 0.25 && weights[3] > weights[2] && weights[2] > weights[1]);
        assert_eq!(Powers::near(1e9), Powers::near(24.0));
        let wrong = RatePosterior::new(30.0, 300.0).knowing(Some(Powers::near(24.0)));
        let learned = late(wrong, 1.5, &[80.0, 110.0, 125.0, 85.0]);
        let Powers(weights) = learned.powers().unwrap();
        assert!(weights[1] > 0.5, "{weights:?}");
    }

    #[test]
    fn a_window_that_has_nothing_to_do_with_it_does_not_decide() {
        let rates = [95.0, 100.0, 105.0, 100.0];
        let mut posterior = late(RatePosterior::new(50.0, 200.0), 6.0, &rates);
        posterior.observe_late(60.0, 1.0, 0.1, 6.0);
        assert!((posterior.median() / 100.0 - 1.0).abs() < 0.02, "{}", posterior.median());
    }

    #[test]
    fn what_a_prior_holds_in_place_does_not_scatter() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (mut logs, mut told) = (Vec::new(), 0.0);
        for _ in 0..400 {
            let z = normal::quantile(random.random_range(1e-9..1.0 - 1e-9));
            let known = Some(Powers([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]));
            let mut posterior = RatePosterior::with_prior(100.0, 0.1).knowing(known);
            posterior.observe_late(100.0 * (0.1 * z).exp(), 0.0, 0.29, 3.0);
            logs.push(posterior.median().ln());
            told += posterior.scatter_sd_log() / 400.0;
        }
        let mean = logs.iter().sum::<f64>() / 400.0;
        let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 400.0).sqrt();
        assert!((told / sd - 1.0).abs() < 0.15, "{told} told, {sd} seen");
        // Without a prior that holds it all of its spread is chance.
        let flat = bisect(RatePosterior::new(20.0, 300.0), 0.03, 20, 1);
        assert_eq!(flat.scatter_sd_log(), flat.sd_log());
    }

    #[test]
    fn thousands_of_answers_neither_underflow_nor_turn_into_nonsense() {
        let mut posterior = RatePosterior::new(10.0, 1000.0);
        for _ in 0..3000 {
            posterior.observe(99.0, true, 0.02);
            posterior.observe(101.0, false, 0.02);
        }
        assert!((posterior.median() / 100.0 - 1.0).abs() < 0.01);
        assert!(posterior.sd_log().is_finite());
    }

    proptest::proptest! {
        #[test]
        fn quantiles_rise(
            answers in proptest::collection::vec((1.0..500.0_f64, proptest::bool::ANY), 0..20),
        ) {
            let mut posterior = RatePosterior::new(5.0, 200.0);
            for (rate, held) in answers {
                posterior.observe(rate, held, 0.03);
            }
            let quantiles: Vec<f64> =
                [0.025, 0.25, 0.5, 0.75, 0.975].iter().map(|&q| posterior.quantile(q)).collect();
            proptest::prop_assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]));
            proptest::prop_assert!(quantiles.iter().all(|q| q.is_finite() && *q > 0.0));
        }
    }
}
