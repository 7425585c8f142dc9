//! What goes with a setting besides the lines to paste: where these go, what stands in their way,
//! and what else to do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use super::units::{Bytes, Cores};

/// Where lines of settings go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SettingsPlace {
    OnCommandLine,
    /// The server's own file, relative to the app's folder.
    InFile {
        path: String,
    },
    /// A new file beside the app's own.
    InNewFile,
    InNginxConfiguration,
    /// On the object that makes the pods.
    InCluster,
    /// The lines are the user's own command, filled in.
    ByCommand,
    /// In the task definition of a service of AWS ECS, for the app's container.
    InTaskDefinition,
}

/// What to know or do besides setting what was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Advice {
    Setting(SettingAdvice),
    Database(DatabaseAdvice),
    Running(RunningAdvice),
    Host(HostAdvice),
}

family! {
    Advice: Setting(SettingAdvice), Database(DatabaseAdvice), Running(RunningAdvice),
    Host(HostAdvice),
}

/// Which of a configuration's two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    Workers,
    Threads,
    WorkersAndThreads,
}

/// What stands in the way of a setting, and how it takes effect all the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SettingAdvice {
    /// Puma's file asks for more threads than this, whatever the variables say.
    FileAsksForThreads { file: String, least_threads: u16 },
    /// Puma's file holds numbers that no variable changes.
    FixedInPumaFile { file: String, counts: Counts },
    /// Thin's file holds numbers that no variable changes.
    FixedInThinFile { file: String },
    /// Unicorn's file holds a number that no variable changes.
    FixedInUnicornFile { file: String },
    /// Unicorn is told the number in a file alone, and there is none.
    UnicornNeedsFile { file: String },
    /// Thin is told the numbers on its command line or in a file, and there is none.
    ThinNeedsFile { file: String },
    /// gunicorn's file follows no variable for these.
    FixedInGunicornFile { file: String, counts: Counts },
    /// gunicorn follows no variable for these, and there is no file.
    GunicornNeedsFile { file: String, counts: Counts },
    /// gunicorn's command line comes before the variable.
    GunicornCommandLineFirst,
    /// uvicorn's command line comes before the variable.
    UvicornCommandLineFirst,
    /// The app on Node makes no workers that follow the usual variable.
    MakesNoWorkers { entry: String, workers: u16 },
    /// The lines take the place of those of PHP-FPM's pool, and are loaded so.
    ReplacesPoolLines { php_version: String },
    /// The command's `{port}` or `{socket}` is that of production.
    PlaceStays { place: String },
    /// Variables of the user's with places in them, whose values are not shown; no `threads` where
    /// there are none to choose.
    SetAsGiven { variables: Vec<String>, workers: u16, threads: Option<u16> },
}

/// Where the size of a pool of database connections is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolSetting {
    /// Rails' `config/database.yml`; it follows the variable, if there is one.
    DatabaseYml { variable: Option<String> },
    /// In Ruby code: the usual libraries have a setting for it.
    RubyCode,
    /// In code that opens the database.
    Code,
    /// By the usual libraries of Python.
    PythonLibrary,
    /// Nothing is known of the app.
    Unknown,
}

/// How many database connections a configuration takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum DatabaseAdvice {
    /// Each thread of a worker needs one of its pool.
    PoolPerWorker { configuration: Configuration, pool: PoolSetting },
    /// Each worker of Python's has a pool of its own.
    PythonPoolPerWorker { workers: u16 },
    /// Each worker of Node's has a pool, and memory, of its own.
    NodePoolPerWorker { workers: u16 },
    /// Each worker of Unicorn's needs one.
    ConnectionPerWorker { workers: u16, has_database_yml: bool },
    /// Each worker of PHP-FPM's holds one while it answers.
    PhpConnectionPerWorker { workers: u16 },
    /// Each request under way needs one.
    ConnectionPerRequest { workers: u16 },
}

/// What a server is asked, or not, whether it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthCheck {
    /// Whether the port accepts connections.
    OpenPort,
    /// That, or Puma's control socket.
    OpenPortOrPumaControl,
    /// PHP-FPM's status page, on an address of its own.
    PhpFpmStatus,
}

/// How the form that is computed from a machine's cores counts these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoreCount {
    Ruby,
    /// Where Ruby's `Concurrent` is a way out.
    RubyWithConcurrent,
    Python,
    Node,
}

/// What to heed while the server runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RunningAdvice {
    /// Health checks that wait in the app's queue fail when it is busy.
    CheckHealthBy { check: HealthCheck },
    /// The computed form sees cores, and not a container's quota.
    CoreCountIgnoresQuota { count: CoreCount },
    /// Some work in Node waits for a pool of four threads.
    NodePoolOfFour,
    /// Memory for every worker at its limit.
    PhpMemoryLimit { workers: u16 },
    /// Where requests wait when PHP-FPM is busy.
    PhpListenQueue,
    /// A slow client holds a whole worker.
    SlowClientsHoldWorkers,
    /// Each worker of Thin's has an address, which the proxy has to know.
    ThinBalancer { workers: u16 },
    /// Thin does not replace a process that ended.
    ThinDoesNotRestart,
}

/// What a host is told that runs the app without a server of the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum HostAdvice {
    /// Requests in flight from which a machine more is started, and above which it gets none.
    OnFly { soft_limit: u32, hard_limit: u32 },
    /// Requests in flight that an instance gets at most, and what it was measured with.
    OnCloudRun { concurrency: u32, cores: Cores, memory: Bytes },
    /// The setting's variables, and the smallest dyno that its memory fits; null: none does, or it
    /// is not known.
    OnHeroku { variables: BTreeMap<String, String>, dyno: Option<DynoType> },
}

/// Heroku's dynos by their memory (Heroku Dev Center, "Dyno types").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DynoType {
    #[serde(rename = "standard-1x")]
    Standard1x,
    #[serde(rename = "standard-2x")]
    Standard2x,
    #[serde(rename = "performance-m")]
    PerformanceM,
    #[serde(rename = "performance-l")]
    PerformanceL,
    #[serde(rename = "performance-l-ram")]
    PerformanceLRam,
    #[serde(rename = "performance-xl")]
    PerformanceXl,
    #[serde(rename = "performance-2xl")]
    Performance2xl,
}

impl DynoType {
    /// By memory, in GiB.
    const ALL: [(Self, f64); 7] = [
        (Self::Standard1x, 0.5),
        (Self::Standard2x, 1.0),
        (Self::PerformanceM, 2.5),
        (Self::PerformanceL, 14.0),
        (Self::PerformanceLRam, 30.0),
        (Self::PerformanceXl, 62.0),
        (Self::Performance2xl, 126.0),
    ];

    /// `None`: it is more than any has.
    pub fn smallest_for(used: Bytes) -> Option<Self> {
        let gib = used.0 as f64 / f64::from(1 << 30);
        Self::ALL.iter().find(|(_, has)| gib <= *has).map(|(dyno, _)| *dyno)
    }
}
