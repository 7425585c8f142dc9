//! What is to be known of an app's own server settings before it is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;

/// What is kept of an app's settings and matters, or is measured otherwise than they say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Remark {
    Settings(SettingsRemark),
    Ruby(RubyRemark),
    Python(PythonRemark),
    Php(PhpRemark),
    Node(NodeRemark),
    Command(CommandRemark),
}

/// Of several servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SettingsRemark {
    /// The server's own addresses; it listens on a free port of loopback.
    AddressesNotOpened {
        addresses: Vec<String>,
    },
    /// nginx listens on a free port of loopback, and reaches each worker over a socket.
    AddressesNotOpenedBehindNginx {
        addresses: Vec<String>,
    },
    AddressNotOpened {
        address: String,
    },
    FilesNotWritten {
        files: Vec<String>,
    },
    /// What this file starts it with comes before its variables and its own file.
    FlagsComeFirst {
        file: String,
        flags: String,
    },
    /// Its certificate is not used; what TLS costs is not in the figures.
    WithoutTls,
    /// `setting` is null where the number of workers alone is meant. `measured`, the environment
    /// that it is measured in, is null in records from before it was noted.
    OtherEnvironment {
        environment: String,
        setting: Option<Configuration>,
        measured: Option<String>,
    },
}

/// Of Puma, Unicorn and Thin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RubyRemark {
    /// Puma runs as many threads as it may have at most.
    MaxThreadsFromStart {
        min: u16,
        max: u16,
    },
    SingleMode,
    OneWorkerInSingleMode,
    NotPreloadedToday,
    /// Something else runs inside the server, such as a job runner.
    PluginsRun {
        names: Vec<String>,
    },
    /// The settings load this plugin where a variable is set, which it is not here.
    PluginOff {
        plugin: String,
        variable: String,
    },
    /// Action Cable may serve these channels in the same processes; nobody is connected to them
    /// while it is measured.
    ChannelsWithoutClients {
        channels: u32,
    },
    UnicornWorkers {
        is_preloaded: bool,
        timeout_s: u32,
    },
    ThinWorkers {
        connections_max: u32,
        timeout_s: u32,
    },
    /// `file` is null where it has no name of its own.
    SettingsLeftOut {
        file: Option<String>,
        names: Vec<String>,
    },
    OtherRackup {
        file: Option<String>,
        rackup: String,
        measured: String,
    },
}

/// Of gunicorn and uvicorn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum PythonRemark {
    GunicornWorkers { is_preloaded: bool, timeout_s: u32 },
    ClassWithoutThreads { class: String },
    ClassKept { class: String },
    OneThreadIsSync,
    ReplacedWhileMeasuring { requests: u64 },
    DjangoDebugs,
    WithoutAccessLog,
    EndedWorkersStayAway { version: String },
}

/// Of PHP-FPM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum PhpRemark {
    /// The number of workers is that of the machine's own pool.
    WorkersOfMachine {
        files: Vec<String>,
    },
    WorkersNotKnown {
        assumed: u16,
    },
    NoPool {
        file: String,
        assumed: u16,
    },
    FirstPoolMeasured {
        file: String,
        pools: u64,
        pool: String,
    },
    /// Today workers come and go with the load.
    WorkersManaged {
        manager: String,
    },
    /// The number as the file has it.
    ReplacedAfterRequests {
        requests: String,
    },
    /// The time as the file has it.
    EndedAfter {
        limit: String,
    },
    OtherUser {
        user: String,
    },
    StaticBehindNginx,
}

/// Of Node.js.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum NodeRemark {
    OwnCluster,
    OwnClusterOfFixedSize,
    OneProcessToday,
    FixedPort,
}

/// Of the user's own command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum CommandRemark {
    WorkersAssumed {
        workers: u16,
        variable: String,
    },
    ReadyAtRest,
    /// Nobody said what an app elsewhere runs with: the least of what is tried stands for it.
    TodayUnknown {
        workers: u16,
        threads: u16,
    },
}

family! {
    Remark: Settings(SettingsRemark), Ruby(RubyRemark), Python(PythonRemark), Php(PhpRemark),
    Node(NodeRemark), Command(CommandRemark),
}
