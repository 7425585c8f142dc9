//! What lies between the generator and the app: the route, caches, proxies; and whether the figures
//! are still the app's.
//!
//! In: connect times, and what was noticed of the replies. Out: the route in figures, and doubts.
//! Computes only.

use std::time::Duration;

use crate::terms::{LoadDoubt, LoadSecond, RouteSummary, Warning};

/// With fewer connect times their 90th percentile is hardly more than the longest.
const FEWEST_SAMPLES: usize = 15;

/// Jitter above this share of the SLO's tightest limit can decide whether it is met.
const JITTER_THAT_MATTERS: f64 = 0.05;

/// Up to this share of cached replies the figures are the app's.
const CACHED_THAT_MATTER: f64 = 0.01;

/// The route in figures, from the times that connecting took one after another: their median, and
/// by how much their 90th percentile lies above it (nearest ranks). `None` without any.
pub fn route(connects: &[Duration]) -> Option<RouteSummary> {
    let mut sorted = connects.to_vec();
    sorted.sort_unstable();
    let at = |q: f64| {
        let rank = (q * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).map(Duration::as_secs_f64)
    };
    let connect_s = at(0.5)?;
    let jitter_s = at(0.9).map(|p90| p90 - connect_s);
    Some(RouteSummary {
        connect_s,
        jitter_s: jitter_s.filter(|_| sorted.len() >= FEWEST_SAMPLES),
        samples: sorted.len() as u32,
    })
}

/// The route varies by as much as would matter for the SLO, whose tightest limit this is.
pub fn doubt_route(route: &RouteSummary, tightest: Option<Duration>) -> Option<Warning> {
    let limit_s = tightest?.as_secs_f64();
    let jitter_s = route.jitter_s.filter(|jitter| *jitter > JITTER_THAT_MATTERS * limit_s)?;
    Some(LoadDoubt::RouteVaries { jitter_s, connect_s: route.connect_s, limit_s }.into())
}

/// What was measured is a cache.
pub fn doubt_cache(all: &LoadSecond) -> Option<Warning> {
    let replies = all.completed();
    let is_much = all.cached as f64 > CACHED_THAT_MATTER * replies as f64;
    is_much.then(|| LoadDoubt::RepliesCached { cached: all.cached, replies }.into())
}

/// A proxy on the way takes its part of the time and sets limits of its own.
pub fn doubt_proxy(all: &LoadSecond) -> Option<Warning> {
    (all.via > 0)
        .then(|| LoadDoubt::ProxyBetween { passed: all.via, replies: all.completed() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        values.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn a_route_is_its_median_and_what_the_ninetieth_percentile_is_above_it() {
        // 1 to 15: the eighth is the median, the fourteenth the 90th percentile.
        let of_fifteen = route(&ms((1..=15).rev())).unwrap();
        assert_eq!((of_fifteen.connect_s, of_fifteen.samples), (0.008, 15));
        assert!((of_fifteen.jitter_s.unwrap() - 0.006).abs() < 1e-12);
        assert_eq!(route(&ms(1..=14)).unwrap().jitter_s, None, "too few to tell");
        assert_eq!(route(&[]), None);
    }

    #[test]
    fn jitter_is_a_doubt_beside_a_tight_limit_only() {
        let route = RouteSummary { connect_s: 0.02, jitter_s: Some(0.006), samples: 15 };
        let code = |slo: &str| {
            let slo: crate::terms::Slo = slo.parse().unwrap();
            doubt_route(&route, slo.tightest_limit()).map(|warning| warning.code())
        };
        assert_eq!(code("p95<100ms").as_deref(), Some("route_jitter"));
        assert_eq!(code("p95<200ms"), None);
        assert_eq!(code("errors<1%"), None);
        assert_eq!(doubt_route(&route, None), None);
    }

    #[test]
    fn replies_of_caches_and_proxies_are_doubts_once_they_matter() {
        let second = |cached, via| {
            let mut second = LoadSecond { cached, via, ..LoadSecond::default() };
            second.status.insert(200, 1000);
            second
        };
        let cached = doubt_cache(&second(11, 0)).unwrap();
        assert_eq!(cached, LoadDoubt::RepliesCached { cached: 11, replies: 1000 }.into());
        assert_eq!(doubt_cache(&second(10, 0)), None);
        let passed = LoadDoubt::ProxyBetween { passed: 1, replies: 1000 };
        assert_eq!(doubt_proxy(&second(0, 1)), Some(passed.into()));
        assert_eq!(doubt_proxy(&second(0, 0)), None);
        assert_eq!(doubt_cache(&LoadSecond::default()), None);
    }
}
