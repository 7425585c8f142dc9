//! The highest rate that one running server holds: bursts to find the neighbourhood, then windows
//! where the belief is most divided.
//!
//! In: what each burst got through and what each window said. Out: the next one to run, and the
//! answer so far. Knows no configuration, and computes only.

use std::time::Duration;

use super::belief::{Most, WindowAnswer, after_burst, observe_window};
use super::constants::{
    BELOW_CEILING, BURST, BURST_CLIENTS, BURST_SD_LOG, BURSTS_SHARE, GROWTH, GUESS_SD_LOG,
    INTERVAL_WIDEST, LONG_WINDOWS, LOOK_LEAST_S, NOISE_SD_LOG, RATE_HOPELESS, RATE_MOST,
    RESOLUTION_COARSEST, SHORT_WINDOWS, URL_PRECISION, USUAL_CV2, WINDOWS, WINDOWS_LEAST,
};
use crate::stats::{Estimate, RatePosterior, mean_sd_log};
use crate::terms::{CapacityConclusion, Rate, Verdict};

/// What is to be run next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateAsk {
    /// Clients that don't think, to see how much goes through.
    Burst { clients: u32, duration: Duration },
    /// A rate, for so long after so much settling.
    Window { rate: Rate, settle: Duration, duration: Duration },
}

/// What a burst got through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstAnswer {
    pub clients: u32,
    /// Replies with status 2xx or 3xx.
    pub throughput_rps: f64,
    /// Replies of any status.
    pub completed: u64,
    /// Whether its latencies met the goal; `None` when undecided.
    pub met: Option<bool>,
    pub is_valid: bool,
    pub load_s: f64,
}

/// The answer as it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateAnswer {
    pub conclusion: CapacityConclusion,
    /// With its 95 % interval; `None` before the first valid window.
    pub capacity_rps: Option<Estimate>,
    /// What it is below, or at least.
    pub bound_rps: Option<f64>,
    pub is_generator_limited: bool,
}

/// A search on one server, as far as it is.
#[derive(Debug, Clone)]
pub struct RateSearch {
    time_s: f64,
    settle: Duration,
    /// Ends before its time at this standard deviation of the belief's logarithm.
    precision: Option<f64>,
    used_s: f64,
    /// The time that windows may use.
    windows_s: f64,
    bursts: Vec<BurstAnswer>,
    is_growing: bool,
    /// Bursts showed how much goes through at most.
    is_capped: bool,
    belief: Option<RatePosterior>,
    windows: Vec<WindowAnswer>,
}

impl RateSearch {
    /// Knows nothing yet. `time`: what may be used in all; `settle`: left out before each window,
    /// whole seconds.
    pub fn new(time: Duration, settle: Duration) -> Self {
        Self {
            time_s: time.as_secs_f64(),
            settle,
            precision: Some(URL_PRECISION),
            used_s: 0.0,
            windows_s: 0.0,
            bursts: Vec::new(),
            is_growing: true,
            is_capped: false,
            belief: None,
            windows: Vec::new(),
        }
    }

    /// Begins at a guess instead of with bursts.
    pub fn with_guess(mut self, guess: Rate) -> Self {
        self.is_growing = false;
        self.begin(RatePosterior::with_prior(guess.as_per_second(), GUESS_SD_LOG));
        self
    }

    /// Uses all of its time, however precise the answer.
    pub fn without_early_end(self) -> Self {
        Self { precision: None, ..self }
    }

    /// Begins below what one saturating burst of `load_s` seconds got through.
    pub fn begin_below(&mut self, most_rps: f64, load_s: f64) {
        self.used_s += load_s;
        self.is_growing = false;
        self.is_capped = true;
        if most_rps > 0.0 {
            // Wide: the goal may allow far less than saturation gives.
            let most = Most { rps: most_rps, sd_log: BURST_SD_LOG };
            self.begin(after_burst(most_rps * 0.9, 0.3, Some(most)));
        }
    }

