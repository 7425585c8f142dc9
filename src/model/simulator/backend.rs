//! What requests wait for: a pool of connections, a service behind, a lock that no worker's
//! interpreter knows of.
//!
//! A wait takes one of its places; who finds none waits in turn. Without a backend waits are
//! independent of each other, as sleeping is.

use std::collections::VecDeque;

/// Who shares its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The threads of each worker: a pool of connections in every process.
    Worker,
    /// All workers: a service, a table that is locked.
    Server,
}

/// What limits waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backend {
    /// Waits at a time, at least 1.
    pub places: u32,
    pub sharing: Sharing,
    /// By how much every other wait that is under way makes one longer: 0.02 is 2 %.
    pub slowing: f64,
}

/// A wait that has not begun.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Queued {
    request: u32,
    wait_s: f64,
}

/// One set of places.
#[derive(Debug, Clone, Default)]
struct Places {
    busy: u32,
    queue: VecDeque<Queued>,
}

/// Its places, and who is in them.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    backend: Backend,
    places: Vec<Places>,
}

impl Waits {
    pub(super) fn new(backend: Backend, workers: u16) -> Self {
        let sets = match backend.sharing {
            Sharing::Worker => usize::from(workers),
            Sharing::Server => 1,
        };
        Self { backend, places: vec![Places::default(); sets] }
    }

    /// A request of a worker wants to wait: how long it will, from now; `None` when it has to wait
    /// for a place first.
    pub(super) fn enter(&mut self, worker: u32, request: u32, wait_s: f64) -> Option<f64> {
        let backend = self.backend;
        let places = self.of(worker);
        if places.busy >= backend.places.max(1) {
            places.queue.push_back(Queued { request, wait_s });
            return None;
        }
        places.busy += 1;
        Some(wait_s * (1.0 + backend.slowing * f64::from(places.busy - 1)))
    }

    /// A wait is over: which request's begins now, and how long it lasts.
    pub(super) fn leave(&mut self, worker: u32) -> Option<(u32, f64)> {
        let places = self.of(worker);
        places.busy = places.busy.saturating_sub(1);
        let Queued { request, wait_s } = places.queue.pop_front()?;
        self.enter(worker, request, wait_s).map(|lasts_s| (request, lasts_s))
    }

    /// The server has died.
    pub(super) fn clear(&mut self) {
        self.places.iter_mut().for_each(|places| *places = Places::default());
    }

    fn of(&mut self, worker: u32) -> &mut Places {
        let index = match self.backend.sharing {
            Sharing::Worker => worker as usize,
            Sharing::Server => 0,
        };
        &mut self.places[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(places: u32, sharing: Sharing, slowing: f64) -> Waits {
        Waits::new(Backend { places, sharing, slowing }, 2)
    }

    #[test]
    fn who_finds_no_place_waits_in_turn() {
        let mut waits = waits(1, Sharing::Server, 0.0);
        assert_eq!(waits.enter(0, 7, 0.1), Some(0.1));
        assert_eq!(waits.enter(1, 8, 0.2), None);
        assert_eq!(waits.enter(0, 9, 0.3), None);
        assert_eq!(waits.leave(0), Some((8, 0.2)));
        assert_eq!(waits.leave(1), Some((9, 0.3)));
        assert_eq!(waits.leave(0), None);
    }

    #[test]
    fn workers_with_pools_of_their_own_do_not_wait_for_each_other() {
        let mut waits = waits(1, Sharing::Worker, 0.0);
        assert_eq!(waits.enter(0, 7, 0.1), Some(0.1));
        assert_eq!(waits.enter(1, 8, 0.1), Some(0.1));
        assert_eq!(waits.enter(1, 9, 0.1), None);
    }

    #[test]
    fn a_backend_that_slows_down_makes_each_wait_longer_by_those_under_way() {
        let mut waits = waits(9, Sharing::Server, 0.5);
        assert_eq!(waits.enter(0, 1, 1.0), Some(1.0));
        assert_eq!(waits.enter(0, 2, 1.0), Some(1.5));
        assert_eq!(waits.enter(0, 3, 1.0), Some(2.0));
    }
}
