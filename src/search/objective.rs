//! Other questions than the highest capacity, asked of the same trials: the least memory for a
//! rate, the lowest latency at it, the lowest cost; and which settings no other beats.
//!
//! In: what is known of each setting. Out: which one answers the question, and whether it holds the
//! rate. Computes only.

use super::constants::{EQUIVALENCE, MEMORY_EQUIVALENCE};
use crate::stats::{Estimate, normal};
use crate::terms::{
    Configuration, FrontSetting, OPERATING_SHARE, Objective, ObjectiveKind, Verdict,
};

const GIB: f64 = (1_u64 << 30) as f64;

/// What is known of one setting, or expected of it before it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weighed {
    pub configuration: Configuration,
    /// Requests/s, with its 95 % interval; without width where it is only expected, which is for a
    /// score alone and nothing to choose from.
    pub capacity: Estimate,
    /// Measured on fresh starts after the race.
    pub is_confirmed: bool,
    pub memory_bytes: Option<u64>,
    /// CPU seconds of the server.
    pub cpu_per_request_s: Option<f64>,
    /// At the rate to be served, seconds.
    pub p95_s: Option<f64>,
}

/// What a setting costs.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    per_hour: f64,
    per_million_requests: f64,
}

/// The answer to the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pick {
    pub configuration: Configuration,
    /// Does it hold the rate? `None` without one.
    pub held: Option<Verdict>,
    /// What was asked about is known of it; else it is the one of the highest capacity.
    pub is_answer: bool,
}

impl Weighed {
    /// Is it certain to hold the rate? `Undecided` where the interval reaches to both sides.
    fn holds(&self, rate_rps: f64) -> Verdict {
        match (self.capacity.low >= rate_rps, self.capacity.high < rate_rps) {
            (true, _) => Verdict::Yes,
            (_, true) => Verdict::No,
            _ => Verdict::Undecided,
        }
    }

    /// How likely it is to hold the rate, 0..1: the logarithm of its capacity is taken as normal.
    fn probability(&self, rate_rps: f64) -> f64 {
        let sd = ((self.capacity.high / self.capacity.low).ln() / 3.92).max(1e-6);
        normal::cdf((self.capacity.value / rate_rps).ln() / sd)
    }

    /// What it costs where prices are known: `cpu_per_request x rate` cores by the CPU that its
    /// requests take, and the memory as it was read, an hour. At the rate to be served, or else at
    /// its operating rate; `None` at no rate.
    fn cost(&self, objective: &Objective) -> Option<Cost> {
        let prices = objective.prices?;
        let rps = objective.rate_rps().unwrap_or(self.capacity.value * OPERATING_SHARE);
        let cores = self.cpu_per_request_s? * rps;
        let gib = self.memory_bytes? as f64 / GIB;
        let per_hour = cores * prices.per_core_hour + gib * prices.per_gib_hour;
        let per_million_requests = per_hour / (rps * 3600.0) * 1e6;
        (rps > 0.0).then_some(Cost { per_hour, per_million_requests })
    }

    /// As it is printed; `None` without memory. `chosen`: the printed choice.
    pub(super) fn front_setting(
        &self,
        asked: &Objective,
        chosen: Option<Configuration>,
    ) -> Option<FrontSetting> {
        let cost = self.cost(asked);
        Some(FrontSetting {
            workers: self.configuration.workers.get(),
            threads: self.configuration.threads.get(),
            chosen: Some(self.configuration) == chosen,
            capacity_rps: self.capacity.value,
            capacity_rps_interval: self.capacity.interval(),
            confirmed: self.is_confirmed,
            memory_bytes: self.memory_bytes?,
            latency_s_p95: self.p95_s,
            cost_per_hour: cost.map(|cost| cost.per_hour),
            cost_per_million_requests: cost.map(|cost| cost.per_million_requests),
        })
    }

    /// What is asked about, less is better; `None` where it isn't known.
    pub(super) fn score(&self, objective: &Objective) -> Option<f64> {
        match objective.kind {
            ObjectiveKind::Capacity => Some(1.0 / self.capacity.value),
            ObjectiveKind::Memory => self.memory_bytes.map(|bytes| bytes as f64),
            ObjectiveKind::Latency => self.p95_s,
            ObjectiveKind::Cost => self.cost(objective).map(|it| it.per_million_requests),
        }
    }

    fn by_memory(&self) -> (u64, u16, Configuration) {
        let threads = self.configuration.threads.get();
        (self.memory_bytes.unwrap_or(u64::MAX), threads, self.configuration)
    }
}

