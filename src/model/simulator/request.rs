//! Requests: what kinds there are, what they go through, and where those in flight are kept.

use super::sample::Random;
use crate::model::{Demand, Sizes};

/// What one kind of request costs. It alternates between bursts of CPU under the lock and waits:
/// burst, (CPU without the lock,) wait, burst, ..., wait, burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestKind {
    /// Share in the mix, relative to the other kinds'.
    pub weight: f64,
    /// CPU under the lock in all its bursts, seconds.
    pub cpu_s: f64,
    /// CPU outside the lock, in one piece, seconds.
    pub cpu_free_s: f64,
    /// All its waits, seconds.
    pub wait_s: f64,
    /// How many waits; none when `wait_s` is 0.
    pub waits: u16,
    /// Squared coefficient of variation of every burst and of every wait: 0 constant, 1
    /// exponential.
    pub cv2: f64,
    /// Lock time lost in all its bursts when the lock passes from one thread straight to another,
    /// seconds.
    pub handoff_s: f64,
    /// How requests of this kind differ as a whole, as measured: each takes this many times as long
    /// in every step. `None`: they differ in nothing but their steps.
    pub sizes: Option<Sizes>,
}

impl Default for RequestKind {
    /// Costs nothing.
    fn default() -> Self {
        Self {
            weight: 1.0,
            cpu_s: 0.0,
            cpu_free_s: 0.0,
            wait_s: 0.0,
            waits: 1,
            cv2: 1.0,
            handoff_s: 0.0,
            sizes: None,
        }
    }
}

impl RequestKind {
    fn waits(&self) -> u16 {
        if self.wait_s > 0.0 { self.waits.max(1) } else { 0 }
    }

    fn bursts(&self) -> f64 {
        f64::from(self.waits()) + 1.0
    }

    /// The mean request as the formulas know it.
    pub fn demand(&self) -> Demand {
        let (bursts, waits) = (self.bursts(), f64::from(self.waits()).max(1.0));
        let total_s = self.cpu_s + self.cpu_free_s + self.wait_s;
        // Of independent steps the variances add up.
        let squares =
            self.cpu_s.powi(2) / bursts + self.cpu_free_s.powi(2) + self.wait_s.powi(2) / waits;
        let of_steps = self.cv2 * squares / total_s.powi(2).max(f64::MIN_POSITIVE);
        let of_sizes = self.sizes.map_or(0.0, |sizes| sizes.cv2());
        Demand {
            cpu_s: self.cpu_s,
            cpu_free_s: self.cpu_free_s,
            wait_s: self.wait_s,
            handoff_s: self.handoff_s,
            cv2: product_cv2(of_steps, of_sizes),
            // The mean rest of a hold that is met: (1 + cv2) / 2 of a mean hold.
            contention: 0.5 * (1.0 + product_cv2(self.cv2, of_sizes)),
            ..Demand::default()
        }
    }

    /// Draws how large a request is: 1 is the mean.
    pub(super) fn size(&self, random: &mut Random) -> f64 {
        self.sizes.map_or(1.0, |sizes| sizes.quantile(random.unit()))
    }

    /// The hand-over before one burst, when there is one; seconds.
    pub(super) fn handoff_per_burst_s(&self) -> f64 {
        self.handoff_s / self.bursts()
    }

    /// The work of its step number `step`, from 0, its duration drawn at random; `None` after the
    /// last.
    pub(super) fn step(&self, step: u16, random: &mut Random) -> Option<Step> {
        // The CPU outside the lock is step 1; the steps after it move up by one.
        let step = match (self.cpu_free_s > 0.0, step) {
            (true, 1) => return Some(Step::Free(random.gamma(self.cpu_free_s, self.cv2))),
            (true, 2..) => step - 1,
            _ => step,
        };
        if step > 2 * self.waits() {
            None
        } else if step.is_multiple_of(2) {
            Some(Step::Burst(random.gamma(self.cpu_s / self.bursts(), self.cv2)))
        } else {
            Some(Step::Wait(random.gamma(self.wait_s / f64::from(self.waits()), self.cv2)))
        }
    }
}

/// Of a product of independent variables.
fn product_cv2(a: f64, b: f64) -> f64 {
    (1.0 + a) * (1.0 + b) - 1.0
}

