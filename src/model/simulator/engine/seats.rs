//! Which worker takes a request, and what becomes of its thread after the reply.

use super::super::calendar::Due;
use super::super::connection::KeepAlive;
use super::super::request::Request;
use super::{Admission, Ending, Simulator};

impl Simulator {
    /// The request's connection reaches the server's host.
    pub(super) fn connect(&mut self, request: u32, attempt: u32) {
        if self.is_dead {
            self.end_for_client(request, Ending::Refused);
            self.requests.remove(request);
        } else if let Some(worker) = self.worker_of(request) {
            self.send_to(request, worker);
        } else if self.server.admission.has_own_queues() {
            let worker = match self.server.admission {
                Admission::InTurn => self.turn,
                _ => self.random.below(self.workers.len()) as u32,
            };
            self.turn = (self.turn + 1) % self.workers.len() as u32;
            self.send_to(request, worker);
        } else if !self.open.is_empty() {
            let worker = self.choose_worker();
            self.accept(request, worker);
        } else if self.backlog.len() < self.server.backlog {
            self.backlog.push_back(request);
        } else {
            // TCP sends the lost segment again after 1, 2, 4, ... seconds.
            let pause = f64::from(1_u32 << attempt.min(6));
            self.calendar.add(self.now + pause, Due::Retry { request, attempt: attempt + 1 });
        }
    }

    /// The worker that keeps the request's connection.
    fn worker_of(&mut self, request: u32) -> Option<u32> {
        let connection = self.requests.get(request).connection?;
        self.connections.get(connection).worker
    }

    /// The request goes to this worker, whether it has a thread free or not.
    fn send_to(&mut self, request: u32, worker: u32) {
        if let Some(connection) = self.requests.get(request).connection {
            let state = self.connections.get(connection);
            state.worker = Some(worker);
            if std::mem::take(&mut state.is_held) {
                // The thread that waited for it is there at once.
                self.requests.get(request).worker = worker;
                return self.next_step(request);
            }
        }
        if self.workers[worker as usize].busy < u32::from(self.server.threads) {
            self.accept(request, worker);
        } else {
            self.workers[worker as usize].queue.push_back(request);
        }
    }

    /// One of the workers with a free thread; there is one.
    fn choose_worker(&mut self) -> u32 {
        if self.server.admission == Admission::Random {
            return self.open[self.random.below(self.open.len())];
        }
        let busy = |worker: &u32| self.workers[*worker as usize].busy;
        let least = self.open.iter().map(busy).min().unwrap_or(0);
        let ties = self.open.iter().filter(|worker| busy(worker) == least).count();
        let chosen = self.random.below(ties);
        let mut candidates = self.open.iter().filter(|worker| busy(worker) == least);
        *candidates.nth(chosen).expect("fewer than the number of ties was drawn")
    }

    fn accept(&mut self, request: u32, worker: u32) {
        let threads = u32::from(self.server.threads);
        let state = &mut self.workers[worker as usize];
        state.busy += 1;
        if state.busy == threads {
            self.open.retain(|&other| other != worker);
        }
        let state = self.requests.get(request);
        state.worker = worker;
        if let Some(connection) = state.connection.filter(|_| state.is_awaited) {
            self.connections.get(connection).worker = Some(worker);
        }
        self.next_step(request);
    }

    /// The request's work is done: its thread is free, or waits for more on its connection.
    pub(super) fn finish(&mut self, request: u32, worker: u32) {
        let Request { is_awaited, connection, .. } = *self.requests.get(request);
        let state = &mut self.workers[worker as usize];
        state.usage.served += 1;
        state.since_pause += 1;
        let kept = connection.filter(|_| is_awaited);
        let is_held = kept.is_some_and(|connection| self.keep(connection, worker));
        if is_awaited {
            self.end_for_client(request, Ending::Reply);
        }
        self.requests.remove(request);
        if !is_held {
            self.free_thread(worker);
        }
    }

    /// After a reply over a connection that is kept; true when its thread waits for more on it.
    fn keep(&mut self, connection: u32, worker: u32) -> bool {
        let KeepAlive::Held { wait_s, turns } = self.server.keep_alive else { return false };
        let state = &self.workers[worker as usize];
        let is_full = state.busy == u32::from(self.server.threads);
        let others_wait = !state.queue.is_empty() || !self.backlog.is_empty();
        let state = self.connections.get(connection);
        state.turns += 1;
        if state.turns >= turns && is_full && others_wait {
            self.connections.close(connection);
            return false;
        }
        let hold = self.connections.hold(connection);
        self.calendar.add(self.now + wait_s, Due::HoldOver { connection, hold });
        true
    }

    pub(super) fn on_hold_over(&mut self, connection: u32, hold: u32) {
        let state = self.connections.get(connection);
        if state.hold == hold
            && std::mem::take(&mut state.is_held)
            && let Some(worker) = state.worker
        {
            self.free_thread(worker);
        }
    }

    /// Every client hangs up: threads that waited for more are free.
    pub(super) fn close_connections(&mut self) {
        // What is under way no longer belongs to any of them: their numbers are given out again.
        for request in self.requests.live() {
            self.requests.get(request).connection = None;
        }
        for worker in self.connections.close_all() {
            self.free_thread(worker);
        }
    }

    fn free_thread(&mut self, worker: u32) {
        let state = &mut self.workers[worker as usize];
        state.busy -= 1;
        // What came over a connection that it keeps goes before new ones.
        if let Some(next) = state.queue.pop_front() {
            return self.accept(next, worker);
        }
        if self.server.admission.has_own_queues() {
            return;
        }
        if state.busy + 1 == u32::from(self.server.threads) {
            self.open.push(worker);
        }
        if let Some(next) = self.backlog.pop_front() {
            let worker = self.choose_worker();
            self.accept(next, worker);
        }
    }
}
