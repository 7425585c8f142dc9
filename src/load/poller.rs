//! Waits for sockets with a deadline finer than a millisecond.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::shape::Span;

/// Events taken in at once; the rest stays with the kernel until the next turn.
const BATCH: usize = 256;

/// The token of the timer of kernels without `epoll_pwait2`; no connection has it.
const TIMER: u64 = u64::MAX;

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Kernels before 5.11, and some sandboxes, have no wait in nanoseconds; a timer stands in for
    /// it.
    timer: Option<OwnedFd>,
    events: Vec<libc::epoll_event>,
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
    fn bits(self) -> u32 {
        match self {
            Self::Arrivals => (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            Self::Readable => libc::EPOLLIN as u32,
            Self::ReadableAndWritable => (libc::EPOLLIN | libc::EPOLLOUT) as u32,
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
        // SAFETY: no pointer is passed.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let events = Vec::with_capacity(BATCH);
        Ok(Self { epoll, timer: None, events })
    }

    /// Reports `token` whenever the socket is ready, until it is closed.
    ///
    /// # Errors
    /// The kernel's limit on watched descriptors, or its memory, is used up.
    pub fn add(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, token, interest.bits())
    }

    /// Replaces what a socket is waited for.
    ///
    /// # Errors
    /// The socket is not registered.
    pub fn modify(&self, socket: &impl AsRawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, token, interest.bits())
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: &impl AsRawFd,
        token: u64,
        events: u32,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        let (epoll, fd) = (self.epoll.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: `event` lives through the call and the kernel does not keep the pointer.
        checked(unsafe { libc::epoll_ctl(epoll, operation, fd, &raw mut event) }).map(drop)
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
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: the buffer has room for BATCH events; a null mask leaves signals as they are. By
        // number, because older C libraries lack the function.
        let count = unsafe {
            let events = self.events.as_mut_ptr();
            let mask = std::ptr::null::<libc::sigset_t>();
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                events,
                BATCH as libc::c_int,
                &raw const timeout,
                mask,
                0usize,
            )
        };
        if count < 0 && matches!(last_errno(), libc::ENOSYS | libc::EPERM) {
            self.make_timer()?;
            return self.wait_with_timer(span);
        }
        self.received(count)
    }

    fn make_timer(&mut self) -> io::Result<()> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no pointer is passed.
        let timer = owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // Edge-triggered: arming it anew is enough, it need not be read.
        let events = (libc::EPOLLIN | libc::EPOLLET) as u32;
        self.control(libc::EPOLL_CTL_ADD, &timer, TIMER, events)?;
        self.timer = Some(timer);
        Ok(())
    }

    fn wait_with_timer(&mut self, span: Span) -> io::Result<usize> {
        if let (Some(timer), true) = (&self.timer, span > Span::ZERO) {
            let it_interval = timespec(Span::ZERO);
            let setting = libc::itimerspec { it_interval, it_value: timespec(span) };
            let fd = timer.as_raw_fd();
            // SAFETY: `setting` lives through the call; no old value is asked for.
            let set =
                unsafe { libc::timerfd_settime(fd, 0, &raw const setting, std::ptr::null_mut()) };
            checked(set)?;
        }
        let forever_or_not_at_all = if span > Span::ZERO { -1 } else { 0 };
        let epoll = self.epoll.as_raw_fd();
        // SAFETY: the buffer has room for BATCH events.
        let count = unsafe {
            let events = self.events.as_mut_ptr();
            libc::epoll_wait(epoll, events, BATCH as libc::c_int, forever_or_not_at_all)
        };
        self.received(libc::c_long::from(count))
    }

    fn received(&mut self, count: libc::c_long) -> io::Result<usize> {
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            // SAFETY: nothing is kept.
            unsafe { self.events.set_len(0) };
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(0) } else { Err(error) };
        };
        // SAFETY: the kernel has written `count` events, at most BATCH.
        unsafe { self.events.set_len(count) };
        Ok(count)
    }

    /// The n-th of the sockets that the last wait found ready; `None` for the timer.
    pub fn ready(&self, n: usize) -> Option<Readiness> {
        let event = *self.events.get(n)?;
        let bits = event.events;
        let readable = (libc::EPOLLIN | libc::EPOLLERR | libc::EPOLLHUP) as u32;
        let writable = (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) as u32;
        let hung_up = (libc::EPOLLRDHUP | libc::EPOLLERR | libc::EPOLLHUP) as u32;
        (event.u64 != TIMER).then_some(Readiness {
            token: event.u64,
            is_readable: bits & readable != 0,
            is_writable: bits & writable != 0,
            is_hung_up: bits & hung_up != 0,
        })
    }
}

fn timespec(span: Span) -> libc::timespec {
    let (nanoseconds, second) = (span.get(), Span::SECOND.get());
    libc::timespec {
        tv_sec: (nanoseconds / second) as libc::time_t,
        tv_nsec: (nanoseconds % second) as libc::c_long,
    }
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: a descriptor that was just made, and that nothing else owns.
    checked(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
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