/// One step of a request, with its duration in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// CPU under the lock.
    Burst(f64),
    /// CPU outside it.
    Free(f64),
    Wait(f64),
}

/// A request as it becomes due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) due_s: f64,
    pub(super) kind: u16,
    pub(super) load: u32,
    pub(super) size: f64,
    pub(super) connection: Option<u32>,
}

/// A request between its arrival and its end in the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) due_s: f64,
    pub(super) kind: u16,
    /// Number of the load it belongs to.
    pub(super) load: u32,
    pub(super) worker: u32,
    pub(super) step: u16,
    /// Every step takes this many times as long as its kind says.
    pub(super) size: f64,
    /// The connection it came over, when those are kept.
    pub(super) connection: Option<u32>,
    /// Work of its burst that waits for the lock, seconds.
    pub(super) burst_s: f64,
    /// It runs, or waits to run, under the lock.
    pub(super) is_locked: bool,
    /// Its client still waits for the reply.
    pub(super) is_awaited: bool,
    /// Set in each use of the slot anew, so that a deadline finds out that its request has ended.
    pub(super) generation: u32,
    is_live: bool,
}

/// The requests that have not ended, by number; numbers are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    slots: Vec<Request>,
    free: Vec<u32>,
}

impl Requests {
    pub(super) fn add(&mut self, due: Begun) -> u32 {
        let mut request = Request {
            due_s: due.due_s,
            kind: due.kind,
            load: due.load,
            worker: 0,
            step: 0,
            size: due.size,
            connection: due.connection,
            burst_s: 0.0,
            is_locked: false,
            is_awaited: true,
            generation: 0,
            is_live: true,
        };
        if let Some(id) = self.free.pop() {
            let slot = &mut self.slots[id as usize];
            request.generation = slot.generation.wrapping_add(1);
            *slot = request;
            return id;
        }
        self.slots.push(request);
        (self.slots.len() - 1) as u32
    }

    pub(super) fn get(&mut self, id: u32) -> &mut Request {
        &mut self.slots[id as usize]
    }

    pub(super) fn remove(&mut self, id: u32) {
        self.slots[id as usize].is_live = false;
        self.free.push(id);
    }

    /// True when `id` is still the request that had this generation, and its client waits.
    pub(super) fn is_awaited(&self, id: u32, generation: u32) -> bool {
        let slot = &self.slots[id as usize];
        slot.is_live && slot.is_awaited && slot.generation == generation
    }

    /// All that have not ended, by number.
    pub(super) fn live(&self) -> Vec<u32> {
        (0..self.slots.len() as u32).filter(|&id| self.slots[id as usize].is_live).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_through_bursts_and_waits_in_turn_and_costs_what_it_should() {
        let kind = RequestKind {
            cpu_s: 0.003,
            cpu_free_s: 0.004,
            wait_s: 0.010,
            waits: 2,
            cv2: 0.0,
            ..RequestKind::default()
        };
        let mut random = Random::new(1);
        let steps: Vec<Step> = (0..).map_while(|i| kind.step(i, &mut random)).collect();
        let (burst, wait) = (Step::Burst(0.001), Step::Wait(0.005));
        assert_eq!(steps, [burst, Step::Free(0.004), wait, burst, wait, burst]);
    }

    #[test]
    fn a_request_without_waits_is_one_burst() {
        let kind = RequestKind { cpu_s: 0.5, waits: 3, cv2: 0.0, ..RequestKind::default() };
        let mut random = Random::new(1);
        assert_eq!(kind.step(0, &mut random), Some(Step::Burst(0.5)));
        assert_eq!(kind.step(1, &mut random), None);
    }

    #[test]
    fn a_slot_used_again_is_another_request() {
        let mut requests = Requests::default();
        let due = |due_s| Begun { due_s, kind: 0, load: 1, size: 1.0, connection: None };
        let first = requests.add(due(0.0));
        let generation = requests.get(first).generation;
        assert!(requests.is_awaited(first, generation));
        requests.remove(first);
        assert!(!requests.is_awaited(first, generation));
        assert_eq!(requests.add(due(1.0)), first);
        assert!(!requests.is_awaited(first, generation));
        assert_eq!(requests.live(), [first]);
    }
}
