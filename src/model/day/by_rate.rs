//! A fleet without its requests: what a machine does at a rate is simulated once for a few dozen
//! rates and looked up afterwards.
//!
//! A balancer that picks a machine by chance gives each of n machines Poisson arrivals at a share
//! of the rate (Kingman, 1993), and the rate changes slowly against the life of a queue: so each
//! machine is, at any time, one that has run at its rate for long. Near and beyond what it can take
//! its queue grows, and later shrinks, by the difference between what comes and what a machine with
//! that many in it can do (Agnew, 1976).

use std::time::Duration;

use super::{CHECK_FAILS, CHECK_PASSES, CHECK_TIMEOUT_S, Machines, Tally};
use crate::model::Host;
use crate::model::simulator::{Ending, Server, Simulator};
use crate::terms::Offered;

/// Requests simulated at each rate.
const REQUESTS: f64 = 60_000.0;
/// Rates in the table, as shares of what a machine can take: closer where latencies rise.
const SHARES: [f64; 16] = [
    0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.62, 0.69, 0.75, 0.8, 0.84, 0.88, 0.91, 0.935, 0.955, 0.97,
];
/// Parts of a step, in each of which what waits is taken as even.
const POINTS: u32 = 4;
/// Beyond this share of what a machine can take, the queue is taken as a fluid.
const STEADY: f64 = SHARES[SHARES.len() - 1];

/// All machines alike, and nothing kept of any one of them.
#[derive(Debug, Clone)]
pub struct ByRate {
    /// What one machine can take, requests/s.
    most_rps: f64,
    timeout_s: f64,
    /// Latency of a request that meets nobody: the median at the table's first rate.
    unloaded_s: f64,
    /// Requests that a machine can have waiting.
    room: f64,
    /// Latencies at each of [`SHARES`], of one request in all.
    table: Vec<Tally>,
    machines: f64,
    /// Share of them that the balancer sends to.
    in_service: f64,
    /// Requests in each machine beyond those of the table's last rate.
    queue: f64,
    /// Requests in a machine that runs at the table's last rate.
    crowd: f64,
}

impl ByRate {
    /// No machine yet; simulates some million requests of one.
    pub fn new(machine: &Host) -> Self {
        let most_rps = saturated_rps(machine);
        let table: Vec<Tally> =
            SHARES.iter().map(|share| steady(machine, share * most_rps)).collect();
        let crowd = STEADY * most_rps * table[table.len() - 1].mean_s();
        let server = &machine.server;
        Self {
            most_rps,
            timeout_s: server.timeout_s,
            unloaded_s: table[0].quantile_s(0.5),
            room: server.backlog as f64,
            table,
            machines: 0.0,
            in_service: 1.0,
            queue: 0.0,
            crowd,
        }
    }

    /// Latencies of a machine that has run at this rate for long: those of the two nearest rates,
    /// in proportion.
    fn at(&self, rate_rps: f64) -> Tally {
        let share = (rate_rps / self.most_rps).clamp(SHARES[0], STEADY);
        let above = SHARES.iter().position(|&known| known >= share).unwrap_or(SHARES.len() - 1);
        let below = above.saturating_sub(1);
        let width = (SHARES[above] - SHARES[below]).max(f64::MIN_POSITIVE);
        let along = ((share - SHARES[below]) / width).clamp(0.0, 1.0);
        let mut tally = Tally::default();
        tally.add_times(&self.table[below], 1.0 - along);
        tally.add_times(&self.table[above], along);
        tally
    }
}

impl Machines for ByRate {
    fn resize(&mut self, count: u64, _: &mut Tally) {
        let count = count as f64;
        if count > self.machines {
            // New ones are empty and in service.
            let known = if count > 0.0 { self.machines / count } else { 0.0 };
            self.queue *= known;
            self.in_service = 1.0 - known * (1.0 - self.in_service);
        }
        self.machines = count;
    }

    fn lose(&mut self, count: u64, tally: &mut Tally) {
        tally.fail(count as f64 * self.queue);
        self.machines = (self.machines - count as f64).max(1.0);
    }

