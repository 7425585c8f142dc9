//! Why a server did not become ready, or ended; and what to do about it.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::load_record::CertificateFault;
use super::stated::Stated;

/// Why a trial could not be completed; a measurement all the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialFailure {
    /// The server never became ready.
    Boot(BootFailure),
    /// The server ended while it was under load: the process's own last lines.
    Died { status: Stated<ServerEnd>, last_lines: Vec<String> },
}

/// What kept a server from becoming ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootFailure {
    pub kind: BootFailureKind,
    /// What happened, lower case, no full stop.
    pub message: Stated<BootCause>,
    /// What to do about it.
    pub advice: Stated<BootAdvice>,
    /// The server's own last lines, oldest first, at most 20.
    pub last_lines: Vec<String>,
}

/// Causes we recognise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BootFailureKind {
    /// The process ended before it was ready.
    Exited,
    /// `SECRET_KEY_BASE` is missing.
    SecretKeyBase,
    /// The database cannot be reached or does not exist.
    Database,
    /// The database takes fewer connections at once than the setting needs.
    TooManyConnections,
    /// Migrations are pending.
    PendingMigration,
    /// A variable that the app reads is not set.
    VariableMissing,
    /// What its pages include is not compiled.
    AssetsMissing,
    /// The server program is not installed.
    NotInstalled,
    /// Something else listens on the port.
    PortTaken,
    /// It listens elsewhere than where it was told to.
    OtherPort,
    /// Its server killed a worker that took longer to boot than the server's own setting allows.
    WorkerTimeout,
    /// It never answered within the time given.
    NeverReady,
    /// 301 or 302 to https (`force_ssl`).
    ForcedSsl,
    /// A redirect elsewhere, such as to a login.
    Redirected,
    /// 401: credentials are needed.
    Unauthorized,
    /// 403: often Rails' `config.hosts`.
    Forbidden,
    /// 404: the target does not exist.
    NotFound,
    /// 429: the app limits the rate.
    RateLimited,
    /// 5xx.
    ServerError,
    /// Any other reply that is not 2xx.
    NotSuccess,
}

/// Why there is no server to put a load on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum BootCause {
    /// It did not become ready.
    NotReady {
        /// What its log shows to be the cause; null: nothing that is known.
        seen: Option<BootFailureKind>,
        end: BootEnd,
        /// The setting whose threads may need a database connection each; null: connections are
        /// not what it lacked.
        connections_for: Option<Configuration>,
    },
    /// A part of the change could not be had, and the server runs without it.
    RunsUnchanged { line: String },
    /// It runs, and its database refused connections under load.
    ConnectionsRefused { setting: Configuration },
    /// A simulated server needs more memory than its machine has.
    KilledForMemory { setting: Configuration, needed_bytes: u64, limit_bytes: u64 },
}

/// How waiting for a server ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum BootEnd {
    /// The operating system could not run it.
    NotRun {
        error: String,
    },
    LogUnreadable {
        error: String,
    },
    /// Its first process lives, and no worker does.
    WorkersEndAtOnce,
    /// Too few of its processes had booted in time.
    TooFewBooted {
        booted: u64,
        of: u64,
        patience_s: f64,
    },
    /// An init container of its pod had not ended in time.
    InitContainerRuns {
        container: String,
        patience_s: f64,
    },
    /// Its pod may not run as root, and its image would: as the user of this name, which may be
    /// root's, as only numbers are looked at; null where it is root itself.
    UserRefused {
        user: Option<String>,
    },
    /// It ended before it was ready.
    EndedEarly {
        how: ServerEnd,
    },
    /// The user's command that gives an app elsewhere its setting failed; `how` is null where it
    /// did not end in time.
    NotApplied {
        how: Option<ProcessEnd>,
    },
    /// The user's command that says when it runs with it has not succeeded in time; `how` it ended
    /// last.
    NotSaidReady {
        how: Option<ProcessEnd>,
    },
    /// A target's reply is not HTTP.
    NotHttp {
        target: String,
    },
    /// A target was not asked, as the server's certificate was not accepted; `fault` is null where
    /// that is for another reason.
    CertificateRefused {
        target: String,
        fault: Option<CertificateFault>,
    },
    /// A target was not answered in time, counted from the start.
    NotAnswered {
        target: String,
        patience_s: f64,
    },
    /// A target's reply is not 2xx; `leads_to`: without its query, where it redirects.
    NotGood {
        target: String,
        status: u16,
        leads_to: Option<String>,
    },
}

/// How a server ended that had been ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ServerEnd {
    /// Its only process ended.
    ProcessEnded { how: ProcessEnd },
    /// One of the processes that it was started as, counted from 1.
    PartEnded { process: u64, of: u64, how: ProcessEnd },
    /// The nginx in front of it.
    ProxyEnded { how: ProcessEnd },
    /// This many of its processes were killed because memory ran out.
    ProcessesKilled { killed: u64 },
    /// Workers ended, and nothing replaced them.
    WorkersLost { left: u64, expected: u64 },
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    ExitStatus(i32),
    Signal(i32),
    /// As the operating system says it.
    Other(String),
}

