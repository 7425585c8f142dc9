//! How a server warms up: it loads code, fills caches and compiles over the first requests of each
//! worker. A burst that is much cheaper at its end than at its beginning is repeated until it gets
//! no cheaper; later starts are given as many requests a worker before they are measured.

use super::constants::{CHEAPER, WARM_MOST_S, WARMING_BURSTS_MOST};
use crate::model::server_cpu_s;
use crate::terms::{Configuration, TrialPurpose, TrialSummary, WarmUpKind};

/// What is known of how a server warms up.
#[derive(Debug, Clone, Default)]
pub struct Warmth {
    /// Bursts of the present start, while each is cheaper than the one before.
    warming: Option<Warming>,
    /// What a worker answered until a start was warm; 0 where all were from the beginning.
    requests: f64,
    /// What a request of a cold start's first burst costs, by what one costs once it is warm; 0
    /// where no start was seen to be cold.
    coldness: f64,
    /// A dear warm-up was followed by a second burst: what that said holds for every start.
    is_settled: bool,
}

/// Bursts of one start that is getting cheaper.
#[derive(Debug, Clone, Copy)]
struct Warming {
    of: Configuration,
    /// See [`TrialSummary::start`].
    start: u32,
    /// Those before it was begun anew included.
    bursts: u32,
    /// CPU seconds of a request in the first of them.
    first_cost_s: f64,
    /// CPU seconds of a request in the last of them.
    cost_s: f64,
    /// Answered by this start so far, warm-ups included.
    answered: f64,
}

/// What of a burst tells whether its server is warm.
#[derive(Debug, Clone, Copy)]
struct Burst {
    of: Configuration,
    /// See [`TrialSummary::start`].
    start: u32,
    /// CPU seconds of a request.
    cost_s: f64,
    /// Warm-up included; there about as fast.
    answered: f64,
    /// Its warm-up cost clearly more.
    got_cheaper: bool,
}

impl Burst {
    /// `None` where nothing was answered, or its CPU is not known.
    fn of(summary: &TrialSummary) -> Option<Self> {
        let load = &summary.summary;
        let (answered, cpu_s) = (load.completed as f64, server_cpu_s(summary));
        (answered > 0.0 && cpu_s > 0.0).then(|| Self {
            of: summary.configuration,
            start: summary.start,
            cost_s: cpu_s / answered,
            answered: answered * summary.load_s.max(load.duration_s) / load.duration_s.max(1e-3),
            got_cheaper: summary.warm_up.kind == WarmUpKind::Warmed,
        })
    }
}

impl Warmth {
    /// What a session with these trials knew of it.
    pub fn of_session(trials: &[TrialSummary]) -> Self {
        let is_burst = |it: &&TrialSummary| {
            let is_usable = it.valid && it.failure.is_none() && it.variant.is_as_it_is();
            is_usable && it.purpose == TrialPurpose::Saturate
        };
        let mut warmth = Self::default();
        trials.iter().filter(is_burst).for_each(|trial| warmth.take(trial, false));
        warmth
    }

    /// Takes a burst. `is_late`: there is no time for another. While one start is warmed, what
    /// another place says meanwhile of its own tells nothing of that.
    pub fn take(&mut self, summary: &TrialSummary, is_late: bool) {
        if self.warming_at().is_some_and(|at| at != summary.configuration) {
            return;
        }
        let before = self.warming.take();
        if let Some(burst) = Burst::of(summary) {
            self.learn(before, burst, is_late);
        }
    }

    /// Nothing more comes of this setting: others do not wait for its start to get warm.
    pub fn give_up(&mut self, configuration: Configuration) {
        self.warming = self.warming.filter(|it| it.of != configuration);
    }

    fn learn(&mut self, before: Option<Warming>, burst: Burst, is_late: bool) {
        let bursts = before.map_or(0, |it| it.bursts) + 1;
        // After a trial that failed it was begun anew, and is as cold as it was before.
        let is_anew = before.is_some_and(|it| it.start != burst.start);
        let before = before.filter(|_| !is_anew);
        let is_warming = match before {
            // Later starts get what one needed, or nothing where its second burst was no cheaper.
            None => (is_anew || !self.is_settled) && burst.got_cheaper,
            Some(before) => burst.cost_s < before.cost_s * CHEAPER,
        };
        self.is_settled |= before.is_some();
        if !is_warming {
            return;
        }
        if let Some(before) = before {
            self.requests = self.requests.max(before.answered / f64::from(burst.of.workers.get()));
            self.coldness = self.coldness.max(before.first_cost_s / burst.cost_s);
        }
        let (answered, first_cost_s) =
            before.map_or((0.0, burst.cost_s), |it| (it.answered, it.first_cost_s));
        if bursts < WARMING_BURSTS_MOST && !is_late {
            self.warming = Some(Warming {
                of: burst.of,
                start: burst.start,
                bursts,
                first_cost_s,
                cost_s: burst.cost_s,
                answered: answered + burst.answered,
            });
        }
    }