    /// The next burst or window; `None` when the time is used or the answer good enough.
    pub fn next(&self) -> Option<RateAsk> {
        if self.is_growing {
            return Some(RateAsk::Burst { clients: self.next_clients()?, duration: BURST });
        }
        let rate_rps = self.next_rps()?;
        let window_s = self.window_s();
        let is_time_over = self.used_s + window_s > self.time_s + 1.0;
        if is_time_over || self.is_enough() {
            return None;
        }
        let duration = Duration::from_secs_f64(window_s).saturating_sub(self.settle);
        let rate = Rate::per_second(rate_rps).ok()?;
        Some(RateAsk::Window { rate, settle: self.settle, duration })
    }

    /// Takes what the burst that was asked for got through.
    pub fn tell_burst(&mut self, answer: BurstAnswer) {
        self.used_s += answer.load_s;
        let grows = self.best_burst().is_none_or(|best| grew(&best, &answer));
        self.bursts.push(answer);
        self.is_growing = grows
            && answer.is_valid
            && answer.throughput_rps > 0.0
            && !self.fails_alone()
            && self.used_s < self.time_s * BURSTS_SHARE
            && self.next_clients().is_some();
        if !self.is_growing {
            self.is_capped = !grows && self.bursts.iter().all(|burst| burst.is_valid);
            self.begin_after_bursts();
        }
    }

    /// Takes what the window that was asked for said.
    pub fn tell_window(&mut self, answer: WindowAnswer) {
        self.used_s += answer.load_s;
        self.windows.push(answer);
        if let Some(belief) = self.belief.as_mut().filter(|_| answer.is_valid) {
            observe_window(belief, &answer);
        }
    }

    /// The capacity so far with its 95 % interval and the number of valid windows; `None` before
    /// the first.
    pub fn estimate(&self) -> Option<Estimate> {
        let count = self.valid().count() as u64;
        let belief = self.belief.as_ref().filter(|_| count > 0)?;
        let (low, high) = belief.interval(0.95);
        Some(Estimate { value: belief.median(), low, high, count })
    }

    /// The answer so far; its interval allows for the noise between windows as well, and for
    /// requests that wait in one queue: they fare alike, which no window shows by itself.
    pub fn answer(&self) -> RateAnswer {
        let noise = NOISE_SD_LOG.hypot(self.resolution());
        let capacity_rps = self.estimate().map(|it| it.widened(1.96 * noise));
        let (held, missed) = (self.highest_held(), self.lowest_missed());
        let is_generator_limited = self
            .ceiling()
            .is_some_and(|ceiling| missed.is_none_or(|missed| missed.rate_rps >= ceiling));
        let (conclusion, bound_rps) = match (held, missed) {
            (Some(held), _) if is_generator_limited => {
                (CapacityConclusion::AtLeast, Some(held.rate_rps))
            }
            (None, Some(_)) if !is_generator_limited => match self.lowest_refused() {
                Some(refused) => (CapacityConclusion::Below, Some(refused.rate_rps)),
                None => (CapacityConclusion::Undecided, None),
            },
            (Some(held), None) if !self.is_capped => {
                (CapacityConclusion::AtLeast, Some(held.rate_rps))
            }
            (Some(_), _)
                if self.resolution() <= RESOLUTION_COARSEST
                    && capacity_rps.is_some_and(|c| c.high <= INTERVAL_WIDEST * c.low) =>
            {
                (CapacityConclusion::Found, None)
            }
            (None, None) => self.without_windows(),
            _ => (CapacityConclusion::Undecided, None),
        };
        RateAnswer { conclusion, capacity_rps, bound_rps, is_generator_limited }
    }

    /// A burst of which no reply was good needs no window.
    fn without_windows(&self) -> (CapacityConclusion, Option<f64>) {
        match self.bursts[..] {
            [BurstAnswer { throughput_rps, completed, load_s, .. }]
                if throughput_rps == 0.0 && completed > 0 =>
            {
                (CapacityConclusion::Below, Some(completed as f64 / load_s.max(1e-9)))
            }
            _ => (CapacityConclusion::Undecided, None),
        }
    }

    fn begin(&mut self, belief: RatePosterior) {
        self.windows_s = self.time_s - self.used_s.floor();
        self.belief = Some(belief);
    }

