//! Waits for sockets with a deadline finer than a millisecond.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::shape::Span;

/// Events taken in at once; the rest stays with the kernel until the next turn.
const BATCH: usize = 256;

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
    /// Kernels before 5.11, and some sandboxes, have no `epoll_pwait2`, the wait in nanoseconds.
    lacks_wait: bool,
    events: Vec<Event>,
}

/// What a socket is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Edge-triggered: reported when more arrives, and when the other side has closed. Cheaper, as
    /// the kernel need not look at the socket again; after bytes were left unread, registering the
    /// interest anew has them reported.
    Arrivals,
    Readable,
    ReadableAndWritable,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Self::Arrivals => EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
            Self::Readable => EventFlags::IN,
            Self::ReadableAndWritable => EventFlags::IN | EventFlags::OUT,
        }
    }
}

/// What happened to the socket registered with `token`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    pub token: u64,
    /// Data, the end, or an error can be read.
    pub is_readable: bool,
    pub is_writable: bool,
    /// The other side will send no more, so that the end can be read as well.
    pub is_hung_up: bool,
}

impl Poller {
    /// # Errors
    /// No file descriptor is left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, lacks_wait: false, events: Vec::with_capacity(BATCH) })
    }

    /// Reports `token` whenever the socket is ready, until it is closed.
    ///
    /// # Errors
    /// The kernel's limit on watched descriptors, or its memory, is used up.
    pub fn add(&self, socket: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), interest.flags())?)
    }

    /// Replaces what a socket is waited for.
    ///
    /// # Errors
    /// The socket is not registered.
    pub fn modify(&self, socket: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(token), interest.flags())?)
    }

    /// Waits at most `span` and returns how many sockets are ready; see
    /// [`ready`](Self::ready). A signal ends the wait with none.
    ///
    /// # Errors
    /// Only a broken environment.
    #[inline]
    pub fn wait(&mut self, span: Span) -> io::Result<usize> {
        if self.lacks_wait {
            return self.wait_in_two_calls(span);
        }
        let timeout = timespec(span);
        self.events.clear();
        // SAFETY: the buffer has room for BATCH events of the kernel's layout, and holds as many as
        // the call returns; a null mask leaves signals as they are. By number, because older C
        // libraries lack the function.
        let count = unsafe {
            let count = libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            );
            self.events.set_len(usize::try_from(count).unwrap_or(0));
            count
        };
        if count >= 0 {
            return Ok(self.events.len());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(0),
            Some(libc::ENOSYS | libc::EPERM) => {
                self.lacks_wait = true;
                self.wait_in_two_calls(span)
            }
            _ => Err(error),
        }
    }

    /// Waits until the epoll instance itself is readable, and then takes its events.
    fn wait_in_two_calls(&mut self, span: Span) -> io::Result<usize> {
        self.events.clear();
        match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(span))) {
            Ok(0) | Err(Errno::INTR) => return Ok(0),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let at_once = timespec(Span::ZERO);
        Ok(epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&at_once))?)
    }

    /// The n-th of the sockets that the last wait found ready.
    #[inline]
    pub fn ready(&self, n: usize) -> Readiness {
        let Event { flags, data, .. } = self.events[n];
        let failed_or_closed = EventFlags::ERR | EventFlags::HUP;
        Readiness {
            token: data.u64(),
            is_readable: flags.intersects(failed_or_closed | EventFlags::IN),
            is_writable: flags.intersects(failed_or_closed | EventFlags::OUT),
            is_hung_up: flags.intersects(failed_or_closed | EventFlags::RDHUP),
        }
    }
}

fn timespec(span: Span) -> Timespec {
    let (nanoseconds, second) = (span.get(), Span::SECOND.get());
    Timespec { tv_sec: (nanoseconds / second) as i64, tv_nsec: (nanoseconds % second) as i64 }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    fn poller(lacks_wait: bool) -> Poller {
        Poller { lacks_wait, ..Poller::new().unwrap() }
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        for lacks_wait in [false, true] {
            let mut poller = poller(lacks_wait);
            for nanoseconds in [0, 300_000, 2_500_000] {
                let began = Instant::now();
                let count = poller.wait(Span::new(nanoseconds)).unwrap();
                assert!(began.elapsed() >= Duration::from_nanos(nanoseconds));
                assert_eq!(count, 0);
            }
        }
    }

    #[test]
    fn a_readable_socket_is_reported_until_it_is_read() {
        for lacks_wait in [false, true] {
            let mut poller = poller(lacks_wait);
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            poller.add(&ours, 7, Interest::Readable).unwrap();
            theirs.write_all(b"x").unwrap();
            for _ in 0..2 {
                let count = poller.wait(Span::SECOND).unwrap();
                let ready: Vec<u64> = (0..count).map(|n| poller.ready(n).token).collect();
                assert_eq!(ready, [7]);
            }
        }
    }
}
