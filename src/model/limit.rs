//! Which resource would set the limit.

use super::Demand;
use crate::terms::{Configuration, LimitKind};

/// Bounds this close to the lowest count as binding too.
const CLOSE: f64 = 1.05;

/// The lowest of the bounds on throughput (Denning and Buzen 1978): cores C / (S + N + g), locks
/// W / (S + h), threads W T / (S + N + Z). Between bounds that are within 5 % of each other the
/// resource that more workers or threads cannot add to is named.
pub fn limit(demand: &Demand, configuration: Configuration, cores: f64) -> LimitKind {
    let (workers, slots) = (f64::from(configuration.workers.get()), configuration.slots());
    let per_second = |servers: f64, seconds: f64| {
        if seconds > 0.0 { servers / seconds } else { f64::INFINITY }
    };
    let of_cores = per_second(cores, demand.server_cpu_s() + demand.generator_s);
    let of_locks = per_second(workers, demand.cpu_s + demand.handoff_s);
    let of_threads = per_second(f64::from(slots), demand.among(slots).unloaded_latency_s());
    let lowest = of_cores.min(of_locks).min(of_threads);
    if lowest == f64::INFINITY {
        LimitKind::Unknown
    } else if of_cores <= CLOSE * lowest {
        LimitKind::Cores
    } else if of_locks <= CLOSE * lowest {
        LimitKind::Gvl
    } else {
        LimitKind::Threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bound_is_named() {
        let demand = Demand { cpu_s: 0.005, wait_s: 0.015, ..Demand::default() };
        for (workers, threads, expected) in [
            (1, 1, LimitKind::Threads),
            (1, 3, LimitKind::Threads),
            (1, 8, LimitKind::Gvl),
            (4, 8, LimitKind::Cores),
            (8, 1, LimitKind::Cores),
        ] {
            let configuration = Configuration::new(workers, threads).unwrap();
            assert_eq!(limit(&demand, configuration, 2.0), expected, "{configuration}");
        }
    }

    #[test]
    fn a_request_that_costs_nothing_has_no_limit_to_name() {
        let configuration = Configuration::new(1, 1).unwrap();
        assert_eq!(limit(&Demand::default(), configuration, 2.0), LimitKind::Unknown);
    }
}
