//! Workers that are event loops: they take in as many requests as come, and compute one at a time.

use super::Demand;
use crate::terms::Configuration;

/// No fewer requests beside each other are computed with, nor more.
const PLACES: [f64; 2] = [16.0, 256.0];

/// As many requests in one worker as keep it busy, and more than enough: three times as many as fit
/// beside each other in a latency.
pub fn places(unloaded_latency_s: f64, cpu_s: f64) -> u16 {
    let held = unloaded_latency_s / cpu_s.max(1e-9);
    (3.0 * held).ceil().clamp(PLACES[0], PLACES[1]) as u16
}

/// A worker as the formulas know it: as one with a thread for each place.
pub fn as_threads(configuration: Configuration, demand: &Demand) -> Configuration {
    with_threads(configuration, places(demand.unloaded_latency_s(), demand.server_cpu_s()))
}

/// The same under a closed load: it works on as many requests as its clients send at once.
pub fn occupied(configuration: Configuration, clients: u32) -> Configuration {
    let each = clients / u32::from(configuration.workers.get());
    with_threads(configuration, each.clamp(1, 1024) as u16)
}

fn with_threads(configuration: Configuration, threads: u16) -> Configuration {
    Configuration::new(configuration.workers.get(), threads).unwrap_or(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_a_request_waits_the_more_keep_a_worker_busy() {
        assert_eq!(places(0.010, 0.010), 16);
        assert_eq!(places(0.062, 0.002), 93);
        assert_eq!(places(10.0, 0.001), 256);
        let two = Configuration::new(2, 1).unwrap();
        assert_eq!(occupied(two, 64), Configuration::new(2, 32).unwrap());
        assert_eq!(occupied(two, 1), two);
    }
}
