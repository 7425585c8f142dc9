//! Whether requests slow down with traffic by more than the model says.
//!
//! In: what was seen, second by second, and what a request costs. Out: by how much. Computes only.

use super::demand::Request;
use super::seen::Seen;
use super::times::RateSeen;
use crate::model::stay;
use crate::stats::mean_sd_log;

/// Requests that slow down by this factor more than the model says wait for each other elsewhere.
const SLOWER: f64 = 1.25;
/// And by at least this many standard deviations of what chance makes of both means.
const SURE: f64 = 2.0;
/// With fewer seconds the busiest tenth of them says nothing.
const SECONDS_LEAST: usize = 60;

/// Requests that wait for each other elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slower {
    /// Time in the app in the busiest tenth of all seconds by that in the quietest.
    pub ratio: f64,
    /// As the model has it at these rates.
    pub expected_ratio: f64,
}

/// `None` where they slow down as the model says, or too little was seen to tell.
pub fn slower_when_busy(seen: &Seen, request: &Request) -> Option<Slower> {
    let mut seconds: Vec<RateSeen> =
        seen.rates.iter().copied().filter(|second| second.requests > 0).collect();
    if seconds.len() < SECONDS_LEAST {
        return None;
    }
    seconds.sort_by_key(|second| second.requests);
    let tenth = seconds.len() / 10;
    let quiet = Part::of(&seconds[..tenth]);
    let busy = Part::of(&seconds[seconds.len() - tenth..]);
    let expected_s = |part: &Part| {
        let rate_rps = part.rate_rps / f64::from(seen.instances);
        let expected = stay(&request.fit.demand, seen.setting, seen.cores.get(), rate_rps)?;
        Some(expected.service_s)
    };
    let slower = Slower {
        ratio: busy.app_s / quiet.app_s,
        expected_ratio: expected_s(&busy)? / expected_s(&quiet)?,
    };
    let by_chance = |part: &Part| mean_sd_log(seen.times.cv2(), part.requests);
    let sd = by_chance(&quiet).hypot(by_chance(&busy));
    let excess = slower.ratio / slower.expected_ratio;
    (excess > SLOWER && excess.ln() > SURE * sd).then_some(slower)
}

/// Some of the seconds.
struct Part {
    requests: u64,
    /// Of all instances together.
    rate_rps: f64,
    /// Mean time in the app.
    app_s: f64,
}

impl Part {
    fn of(seconds: &[RateSeen]) -> Self {
        let requests: u64 = seconds.iter().map(|second| second.requests).sum();
        let app_s: f64 = seconds.iter().map(|second| second.app_s).sum();
        Self {
            requests,
            rate_rps: requests as f64 / seconds.len() as f64,
            app_s: app_s / requests as f64,
        }
    }
}
