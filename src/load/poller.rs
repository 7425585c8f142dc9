//! Waits for sockets with a deadline finer than a millisecond.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::shape::Span;

/// Events taken in at once; the rest stays with the kernel until the next turn.
const BATCH: usize = 256;

/// The token of the timer of kernels without `epoll_pwait2`; no connection has it.
const TIMER: u64 = u64::MAX;

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
    /// Kernels before 5.11, and some sandboxes, have no wait in nanoseconds; a timer stands in for
    /// it.
    timer: Option<OwnedFd>,
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
        Ok(Self { epoll, timer: None, events: Vec::with_capacity(BATCH) })
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
        if self.timer.is_some() {
            return self.wait_with_timer(span);
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
                self.make_timer()?;
                self.wait_with_timer(span)
            }
            _ => Err(error),
        }
    }

    fn make_timer(&mut self) -> io::Result<()> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered: arming it anew is enough, it need not be read.
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&self.epoll, &timer, EventData::new_u64(TIMER), interest)?;
        self.timer = Some(timer);
        Ok(())
    }

    #[inline]
    fn wait_with_timer(&mut self, span: Span) -> io::Result<usize> {
        let zero = timespec(Span::ZERO);
        if let (Some(timer), true) = (&self.timer, span > Span::ZERO) {
            let setting = Itimerspec { it_interval: zero, it_value: timespec(span) };
            timerfd_settime(timer, TimerfdTimerFlags::empty(), &setting)?;
        }
        let timeout = (span == Span::ZERO).then_some(&zero);
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout) {
            Err(Errno::INTR) => Ok(0),
            waited => Ok(waited?),
        }
    }

    /// The n-th of the sockets that the last wait found ready; `None` for the timer.
    #[inline]
    pub fn ready(&self, n: usize) -> Option<Readiness> {
        let Event { flags, data, .. } = *self.events.get(n)?;
        let failed_or_closed = EventFlags::ERR | EventFlags::HUP;
        (data.u64() != TIMER).then(|| Readiness {
            token: data.u64(),
            is_readable: flags.intersects(failed_or_closed | EventFlags::IN),
            is_writable: flags.intersects(failed_or_closed | EventFlags::OUT),
            is_hung_up: flags.intersects(failed_or_closed | EventFlags::RDHUP),
        })
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

    fn poller(has_timer: bool) -> Poller {
        let mut poller = Poller::new().unwrap();
        if has_timer {
            poller.make_timer().unwrap();
        }
        poller
    }

    #[test]
    fn a_wait_ends_at_its_deadline_and_not_before() {
        for has_timer in [false, true] {
            let mut poller = poller(has_timer);
            for nanoseconds in [0, 300_000, 2_500_000] {
                let began = Instant::now();
                let count = poller.wait(Span::new(nanoseconds)).unwrap();
                assert!(began.elapsed() >= Duration::from_nanos(nanoseconds));
                assert!((0..count).all(|n| poller.ready(n).is_none()), "only the timer");
            }
        }
    }

    #[test]
    fn a_readable_socket_is_reported_until_it_is_read() {
        for has_timer in [false, true] {
            let mut poller = poller(has_timer);
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            poller.add(&ours, 7, Interest::Readable).unwrap();
            theirs.write_all(b"x").unwrap();
            for _ in 0..2 {
                let count = poller.wait(Span::SECOND).unwrap();
                let ready: Vec<u64> =
                    (0..count).filter_map(|n| poller.ready(n)).map(|r| r.token).collect();
                assert_eq!(ready, [7]);
            }
        }
    }
}
