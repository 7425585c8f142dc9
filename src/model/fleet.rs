//! How many machines of a kind a load needs, and what a lost zone does.
//!
//! In: what was measured of a server, a kind of machine, and a load. Out: a [`Fleet`]. A balancer
//! that sends each request to a machine by chance splits Poisson arrivals into Poisson arrivals
//! (Kingman, 1993), so that one machine at its share of the rate stands for all of them: however
//! large the fleet, it is one machine that is simulated, request by request.

use super::simulator::{Ending, RequestKind, Server, Simulator};
use super::{Demand, Expected, Measured, WhatIf, fits};
use crate::stats::Estimate;
use crate::terms::{
    Arrivals, Bytes, Configuration, OPERATING_SHARE, Offered, Rate, SimulatedMachine,
};

/// A kind of machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineSize {
    pub cores: f64,
    pub memory_bytes: u64,
}

/// What the fleet has to stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetLoad {
    pub rate_rps: f64,
    /// The machines are spread evenly over so many zones, any one of which may be lost; 1: none.
    pub zones: u16,
}

/// One kind of machine for one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    pub configuration: Configuration,
    pub expected: Expected,
    /// As many in each zone.
    pub machines: u64,
    /// With the upper and the lower end of the capacity's interval.
    pub machines_interval: [u64; 2],
    /// On an ordinary day, and with a zone lost; `None` with one zone.
    pub ordinary: SimulatedMachine,
    pub zone_lost: Option<SimulatedMachine>,
}

/// Requests that are simulated: of a 99th percentile a thousand lie beyond it.
const REQUESTS: f64 = 100_000.0;
/// Until then the simulation fills up and is not counted, requests.
const FILLING: f64 = 5_000.0;
/// Waits of a request, when nothing is known of their number.
const WAITS: u16 = 3;

impl Measured {
    /// The setting with the highest capacity that fits, as many machines of it as the load needs,
    /// and one of them simulated. `None` when no setting fits or none meets the goal.
    pub fn fleet(
        &self,
        size: &MachineSize,
        settings: &[Configuration],
        what_if: &WhatIf,
        load: &FleetLoad,
    ) -> Option<Fleet> {
        let what_if = WhatIf { cores: size.cores, rate: None, ..*what_if };
        let has_room = |expected: &Expected| {
            expected.memory_bytes.is_none_or(|needs| fits(needs, Bytes(size.memory_bytes)))
        };
        let (configuration, expected) = settings
            .iter()
            .map(|&at| (at, self.expect(at, &what_if)))
            .filter(|(_, expected)| has_room(expected) && expected.capacity_rps.is_some())
            .max_by(|a, b| held(&a.1).total_cmp(&held(&b.1)))?;
        let capacity: Estimate = expected.capacity_rps?;
        let machines = count(load, capacity.value);
        let simulated = |lost: u16| {
            let share = f64::from(load.zones - lost) / f64::from(load.zones);
            self.simulate(configuration, &what_if, load.rate_rps / (machines as f64 * share))
        };
        Some(Fleet {
            configuration,
            machines,
            machines_interval: [count(load, capacity.high), count(load, capacity.low)],
            ordinary: simulated(0),
            zone_lost: (load.zones > 1).then(|| simulated(1)),
            expected,
        })
    }

    /// One machine at one rate.
    fn simulate(&self, at: Configuration, what_if: &WhatIf, rate_rps: f64) -> SimulatedMachine {
        let demand = self.demand(what_if);
        let places = self.places(at, what_if);
        let server = Server::new(places.workers.get(), places.threads.get(), what_if.cores);
        let mut simulator = Simulator::new(server, vec![request(&demand)], 1);
        let rate = Rate::per_second(rate_rps).expect("a share of a rate is a rate");
        simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, 2);
        let from_s = FILLING / rate_rps;
        let (mut latencies, mut failed) = (Vec::new(), 0u64);
        simulator.run_until((FILLING + REQUESTS) / rate_rps, &mut |outcome| {
            if outcome.due_s < from_s {
                return;
            }
            failed += u64::from(outcome.ending != Ending::Reply);
            latencies.push(outcome.ended_s - outcome.due_s);
        });
        latencies.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            let last = latencies.len().saturating_sub(1);
            latencies.get((q * last as f64).round() as usize).copied().unwrap_or(0.0)
        };
        SimulatedMachine {
            rate_rps,
            requests: latencies.len() as u64,
            failed: failed as f64 / latencies.len().max(1) as f64,
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    }
}

