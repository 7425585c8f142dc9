//! A control group's quota: CPU time that is handed out anew at the start of every period.
//!
//! Linux's CFS bandwidth control: when the group has used up a period's time, all its processes
//! stand still until the next one begins.

/// So little left counts as used up, seconds: far below any burst, far above rounding.
const NOTHING_S: f64 = 1e-7;

/// CPU time a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// CPU time over the length of a period: 1.5 is one core and a half.
    pub cores: f64,
    /// 0.1 unless set otherwise, seconds.
    pub period_s: f64,
}

/// What is left of it.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    quota: Quota,
    left_s: f64,
    /// When the next period begins.
    refill_s: f64,
}

impl Allowance {
    pub(super) fn new(quota: Quota) -> Self {
        let left_s = quota.cores * quota.period_s;
        Self { quota, left_s, refill_s: quota.period_s }
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.left_s <= NOTHING_S
    }

    /// `used_s` of CPU time went by up to `now`, within one period.
    pub(super) fn use_up(&mut self, used_s: f64, now: f64) {
        self.left_s -= used_s;
        if now >= self.refill_s {
            let period_s = self.quota.period_s;
            self.left_s = self.quota.cores * period_s;
            // Periods in which nothing ran are passed over.
            self.refill_s = ((now / period_s).floor() + 1.0) * period_s;
            if self.refill_s <= now {
                self.refill_s += period_s;
            }
        }
    }

    /// When it changes what may run, with `cores_used` from `now` on.
    pub(super) fn next_time(&self, now: f64, cores_used: f64) -> f64 {
        if self.is_used_up() {
            self.refill_s
        } else {
            self.refill_s.min(now + self.left_s / cores_used)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_comes_back_with_the_next_period() {
        let mut allowance = Allowance::new(Quota { cores: 2.0, period_s: 0.1 });
        assert!((allowance.next_time(0.0, 8.0) - 0.025).abs() < 1e-12);
        allowance.use_up(0.2, 0.025);
        assert!(allowance.is_used_up());
        assert_eq!(allowance.next_time(0.025, 8.0), 0.1);
        allowance.use_up(0.0, 0.1);
        assert!(!allowance.is_used_up());
        assert!((allowance.next_time(0.1, 1.0) - 0.2).abs() < 1e-12, "one core never uses up two");
    }

    #[test]
    fn time_without_work_brings_no_more_than_one_period() {
        let mut allowance = Allowance::new(Quota { cores: 1.0, period_s: 0.1 });
        allowance.use_up(0.05, 0.05);
        allowance.use_up(0.0, 7.33);
        assert!((allowance.next_time(7.33, 4.0) - 7.355).abs() < 1e-9);
    }
}