    /// A start that runs gets another burst.
    pub fn is_warming(&self) -> bool {
        self.warming.is_some()
    }

    /// Of which setting.
    pub fn warming_at(&self) -> Option<Configuration> {
        self.warming.map(|warming| warming.of)
    }

    /// Fresh starts were seen to be cold.
    pub fn is_cold_at_first(&self) -> bool {
        self.requests > 0.0
    }

    /// By how much a request costs more at a fresh start's beginning; 1 where starts are warm at
    /// once.
    pub fn coldness(&self) -> f64 {
        self.coldness.max(1.0)
    }

    /// What each worker has to answer until a start is warm; `None` where starts are so at once.
    pub fn requests_needed(&self) -> Option<u64> {
        self.is_cold_at_first().then_some(self.requests.round() as u64)
    }

    /// What a fresh start is loaded for at this rate before it is measured, beyond what every start
    /// is; seconds.
    pub fn needed_s(&self, configuration: Configuration, rate_rps: f64) -> f64 {
        let needed = self.requests * f64::from(configuration.workers.get());
        (needed / rate_rps.max(0.1)).min(WARM_MOST_S).round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of this start of two workers, 1,000 replies.
    fn burst(start: u32, cost_s: f64) -> Burst {
        let of = Configuration::new(2, 1).unwrap();
        Burst { of, start, cost_s, answered: 1000.0, got_cheaper: true }
    }

    /// Bursts of one start, by what a request of each costs; how many of them it wanted.
    fn told(warmth: &mut Warmth, costs_s: &[f64], got_cheaper: bool) -> usize {
        for (index, &cost_s) in costs_s.iter().enumerate() {
            let burst = Burst { got_cheaper, ..burst(1, cost_s) };
            let before = warmth.warming.take();
            warmth.learn(before, burst, false);
            if !warmth.is_warming() {
                return index + 1;
            }
        }
        panic!("it wants more than {} bursts", costs_s.len());
    }

    #[test]
    fn a_server_that_is_warm_from_the_beginning_gets_one_burst() {
        let mut warmth = Warmth::default();
        assert_eq!(told(&mut warmth, &[0.01, 0.01], false), 1);
        assert!(!warmth.is_cold_at_first());
        assert_eq!(warmth.requests_needed(), None);
        assert_eq!(warmth.coldness(), 1.0);
        assert_eq!(warmth.needed_s(Configuration::new(4, 2).unwrap(), 10.0), 0.0);
    }

    #[test]
    fn one_that_gets_cheaper_is_given_bursts_until_it_does_not_and_later_starts_as_many_requests() {
        let mut warmth = Warmth::default();
        assert_eq!(told(&mut warmth, &[0.02, 0.015, 0.012, 0.0119], true), 4);
        // Warm after the second: a thousand for each of the two workers.
        assert_eq!(warmth.needed_s(Configuration::new(4, 2).unwrap(), 400.0), 10.0);
        assert_eq!(warmth.requests_needed(), Some(1000));
        assert!((warmth.coldness() - 0.02 / 0.012).abs() < 1e-9);
        assert_eq!(warmth.needed_s(Configuration::new(4, 2).unwrap(), 40.0), WARM_MOST_S);
        // The next start was given them; that its warm-up was dear is no news.
        assert_eq!(told(&mut warmth, &[0.012], true), 1);
    }

    #[test]
    fn a_dear_warm_up_that_the_next_burst_does_not_confirm_was_chance() {
        let mut warmth = Warmth::default();
        assert_eq!(told(&mut warmth, &[0.01, 0.0099], true), 2);
        assert!(!warmth.is_cold_at_first());
        // No later start is asked again.
        assert_eq!(told(&mut warmth, &[0.01], true), 1);
    }

    #[test]
    fn a_start_that_was_begun_anew_is_warmed_from_its_beginning() {
        let mut warmth = Warmth::default();
        for (start, cost_s) in [(1, 0.02), (2, 0.02), (2, 0.012), (2, 0.012)] {
            assert_eq!(warmth.is_warming(), start == 2, "{cost_s}");
            let before = warmth.warming.take();
            warmth.learn(before, burst(start, cost_s), false);
        }
        assert!(!warmth.is_warming() && warmth.is_cold_at_first());
        assert_eq!(warmth.requests_needed(), Some(500), "of its own start alone");
        assert!((warmth.coldness() - 0.02 / 0.012).abs() < 1e-9);
    }

    #[test]
    fn one_that_never_ends_to_get_cheaper_is_not_waited_for() {
        let mut warmth = Warmth::default();
        let costs_s = [0.1, 0.08, 0.06, 0.04, 0.02];
        assert_eq!(told(&mut warmth, &costs_s, true), WARMING_BURSTS_MOST as usize);
        assert!(warmth.is_cold_at_first());
    }
}
