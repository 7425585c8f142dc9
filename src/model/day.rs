//! A day of an autoscaled fleet behind a balancer with health checks.
//!
//! In: a kind of machine, the arrivals over the day, how machines are added. Out: a [`FleetDay`].
//! The scaler and the sums are the same for two ways to know what happens inside the machines:
//! looked up by the rate at which a machine runs ([`ByRate`]), which takes as long for ten million
//! requests a second as for ten, or every request of every machine simulated, which a fleet of a
//! dozen machines allows, and with which `make bench-simulator` compares it.
//!
//! Not modelled: retries of clients, a balancer that looks at how busy machines are, and a cold
//! machine that is slower than a warm one.

mod by_rate;
mod tally;

use std::collections::VecDeque;
use std::f64::consts::TAU;

pub use by_rate::ByRate;
pub use tally::Tally;

use crate::terms::FleetDay;

/// The arrivals of the whole fleet and how it follows them. Seconds, and requests/s.
#[derive(Debug, Clone, PartialEq)]
pub struct DayPlan {
    /// At the busiest time, in the middle of the day.
    pub peak_rps: f64,
    /// At the quietest, at its start and end, as a share of that.
    pub trough: f64,
    pub length_s: f64,
    /// What the scaler wants each machine to get.
    pub target_rps: f64,
    /// From the decision to add a machine until it takes requests.
    pub boot_s: f64,
    /// Machines are taken away when fewer have been enough for this time.
    pub patience_s: f64,
    /// As many machines in each; any one may be lost. 1: none.
    pub zones: u16,
    /// One of them is lost at the busiest time, for the rest of the day.
    pub loses_zone: bool,
}

/// A balancer checks each machine this often, seconds.
const CHECK_EVERY_S: f64 = 10.0;
/// A check that takes longer has failed, seconds.
pub const CHECK_TIMEOUT_S: f64 = 5.0;
/// Checks that failed in a row after which a machine gets no more requests.
pub const CHECK_FAILS: u32 = 2;
/// Checks that passed in a row after which a machine gets requests again.
pub const CHECK_PASSES: u32 = 2;

impl DayPlan {
    /// A day of 24 hours for machines that should get `target_rps` each: two minutes to start one,
    /// five of patience.
    pub fn new(peak_rps: f64, trough: f64, target_rps: f64, zones: u16) -> Self {
        Self {
            peak_rps,
            trough,
            length_s: 86_400.0,
            target_rps,
            boot_s: 120.0,
            patience_s: 300.0,
            zones: zones.max(1),
            loses_zone: false,
        }
    }

    /// Arrivals at a time of the day: a cosine from the trough over the peak back to it.
    fn rate(&self, at_s: f64) -> f64 {
        let share = 0.5 - 0.5 * (TAU * at_s / self.length_s).cos();
        self.peak_rps * (self.trough + (1.0 - self.trough) * share)
    }

    /// Machines for this rate, as many in each zone.
    fn wanted(&self, rate_rps: f64) -> u64 {
        let zones = f64::from(self.zones);
        ((rate_rps / self.target_rps / zones).ceil().max(1.0) * zones) as u64
    }
}

/// Machines that requests are sent to.
pub trait Machines {
    /// There are `count` from now on; those that go finish what they have begun.
    fn resize(&mut self, count: u64, tally: &mut Tally);

    /// `count` are gone at once, with what they had.
    fn lose(&mut self, count: u64, tally: &mut Tally);

    /// `length_s` seconds at this rate over all of them; the balancer checks them once.
    fn pass(&mut self, rate_rps: f64, length_s: f64, tally: &mut Tally);
}

/// Length of the times of which the worst is told, seconds.
const WINDOW_S: f64 = 300.0;

/// Runs a day.
pub fn day(plan: &DayPlan, machines: &mut dyn Machines) -> FleetDay {
    let steps = (plan.length_s / CHECK_EVERY_S).round() as u64;
    let mut scaler = Scaler::new(plan);
    let mut sum = Sum::default();
    machines.resize(scaler.ready, &mut sum.window);
    for step in 0..steps {
        let at_s = step as f64 * CHECK_EVERY_S;
        if plan.loses_zone && step == steps / 2 {
            machines.lose(scaler.lose_zone(), &mut sum.window);
        }
        scaler.follow(plan.rate(at_s - CHECK_EVERY_S), at_s);
        machines.resize(scaler.ready, &mut sum.window);
        machines.pass(plan.rate(at_s + CHECK_EVERY_S / 2.0), CHECK_EVERY_S, &mut sum.window);
        sum.count(scaler.ready + scaler.coming(), CHECK_EVERY_S);
        if (at_s + CHECK_EVERY_S) % WINDOW_S < CHECK_EVERY_S {
            sum.end_window();
        }
    }
    sum.end_window();
    sum.day()
}

/// How many machines there are, and how many come.
struct Scaler<'a> {
    plan: &'a DayPlan,
    ready: u64,
    /// When how many will be ready.
    booting: VecDeque<(f64, u64)>,
    /// Fewer have been enough since then.
    fewer_since_s: Option<f64>,
}

impl<'a> Scaler<'a> {
    fn new(plan: &'a DayPlan) -> Self {
        let ready = plan.wanted(plan.rate(0.0));
        Self { plan, ready, booting: VecDeque::new(), fewer_since_s: None }
    }

