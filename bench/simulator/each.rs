//! Every machine of a fleet simulated, request by request: what a fleet that is looked up by rate
//! is held against.

use sweetspot::model::Host;
use sweetspot::model::day::{CHECK_FAILS, CHECK_PASSES, CHECK_TIMEOUT_S, Machines, Tally};
use sweetspot::model::simulator::{Ending, Outcome, RequestKind, Simulator};
use sweetspot::terms::{Arrivals, Offered, Rate};

/// A machine, what the balancer thinks of it, and how its checks went.
struct Machine {
    simulator: Simulator,
    is_in_service: bool,
    failed: u32,
    passed: u32,
}

/// Some thousand million requests take an hour.
pub struct Each {
    kinds: Vec<RequestKind>,
    /// A check is the cheapest request: it waits for a thread and costs next to nothing.
    check_kind: u16,
    machine: Host,
    machines: Vec<Machine>,
    now_s: f64,
    /// Seeds are counted up: no two machines, and no two steps, get the same arrivals.
    seed: u64,
}

impl Each {
    /// No machine yet. Deterministic by seed.
    pub fn new(machine: &Host, seed: u64) -> Self {
        let of_check = RequestKind { weight: 0.0, cpu_s: 1e-5, cv2: 0.0, ..RequestKind::default() };
        Self {
            kinds: machine.requests.iter().copied().chain([of_check]).collect(),
            check_kind: machine.requests.len() as u16,
            machine: machine.clone(),
            machines: Vec::new(),
            now_s: 0.0,
            seed: seed << 32,
        }
    }

    fn next_seed(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }
}

impl Machines for Each {
    fn resize(&mut self, count: u64, tally: &mut Tally) {
        while (self.machines.len() as u64) < count {
            let seed = self.next_seed();
            let mut simulator =
                Simulator::new(self.machine.server.clone(), self.kinds.clone(), seed);
            simulator.run_until(self.now_s, &mut |_| {});
            self.machines.push(Machine { simulator, is_in_service: true, failed: 0, passed: 0 });
        }
        let (timeout_s, check_kind) = (self.machine.server.timeout_s, self.check_kind);
        for mut gone in self.machines.drain(count as usize..) {
            gone.simulator.end();
            let until_s = self.now_s + timeout_s + 1.0;
            gone.simulator.run_until(until_s, &mut |outcome| {
                note(&outcome, check_kind, tally);
            });
        }
    }

    fn lose(&mut self, count: u64, tally: &mut Tally) {
        let check_kind = self.check_kind;
        let left = self.machines.len().saturating_sub(count as usize);
        for mut gone in self.machines.drain(left..) {
            gone.simulator.kill(&mut |outcome| {
                note(&outcome, check_kind, tally);
            });
        }
    }

    fn pass(&mut self, rate_rps: f64, length_s: f64, tally: &mut Tally) {
        let in_service = self.machines.iter().filter(|machine| machine.is_in_service).count();
        // With none in service a balancer sends to all: better than to nobody.
        let (receivers, to_all) = match in_service {
            0 => (self.machines.len(), true),
            count => (count, false),
        };
        let share = Rate::per_second(rate_rps / receivers as f64).expect("a share is a rate");
        let until_s = self.now_s + length_s;
        let check_kind = self.check_kind;
        for index in 0..self.machines.len() {
            let seed = self.next_seed();
            let machine = &mut self.machines[index];
            if machine.is_in_service || to_all {
                let offered = Offered::Open { rate: share, arrivals: Arrivals::Poisson };
                machine.simulator.begin(offered, seed);
            } else {
                machine.simulator.end();
            }
            machine.simulator.send(check_kind);
            let mut has_passed = false;
            machine.simulator.run_until(until_s, &mut |outcome| {
                let is_check = !note(&outcome, check_kind, tally);
                let took_s = outcome.ended_s - outcome.due_s;
                let is_late = outcome.ending != Ending::Reply || took_s > CHECK_TIMEOUT_S;
                // A check sent earlier may end only now: it has failed then already.
                has_passed |= is_check && !is_late;
            });
            machine.heed(has_passed);
        }
        self.now_s = until_s;
    }
}

impl Machine {
    fn heed(&mut self, has_passed: bool) {
        (self.failed, self.passed) =
            if has_passed { (0, self.passed + 1) } else { (self.failed + 1, 0) };
        if self.is_in_service && self.failed >= CHECK_FAILS {
            self.is_in_service = false;
        } else if !self.is_in_service && self.passed >= CHECK_PASSES {
            self.is_in_service = true;
        }
    }
}

/// Counts a request; false when it was a check.
fn note(outcome: &Outcome, check_kind: u16, tally: &mut Tally) -> bool {
    if outcome.kind == check_kind {
        return false;
    }
    tally.note(outcome);
    true
}
