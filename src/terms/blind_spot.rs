//! What could not be watched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a monitor could not see, so that its figures are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum BlindSpot {
    /// The thread that watches could not run.
    NothingWatched,
    /// The user's command gave no shell to look by; what it printed last.
    NoShell { said: String },
    /// The user named no shell to look by. `has_platform`: it is asked what its platform recorded,
    /// which has no whole minute of this load.
    NoShellGiven { has_platform: bool },
    /// What it used is what its platform recorded of all of it in the whole minutes within the
    /// load: single workers are not seen.
    OnlyWholeMinutes,
    /// `/proc/stat` cannot be read.
    CoresUnknown,
    /// The kernel keeps no scheduler statistics, which say how long processes waited for a core.
    CoreWaitsUnknown,
    /// It is looked at from inside its container, which does not show that.
    CoreWaitsOutside,
    /// The control group does not exist.
    GroupMissing { folder: String },
    /// `/proc` is mounted so that it shows the process to its user and root alone.
    ProcessHidden { pid: u32 },
    /// It ended before the first look.
    ProcessGone { pid: u32 },
    /// Not in every second; of a socket without a port where that is missing.
    ListenQueueUnseen { port: Option<u16> },
    /// The kernel refuses to tell the memory of this process.
    MemoryRefused { pid: u32 },
    /// The probe's socket could not be made; `error` is the system's.
    ProbeUnheard { error: String },
    /// Nothing came from inside the server.
    ProbeSilent,
    /// The runtime does not tell how long it collects garbage.
    CollectionUnknown,
    /// The runtime does not tell how long threads wait for its lock.
    LockWaitUnknown,
    /// A probe of another version spoke, and was not listened to.
    ProbeOfOtherVersion,
    /// Something came through the probe's socket that no probe sends.
    ProbeNotUnderstood,
    /// Requests whose time stamp of before makes no sense, such as that of a clock that is ahead.
    StampsOdd { requests: u64 },
}
