//! Why a session could not go on, other than by what the server does under load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failure::{BootAdvice, BootCause, ProcessEnd};
use super::stated::Stated;

/// Why a session, or an experiment, could not go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SessionError {
    /// The app does not start with its own settings, so there is nothing to compare with.
    AppDoesNotStart {
        cause: Stated<BootCause>,
        advice: Stated<BootAdvice>,
    },
    /// Something of ours could not be done; `why` as the operating system says it.
    CouldNot {
        what: Stated<Task>,
        why: String,
    },
    /// A command of ours failed.
    CommandFailed {
        what: Task,
        how: ProcessEnd,
    },
    CommandLate {
        what: Task,
        patience_s: f64,
    },
    /// `why` as the operating system says it.
    NoLoadGenerator {
        part: GeneratorPart,
        why: String,
    },
    SettingsNotRead {
        why: SettingsError,
    },
    /// A service that the app needs did not come up.
    ServiceLate {
        name: String,
        patience_s: f64,
    },
    ServiceEnded {
        name: String,
        how: ProcessEnd,
    },
    /// By the user.
    Interrupted,
}

/// What is done around trials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Task {
    OpenAppFolder {
        folder: String,
    },
    FindCores,
    FindFreePort,
    RemoveFile {
        path: String,
    },
    WriteFile {
        path: String,
    },
    WriteReport,
    /// With a folder of its own in one of these.
    StartGuardian {
        folders: Vec<String>,
    },
    OrderGuardian,
    AwaitGuardian,
    /// Somebody has killed it.
    ReachGuardian,
    StartServer,
    /// For a command of the user's.
    StartShell,
    EndServer,
    EndServerProcesses {
        pids: Vec<u32>,
    },
    FreeServerAddress {
        address: String,
    },
    MakeServiceFolder,
    StartService {
        name: String,
    },
    MakeDatabaseTables,
    RunSetup {
        command: String,
    },
    /// Into a folder of ours.
    CheckOut {
        commit: String,
    },
}

/// A part that the load generator cannot be without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorPart {
    Thread,
    Loop,
    /// The limit on open files leaves none.
    Connections,
}

/// Why an app's own server settings could not be read or run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingsError {
    NothingPrinted,
    VersionNotPrinted,
    NotReadInTime {
        patience_s: f64,
    },
    /// As the server, the operating system or the reader of JSON says it, and the app's own line.
    Failed {
        error: String,
        at: Option<String>,
    },
    /// `error` as the server's language says it.
    NotInstalled {
        server: String,
        error: String,
    },
    NoWorkers,
    NoThreads,
    /// A setting that is no number of workers.
    NoNumberOfWorkers {
        setting: String,
        value: String,
    },
}
