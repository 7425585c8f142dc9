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
/// Seconds are taken together until so many requests end in them on average. With fewer, chance
/// decides which of them are busy, and where requests are slow it is those in which short ones end.
/// Judgement; `slow_requests_that_wait_for_a_pool_are_told_from_those_that_do_not` plays some.
const REQUESTS_EACH: f64 = 10.0;
/// With fewer such spans the busiest tenth of them says nothing: 500 requests make about 50.
const SPANS_LEAST: usize = 40;

/// Requests that wait for each other elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slower {
    /// Time in the app in the busiest tenth of the time by that in the quietest.
    pub ratio: f64,
    /// As the model has it at these rates.
    pub expected_ratio: f64,
}

/// `None` where they slow down as the model says, or too little was seen to tell. More may come for
/// a while than the setting keeps up with: the model says nothing of such spans, and the others are
/// compared.
pub fn slower_when_busy(seen: &Seen, request: &Request) -> Option<Slower> {
    if seen.batch.is_some() {
        // Then it is not known what went on while a request was served.
        return None;
    }
    let expected_s = |rate_rps: f64| {
        let of_one = rate_rps / f64::from(seen.instances);
        Some(stay(&request.fit.demand, seen.setting, seen.cores.get(), of_one)?.service_s)
    };
    let mut spans = spans(seen);
    spans.sort_by_key(|span| span.requests);
    let kept_up = spans.partition_point(|span| expected_s(span.rate_rps()).is_some());
    let spans = &spans[..kept_up];
    if spans.len() < SPANS_LEAST {
        return None;
    }
    let tenth = spans.len() / 10;
    let quiet = Span::of(&spans[..tenth]);
    let busy = Span::of(&spans[spans.len() - tenth..]);
    let slower = Slower {
        ratio: busy.each_s() / quiet.each_s(),
        expected_ratio: expected_s(busy.rate_rps())? / expected_s(quiet.rate_rps())?,
    };
    let by_chance = |span: &Span| mean_sd_log(seen.times.cv2(), span.requests);
    let sd = by_chance(&quiet).hypot(by_chance(&busy));
    let excess = slower.ratio / slower.expected_ratio;
    (excess > SLOWER && excess.ln() > SURE * sd).then_some(slower)
}

/// All of equal length and in order, without those that had no request or were not seen to their
/// end.
fn spans(seen: &Seen) -> Vec<Span> {
    let all_rps = seen.met_rps() * f64::from(seen.instances);
    let seconds = (REQUESTS_EACH / all_rps).ceil().max(1.0) as u32;
    let length_s = f64::from(seconds);
    let is_whole = |it: &RateSeen| {
        let span = it.second;
        (f64::from(span) + 1.0) * length_s <= seen.length_s
    };
    let of = |RateSeen { requests, app_s, .. }| Span { requests, length_s, app_s };
    seen.spans(seconds).into_iter().filter(is_whole).map(of).collect()
}

/// Some of the time.
struct Span {
    requests: u64,
    length_s: f64,
    /// Sum over its requests.
    app_s: f64,
}

impl Span {
    /// All of these together.
    fn of(spans: &[Self]) -> Self {
        Self {
            requests: spans.iter().map(|span| span.requests).sum(),
            length_s: spans.iter().map(|span| span.length_s).sum(),
            app_s: spans.iter().map(|span| span.app_s).sum(),
        }
    }

    /// Of all instances together.
    fn rate_rps(&self) -> f64 {
        self.requests as f64 / self.length_s
    }

    /// Mean time in the app.
    fn each_s(&self) -> f64 {
        self.app_s / self.requests as f64
    }
}
