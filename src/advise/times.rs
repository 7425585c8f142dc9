//! Requests as they were told one by one: how they differ, and which parts of the app they were
//! for.
//!
//! In: requests, as they come. Out: quantiles and sums. Its memory does not grow with their number.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::stats::quantile;
use crate::terms::{InsideRequest, LatencySummary};

/// Of so many the times are kept, each as likely as any other (reservoir sampling: Vitter 1985).
const KEPT: usize = 20_000;
/// Parts of an app that are told apart; what comes later counts as one.
const ROUTES_MOST: usize = 300;
/// The name of those that are not told apart.
const OTHERS: &str = "(others)";

/// What was told.
#[derive(Debug, Clone)]
pub struct Times {
    kept_s: Vec<f64>,
    count: u64,
    random: Xoshiro256PlusPlus,
    routes: BTreeMap<String, Part>,
    /// Requests with a time stamp of before, and the sum of their waits.
    stamped: (u64, f64),
}

/// Sums over the requests of a part of the app, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Part {
    pub requests: u64,
    pub app_s: f64,
    pub cpu_s: f64,
    /// `None` once one did not tell.
    pub gvl_wait_s: Option<f64>,
}

/// One second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateSeen {
    pub requests: u64,
    /// Sum over its requests.
    pub app_s: f64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            kept_s: Vec::new(),
            count: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            routes: BTreeMap::new(),
            stamped: (0, 0.0),
        }
    }
}

impl Times {
    /// Adds a request.
    pub fn add(&mut self, request: &InsideRequest) {
        self.count += 1;
        match self.kept_s.len() {
            length if length < KEPT => self.kept_s.push(request.app_s),
            _ => {
                let place = self.random.random_range(0..self.count) as usize;
                if let Some(kept) = self.kept_s.get_mut(place) {
                    *kept = request.app_s;
                }
            }
        }
        if let Some(queue_s) = request.queue_s {
            self.stamped = (self.stamped.0 + 1, self.stamped.1 + queue_s);
        }
        let is_known = self.routes.len() < ROUTES_MOST || self.routes.contains_key(&request.route);
        let name = if is_known { request.route.as_str() } else { OTHERS };
        if let Some(part) = self.routes.get_mut(name) {
            part.add(request);
        } else {
            let mut part = Part { gvl_wait_s: Some(0.0), ..Part::default() };
            part.add(request);
            self.routes.insert(name.to_string(), part);
        }
    }

    /// Requests that were told.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time in the app that this share of the requests (0..=1) stays below, seconds.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        quantile(&self.kept_s, share)
    }

    /// How their times in the app differ; all zero of none.
    pub fn summary(&self) -> LatencySummary {
        let mut sorted = self.kept_s.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = sorted.len().saturating_sub(1);
            sorted.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
        };
        let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
        LatencySummary {
            min: at(0.0),
            mean,
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: at(1.0),
        }
    }

    /// Squared coefficient of variation of the time in the app.
    pub fn cv2(&self) -> f64 {
        let count = self.kept_s.len() as f64;
        let mean = self.kept_s.iter().sum::<f64>() / count;
        let squares: f64 = self.kept_s.iter().map(|it| (it - mean).powi(2)).sum();
        if mean > 0.0 { squares / count / mean.powi(2) } else { 0.0 }
    }

    /// Mean wait before the app, of the requests that say it.
    pub fn queue_s(&self) -> Option<f64> {
        let (stamped, sum_s) = self.stamped;
        (stamped > 0).then(|| sum_s / stamped as f64)
    }

    /// The parts of the app, by name.
    pub fn routes(&self) -> &BTreeMap<String, Part> {
        &self.routes
    }
}

impl Part {
    fn add(&mut self, request: &InsideRequest) {
        self.requests += 1;
        self.app_s += request.app_s;
        self.cpu_s += request.cpu_s;
        self.gvl_wait_s = self.gvl_wait_s.zip(request.gvl_wait_s).map(|(sum, one)| sum + one);
    }
}
