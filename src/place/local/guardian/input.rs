//! What the guardian waits for: a line of orders, the end of its input, an ended child, or time.
//!
//! In: standard input and SIGCHLD. Out: one event at a time.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Why the guardian woke up.
pub enum Woken {
    Line(String),
    /// The other end of our input is gone.
    End,
    ChildEnded,
    Time,
}

/// Longest order; a command line with its variables stays far below.
const LONGEST_LINE: usize = 1 << 20;

pub struct Input {
    children: OwnedFd,
    /// Bytes after the last whole line.
    part: Vec<u8>,
    lines: VecDeque<String>,
    has_ended: bool,
}

impl Input {
    /// From now on SIGCHLD is an event here.
    pub fn open() -> io::Result<Self> {
        // SAFETY: the set is initialised before it is used, and the descriptor returned is ours
        // alone.
        let children = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGCHLD);
            // What we start gets an empty mask again: see `launch`.
            libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self { children, part: Vec::new(), lines: VecDeque::new(), has_ended: false })
    }

    /// Waits for the next event, at most for `time`. The end is told once all lines before it are.
    pub fn wait(&mut self, time: Duration) -> io::Result<Woken> {
        if let Some(line) = self.lines.pop_front() {
            return Ok(Woken::Line(line));
        }
        if self.has_ended {
            return Ok(Woken::End);
        }
        let stdin = io::stdin();
        let mut fds =
            [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        // Forever, where the time is more than the kernel counts.
        let time = Timespec::try_from(time).ok();
        match poll(&mut fds, time.as_ref()) {
            Err(Errno::INTR) => return Ok(Woken::Time),
            ready => ready?,
        };
        let [has_input, has_signals] = fds.map(|fd| !fd.revents().is_empty());
        if has_input {
            self.read()?;
            return Ok(self.lines.pop_front().map_or_else(
                || if self.has_ended { Woken::End } else { Woken::Time },
                Woken::Line,
            ));
        }
        if has_signals {
            self.forget_signals();
            return Ok(Woken::ChildEnded);
        }
        Ok(Woken::Time)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 4096];
        // The standard library's input would keep what is more than this in a buffer of its own,
        // where poll doesn't see it.
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(0) => self.has_ended = true,
            Ok(read) => self.part.extend_from_slice(&buffer[..read]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(end) = self.part.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.part.drain(..=end).collect();
            self.lines.push_back(String::from_utf8_lossy(&line).trim_end().to_string());
        }
        if self.part.len() > LONGEST_LINE {
            // Whoever writes this is not us.
            self.has_ended = true;
        }
        Ok(())
    }

    /// Signals of one kind coalesce, so all that are there mean "look at your children".
    fn forget_signals(&self) {
        let mut buffer = [0_u8; 1024];
        // The descriptor does not block.
        while rustix::io::read(&self.children, &mut buffer).is_ok_and(|read| read > 0) {}
    }
}