    /// Length of the next window, its settling included.
    fn window_s(&self) -> f64 {
        let least_s = LOOK_LEAST_S + self.settle.as_secs_f64();
        let part = |windows: f64| (self.windows_s / windows).max(least_s).floor();
        let has_upper = self.is_capped || self.lowest_missed().is_some();
        match self.highest_held() {
            _ if self.precision.is_none() => part(WINDOWS),
            // The last one takes what is left.
            Some(_) if has_upper => {
                let left_s = (self.time_s - self.used_s).floor().max(least_s);
                part(LONG_WINDOWS).min(left_s)
            }
            _ => part(SHORT_WINDOWS),
        }
    }

    fn begin_after_bursts(&mut self) {
        let Some(best) = self.best_burst().filter(|best| best.throughput_rps > 0.0) else { return };
        let most_rps = best.throughput_rps;
        // No load of any kind was seen to saturate it when the bursts had to end before.
        let mut belief = match () {
            () if self.fails_alone() => RatePosterior::with_prior(most_rps * 0.1, 0.5),
            () if self.is_capped => RatePosterior::with_prior(most_rps * 0.9, 0.3),
            () if !best.is_valid => RatePosterior::with_prior(most_rps * BELOW_CEILING, 0.5),
            () => RatePosterior::with_prior(most_rps, 0.5),
        };
        if self.is_capped {
            // A burst is short, and may have fallen into the server's warming up.
            let sd_log = mean_sd_log(USUAL_CV2, best.completed).max(0.08);
            Most { rps: most_rps, sd_log }.cap(&mut belief);
        }
        self.begin(belief);
    }

    /// One client alone, without any queue, misses the goal.
    fn fails_alone(&self) -> bool {
        self.bursts.first().is_some_and(|burst| burst.clients == 1 && burst.met == Some(false))
    }

    fn best_burst(&self) -> Option<BurstAnswer> {
        let by_throughput =
            |a: &&BurstAnswer, b: &&BurstAnswer| a.throughput_rps.total_cmp(&b.throughput_rps);
        self.bursts.iter().max_by(by_throughput).copied()
    }

    fn next_clients(&self) -> Option<u32> {
        let last = self.bursts.last().map_or(0, |burst| burst.clients);
        BURST_CLIENTS.into_iter().find(|clients| *clients > last)
    }

    fn next_rps(&self) -> Option<f64> {
        let median = self.belief.as_ref()?.median();
        if let Some(again) = self.to_be_repeated() {
            return Some(again.rate_rps);
        }
        // Where all windows said the same, the belief's own steps are small ones.
        let is_early = self.valid().count() < 2;
        let rate = match (self.highest_held(), self.lowest_missed()) {
            _ if is_early => median,
            (None, Some(missed)) => median.min(missed.rate_rps * 0.5),
            (Some(held), None) if !self.is_capped => median.max(held.rate_rps * 2.0),
            _ => median,
        };
        let most = self.ceiling().map_or(RATE_MOST, |ceiling| ceiling * BELOW_CEILING);
        Some(rate.min(most).clamp(0.01, RATE_MOST))
    }

    fn is_enough(&self) -> bool {
        let (held, missed) = (self.highest_held(), self.lowest_missed());
        let goes_no_further = self.ceiling().is_some_and(|ceiling| {
            held.is_some_and(|held| held.rate_rps >= ceiling * BELOW_CEILING * 0.95)
                && missed.is_none_or(|missed| missed.rate_rps >= ceiling)
        });
        let most = self.best_burst().map(|burst| burst.throughput_rps);
        let is_hopeless = held.is_none()
            && missed
                .zip(most)
                .is_some_and(|(missed, most)| missed.rate_rps <= most * RATE_HOPELESS);
        let is_precise = self.valid().count() >= WINDOWS_LEAST
            && self.precision.is_some_and(|precision| {
                self.belief.as_ref().is_some_and(|belief| belief.sd_log() <= precision)
            });
        goes_no_further || is_hopeless || is_precise
    }

    fn valid(&self) -> impl Iterator<Item = &WindowAnswer> {
        self.windows.iter().filter(|window| window.is_valid)
    }

