//! The connections of one loop: a slot each, found by token, reused last in, first out.

use super::poller::Interest;
use super::reply::Reply;
use super::transport::Transport;

/// A request under way.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    pub due: u64,
    /// When the first byte was handed to the kernel; `None` before.
    pub sent: Option<u64>,
    /// When the loop acted on it: connected or sent.
    pub begun: u64,
    pub target: u32,
    /// Its place among all requests of the load, from 0.
    pub number: u64,
    pub client: u32,
    /// It had to wait for a free place, so its lag is not the loop's.
    pub has_waited: bool,
    /// It was sent before, on a connection that the server had closed meanwhile.
    pub is_retry: bool,
}

/// Bytes of a request and its reply that have passed so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passed {
    pub written: u64,
    pub received: u64,
}

/// What a connection does.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    Idle,
    /// `written` bytes of the request were taken by the kernel so far.
    Busy {
        flight: Flight,
        written: usize,
        received: u64,
    },
    /// Used up; the server, whom we told so, is given until then to close it first, which keeps our
    /// ports from waiting out a minute each.
    Lingering {
        until: u64,
    },
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub transport: Transport,
    pub activity: Activity,
    pub reply: Reply,
    /// The request, if it differs each time it is sent.
    pub rendered: Vec<u8>,
    /// Complete replies so far.
    pub replies: u64,
    /// `EPOLLOUT` is asked for.
    pub awaits_writable: bool,
    /// The client whose own it is while it is idle.
    pub owner: Option<u32>,
    /// Place in the stack of idle connections, while it is there.
    idle_at: Option<usize>,
}

impl Connection {
    /// What the poller is to report of it. TLS does not tell from what it has read that there is no
    /// more.
    pub fn interest(&self) -> Interest {
        match (&self.transport, self.awaits_writable) {
            (_, true) => Interest::ReadableAndWritable,
            (Transport::Plain(_), false) => Interest::Arrivals,
            (Transport::Tls(_), false) => Interest::Readable,
        }
    }
}

#[derive(Debug)]
struct Slot {
    /// Counts the slot's connections, so that an event for an earlier one is not taken for this
    /// one's.
    generation: u32,
    connection: Option<Connection>,
    /// The last connection's buffer, for the next.
    rendered: Vec<u8>,
}

/// All connections of a loop.
#[derive(Debug, Default)]
pub struct Connections {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The warmest on top.
    idle: Vec<u32>,
    lingering: usize,
}

impl Connections {
    /// Takes in a new connection and returns its slot.
    pub fn insert(&mut self, transport: Transport, flight: Flight, reply: Reply) -> u32 {
        let activity = Activity::Busy { flight, written: 0, received: 0 };
        let mut connection = Connection {
            transport,
            activity,
            reply,
            rendered: Vec::new(),
            replies: 0,
            awaits_writable: false,
            owner: None,
            idle_at: None,
        };
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            connection.rendered = std::mem::take(&mut entry.rendered);
            entry.connection = Some(connection);
            return slot;
        }
        let connection = Some(connection);
        self.slots.push(Slot { generation: 0, connection, rendered: Vec::new() });
        (self.slots.len() - 1) as u32
    }

    /// The slot with its generation, for the poller.
    pub fn token(&self, slot: u32) -> u64 {
        u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// The slot of a token, unless that connection is gone.
    pub fn slot(&self, token: u64) -> Option<u32> {
        let slot = token as u32;
        let is_current = self.slots.get(slot as usize).is_some_and(|entry| {
            entry.connection.is_some() && u64::from(entry.generation) == token >> 32
        });
        is_current.then_some(slot)
    }

    /// The connection in a slot.
    pub fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot as usize)?.connection.as_mut()
    }

    /// Closes it and returns the request it was busy with.
    pub fn close(&mut self, slot: u32) -> Option<Flight> {
        self.leave_idle(slot);
        let entry = self.slots.get_mut(slot as usize)?;
        let connection = entry.connection.take()?;
        entry.rendered = connection.rendered;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(slot);
        match connection.activity {
            Activity::Busy { flight, .. } => Some(flight),
            Activity::Idle => None,
            Activity::Lingering { .. } => {
                self.lingering -= 1;
                None
            }
        }
    }

    /// Its request is over and another may follow: its owner's, or whichever is next.
    pub fn rest(&mut self, slot: u32, owner: Option<u32>) {
        let place = self.idle.len();
        if let Some(connection) = self.get(slot) {
            connection.activity = Activity::Idle;
            connection.replies += 1;
            connection.owner = owner;
            if owner.is_none() {
                connection.idle_at = Some(place);
                self.idle.push(slot);
            }
        }
    }

    /// The connection that became idle last.
    pub fn take_idle(&mut self) -> Option<u32> {
        let slot = *self.idle.last()?;
        self.leave_idle(slot);
        Some(slot)
    }

    fn leave_idle(&mut self, slot: u32) {
        let Some(place) = self.get(slot).and_then(|connection| connection.idle_at.take()) else {
            return;
        };
        self.idle.swap_remove(place);
        if let Some(moved) = self.idle.get(place).copied()
            && let Some(connection) = self.get(moved)
        {
            connection.idle_at = Some(place);
        }
    }

    /// Its last request is over; see [`Activity::Lingering`].
    pub fn linger(&mut self, slot: u32, until: u64) {
        if let Some(connection) = self.get(slot) {
            connection.activity = Activity::Lingering { until };
            self.lingering += 1;
        }
    }

    /// How many are lingering.
    pub fn lingering(&self) -> usize {
        self.lingering
    }

    /// The slots whose connection's activity fulfils the condition, ascending.
    pub fn find(&self, condition: impl Fn(&Activity) -> bool) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.slots).filter_map(move |(slot, entry)| {
            let connection = entry.connection.as_ref()?;
            condition(&connection.activity).then_some(slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::socket::{Remote, Socket};
    use super::*;

    fn flight(due: u64) -> Flight {
        Flight {
            due,
            sent: None,
            begun: due,
            target: 0,
            number: 0,
            client: 0,
            has_waited: false,
            is_retry: false,
        }
    }

    fn connections(count: u64) -> (Connections, Vec<u32>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::tcp(listener.local_addr().unwrap());
        let mut connections = Connections::default();
        let slots = (0..count).map(|due| {
            let transport = Transport::Plain(Socket::connect(&remote, None).unwrap());
            connections.insert(transport, flight(due), Reply::new(false))
        });
        let slots = slots.collect();
        (connections, slots)
    }

    #[test]
    fn the_connection_used_last_is_used_next_and_closed_ones_never() {
        let (mut connections, slots) = connections(4);
        slots.iter().for_each(|slot| connections.rest(*slot, None));
        assert!(connections.close(slots[1]).is_none(), "it had no request");
        let taken: Vec<u32> = std::iter::from_fn(|| connections.take_idle()).collect();
        assert_eq!(taken.len(), 3);
        assert!(!taken.contains(&slots[1]));
    }

    #[test]
    fn an_event_of_a_closed_connection_is_not_taken_for_its_successor() {
        let (mut connections, slots) = connections(2);
        let token = connections.token(slots[0]);
        assert_eq!(connections.slot(token), Some(slots[0]));
        assert_eq!(connections.close(slots[0]).map(|flight| flight.due), Some(0));
        assert_eq!(connections.slot(token), None);
    }
}
