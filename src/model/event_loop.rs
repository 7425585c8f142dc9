//! Workers that are event loops: they take in as many requests as come, and compute one at a time.

use super::Demand;
use crate::terms::Configuration;

/// No fewer requests in one worker than this are reckoned with.
const LEAST: f64 = 16.0;
/// No more are simulated.
const MOST: f64 = 4096.0;
/// No more in all workers together are computed with, nor in one of them: the formulas' work grows
/// with the square.
const MOST_COMPUTED: [f64; 2] = [512.0, 256.0];
/// Times as many as fit beside each other in a latency.
const PLENTY: f64 = 3.0;

/// As many requests in one worker as keep it busy, and more than enough.
pub fn places(unloaded_latency_s: f64, cpu_s: f64) -> u16 {
    let held = unloaded_latency_s / cpu_s.max(1e-9);
    (PLENTY * held).ceil().clamp(LEAST, MOST) as u16
}

/// A worker as the formulas know it: as one with a thread for each place.
pub(super) fn as_threads(configuration: Configuration, demand: &Demand) -> Configuration {
    let places = places(demand.unloaded_latency_s(), demand.server_cpu_s());
    with_threads(configuration, places.min(computed(configuration) as u16))
}

/// Places in each worker that can be computed with.
fn computed(configuration: Configuration) -> f64 {
    let [together, each] = MOST_COMPUTED;
    (together / f64::from(configuration.workers.get())).clamp(LEAST, each)
}

/// This configuration with as many threads as the simulator can have.
pub(super) fn as_many_threads(configuration: Configuration, demand: &Demand) -> Configuration {
    with_threads(configuration, places(demand.unloaded_latency_s(), demand.server_cpu_s()))
}

/// A request that waits so long that more places would be needed than can be computed with, waiting
/// less, and by how much less, seconds: what a loop gets through does not depend on it, and latency
/// is longer by just that.
pub(super) fn squeezed(configuration: Configuration, demand: &Demand) -> (Demand, f64) {
    let latency_s = demand.unloaded_latency_s();
    let short_s = demand.server_cpu_s() * computed(configuration) / PLENTY;
    // No number of its places bounds how many wait at once.
    let demand = &Demand { crowding: 0.0, ..*demand };
    if latency_s <= short_s || short_s <= 0.0 {
        return (*demand, 0.0);
    }
    let less_s = latency_s - short_s;
    let cv2 = demand.cv2 * (latency_s / short_s).powi(2);
    (Demand { wait_s: demand.wait_s - less_s, cv2, sizes: None, ..*demand }, less_s)
}

/// This configuration under a closed load: it works on as many requests as its clients send at
/// once.
pub(super) fn occupied(configuration: Configuration, clients: u32) -> Configuration {
    let each = clients / u32::from(configuration.workers.get());
    with_threads(configuration, each.clamp(1, 1024) as u16)
}

fn with_threads(configuration: Configuration, threads: u16) -> Configuration {
    Configuration::new(configuration.workers.get(), threads).unwrap_or(configuration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::closed_throughput;

    #[test]
    fn the_longer_a_request_waits_the_more_keep_a_worker_busy() {
        assert_eq!(places(0.010, 0.010), 16);
        assert_eq!(places(0.062, 0.002), 93);
        assert_eq!(places(10.0, 0.001), 4096);
        let two = Configuration::new(2, 1).unwrap();
        assert_eq!(occupied(two, 64), Configuration::new(2, 32).unwrap());
        assert_eq!(occupied(two, 1), two);
    }

    #[test]
    fn long_waits_are_squeezed_without_a_change_to_what_goes_through() {
        let demand = Demand { cpu_s: 0.001, wait_s: 2.0, cv2: 0.01, ..Demand::default() };
        let one = Configuration::new(1, 1).unwrap();
        let (short, less_s) = squeezed(one, &demand);
        assert!((short.unloaded_latency_s() + less_s - 2.001).abs() < 1e-9);
        let rps = closed_throughput(&short, as_threads(one, &demand), 1.0);
        assert!((900.0..=1000.1).contains(&rps), "{rps}");
        assert_eq!(squeezed(one, &Demand { wait_s: 0.01, ..demand }).1, 0.0);
    }
}