impl From<ExitStatus> for ProcessEnd {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::ExitStatus(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Other(status.to_string()),
        }
    }
}

impl ProcessEnd {
    /// Of a command: it did what it was to do.
    pub fn is_success(&self) -> bool {
        *self == Self::ExitStatus(0)
    }

    /// What the signal is called, of those that end servers.
    pub fn signal_name(&self) -> Option<&'static str> {
        let Self::Signal(signal) = self else { return None };
        Some(match signal {
            1 => "SIGHUP",
            2 => "SIGINT",
            4 => "SIGILL",
            6 => "SIGABRT",
            7 => "SIGBUS",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            15 => "SIGTERM",
            _ => return None,
        })
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExitStatus(status) => write!(f, "exit status {status}"),
            Self::Signal(signal) => match self.signal_name() {
                Some(name) => write!(f, "ended by signal {signal} ({name})"),
                None => write!(f, "ended by signal {signal}"),
            },
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A setting as a framework spells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameworkSetting {
    pub framework: String,
    pub setting: String,
}

impl FrameworkSetting {
    pub fn new(framework: &str, setting: &str) -> Self {
        Self { framework: framework.to_string(), setting: setting.to_string() }
    }
}

/// The way out of a failed start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BootAdvice {
    Start(StartAdvice),
    Reply(ReplyAdvice),
}

family!(BootAdvice: Start(StartAdvice), Reply(ReplyAdvice));

/// What has a server come up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum StartAdvice {
    /// The app's own last lines name what is to be mended.
    MendApp,
    /// A service's own last lines name it.
    MendService,
    /// Name the variable that the app follows for this many of each: `threads`, `workers`.
    NameVariable {
        place: String,
    },
    /// Say by its number whom the pods of an image run as.
    NumberUser,
    /// Any long text will do for the measurement: this command makes one.
    SetSecret {
        command: String,
    },
    StartDatabase,
    /// Start it, name it with this variable, and create its tables with this command.
    StartNamedDatabase {
        variable: String,
        create: String,
    },
    /// Raise the database's limit of connections, or leave out settings that need more.
    RaiseConnectionLimit,
    RunMigrations,
    /// Create the tables with a command, and fill them with another.
    CreateTables {
        create: String,
        fill: String,
    },
    /// Create the tables with what the framework has for it.
    CreateTablesOfFramework {
        command: FrameworkSetting,
    },
    /// Install the app's gems, the server's among them.
    InstallGems {
        gem: String,
    },
    /// Run any of these commands.
    InstallServer {
        commands: Vec<String>,
    },
    InstallPackageWith {
        program: String,
    },
    /// Install what the server's line names, or write its whole path.
    InstallNamed,
    /// Give the app the variable that its last lines name.
    SetVariable,
    /// Compile what its pages include with this command.
    CompileAssets {
        command: String,
    },
    /// Have the user's command stay in the foreground.
    RunInForeground,
    /// End what listens there, or let the port be chosen.
    FreePort,
    /// Something listens on this port, which the app takes beside that of its server.
    FreeOwnPort {
        port: u16,
    },
    ListenOnPortVariable,
    /// Raise the setting by which the server kills a worker that takes longer.
    RaiseWorkerTimeout {
        setting: String,
    },
    /// See what the app waits for, or why the page takes so long.
    SeeWhatItWaitsFor,
    /// Have the server show a certificate that is accepted, or accept the one that it shows.
    MendCertificate {
        fault: CertificateFault,
    },
}

/// What has a page answer 2xx.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ReplyAdvice {
    /// Mend the error, which the app's last lines should name.
    MendError,
    /// Send the header that a proxy sends for https.
    SendHttpsHeader,
    /// Send it, or switch off what leads there.
    SendHttpsHeaderOrSwitchOff {
        off: FrameworkSetting,
    },
    /// Send it with a setting that has it trusted, or without the setting that leads there.
    SendTrustedHttpsHeader {
        framework: String,
        trust: String,
        lead: String,
    },
    /// Name a page that answers by itself, or send a visitor's cookie.
    AvoidRedirect,
    SendCredentials,
    /// Name a host that the app lets in; where the framework has them.
    NameAllowedHost {
        hosts: Option<FrameworkSetting>,
    },
    /// Name a page that exists; the command that lists them.
    NameExistingPage {
        list: Option<String>,
    },
    NameGoodPage,
    /// Name another page that says that the app is there: what was asked is no target.
    NameReadyPage,
    /// Switch the app's rate limit off, which may be one of these, or except this machine.
    LiftRateLimit {
        limits: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_process_ended_is_named_with_its_signal() {
        for (end, expected) in [
            (ProcessEnd::ExitStatus(7), "exit status 7"),
            (ProcessEnd::Signal(9), "ended by signal 9 (SIGKILL)"),
            (ProcessEnd::Signal(40), "ended by signal 40"),
            (ProcessEnd::Other("stopped".into()), "stopped"),
        ] {
            assert_eq!(end.to_string(), expected);
        }
        assert!(ProcessEnd::ExitStatus(0).is_success());
        assert!(!ProcessEnd::Signal(0).is_success() && !ProcessEnd::ExitStatus(1).is_success());
    }
}