/// Which of these answers the question; `None` of none.
///
/// With a rate: of those certain to hold it the best, confirmed ones before what only the race
/// says; when none is certain the likeliest; when none holds it the highest capacity.
pub(super) fn choose(objective: &Objective, settings: &[Weighed]) -> Option<Pick> {
    let highest = |all: &[Weighed]| {
        let highest = all.iter().max_by(|a, b| a.capacity.value.total_cmp(&b.capacity.value));
        highest.map(|it| it.configuration)
    };
    let Some(rate) = objective.rate_rps() else {
        let confirmed: Vec<Weighed> =
            settings.iter().filter(|it| it.is_confirmed).copied().collect();
        let best = best(objective, &confirmed).or_else(|| best(objective, settings));
        let is_answer = best.is_some();
        let configuration = best.or_else(|| highest(settings))?;
        return Some(Pick { configuration, held: None, is_answer });
    };
    let certain = |is_confirmed: bool| -> Vec<Weighed> {
        let is_certain =
            |it: &&Weighed| it.holds(rate) == Verdict::Yes && it.is_confirmed >= is_confirmed;
        settings.iter().filter(is_certain).copied().collect()
    };
    let found = best(objective, &certain(true)).or_else(|| best(objective, &certain(false)));
    if let Some(configuration) = found {
        return Some(Pick { configuration, held: Some(Verdict::Yes), is_answer: true });
    }
    if let Some(configuration) = highest(&certain(false)) {
        return Some(Pick { configuration, held: Some(Verdict::Yes), is_answer: false });
    }
    let possible = settings.iter().filter(|it| it.holds(rate) == Verdict::Undecided);
    let likeliest = possible.max_by(|a, b| a.probability(rate).total_cmp(&b.probability(rate)));
    if let Some(it) = likeliest {
        let (configuration, held) = (it.configuration, Some(Verdict::Undecided));
        return Some(Pick { configuration, held, is_answer: true });
    }
    let configuration = highest(settings)?;
    Some(Pick { configuration, held: Some(Verdict::No), is_answer: false })
}

/// The best of them by what is asked about; of those as good within the band the least memory, and
/// of those the fewest threads.
fn best(objective: &Objective, settings: &[Weighed]) -> Option<Configuration> {
    let scored: Vec<(f64, &Weighed)> =
        settings.iter().filter_map(|it| Some((it.score(objective)?, it))).collect();
    let least = scored.iter().map(|(score, _)| *score).min_by(f64::total_cmp)?;
    if objective.kind == ObjectiveKind::Memory {
        let as_little =
            scored.iter().filter(|(score, _)| *score <= least * (1.0 + MEMORY_EQUIVALENCE));
        let fewest = as_little.min_by_key(|(_, it)| {
            let (memory, threads, configuration) = it.by_memory();
            (threads, memory, configuration)
        });
        return fewest.map(|(_, it)| it.configuration);
    }
    let as_good = scored.iter().filter(|(score, _)| *score <= least * (1.0 + EQUIVALENCE));
    as_good.min_by_key(|(_, it)| it.by_memory()).map(|(_, it)| it.configuration)
}

