//! Connections that are kept after a reply, and what they hold up.
//!
//! Rules read from the servers' sources. Puma before 7: after a reply the thread waits up to 0.2 s
//! for the next request on the same connection, then leaves the connection to the worker's reactor,
//! whose requests go before new connections; from the tenth request on it closes the connection
//! instead when others wait and no thread is free. Puma from 7, gunicorn's threads and Thin: a
//! connection stays with the worker that took it, and its requests wait for a free thread of that
//! worker.

/// What becomes of a connection after a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeepAlive {
    /// It is closed: every request comes over a connection of its own.
    Closed,
    /// The thread waits for more on it, `wait_s` seconds at most; after `turns` requests the
    /// connection is closed when others wait.
    Held { wait_s: f64, turns: u32 },
    /// It stays with its worker and holds no thread.
    Bound,
}

/// One connection of a client.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Connection {
    /// The worker that has accepted it.
    pub(super) worker: Option<u32>,
    /// Requests answered over it.
    pub(super) turns: u32,
    /// A thread of its worker waits for more.
    pub(super) is_held: bool,
    /// Number of the hold, so that the end of one that is over already is known.
    pub(super) hold: u32,
}

/// All connections of a load. In the closed model one a client; in the open one as many as were
/// ever needed at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections {
    all: Vec<Connection>,
    /// Without a request, the last used on top: what a client with a pool does.
    idle: Vec<u32>,
    /// Holds so far.
    holds: u32,
}

impl Connections {
    /// One for a request of the open model.
    pub(super) fn take(&mut self) -> u32 {
        self.idle.pop().unwrap_or_else(|| {
            self.all.push(Connection::default());
            (self.all.len() - 1) as u32
        })
    }

    /// It has no request any more.
    pub(super) fn give_back(&mut self, connection: u32) {
        self.idle.push(connection);
    }

    pub(super) fn get(&mut self, connection: u32) -> &mut Connection {
        let needed = connection as usize + 1;
        if self.all.len() < needed {
            self.all.resize(needed, Connection::default());
        }
        &mut self.all[connection as usize]
    }

    /// A thread waits for more on it; returns the number of the hold.
    pub(super) fn hold(&mut self, connection: u32) -> u32 {
        self.holds = self.holds.wrapping_add(1);
        let hold = self.holds;
        let state = self.get(connection);
        (state.is_held, state.hold) = (true, hold);
        hold
    }

    /// One end hangs up: the next request over this number is over a new connection.
    pub(super) fn close(&mut self, connection: u32) {
        *self.get(connection) = Connection::default();
    }

    /// All clients hang up; returns the worker of every thread that had waited for more.
    pub(super) fn close_all(&mut self) -> Vec<u32> {
        self.idle.clear();
        let held = self.all.drain(..).filter(|connection| connection.is_held);
        held.filter_map(|connection| connection.worker).collect()
    }
}
