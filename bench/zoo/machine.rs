//! The machine that a zoo's server runs on: its cores, their speed as it wanders, quotas and
//! credits. It outlives the server's starts.

use std::collections::VecDeque;

use super::app::Hardware;
use super::chance::Chance;

/// What a number of holders share, first come, first served.
#[derive(Debug, Clone)]
pub struct Places {
    pub free: usize,
    pub waiting: VecDeque<u32>,
}

impl Places {
    pub fn new(free: usize) -> Self {
        Self { free, waiting: VecDeque::new() }
    }

    /// Takes a place, or waits for one: false.
    pub fn take(&mut self, who: u32) -> bool {
        if self.free > 0 {
            self.free -= 1;
            return true;
        }
        self.waiting.push_back(who);
        false
    }

    /// Gives a place back: to the one who waits longest, who is returned.
    pub fn give(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        self.free += usize::from(next.is_none());
        next
    }
}

/// Of a quota.
const PERIOD_S: f64 = 0.1;

/// See the head of this file.
#[derive(Debug)]
pub struct Machine {
    pub hardware: Hardware,
    chance: Chance,
    /// Logarithms of how much slower it is now than in the mean: for minutes, and for hours.
    wander: f64,
    drift: f64,
    credits_s: f64,
    credited_s: f64,
    period: u64,
    used_s: f64,
    /// Periods that began, and those of them in which something had to wait for the next.
    pub periods: u64,
    pub throttled_periods: u64,
    pub throttled_s: f64,
    was_throttled: bool,
}

impl Machine {
    /// `has_credits`: it has rested before.
    pub fn new(hardware: Hardware, has_credits: bool, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let wander = hardware.wander * chance.normal();
        let drift = hardware.drift * chance.normal();
        let credits_s = hardware.credits.filter(|_| has_credits).map_or(0.0, |it| it.seconds);
        Self {
            hardware,
            chance,
            wander,
            drift,
            credits_s,
            credited_s: 0.0,
            period: 0,
            used_s: 0.0,
            periods: 0,
            throttled_periods: 0,
            throttled_s: 0.0,
            was_throttled: false,
        }
    }

    /// From now on it is neither slower nor faster for hours.
    pub fn stay_at_mean(&mut self) {
        (self.hardware.drift, self.drift) = (0.0, 0.0);
    }

    /// A second has gone by.
    pub fn tick(&mut self) {
        let Hardware { wander, wander_s, drift, drift_s, .. } = self.hardware;
        self.wander = after_a_second(self.wander, wander, wander_s, &mut self.chance);
        self.drift = after_a_second(self.drift, drift, drift_s, &mut self.chance);
    }

    /// How much slower this start is than the mean of all starts.
    pub fn start(&mut self) -> f64 {
        (self.hardware.starts * self.chance.normal()).exp()
    }

    pub fn slowness(&mut self, now_s: f64) -> f64 {
        let slow = (self.wander + self.drift).exp();
        let Some(credits) = self.hardware.credits else { return slow };
        let earned_s = credits.baseline * self.hardware.cores as f64 * (now_s - self.credited_s);
        self.credits_s = (self.credits_s + earned_s).min(credits.seconds);
        self.credited_s = now_s;
        if self.credits_s > 0.0 { slow } else { slow / credits.baseline }
    }

    /// When the next period begins, where nothing is left of this one.
    pub fn throttled_until(&mut self, now_s: f64) -> Option<f64> {
        let quota = self.hardware.quota?;
        let period = (now_s / PERIOD_S + 1e-9) as u64;
        if period != self.period {
            self.periods += 1;
            self.throttled_periods += u64::from(self.was_throttled);
            // What was used beyond it, as the last slices of a period do, is owed.
            let given_s = (period - self.period) as f64 * quota * PERIOD_S;
            self.used_s = (self.used_s - given_s).max(0.0);
            (self.period, self.was_throttled) = (period, false);
        }
        if self.used_s < quota * PERIOD_S {
            return None;
        }
        let until_s = (period + 1) as f64 * PERIOD_S;
        self.was_throttled = true;
        self.throttled_s += until_s - now_s;
        Some(until_s)
    }

    /// Computes for `wall_s`, of which a machine at full speed would need `full_s`.
    pub fn spend(&mut self, wall_s: f64, full_s: f64) {
        self.used_s += wall_s;
        if self.hardware.credits.is_some() {
            self.credits_s -= full_s;
        }
    }
}

/// A first-order autoregression: it forgets by `1 / memory_s` a second, and its standard deviation
/// stays `sd`.
fn after_a_second(value: f64, sd: f64, memory_s: f64, chance: &mut Chance) -> f64 {
    if sd <= 0.0 {
        return value;
    }
    let kept = (-1.0 / memory_s).exp();
    kept * value + sd * (1.0 - kept * kept).sqrt() * chance.normal()
}
