//! Where a trial runs: a folder each. `local/` starts processes here, `simulated/` is a queueing
//! simulation with a known answer and virtual time; `kubernetes/` changes a Deployment where it
//! runs, and has pods that generate a load; `remote/` changes an app that runs anywhere by commands
//! of the user's, or by ours for a service of AWS (`ecs/`). What an app used where no process of
//! ours may watch it is read by a shell there (`usage/`, `watching.rs`), or by what its platform
//! recorded (`minutes.rs`).
//!
//! In: configurations and offered loads. Out: what was seen. Must not decide anything about the
//! search or judge a result.

#[expect(clippy::disallowed_methods, reason = "waits for processes")]
mod child;
#[expect(clippy::disallowed_methods, reason = "runs AWS's command, and waits for what it does")]
pub mod ecs;
#[expect(clippy::disallowed_methods, reason = "asks a cluster, and waits for its pods")]
pub mod kubernetes;
#[expect(clippy::disallowed_methods, reason = "starts processes here, and waits for them")]
pub mod local;
mod minutes;
#[expect(clippy::disallowed_methods, reason = "makes files, for what is to be put back")]
mod private;
#[expect(clippy::disallowed_methods, reason = "runs commands, and waits for what they do")]
pub mod remote;
pub mod simulated;
mod usage;
#[expect(clippy::disallowed_methods, reason = "reads what a shell prints, in a thread of its own")]
mod watching;

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::load::LoadError;
use crate::server::Inspection;
use crate::terms::{
    BootAdvice, BootFailure, BootFailureKind, Configuration, ConnectionMode, LiveSecond,
    LoadRecord, Machine, MonitorRecord, Offered, SessionError, Task, TrialFailure, Variant,
    Warning,
};

/// One load to offer to the server that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    pub offered: Offered,
    /// Whole seconds, left out of the result.
    pub warm_up: Duration,
    /// Measured part.
    pub duration: Duration,
    pub seed: u64,
    /// `None`: as the place was set up.
    pub connection: Option<ConnectionMode>,
    /// How many of the pods that run are taken away before, until the next start; 0 but where
    /// several were started.
    pub pods_away: u16,
}

/// How a start ended. A server that doesn't come up is a measurement, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Started {
    /// Every worker has booted and the target answers 2xx.
    Ready {
        boot: Duration,
    },
    Failed(BootFailure),
}

/// What one offer showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub load: LoadRecord,
    pub monitor: MonitorRecord,
    /// The server ended before the load did.
    pub failure: Option<TrialFailure>,
}

/// We could not measure; whose it is is in the variant. `report` has the words.
#[derive(Debug)]
pub enum PlaceError {
    Load(LoadError),
    /// The operating system refused something of ours.
    Environment {
        what: Task,
        source: std::io::Error,
    },
    /// The app's own settings could not be read; the server's last lines say why.
    Inspection(Box<Unusable>),
    /// Something that the app needs, such as its database, does not run.
    Service(Box<Unusable>),
    /// What runs elsewhere did not do what was asked of it; in words.
    Elsewhere(String),
    /// The user asked to end while something was being started or stopped.
    Stopped,
}

/// For benches; what people read has `report`'s words.
impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for PlaceError {}

impl From<LoadError> for PlaceError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Something that a server needs, and what keeps it from being used.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusable {
    pub kind: BootFailureKind,
    pub why: SessionError,
    pub advice: BootAdvice,
    /// Its own, oldest first.
    pub last_lines: Vec<String>,
}

/// Somewhere trials can run. At most one server runs at a time.
pub trait Place: Send {
    /// What the server runs on.
    fn machine(&self) -> &Machine;

    /// Time since this place was made, by its own clock: virtual in a simulation, and without the
    /// time in which it waited for what a platform recorded. Budgets count it.
    fn elapsed(&self) -> Duration;

    /// Other places have worked until this time: a clock that does not run by itself is set to it.
    fn catch_up(&mut self, _until: Duration) {}

    /// What holds here that the user should know: limits that are not enforced, a shared core.
    fn warnings(&self) -> Vec<Warning>;

    /// What else the user should know by now, of what has been started here: asked after each
    /// trial.
    fn noticed(&self) -> Vec<Warning> {
        Vec::new()
    }

    /// The app's own settings, without starting it.
    ///
    /// # Errors
    /// The app's settings cannot be read.
    fn inspect(&mut self) -> Result<Inspection, PlaceError>;

    /// Starts the server afresh with this configuration, and waits until it is ready. Whatever ran
    /// before is stopped first.
    ///
    /// # Errors
    /// Only what is not the server's doing.
    fn start(&mut self, configuration: Configuration) -> Result<Started, PlaceError> {
        self.start_variant(configuration, Variant::AS_IT_IS)
    }

    /// Starts a configuration of the app with changes, out of the list that this place was given.
    ///
    /// # Errors
    /// Only what is not the server's doing.
    fn start_variant(
        &mut self,
        configuration: Configuration,
        variant: Variant,
    ) -> Result<Started, PlaceError>;

    /// Offers a load to the running server. `watch` is called once a second and may end it.
    ///
    /// # Errors
    /// Only what is not the server's doing. Calling it with no server running is a bug.
    fn offer(
        &mut self,
        offer: &Offer,
        watch: &mut dyn FnMut(&LiveSecond) -> ControlFlow<()>,
    ) -> Result<Observed, PlaceError>;

    /// Stops the server, gracefully and then for certain. Does nothing when none runs.
    ///
    /// # Errors
    /// A process could not be ended.
    fn stop(&mut self) -> Result<(), PlaceError>;
}
