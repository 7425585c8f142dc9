//! Another number of workers for the server that runs, without a fresh start: a worker at a time,
//! each waited for.
//!
//! In: the configuration to come to. Out: how that ended. Sends signals to the server's first
//! process; must not decide whether a resized server is as good as a fresh one.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::Local;
use super::boot::{self, LOOK};
use super::error::{environment, guardian_gone};
use super::log::{self, LineCounter};
use super::orders::{Order, Reply};
use crate::place::PlaceError;
use crate::server::{NotResizable, Resize};
use crate::terms::{BootEnd, BootFailure, BootFailureKind, Configuration, Task, Workers};

/// How resizing ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Resized {
    /// The server runs the new configuration. Its variables still say the one it was started with.
    Done { took: Duration },
    /// Nothing was changed.
    NotPossible(NotResizable),
    /// A worker did not come up or did not go; the server has been stopped.
    Failed(BootFailure),
}

/// One worker more or less.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    More,
    Fewer,
}

impl Local {
    /// Changes the number of workers of the running server, which goes on serving meanwhile.
    ///
    /// # Errors
    /// Only what is not the server's doing. Calling it with no server running is a bug.
    pub fn resize(&mut self, to: Configuration) -> Result<Resized, PlaceError> {
        let from = self.configuration();
        if from.threads != to.threads {
            return Ok(Resized::NotPossible(NotResizable::OtherThreads));
        }
        let resize = match self.settings.adapter.resize(from, to) {
            Ok(resize) => resize,
            Err(why) => return Ok(Resized::NotPossible(why)),
        };
        let began = Instant::now();
        while self.configuration() != to {
            let (now, wanted) = (self.configuration().workers.get(), to.workers.get());
            let (step, next) =
                if now < wanted { (Step::More, now + 1) } else { (Step::Fewer, now - 1) };
            let next = Workers::new(next).expect("it lies between two numbers of workers");
            match self.step(&resize, step, next) {
                Ok(None) => {}
                Ok(Some(failure)) => {
                    self.end_now()?;
                    let attempted = Configuration { workers: next, ..to };
                    let failure = boot::with_connections_needed(failure, attempted);
                    return Ok(Resized::Failed(failure));
                }
                Err(error) => {
                    self.end_now()?;
                    return Err(error);
                }
            }
            let running = self.running.as_mut().expect("a step that worked leaves it running");
            running.configuration = Configuration { workers: next, ..to };
        }
        self.count_workers();
        Ok(Resized::Done { took: began.elapsed() })
    }

    fn configuration(&self) -> Configuration {
        self.running.as_ref().expect("a server that was started is resized").configuration
    }

    fn end_now(&mut self) -> Result<(), PlaceError> {
        use crate::place::Place;
        self.stop()
    }

    /// Sends the signal and waits until it has worked: signals of one kind that come together count
    /// as one. `Some`: it did not.
    fn step(
        &mut self,
        resize: &Resize,
        step: Step,
        workers: Workers,
    ) -> Result<Option<BootFailure>, PlaceError> {
        let Some(pid) = self.server_pid() else { return Ok(self.has_died()) };
        let log = self.running.as_ref().map(|running| running.log.clone()).unwrap_or_default();
        let lines = resize.failure_line.iter().chain([&resize.ready_line]).cloned().collect();
        let unread = |error| environment(Task::ReadServerLog, error);
        let mut counter = LineCounter::open_at_end(&log, lines).map_err(unread)?;
        let signal = if step == Step::More { resize.more } else { resize.fewer };
        self.link
            .order(&Order::Signal { pid, signal })
            .map_err(|error| environment(Task::OrderGuardian, error))?;
        let deadline = Instant::now() + self.settings.boot_patience;
        loop {
            let counts = counter.counts().map_err(unread)?.to_vec();
            let is_ready = step == Step::Fewer || counts.last().is_some_and(|ready| *ready > 0);
            if is_ready && self.workers().len() == usize::from(workers.get()) {
                return Ok(None);
            }
            if let Some(failed) = resize.failure_line.as_ref().filter(|_| step == Step::More)
                && counts[0] >= failed.count
            {
                let end = BootEnd::AddedWorkerEnds;
                return Ok(Some(self.not_resized(BootFailureKind::Exited, end)));
            }
            if Instant::now() >= deadline {
                let patience_s = self.settings.boot_patience.as_secs_f64();
                let end = match step {
                    Step::More => BootEnd::AddedWorkerLate { patience_s },
                    Step::Fewer => BootEnd::WorkerStays { patience_s },
                };
                return Ok(Some(self.not_resized(BootFailureKind::NeverReady, end)));
            }
            if self.stop.is_raised() {
                return Err(PlaceError::Stopped);
            }
            match self.link.next_reply(LOOK) {
                Ok(Reply::Exited { pid, status }) => self.note_end(pid, &status),
                Err(RecvTimeoutError::Disconnected) => return Err(guardian_gone()),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(failure) = self.has_died() {
                return Ok(Some(failure));
            }
        }
    }

    fn has_died(&self) -> Option<BootFailure> {
        let how = self.running.as_ref()?.processes.ended()?;
        Some(self.not_resized(BootFailureKind::Exited, BootEnd::EndedInChange { how }))
    }

    fn not_resized(&self, kind: BootFailureKind, end: BootEnd) -> BootFailure {
        let (adapter, app) = (self.settings.adapter, &self.settings.app);
        let lines = self.running.as_ref().map(|running| log::tail(&running.log));
        boot::failure(adapter, app, kind, end, &lines.unwrap_or_default())
    }
}
