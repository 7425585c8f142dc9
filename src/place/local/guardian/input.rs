//! What the guardian waits for: a line of orders, the end of its input, an ended child, or time.
//!
//! In: standard input and SIGCHLD. Out: one event at a time.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

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
        let look_at = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [look_at(libc::STDIN_FILENO), look_at(self.children.as_raw_fd())];
        let time = i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: `fds` holds two entries and outlives the call.
        let ready = unsafe { libc::poll(fds.as_mut_ptr(), 2, time) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            let is_interrupted = error.kind() == io::ErrorKind::Interrupted;
            return if is_interrupted { Ok(Woken::Time) } else { Err(error) };
        }
        if fds[0].revents != 0 {
            self.read()?;
            return Ok(self.lines.pop_front().map_or_else(
                || if self.has_ended { Woken::End } else { Woken::Time },
                Woken::Line,
            ));
        }
        if fds[1].revents != 0 {
            self.forget_signals();
            return Ok(Woken::ChildEnded);
        }
        Ok(Woken::Time)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 4096];
        // The standard library's input would keep what is more than this in a buffer of its own,
        // where poll doesn't see it.
        // SAFETY: the buffer outlives the call and is as long as said.
        let read =
            unsafe { libc::read(libc::STDIN_FILENO, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(read) {
            Ok(0) => self.has_ended = true,
            Ok(read) => self.part.extend_from_slice(&buffer[..read]),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
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
        // SAFETY: the buffer outlives the call; the descriptor does not block.
        while unsafe {
            libc::read(self.children.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len())
        } > 0
        {}
    }
}