    fn pass(&mut self, rate_rps: f64, length_s: f64, tally: &mut Tally) {
        let serving = if self.in_service > 1e-9 { self.in_service } else { 1.0 };
        let each_rps = rate_rps / (self.machines * serving);
        let steady = self.at(each_rps);
        let requests = rate_rps * length_s / f64::from(POINTS);
        for _ in 0..POINTS {
            let before = self.queue;
            let refused = self.let_queue_change(each_rps, length_s / f64::from(POINTS));
            tally.fail(requests * refused);
            let waiting_s = 0.5 * (before + self.queue) / self.most_rps;
            tally.add_later(&steady, requests * (1.0 - refused), waiting_s, self.timeout_s);
        }
        self.heed(&steady);
    }
}

impl ByRate {
    /// What is in a machine, n, changes by what comes less what a machine with n in it can
    /// do: dn/dt = rate - most n / (n + a), a being such that n is steady where the table ends.
    /// Returns the share of the requests that find no room.
    fn let_queue_change(&mut self, each_rps: f64, length_s: f64) -> f64 {
        const STEPS: u32 = 50;
        let step_s = length_s / f64::from(STEPS);
        let spare = self.crowd * (1.0 / STEADY - 1.0);
        let mut refused = 0.0;
        for _ in 0..STEPS {
            let inside = self.queue + self.crowd;
            let done_rps = self.most_rps * inside / (inside + spare);
            let after = (self.queue + (each_rps - done_rps) * step_s).max(0.0);
            self.queue = after.min(self.room);
            refused += after - self.queue;
        }
        (refused / (each_rps * length_s).max(f64::MIN_POSITIVE)).min(1.0)
    }

    /// Checks that fail in a row take a machine out of service; without requests it passes them
    /// soon, and comes back.
    fn heed(&mut self, steady: &Tally) {
        // A check waits as a request does, and is over as soon as it runs.
        let left_s = CHECK_TIMEOUT_S - self.queue / self.most_rps;
        let fails = match left_s > 0.0 {
            true => steady.share_above(left_s + self.unloaded_s),
            false => 1.0,
        };
        let goes = self.in_service * fails.powi(CHECK_FAILS as i32);
        let comes = (1.0 - self.in_service) / f64::from(CHECK_PASSES);
        self.in_service = (self.in_service - goes + comes).clamp(0.0, 1.0);
    }
}

/// What one machine takes from clients that send again at once, requests/s.
fn saturated_rps(machine: &Host) -> f64 {
    let server = Server { timeout_s: 1e9, ..machine.server.clone() };
    let mut simulator = Simulator::new(server, machine.requests.clone(), 1);
    let slots = u32::from(machine.server.workers) * u32::from(machine.server.threads);
    // Spread over queues of the workers' own, it takes many to leave no worker idle.
    let each = if machine.server.admission.has_own_queues() { 20 } else { 2 };
    simulator.begin(Offered::Closed { clients: each * slots + 2, think: Duration::ZERO }, 2);
    let (mut replies, mut first_s, mut last_s) = (0.0, 0.0, 0.0);
    let mut until_s = 0.0;
    while replies < REQUESTS {
        until_s += 1.0;
        simulator.run_until(until_s, &mut |outcome| {
            if outcome.ending != Ending::Reply {
                return;
            }
            replies += 1.0;
            first_s = if replies == 1.0 { outcome.ended_s } else { first_s };
            last_s = outcome.ended_s;
        });
        if until_s > 1e6 {
            break;
        }
    }
    ((replies - 1.0) / (last_s - first_s).max(f64::MIN_POSITIVE)).max(1e-6)
}

/// The latencies at one rate, together one request.
fn steady(machine: &Host, rate_rps: f64) -> Tally {
    let server = Server { timeout_s: 1e9, ..machine.server.clone() };
    let tally = Host { server, ..machine.clone() }.play(rate_rps, REQUESTS).all;
    let mut one = Tally::default();
    one.add_times(&tally, 1.0 / tally.requests().max(1.0));
    one
}