    /// What all valid windows together can tell apart: their requests add up.
    fn resolution(&self) -> f64 {
        self.valid().map(|window| window.resolution.powi(-2)).sum::<f64>().powf(-0.5)
    }

    fn highest_held(&self) -> Option<&WindowAnswer> {
        let held = self.valid().filter(|window| window.leaning == Verdict::Yes);
        held.max_by(|a, b| a.rate_rps.total_cmp(&b.rate_rps))
    }

    fn lowest_missed(&self) -> Option<&WindowAnswer> {
        self.lowest(|window| window.leaning == Verdict::No)
    }

    /// Of those that missed the goal beyond doubt.
    fn lowest_refused(&self) -> Option<&WindowAnswer> {
        self.lowest(|window| window.verdict == Verdict::No)
    }

    fn lowest(&self, condition: impl Fn(&WindowAnswer) -> bool) -> Option<&WindowAnswer> {
        let windows = self.valid().filter(|window| condition(window));
        windows.min_by(|a, b| a.rate_rps.total_cmp(&b.rate_rps))
    }

    /// An invalid window may have been bad luck: it is run once more.
    fn to_be_repeated(&self) -> Option<&WindowAnswer> {
        match self.windows[..] {
            [.., ref before, _] if !before.is_valid => None,
            [.., ref last] if !last.is_valid && !last.is_generator_busy => Some(last),
            _ => None,
        }
    }

    /// The lowest rate at which the generator could not do what it was asked to: it had no time
    /// left, or failed twice in a row.
    fn ceiling(&self) -> Option<f64> {
        let busy = self.windows.iter().filter(|window| window.is_generator_busy);
        let twice = self.windows.windows(2).filter(|pair| pair.iter().all(|one| !one.is_valid));
        let twice = twice.map(|pair| pair[0].rate_rps.min(pair[1].rate_rps));
        busy.map(|window| window.rate_rps).chain(twice).min_by(f64::total_cmp)
    }
}