fn held(expected: &Expected) -> f64 {
    expected.capacity_rps.as_ref().map_or(0.0, |capacity| capacity.value)
}

/// Enough to run at [`OPERATING_SHARE`] of the capacity on an ordinary day, and within the capacity
/// when a zone is lost; as many in each zone.
fn count(load: &FleetLoad, capacity_rps: f64) -> u64 {
    let zones = f64::from(load.zones);
    let ordinary = load.rate_rps / (OPERATING_SHARE * capacity_rps);
    let without_one = match load.zones {
        1 => 0.0,
        _ => load.rate_rps / capacity_rps * zones / (zones - 1.0),
    };
    let in_a_zone = (ordinary.max(without_one) / zones).ceil().max(1.0);
    (in_a_zone * zones) as u64
}

/// A request for the simulator: its steps vary so that all of them together vary as was measured.
fn request(demand: &Demand) -> RequestKind {
    let kind = RequestKind {
        weight: 1.0,
        cpu_s: demand.cpu_s,
        cpu_free_s: demand.cpu_free_s,
        wait_s: demand.wait_s,
        waits: WAITS,
        cv2: 1.0,
        handoff_s: demand.handoff_s,
    };
    let of_unit_steps = kind.demand().cv2.max(1e-6);
    RequestKind { cv2: (demand.cv2 / of_unit_steps).clamp(0.0, 10.0), ..kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::what_if::tests::{asked, measured};
    use crate::model::{Form, MemoryModel};

    fn all() -> Vec<Configuration> {
        let pairs = [(2, 5), (4, 5), (8, 5), (16, 5)];
        pairs.into_iter().map(|(w, t)| Configuration::new(w, t).unwrap()).collect()
    }

    const LARGE: MachineSize = MachineSize { cores: 8.0, memory_bytes: 16 << 30 };

    #[test]
    fn a_lost_zone_is_stood_within_the_goal() {
        let load = FleetLoad { rate_rps: 10_000.0, zones: 3 };
        let fleet = measured(Form::Threads).fleet(&LARGE, &all(), &asked(8.0), &load).unwrap();
        assert_eq!(fleet.machines % 3, 0);
        let capacity = fleet.expected.capacity_rps.as_ref().unwrap().value;
        let lost = fleet.zone_lost.unwrap();
        assert!(lost.rate_rps <= capacity, "{fleet:?}");
        assert!(fleet.ordinary.rate_rps <= OPERATING_SHARE * capacity * 1.001);
        assert!(fleet.ordinary.p95 < lost.p95 && lost.p95 < 0.2, "{fleet:?}");
        assert_eq!((fleet.ordinary.failed, lost.failed), (0.0, 0.0));
        let [few, many] = fleet.machines_interval;
        assert!(few <= fleet.machines && fleet.machines <= many);
    }

    #[test]
    fn ten_million_requests_a_second_take_as_long_to_compute_as_ten() {
        let fleet = |rate_rps| {
            let load = FleetLoad { rate_rps, zones: 1 };
            measured(Form::Threads).fleet(&LARGE, &all(), &asked(8.0), &load).unwrap()
        };
        let (few, many) = (fleet(10.0), fleet(1e7));
        assert_eq!((few.machines, few.zone_lost), (1, None));
        let share = 1e7 / many.machines as f64;
        assert!((share - many.ordinary.rate_rps).abs() < 1e-9 && many.machines > 5000);
        assert!(many.ordinary.requests.abs_diff(few.ordinary.requests) < 2000);
    }

    #[test]
    fn what_does_not_fit_is_not_chosen() {
        let memory =
            MemoryModel { shared_bytes: 0.0, worker_bytes: (1u64 << 30) as f64, thread_bytes: 0.0 };
        let known = Measured { memory: Some(memory), ..measured(Form::Threads) };
        let load = FleetLoad { rate_rps: 100.0, zones: 1 };
        let small = MachineSize { memory_bytes: 5 << 30, ..LARGE };
        let fleet = known.fleet(&small, &all(), &asked(8.0), &load).unwrap();
        assert_eq!(fleet.configuration.workers.get(), 4);
        let none = MachineSize { memory_bytes: 1 << 30, ..LARGE };
        assert_eq!(known.fleet(&none, &all(), &asked(8.0), &load), None);
    }
}
