//! Hosts that run an app without a server of the user's: what is set there, beside workers and
//! threads, by what was measured.
//!
//! In: what an instance was seen to hold. Out: advice. Only computes.

use std::collections::BTreeMap;

use crate::terms::{Bytes, Cores, DynoType, HostAdvice, OPERATING_SHARE};

/// A host that an app's folder has a file of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Fly,
    CloudRun,
    Heroku,
}

/// What one instance was measured to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Requests in flight on average at the rate that it held.
    pub in_flight: f64,
    /// Requests that it works on at a time.
    pub slots: u32,
    /// What it was measured with.
    pub cores: Cores,
    pub memory: Bytes,
    /// What it used; `None`: that could not be read.
    pub used: Option<Bytes>,
}

/// The most that Cloud Run gives an instance at a time.
const CLOUD_RUN_MOST: u32 = 1000;

/// What each host is told. `env`: variables of the setting.
pub fn advice(
    hosts: &[Host],
    env: &BTreeMap<String, String>,
    measured: &Measured,
) -> Vec<HostAdvice> {
    // With fewer than it works on at a time it would be kept from its work.
    let full = (measured.in_flight.ceil() as u32).max(measured.slots).max(1);
    let of = |host: &Host| match host {
        Host::Fly => HostAdvice::OnFly {
            soft_limit: ((f64::from(full) * OPERATING_SHARE) as u32).max(1),
            hard_limit: full,
        },
        Host::CloudRun => HostAdvice::OnCloudRun {
            concurrency: full.min(CLOUD_RUN_MOST),
            cores: measured.cores,
            memory: measured.memory,
        },
        Host::Heroku => HostAdvice::OnHeroku {
            variables: env.clone(),
            dyno: measured.used.and_then(DynoType::smallest_for),
        },
    };
    hosts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_full_with_what_was_in_flight_and_no_less_than_it_works_on() {
        let with = |in_flight: f64, slots: u32| Measured {
            in_flight,
            slots,
            cores: Cores::new(1.5).unwrap(),
            memory: Bytes(1 << 30),
            used: Some(Bytes(600_000_000)),
        };
        let of = |host, measured| advice(&[host], &BTreeMap::new(), &measured).remove(0);
        let fly = |soft_limit, hard_limit| HostAdvice::OnFly { soft_limit, hard_limit };
        assert_eq!(of(Host::Fly, with(12.3, 8)), fly(9, 13));
        assert_eq!(of(Host::Fly, with(0.4, 1)), fly(1, 1));
        let HostAdvice::OnCloudRun { concurrency, .. } = of(Host::CloudRun, with(2000.0, 8)) else {
            panic!("another host's");
        };
        assert_eq!(concurrency, CLOUD_RUN_MOST);
        let env = BTreeMap::from([("WEB_CONCURRENCY".to_string(), "2".to_string())]);
        let heroku = advice(&[Host::Heroku], &env, &with(1.0, 8)).remove(0);
        let dyno = Some(DynoType::Standard2x);
        assert_eq!(heroku, HostAdvice::OnHeroku { variables: env, dyno });
    }
}
