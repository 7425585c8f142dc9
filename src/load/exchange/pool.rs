//! The HTTP/1 connections of one loop; those that are idle are used again, last in, first out.

use crate::load::lifecycle::Pending;
use crate::load::poller::Interest;
use crate::load::reply::Reply;
use crate::load::shape::Nanos;
use crate::load::slab::{Key, Slab};
use crate::load::transport::Transport;

/// What a connection does.
#[derive(Debug, Clone, Copy)]
pub enum Activity {
    /// `at`: its index among the idle ones, or its client where each has its own.
    Idle { at: usize },
    /// `written` bytes of the request were taken by the kernel so far.
    Busy { request: Pending, written: usize, received: u64 },
    /// Used up; the server, which was sent `Connection: close`, is given until then to close it
    /// first, which keeps our ports from waiting out a minute each.
    Lingering { until: Nanos },
}

/// What the rest of a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// There is none: the kernel has taken all of it.
    Done,
    /// Room in the kernel, or a connection: `EPOLLOUT` is asked for.
    AwaitsRoom,
    /// The server's part of the TLS handshake.
    AwaitsServer,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub transport: Transport,
    pub activity: Activity,
    pub reply: Box<Reply>,
    /// The request, if it differs each time it is sent.
    pub rendered: Vec<u8>,
    /// Complete replies so far.
    pub replies: u64,
    pub sending: Sending,
}

impl Connection {
    /// A reply has begun and is not complete.
    #[inline]
    pub fn is_amid_reply(&self) -> bool {
        matches!(self.activity, Activity::Busy { .. }) && self.reply.has_begun()
    }

    /// What the poller is to report of it. With TLS, a read does not show whether it was the last.
    #[inline]
    pub fn interest(&self) -> Interest {
        if self.sending == Sending::AwaitsRoom {
            Interest::ReadableAndWritable
        } else if self.transport.has_tls() {
            Interest::Readable
        } else {
            Interest::Arrivals
        }
    }
}

/// The HTTP/1 connections of one loop: busy, idle and lingering.
#[derive(Debug, Default)]
pub struct Pool {
    connections: Slab<Connection>,
    /// The one used last on top.
    idle: Vec<Key>,
    /// Each client's own, while it is idle; empty where clients share the idle ones.
    own: Vec<Option<Key>>,
    /// How many are lingering.
    pub lingering: usize,
    /// How many have a request that has not left in full.
    pub unsent: usize,
    /// What the connections that are gone had allocated, for the next.
    spare: Vec<(Box<Reply>, Vec<u8>)>,
}

impl Pool {
    /// `clients`: how many have a connection of their own each.
    pub fn new(clients: usize) -> Self {
        Self { own: vec![None; clients], ..Self::default() }
    }

    /// Takes in a new connection, for a request that is a `HEAD` or not.
    pub fn insert(&mut self, transport: Transport, request: Pending, is_head: bool) -> Key {
        let (mut reply, rendered) = self.spare.pop().unwrap_or_default();
        reply.restart(is_head);
        self.connections.insert(Connection {
            transport,
            activity: Activity::Busy { request, written: 0, received: 0 },
            reply,
            rendered,
            replies: 0,
            sending: Sending::Done,
        })
    }

    #[inline]
    pub fn get(&mut self, key: Key) -> Option<&mut Connection> {
        self.connections.get(key)
    }

    /// Closes it, and says what it did.
    pub fn close(&mut self, key: Key) -> Option<Activity> {
        let connection = self.connections.remove(key)?;
        self.unsent -= usize::from(connection.sending != Sending::Done);
        self.spare.push((connection.reply, connection.rendered));
        match connection.activity {
            Activity::Busy { .. } => {}
            Activity::Lingering { .. } => self.lingering -= 1,
            Activity::Idle { at } => match self.own.get_mut(at) {
                Some(own) => *own = None,
                None => self.leave_idle(at),
            },
        }
        Some(connection.activity)
    }

    fn leave_idle(&mut self, at: usize) {
        self.idle.swap_remove(at);
        if let Some(moved) = self.idle.get(at).copied()
            && let Some(connection) = self.get(moved)
        {
            connection.activity = Activity::Idle { at };
        }
    }

    /// Its request is over and another may follow: its client's, or whichever is next.
    #[inline]
    pub fn release(&mut self, key: Key, client: u32) {
        let at = match self.own.get_mut(client as usize) {
            Some(own) => {
                *own = Some(key);
                client as usize
            }
            None => {
                self.idle.push(key);
                self.idle.len() - 1
            }
        };
        if let Some(connection) = self.get(key) {
            connection.activity = Activity::Idle { at };
            connection.replies += 1;
        }
    }

    /// An idle connection for a request of this client: the one that was used last. The caller
    /// gives it something to do.
    #[inline]
    pub fn take_idle(&mut self, client: u32) -> Option<Key> {
        match self.own.get_mut(client as usize) {
            Some(own) => own.take(),
            None => self.idle.pop(),
        }
    }

    /// Notes what the rest of its request waits for. Returns whether the poller has to know.
    pub fn set_sending(&mut self, key: Key, sending: Sending) -> bool {
        let Some(connection) = self.connections.get(key) else { return false };
        let before = std::mem::replace(&mut connection.sending, sending);
        self.unsent += usize::from(sending != Sending::Done);
        self.unsent -= usize::from(before != Sending::Done);
        (before == Sending::AwaitsRoom) != (sending == Sending::AwaitsRoom)
    }

    /// Its last request is over; see [`Activity::Lingering`].
    pub fn linger(&mut self, key: Key, until: Nanos) {
        if let Some(connection) = self.get(key) {
            connection.activity = Activity::Lingering { until };
            self.lingering += 1;
        }
    }

    /// The connections whose activity fulfils the condition.
    pub fn find(&self, condition: impl Fn(&Activity) -> bool) -> Vec<Key> {
        self.connections.find(|connection| condition(&connection.activity)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::socket::{Remote, Socket};

    fn pool(count: u64) -> (Pool, Vec<Key>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = Remote::Tcp(listener.local_addr().unwrap());
        let mut pool = Pool::default();
        let keys = (0..count).map(|due| {
            let transport = Transport::new(Socket::connect(&remote, None).unwrap(), None);
            let due = Nanos::new(due);
            pool.insert(transport, Pending::new(due, due), false)
        });
        let keys = keys.collect();
        (pool, keys)
    }

    #[test]
    fn the_connection_used_last_is_used_next_and_closed_ones_never() {
        let (mut pool, keys) = pool(4);
        keys.iter().for_each(|key| pool.release(*key, 0));
        assert!(matches!(pool.close(keys[1]), Some(Activity::Idle { at: 1 })), "no request");
        let taken: Vec<Key> = std::iter::from_fn(|| pool.take_idle(0)).collect();
        assert_eq!(
            taken,
            [keys[2], keys[3], keys[0]],
            "the last has taken the place of the closed"
        );
    }

    #[test]
    fn an_event_of_a_closed_connection_is_not_taken_for_its_successor() {
        let (mut pool, keys) = pool(2);
        let token = keys[0].token();
        let closed = pool.close(keys[0]);
        let is_first = |request: Pending| request.due == Nanos::START;
        assert!(matches!(closed, Some(Activity::Busy { request, .. }) if is_first(request)));
        assert!(pool.get(Key::from_token(token)).is_none());
    }
}
