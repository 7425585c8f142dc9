//! Requests as they were told one by one: how they differ, and which parts of the app they were
//! for.
//!
//! In: requests, as they come. Out: quantiles and sums. Its memory does not grow with their number.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::terms::{InsideRequest, Latencies, LatencySummary};

/// Parts of an app that are told apart; what comes later counts as one.
const ROUTES_MOST: usize = 300;
/// The name of those that are not told apart.
const OTHERS: &str = "(others)";

/// What was told.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// In the app.
    in_app: Latencies,
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

/// A second, or an interval of about that length.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateSeen {
    /// In which it began, of all that was seen; the first is 0.
    pub second: u32,
    pub requests: u64,
    /// Sum over its requests.
    pub app_s: f64,
}

impl Times {
    /// Adds a request.
    pub fn add(&mut self, request: &InsideRequest) {
        let in_app = Duration::try_from_secs_f64(request.app_s);
        self.in_app.record(in_app.unwrap_or(Duration::MAX));
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
        self.in_app.count()
    }

    /// All of their times in the app.
    pub fn in_app(&self) -> &Latencies {
        &self.in_app
    }

    /// How their times in the app differ; all zero of none.
    pub fn summary(&self) -> LatencySummary {
        self.in_app.summary()
    }

    /// Squared coefficient of variation of the time in the app.
    pub fn cv2(&self) -> f64 {
        let of_mean = self.in_app.standard_deviation().zip(self.in_app.mean());
        let ratio = of_mean.map(|(sd, mean)| sd.as_secs_f64() / mean.as_secs_f64());
        ratio.filter(|it| it.is_finite()).unwrap_or(0.0).powi(2)
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