    fn coming(&self) -> u64 {
        self.booting.iter().map(|(_, count)| count).sum()
    }

    /// Returns how many are gone.
    fn lose_zone(&mut self) -> u64 {
        let lost = self.ready / u64::from(self.plan.zones);
        self.ready -= lost;
        lost
    }

    /// Decides on the rate that was last seen.
    fn follow(&mut self, rate_rps: f64, at_s: f64) {
        while self.booting.front().is_some_and(|(when_s, _)| *when_s <= at_s) {
            self.ready += self.booting.pop_front().map_or(0, |(_, count)| count);
        }
        let wanted = self.plan.wanted(rate_rps);
        let there = self.ready + self.coming();
        if wanted >= there {
            self.fewer_since_s = None;
            if wanted > there {
                self.booting.push_back((at_s + self.plan.boot_s, wanted - there));
            }
        } else if self.booting.is_empty() {
            let since_s = *self.fewer_since_s.get_or_insert(at_s);
            if at_s - since_s >= self.plan.patience_s {
                (self.ready, self.fewer_since_s) = (wanted, None);
            }
        }
    }
}

/// What the day adds up to.
#[derive(Default)]
struct Sum {
    all: Tally,
    window: Tally,
    worst_p95_s: f64,
    worst_failed: f64,
    machine_s: f64,
    machines: Option<[u64; 2]>,
}

impl Sum {
    fn count(&mut self, machines: u64, length_s: f64) {
        self.machine_s += machines as f64 * length_s;
        let [least, most] = self.machines.unwrap_or([machines; 2]);
        self.machines = Some([least.min(machines), most.max(machines)]);
    }

    fn end_window(&mut self) {
        if self.window.requests() > 0.0 {
            self.worst_p95_s = self.worst_p95_s.max(self.window.quantile_s(0.95));
            self.worst_failed = self.worst_failed.max(self.window.failed_share());
        }
        self.all.add(&std::mem::take(&mut self.window));
    }

    fn day(self) -> FleetDay {
        FleetDay {
            requests: self.all.requests(),
            failed: self.all.failed_share(),
            p50: self.all.quantile_s(0.5),
            p95: self.all.quantile_s(0.95),
            p99: self.all.quantile_s(0.99),
            worst_p95: self.worst_p95_s,
            worst_failed: self.worst_failed,
            machines: self.machines.unwrap_or_default(),
            machine_hours: self.machine_s / 3600.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Host;
    use crate::model::simulator::{RequestKind, Server};

    /// 20 ms of CPU in four parts and 20 ms in three waits on two cores, two workers of five
    /// threads: some 93 requests/s at the most.
    fn machine() -> Host {
        let request =
            RequestKind { cpu_s: 0.02, wait_s: 0.02, waits: 3, cv2: 0.5, ..RequestKind::default() };
        Host { server: Server::new(2, 5, 2.0), requests: vec![request] }
    }

    fn plan(peak_rps: f64) -> DayPlan {
        DayPlan { length_s: 7200.0, ..DayPlan::new(peak_rps, 0.3, 65.0, 3) }
    }

    #[test]
    fn machines_follow_the_rate_and_are_paid_for() {
        let plan = plan(640.0);
        let day = day(&plan, &mut ByRate::new(&machine()));
        let [least, most] = day.machines;
        assert!(least == 3 && (12..=15).contains(&most), "{day:?}");
        // The mean rate is 0.65 of the peak, over two hours.
        assert!((day.requests / (0.65 * 640.0 * 7200.0) - 1.0).abs() < 0.01, "{day:?}");
        assert!(day.machine_hours > 2.0 * 6.5 && day.machine_hours < 2.0 * 12.0, "{day:?}");
        assert!(day.failed == 0.0 && day.p50 >= 0.03 && day.p95 <= day.worst_p95, "{day:?}");
    }

    #[test]
    fn a_zone_lost_at_the_busiest_time_hurts_until_new_machines_are_there() {
        // Two thirds of the machines get 107/s each, which is more than they can take.
        let calm = DayPlan { target_rps: 80.0, ..plan(640.0) };
        let lost = DayPlan { loses_zone: true, ..calm.clone() };
        let of = |plan: &DayPlan| day(plan, &mut ByRate::new(&machine()));
        let (calm, lost) = (of(&calm), of(&lost));
        assert!(lost.worst_p95 > 3.0 * calm.worst_p95, "{calm:?} {lost:?}");
        assert!(lost.requests >= calm.requests * 0.99);
    }

    #[test]
    fn the_scaler_adds_at_once_and_takes_away_with_patience() {
        let plan = plan(640.0);
        let mut scaler = Scaler::new(&plan);
        assert_eq!((scaler.ready, scaler.coming()), (3, 0));
        scaler.follow(600.0, 0.0);
        assert_eq!((scaler.ready, scaler.coming()), (3, 9));
        scaler.follow(600.0, 120.0);
        assert_eq!((scaler.ready, scaler.coming()), (12, 0));
        for at_s in [130.0, 300.0, 429.0] {
            scaler.follow(100.0, at_s);
            assert_eq!(scaler.ready, 12);
        }
        scaler.follow(100.0, 430.0);
        assert_eq!(scaler.ready, 3);
    }
}
