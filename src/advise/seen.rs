//! What was seen of a server, and what is asked.
//!
//! In and out: values.

use super::times::{RateSeen, Times};
use crate::terms::{Bytes, Configuration, Cores, Slo};

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
    /// How often and how long, second by second.
    pub rates: Vec<RateSeen>,
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

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// `None`: what the times of single requests make sensible.
    pub slo: Option<Slo>,
    /// Settings to choose among besides the current one.
    pub settings: Vec<Configuration>,
}

impl Seen {
    /// Of one instance, mean over all of the time.
    pub fn rate_rps(&self) -> f64 {
        let of_one = self.length_s * f64::from(self.instances);
        if of_one > 0.0 { self.sums.requests as f64 / of_one } else { 0.0 }
    }
}
