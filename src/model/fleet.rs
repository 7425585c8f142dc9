//! How many machines of a kind a load needs, and what a lost zone does.
//!
//! In: what was measured of a server, a kind of machine, and a load. Out: a [`Fleet`]. A balancer
//! that sends each request to a machine by chance splits Poisson arrivals into Poisson arrivals
//! (Kingman, 1993), so that one machine at its share of the rate stands for all of them: however
//! large the fleet, it is one machine that is simulated, request by request.

use super::day::{ByRate, DayPlan, day};
use super::{Expected, Host, Measured, WhatIf, fits};
use crate::stats::Estimate;
use crate::terms::{Bytes, Configuration, FleetDay, FleetDays, OPERATING_SHARE, SimulatedMachine};

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
    /// The machines are spread evenly over these zones, any one of which may be lost; 1: none.
    pub zones: u16,
    /// The lowest rate of a day as a share of `rate_rps`, then the highest; `None`: no day is asked
    /// for.
    pub trough: Option<f64>,
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
    /// Without their cost.
    pub days: Option<FleetDays>,
}

/// Requests that are simulated: of a 99th percentile a thousand lie beyond it.
const REQUESTS: f64 = 100_000.0;
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
        let what_if = WhatIf { cores: size.cores, rate: None, ..what_if.clone() };
        let has_room = |expected: &Expected| {
            expected.memory_bytes.is_none_or(|needs| fits(needs, Bytes(size.memory_bytes)))
        };
        // By the formulas: a hundred settings are too many to play. Of a mix they may see no
        // capacity.
        let computed = WhatIf { is_played: false, ..what_if.clone() };
        let (configuration, _) = settings
            .iter()
            .map(|&at| (at, self.expect(at, &computed)))
            .filter(|(_, expected)| has_room(expected))
            .filter(|(_, expected)| what_if.is_played || expected.capacity_rps.is_some())
            .max_by(|a, b| most(&a.1, &what_if).total_cmp(&most(&b.1, &what_if)))?;
        let expected = self.expect(configuration, &what_if);
        let capacity: Estimate = expected.capacity_rps?;
        let correction = self.correction(configuration, &what_if, &capacity);
        let machines = count(load, capacity.value);
        let simulated = |lost: u16| {
            let share = f64::from(load.zones - lost) / f64::from(load.zones);
            let rate_rps = load.rate_rps / (machines as f64 * share);
            self.simulate(configuration, &what_if, rate_rps, correction)
        };
        Some(Fleet {
            configuration,
            machines,
            machines_interval: [count(load, capacity.high), count(load, capacity.low)],
            ordinary: simulated(0),
            zone_lost: (load.zones > 1).then(|| simulated(1)),
            days: load.trough.map(|trough| {
                let machine = self.machine(configuration, &what_if);
                days(&machine, load, trough, capacity.value, correction)
            }),
            expected,
        })
    }

    /// One machine at one rate.
    fn simulate(
        &self,
        at: Configuration,
        what_if: &WhatIf,
        rate_rps: f64,
        correction: f64,
    ) -> SimulatedMachine {
        let played = self.machine(at, what_if).play(rate_rps / correction, REQUESTS);
        let tally = &played.all;
        SimulatedMachine {
            rate_rps,
            requests: tally.requests() as u64,
            failed: tally.failed_share(),
            p50: tally.quantile_s(0.5),
            p95: tally.quantile_s(0.95),
            p99: tally.quantile_s(0.99),
        }
    }
}

/// What it holds; where that is to be simulated, what goes through.
fn most(expected: &Expected, what_if: &WhatIf) -> f64 {
    let rps = if what_if.is_played { expected.throughput_rps } else { expected.capacity_rps };
    rps.map_or(0.0, |rps| rps.value)
}

/// An autoscaled fleet that gives each machine [`OPERATING_SHARE`] of its capacity.
///
/// What a machine is expected to hold is `correction` times what is simulated: so all rates are
/// divided by it, and the requests counted back.
fn days(
    machine: &Host,
    load: &FleetLoad,
    trough: f64,
    capacity_rps: f64,
    correction: f64,
) -> FleetDays {
    let target_rps = OPERATING_SHARE * capacity_rps / correction;
    let calm = DayPlan::new(load.rate_rps / correction, trough, target_rps, load.zones);
    let lost = DayPlan { loses_zone: true, ..calm.clone() };
    let known = ByRate::new(machine);
    let of = |plan: &DayPlan| {
        let day = day(plan, &mut known.clone());
        FleetDay { requests: day.requests * correction, ..day }
    };
    FleetDays {
        trough,
        ordinary: of(&calm),
        zone_lost: (load.zones > 1).then(|| of(&lost)),
        cost: None,
    }
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
        let load = FleetLoad { rate_rps: 10_000.0, zones: 3, trough: Some(0.3) };
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
        let days = fleet.days.unwrap();
        assert!(days.ordinary.machine_hours < 24.0 * fleet.machines as f64, "{days:?}");
        assert!(days.zone_lost.unwrap().worst_p95 > days.ordinary.worst_p95, "{days:?}");
    }

    #[test]
    fn ten_million_requests_a_second_take_as_long_to_compute_as_ten() {
        let fleet = |rate_rps| {
            let load = FleetLoad { rate_rps, zones: 1, trough: None };
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
        let load = FleetLoad { rate_rps: 100.0, zones: 1, trough: None };
        let small = MachineSize { memory_bytes: 5 << 30, ..LARGE };
        let fleet = known.fleet(&small, &all(), &asked(8.0), &load).unwrap();
        assert_eq!(fleet.configuration.workers.get(), 4);
        let none = MachineSize { memory_bytes: 1 << 30, ..LARGE };
        assert_eq!(known.fleet(&none, &all(), &asked(8.0), &load), None);
    }
}
