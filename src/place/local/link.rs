//! Our end of the guardian: orders go out, replies come in, and should it die before us, we do its
//! work.
//!
//! In: orders. Out: replies. Must not know what an app server is.

use crate::terms::{ProcessEnd, Task};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cgroup::{Group, Limits};
use super::error::{environment, guardian_gone};
use super::orders::{Order, Reply};
use super::processes;
use crate::place::PlaceError;
use crate::server::RunAs;

/// The guardian answers at once, except when it kills.
const ANSWER: Duration = Duration::from_secs(15);

/// Replies that nobody has read yet; the guardian says at most two an order.
const UNREAD: usize = 64;

/// A guardian at work. Dropping it ends the guardian and all that is below it.
pub struct Link {
    child: Child,
    orders: Option<ChildStdin>,
    replies: Receiver<Reply>,
    reader: Option<JoinHandle<()>>,
    /// Our own folder; the guardian removes it.
    pub scratch: PathBuf,
    pub group: Group,
    /// `NAME=value` in the environment of all that the guardian starts.
    mark: String,
    /// What it answers for, and who waits for its end.
    record: Option<(PathBuf, Child)>,
}

impl Link {
    /// Starts `program __guardian` and lets it make a scratch folder and a control group.
    ///
    /// # Errors
    /// It cannot be started, or has no place for its folder.
    pub fn begin(
        program: &Path,
        scratch_in: &[PathBuf],
        limits: Limits,
        run_as: Option<RunAs>,
    ) -> io::Result<Self> {
        // Should the guardian be killed, what was below it falls to us.
        processes::adopt_orphans()?;
        let mut command = guardian(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take();
        let (sender, replies) = sync_channel(UNREAD);
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let reader = std::thread::Builder::new()
            .name("guardian".into())
            .spawn(move || read_replies(BufReader::new(stdout), &sender))?;
        let mut link = Self {
            child,
            orders,
            replies,
            reader: Some(reader),
            scratch: PathBuf::new(),
            group: Group::default(),
            mark: String::new(),
            record: None,
        };
        link.order(&Order::Begin { scratch_in: scratch_in.to_vec(), limits, run_as })?;
        match link.next_reply(ANSWER) {
            Ok(Reply::Begun { scratch, group, mark, record }) => {
                (link.scratch, link.group, link.mark) = (scratch, group, mark);
                let awaiting =
                    |path: PathBuf| Some((path.clone(), await_end(program, &path).ok()?));
                link.record = record.and_then(awaiting);
                Ok(link)
            }
            Ok(Reply::Refused { message }) => Err(io::Error::other(message)),
            other => Err(io::Error::other(format!("the guardian did not begin: {other:?}"))),
        }
    }

    /// The guardian, which adopts what makes itself independent: all below it was started for the
    /// server.
    pub fn guardian(&self) -> u32 {
        self.child.id()
    }

    /// Tells the guardian what to do.
    ///
    /// # Errors
    /// It has ended.
    pub fn order(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_string(order)?;
        line.push('\n');
        let pipe = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(line.as_bytes())
    }

    /// One order and its reply. How a process ended may come in between, and is given to `ended`:
    /// an error there is what becomes of the order.
    ///
    /// # Errors
    /// The guardian has ended, or does not answer.
    pub fn ask(
        &mut self,
        order: &Order,
        ended: &mut dyn FnMut(u32, &ProcessEnd) -> Result<(), PlaceError>,
    ) -> Result<Reply, PlaceError> {
        self.order(order).map_err(|error| environment(Task::OrderGuardian, error))?;
        let deadline = Instant::now() + ANSWER;
        loop {
            match self.next_reply(deadline.saturating_duration_since(Instant::now())) {
                Ok(Reply::Exited { pid, status }) => ended(pid, &status)?,
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) => {
                    let late = io::ErrorKind::TimedOut.into();
                    return Err(environment(Task::AwaitGuardian, late));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(guardian_gone()),
            }
        }
    }

    /// The next reply, waiting for it at most for `wait`.
    ///
    /// # Errors
    /// There is none yet, or the guardian has ended.
    pub fn next_reply(&self, wait: Duration) -> Result<Reply, RecvTimeoutError> {
        self.replies.recv_timeout(wait)
    }

    /// How processes have ended of which nobody has heard yet, in this order. Waits for none.
    ///
    /// # Errors
    /// The guardian has ended.
    pub fn ended(&self) -> Result<Vec<(u32, ProcessEnd)>, PlaceError> {
        ended(&self.replies)
    }

    /// Ends the guardian, which ends all that is below it; whatever escaped its end is ended here.
    fn finish(&mut self) {
        self.orders = None;
        let deadline = Instant::now() + ANSWER;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                // It hangs in the kernel at worst; then what is below it dies with it or falls to
                // us.
                let _ = self.child.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // The status says nothing that the processes left don't say better.
        let _ = self.child.wait();
        self.end_orphans();
        if let Some(reader) = self.reader.take() {
            // It ends when the guardian does, and carries nothing; its panic would have been shown.
            let _ = reader.join();
        }
        // The guardian has done both, unless it was killed.
        let _ = self.group.remove();
        if !self.scratch.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.scratch);
        }
        if let Some((path, mut awaiting)) = self.record.take() {
            // Nothing is left to be ended after us.
            let _ = std::fs::remove_file(path);
            let _ = awaiting.kill();
            let _ = awaiting.wait();
        }
    }

    /// Ends what a guardian that was killed left to us.
    fn end_orphans(&self) {
        let guardian = self.guardian();
        let deadline = Instant::now() + ANSWER;
        loop {
            let orphans = processes::children_of(std::process::id(), guardian, &self.mark);
            if orphans.is_empty() || Instant::now() >= deadline {
                return;
            }
            self.group.kill();
            for orphan in orphans {
                for process in processes::descendants(orphan) {
                    // It may have ended meanwhile; the loop looks again.
                    let _ = process.signal(libc::SIGKILL);
                }
                let _ = processes::signal(orphan, libc::SIGKILL);
                processes::reap(Some(orphan));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// The command that becomes a guardian, in a session of its own from its first moment, so that the
/// terminal's Ctrl-C never gets there.
fn guardian(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg0("sweetspot").arg("__guardian");
    // SAFETY: between fork and exec only setsid is called, which takes nothing.
    unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
    command
}

/// Starts who ends what is left should both of us be killed.
fn await_end(program: &Path, record: &Path) -> io::Result<Child> {
    let mut command = guardian(program);
    command.arg("--after").arg(record).arg("--parent").arg(std::process::id().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Drop for Link {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The ends among all that was said by now.
fn ended(replies: &Receiver<Reply>) -> Result<Vec<(u32, ProcessEnd)>, PlaceError> {
    let mut all = Vec::new();
    loop {
        match replies.try_recv() {
            Ok(Reply::Exited { pid, status }) => all.push((pid, status)),
            Ok(_) => {}
            Err(TryRecvError::Empty) => return Ok(all),
            Err(TryRecvError::Disconnected) => return Err(guardian_gone()),
        }
    }
}

fn read_replies(stdout: impl BufRead, sender: &SyncSender<Reply>) {
    for line in stdout.lines().map_while(Result::ok) {
        let reply = serde_json::from_str(&line)
            .unwrap_or_else(|error| Reply::Refused { message: format!("{error}: {line}") });
        // Without a receiver the guardian is being ended.
        if sender.send(reply).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ends_that_were_told_are_heard_of_and_that_of_the_guardian_is_an_error() {
        let (sender, replies) = sync_channel(UNREAD);
        assert!(ended(&replies).unwrap().is_empty());
        let exited = |pid: u32| Reply::Exited { pid, status: ProcessEnd::ExitStatus(1) };
        for reply in [exited(7), Reply::Refused { message: "no".into() }, exited(8)] {
            sender.send(reply).unwrap();
        }
        let pids: Vec<u32> = ended(&replies).unwrap().into_iter().map(|(pid, _)| pid).collect();
        assert_eq!(pids, [7, 8]);
        drop(sender);
        ended(&replies).unwrap_err();
    }
}