/// Those that no other beats by more than the band in capacity or memory while it is as good in the
/// other; least memory first. `chosen` is always among them.
pub(super) fn front(settings: &[Weighed], chosen: Option<Configuration>) -> Vec<Weighed> {
    let beats = |a: &Weighed, b: &Weighed| {
        let (Some(of_a), Some(of_b)) = (a.memory_bytes, b.memory_bytes) else { return false };
        let (more, less) = (a.capacity.value / b.capacity.value, of_a as f64 / of_b as f64);
        (more >= 1.0 && less < 1.0 - EQUIVALENCE) || (less <= 1.0 && more > 1.0 + EQUIVALENCE)
    };
    let mut front: Vec<Weighed> = settings
        .iter()
        .filter(|it| it.memory_bytes.is_some())
        .filter(|it| {
            Some(it.configuration) == chosen || !settings.iter().any(|other| beats(other, it))
        })
        .copied()
        .collect();
    front.sort_by_key(Weighed::by_memory);
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Prices, Rate};

    fn at(workers: u16, threads: u16) -> Configuration {
        Configuration::new(workers, threads).unwrap()
    }

    /// Capacity known to 5 %, memory in MiB.
    fn weighed(of: (u16, u16), rps: f64, mib: u64) -> Weighed {
        Weighed {
            configuration: at(of.0, of.1),
            capacity: Estimate { value: rps, low: rps * 0.95, high: rps * 1.05, count: 3 },
            is_confirmed: true,
            memory_bytes: Some(mib << 20),
            cpu_per_request_s: Some(0.01),
            p95_s: None,
        }
    }

    fn objective(kind: ObjectiveKind, rate: f64) -> Objective {
        Objective { kind, rate: Rate::per_second(rate).ok(), prices: None }
    }

    fn memory(rate: f64, settings: &[Weighed]) -> (Configuration, Option<Verdict>) {
        let pick = choose(&objective(ObjectiveKind::Memory, rate), settings).unwrap();
        (pick.configuration, pick.held)
    }

    #[test]
    fn the_least_memory_that_is_certain_to_hold_the_rate_wins() {
        let settings =
            [weighed((1, 5), 100.0, 110), weighed((2, 5), 190.0, 180), weighed((3, 5), 230.0, 250)];
        for (rate, wanted, held) in [
            (60.0, (1, 5), Verdict::Yes),
            (120.0, (2, 5), Verdict::Yes),
            // 95 to 105: not certain, and another one is.
            (98.0, (2, 5), Verdict::Yes),
            (225.0, (3, 5), Verdict::Undecided),
            (300.0, (3, 5), Verdict::No),
        ] {
            let wanted = (at(wanted.0, wanted.1), Some(held));
            assert_eq!(memory(rate, &settings), wanted, "{rate}/s");
        }
    }

    #[test]
    fn what_was_confirmed_comes_before_what_the_race_says() {
        let raced = Weighed { is_confirmed: false, ..weighed((1, 5), 200.0, 110) };
        let settings = [raced, weighed((2, 5), 190.0, 180)];
        assert_eq!(memory(120.0, &settings).0, at(2, 5));
        assert_eq!(memory(185.0, &settings).0, at(1, 5), "the only one that is certain");
    }

    #[test]
    fn of_as_little_memory_fewer_threads_are_chosen() {
        let settings = [weighed((1, 8), 100.0, 1000), weighed((1, 3), 100.0, 1005)];
        assert_eq!(memory(60.0, &settings).0, at(1, 3));
    }

    #[test]
    fn latency_is_compared_among_those_that_hold_the_rate() {
        let with = |p95_s, it: Weighed| Weighed { p95_s, ..it };
        let settings = [
            with(Some(0.050), weighed((1, 5), 100.0, 110)),
            with(Some(0.0909), weighed((2, 5), 190.0, 180)),
            with(Some(0.090), weighed((3, 5), 230.0, 250)),
            with(None, weighed((4, 5), 240.0, 320)),
        ];
        let asked = objective(ObjectiveKind::Latency, 120.0);
        let pick = choose(&asked, &settings).unwrap();
        assert_eq!((pick.configuration, pick.is_answer), (at(2, 5), true), "as good, less memory");
        let unknown = settings.map(|it| Weighed { p95_s: None, ..it });
        let pick = choose(&asked, &unknown).unwrap();
        assert_eq!((pick.configuration, pick.is_answer), (at(4, 5), false));
    }

    #[test]
    fn cost_counts_the_cores_that_requests_take_and_the_memory() {
        let prices = Prices { per_core_hour: 0.04, per_gib_hour: 0.01 };
        let asked = Objective { kind: ObjectiveKind::Cost, rate: None, prices: Some(prices) };
        let one = weighed((1, 5), 100.0, 1024);
        let cost = one.cost(&asked).unwrap();
        // 70/s take 0.7 cores: 0.028 an hour, and a GiB 0.01; 252,000 requests an hour.
        assert!((cost.per_hour - 0.038).abs() < 1e-12);
        assert!((cost.per_million_requests - 0.038 / 0.252).abs() < 1e-9);
        let settings = [one, weighed((2, 5), 190.0, 1200), weighed((3, 5), 230.0, 2400)];
        assert_eq!(choose(&asked, &settings).unwrap().configuration, at(2, 5));
    }

    #[test]
    fn the_front_has_no_setting_that_another_beats() {
        let settings = [
            weighed((1, 5), 100.0, 110),
            weighed((1, 8), 101.0, 112),
            weighed((2, 1), 90.0, 170),
            weighed((2, 5), 190.0, 180),
            weighed((3, 5), 189.0, 250),
        ];
        let names = |chosen| -> Vec<Configuration> {
            front(&settings, chosen).iter().map(|it| it.configuration).collect()
        };
        assert_eq!(names(None), [at(1, 5), at(1, 8), at(2, 5)]);
        assert_eq!(names(Some(at(2, 1))), [at(1, 5), at(1, 8), at(2, 1), at(2, 5)]);
    }
}
