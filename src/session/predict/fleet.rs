//! How many machines a load needs, of each kind that can be had.
//!
//! In: what was measured, and kinds of machines with their prices. Out: a report for each.

use std::str::FromStr;

use thiserror::Error;

use crate::model::{Fleet, FleetLoad, MachineSize, Measured, WhatIf};
use crate::terms::{
    Bytes, Configuration, Cores, FleetDays, FleetNeed, FleetReport, Rate, Ratio, UnitError,
};

/// A load, and what it could be spread over.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetQuestion {
    pub rate: Rate,
    /// At least 1.
    pub zones: u16,
    /// The lowest rate of a day, as a share of `rate`: asks for a day of an autoscaled fleet.
    pub trough: Option<Ratio>,
    pub machines: Vec<MachineKind>,
}

/// A kind of machine that can be had.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineKind {
    pub name: String,
    pub cores: Cores,
    pub memory: Bytes,
    /// In whatever currency.
    pub price_per_hour: Option<f64>,
}

/// Text that is no kind of machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineKindError {
    #[error(
        "'{text}' is no machine; write NAME=CORES,MEMORY or NAME=CORES,MEMORY,PRICE, as in \
             large=16,64GiB,0.68"
    )]
    Unreadable { text: String },
    #[error("'{text}': {source}")]
    Unit {
        text: String,
        #[source]
        source: UnitError,
    },
}

impl FromStr for MachineKind {
    type Err = MachineKindError;

    fn from_str(text: &str) -> Result<Self, MachineKindError> {
        let unreadable = || MachineKindError::Unreadable { text: text.to_string() };
        let unit = |source| MachineKindError::Unit { text: text.to_string(), source };
        let (name, rest) = text.split_once('=').ok_or_else(unreadable)?;
        let mut fields = rest.split(',').map(str::trim);
        let mut next = || fields.next().ok_or_else(unreadable);
        let (cores, memory) = (next()?, next()?);
        let price = next().ok().map(|price| price.parse().map_err(|_| unreadable())).transpose()?;
        let is_price = |price: &f64| price.is_finite() && *price >= 0.0;
        if name.trim().is_empty() || next().is_ok() || !price.iter().all(is_price) {
            return Err(unreadable());
        }
        Ok(Self {
            name: name.trim().to_string(),
            cores: cores.parse().map_err(unit)?,
            memory: memory.parse().map_err(unit)?,
            price_per_hour: price,
        })
    }
}

/// Each kind of machine, the cheapest fleet first where prices are known. `at` says which settings
/// are considered on a number of cores, and what is asked about them.
pub(super) fn fleets(
    known: &Measured,
    question: &FleetQuestion,
    at: impl Fn(Cores) -> (Vec<Configuration>, WhatIf),
) -> Vec<FleetReport> {
    let load = FleetLoad {
        rate_rps: question.rate.as_per_second(),
        zones: question.zones.max(1),
        trough: question.trough.map(Ratio::get),
    };
    let report = |wish: &MachineKind| {
        let size = MachineSize { cores: wish.cores.get(), memory_bytes: wish.memory.0 };
        let (settings, what_if) = at(wish.cores);
        let fleet = known.fleet(&size, &settings, &what_if, &load);
        FleetReport {
            machine: wish.name.clone(),
            cores: wish.cores.get(),
            memory_bytes: wish.memory.0,
            fleet: fleet.and_then(|fleet| need(&fleet, wish.price_per_hour)),
        }
    };
    let mut fleets: Vec<FleetReport> = question.machines.iter().map(report).collect();
    let cost = |one: &FleetReport| {
        one.fleet.as_ref().and_then(|fleet| fleet.cost_per_hour).unwrap_or(f64::INFINITY)
    };
    fleets.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    fleets
}

fn need(fleet: &Fleet, price_per_hour: Option<f64>) -> Option<FleetNeed> {
    let capacity = fleet.expected.capacity_rps.as_ref()?;
    let cost = |machines: u64| price_per_hour.map(|price| price * machines as f64);
    let [few, many] = fleet.machines_interval;
    Some(FleetNeed {
        machines: fleet.machines,
        machines_interval: fleet.machines_interval,
        workers: fleet.configuration.workers.get(),
        threads: fleet.configuration.threads.get(),
        capacity_rps: capacity.value,
        capacity_rps_interval: capacity.interval(),
        ordinary: fleet.ordinary,
        zone_lost: fleet.zone_lost,
        cost_per_hour: cost(fleet.machines),
        cost_per_hour_interval: cost(few).zip(cost(many)).map(|(low, high)| [low, high]),
        days: fleet.days.map(|days| {
            let of_day = |price: f64| price * days.ordinary.machine_hours;
            FleetDays { cost: price_per_hour.map(of_day), ..days }
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_machines_are_read_with_and_without_a_price() {
        let read = |text: &str| text.parse::<MachineKind>();
        let large = read("large=16,64GiB,0.68").unwrap();
        assert_eq!((large.name.as_str(), large.cores.get()), ("large", 16.0));
        assert_eq!((large.memory, large.price_per_hour), (Bytes(64 << 30), Some(0.68)));
        assert_eq!(read("small=2,4GiB").unwrap().price_per_hour, None);
        for text in ["", "large", "=2,4GiB", "a=2", "a=x,4GiB", "a=2,4GiB,-1", "a=2,4GiB,1,1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
