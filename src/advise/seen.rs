//! What was seen of a server.
//!
//! In and out: values.

use super::times::{RateSeen, Times};
use crate::terms::{AdviseNote, Bytes, Configuration, Cores};

/// What was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    pub setting: Configuration,
    pub cores: Cores,
    /// What there is for the server.
    pub memory: Bytes,
    pub length_s: f64,
    /// Servers of this setting that requests were seen of, at least 1.
    pub instances: u32,
    /// Requests that ended, and the sums over all of them; seconds.
    pub sums: Sums,
    /// CPU seconds of all its processes; `None` where they were not watched.
    pub cpu_s: Option<f64>,
    /// The most that all of its processes took.
    pub memory_bytes: Option<u64>,
    /// Cores that other processes used meanwhile.
    pub others_cores: Option<f64>,
    /// What the threads were counted by: `false` where somebody said how many.
    pub are_threads_counted: bool,
    /// Cores that the watching took.
    pub watching_cores: Option<f64>,
    pub times: Times,
    /// How often and how long, second by second and in order, of all instances together; seconds
    /// without a request may be left out, and so are those in which a longer interval went on.
    pub rates: Vec<RateSeen>,
    /// So many requests were recorded together, and `rates` has them where that was; `None`: where
    /// each ended.
    pub batch: Option<u64>,
    /// What was noticed meanwhile.
    pub remarks: Vec<AdviseNote>,
}

/// Over all requests, told one by one or not.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub requests: u64,
    pub app_s: f64,
    pub app_cpu_s: f64,
    /// `None` where not all tell.
    pub gvl_wait_s: Option<f64>,
    pub probe_s: Option<f64>,
}

/// Seconds that are looked at together, where rates rise and fall over the day.
const MINUTE: u32 = 60;
/// One in so many minutes is among the busiest.
const BUSIEST: usize = 10;
/// Of requests in batches, minutes are so long that so many batches are in each; or twice as many
/// as processes write them, whose rests at both ends of a minute then count for less than 1 %.
const BATCHES: f64 = 20.0;

impl Seen {
    /// Of one instance, mean over all of the time.
    pub fn rate_rps(&self) -> f64 {
        let of_one = self.length_s * f64::from(self.instances);
        if of_one > 0.0 { self.sums.requests as f64 / of_one } else { 0.0 }
    }

    /// Of one instance, mean over its requests: what was going on around the mean one, whose time
    /// in the app is known. Of steady traffic that is the mean over the time; quiet nights hardly
    /// count. With n the requests of a minute, which each met n - 1 others, and t its length:
    ///
    /// ```text
    /// sum n (n - 1) / t  /  sum n
    /// ```
    pub fn met_rps(&self) -> f64 {
        let minutes = self.minutes();
        let requests: f64 = minutes.iter().map(|(all, _)| all).sum();
        let met: f64 = minutes.iter().map(|(all, length_s)| all * (all - 1.0) / length_s).sum();
        match requests > 0.0 {
            true => met / requests / f64::from(self.instances),
            false => self.rate_rps(),
        }
    }

    /// Of one instance, mean over the busiest tenth of the minutes that had requests.
    pub fn busiest_rps(&self) -> f64 {
        let minute_s = f64::from(self.minute_s());
        let is_long = |(_, length_s): &&(f64, f64)| *length_s >= 0.5 * minute_s;
        let minutes = self.minutes();
        let mut rates: Vec<f64> =
            minutes.iter().filter(is_long).map(|(all, length_s)| all / length_s).collect();
        rates.sort_by(|a, b| b.total_cmp(a));
        let busiest = &rates[..rates.len().div_ceil(BUSIEST)];
        match busiest.is_empty() {
            true => self.met_rps(),
            false => busiest.iter().sum::<f64>() / busiest.len() as f64 / f64::from(self.instances),
        }
    }

    /// Requests of all instances together in each minute that had any, and its length in seconds:
    /// the last one may be cut short.
    fn minutes(&self) -> Vec<(f64, f64)> {
        let minute_s = self.minute_s();
        let of = |span: RateSeen| {
            let left_s = self.length_s - f64::from(span.second) * f64::from(minute_s);
            (span.requests as f64, left_s.clamp(1.0, f64::from(minute_s)))
        };
        self.spans(minute_s).into_iter().map(of).collect()
    }

    /// Seconds of what is called a minute here.
    fn minute_s(&self) -> u32 {
        let Some(batch) = self.batch else { return MINUTE };
        let writers = f64::from(self.instances) * f64::from(self.setting.workers.get());
        let requests = BATCHES.max(2.0 * writers) * batch as f64;
        let all_rps = self.rate_rps() * f64::from(self.instances);
        ((requests / all_rps).ceil() as u32).max(MINUTE)
    }

    /// So many seconds together each, in order and by their number in place of the second; those
    /// without a request are left out.
    pub(super) fn spans(&self, seconds: u32) -> Vec<RateSeen> {
        let mut spans: Vec<RateSeen> = Vec::new();
        for rate in &self.rates {
            let second = rate.second / seconds;
            match spans.last_mut().filter(|last| last.second == second) {
                Some(span) => {
                    span.requests += rate.requests;
                    span.app_s += rate.app_s;
                }
                None => spans.push(RateSeen { second, ..*rate }),
            }
        }
        spans.retain(|span| span.requests > 0);
        spans
    }
}