/// Whether more clients got more through, beyond what so few replies can show by chance.
fn grew(before: &BurstAnswer, after: &BurstAnswer) -> bool {
    let one = |burst: &BurstAnswer| 1.0 / burst.completed.max(1) as f64;
    let chance = (one(before) + one(after)).sqrt();
    after.throughput_rps > before.throughput_rps * (1.0 + GROWTH.max(chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that holds `capacity` requests a second and a generator that sends `most`.
    #[derive(Clone, Copy)]
    struct Setup {
        capacity: f64,
        most: f64,
        /// One client alone gets this much, and has to wait this long for it.
        alone: f64,
        misses_alone: bool,
    }

    impl Setup {
        fn of(capacity: f64) -> Self {
            Self { capacity, most: 1e6, alone: capacity / 2.0, misses_alone: false }
        }

        fn run(self, mut search: RateSearch) -> RateSearch {
            for _ in 0..100 {
                match search.next() {
                    None => return search,
                    Some(RateAsk::Burst { clients, duration }) => {
                        search.tell_burst(self.burst(clients, duration));
                    }
                    Some(RateAsk::Window { rate, settle, duration }) => {
                        search.tell_window(self.window(rate.as_per_second(), settle + duration));
                    }
                }
            }
            panic!("it never ends");
        }

        fn burst(self, clients: u32, duration: Duration) -> BurstAnswer {
            let throughput_rps =
                (self.alone * f64::from(clients)).min(self.capacity * 1.1).min(self.most);
            BurstAnswer {
                clients,
                throughput_rps,
                completed: (throughput_rps * duration.as_secs_f64()) as u64,
                met: self.misses_alone.then_some(false),
                is_valid: throughput_rps < self.most,
                load_s: duration.as_secs_f64(),
            }
        }

        fn window(self, rate_rps: f64, took: Duration) -> WindowAnswer {
            let holds = rate_rps <= self.capacity && !self.misses_alone;
            let verdict = if holds { Verdict::Yes } else { Verdict::No };
            let is_valid = rate_rps < self.most;
            WindowAnswer {
                rate_rps,
                verdict,
                leaning: verdict,
                resolution: 0.06,
                edge: None,
                is_valid,
                is_generator_busy: !is_valid,
                load_s: took.as_secs_f64(),
            }
        }
    }

    fn search() -> RateSearch {
        RateSearch::new(Duration::from_secs(90), Duration::from_secs(2))
    }

    #[test]
    fn clients_grow_while_that_gets_more_through() {
        let found = Setup::of(100.0).run(search());
        let clients: Vec<u32> = found.bursts.iter().map(|burst| burst.clients).collect();
        assert_eq!(clients, [1, 4, 16]);
        assert!(found.is_capped);
        let answer = found.answer();
        let rps = answer.capacity_rps.unwrap();
        assert_eq!(answer.conclusion, CapacityConclusion::Found);
        assert!(rps.low < 100.0 && 100.0 < rps.high, "{rps:?}");
        assert!((rps.value / 100.0 - 1.0).abs() < 0.05, "{rps:?}");
    }

    #[test]
    fn a_wrong_guess_gives_way_in_both_directions() {
        for guess in [5.0, 1500.0] {
            let guess = Rate::per_second(guess).unwrap();
            let answer = Setup::of(100.0).run(search().with_guess(guess)).answer();
            let rps = answer.capacity_rps.unwrap();
            assert_eq!(answer.conclusion, CapacityConclusion::Found, "{answer:?}");
            assert!(rps.low < 100.0 && 100.0 < rps.high, "{guess}: {rps:?}");
        }
    }

    #[test]
    fn what_is_missed_alone_is_missed_at_the_lowest_rate_and_soon_given_up() {
        let never = Setup { misses_alone: true, ..Setup::of(100.0) };
        let search = never.run(search());
        let answer = search.answer();
        assert_eq!(answer.conclusion, CapacityConclusion::Below);
        assert!(answer.bound_rps.unwrap() < 10.0, "{answer:?}");
        assert!(search.windows.len() <= 3, "{:?}", search.windows);
    }

    #[test]
    fn a_generator_that_goes_no_further_gives_a_lower_bound() {
        let fast = Setup { most: 40_000.0, alone: 20_000.0, ..Setup::of(1e6) };
        let answer = fast.run(search()).answer();
        assert_eq!(answer.conclusion, CapacityConclusion::AtLeast);
        assert!(answer.is_generator_limited);
        let bound = answer.bound_rps.unwrap();
        assert!((20_000.0..40_000.0).contains(&bound), "{bound}");
    }

    #[test]
    fn one_invalid_window_is_run_again_and_forgotten() {
        let mut search = search();
        while let Some(RateAsk::Burst { clients, duration }) = search.next() {
            search.tell_burst(Setup::of(100.0).burst(clients, duration));
        }
        let Some(RateAsk::Window { rate, .. }) = search.next() else { panic!("no window") };
        let answer = Setup::of(100.0).window(rate.as_per_second(), Duration::from_secs(9));
        search.tell_window(WindowAnswer { is_valid: false, ..answer });
        let again = search.next();
        assert!(matches!(again, Some(RateAsk::Window { rate: same, .. }) if same == rate));
        search.tell_window(answer);
        assert_eq!(search.ceiling(), None);
        assert_eq!(search.estimate().unwrap().count, 1);
    }

    #[test]
    fn replies_that_are_all_bad_end_it_at_once() {
        let mut search = search();
        let burst = Setup::of(100.0).burst(1, Duration::from_secs(2));
        search.tell_burst(BurstAnswer { throughput_rps: 0.0, ..burst });
        assert_eq!(search.next(), None);
        assert_eq!(search.answer().conclusion, CapacityConclusion::Below);
    }

    #[test]
    fn the_time_is_kept() {
        for seconds in [15, 30, 90, 300] {
            let time = Duration::from_secs(seconds);
            let search = Setup::of(100.0).run(RateSearch::new(time, Duration::from_secs(2)));
            assert!(search.used_s <= time.as_secs_f64() + 1.0, "{} of {seconds} s", search.used_s);
            assert!(!search.windows.is_empty(), "{seconds} s");
        }
    }
}
