//! What a session was asked to do, value by value, each with where it came from. Holds no secret:
//! neither values of headers and variables, nor bodies, nor queries.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::framework::Framework;
use super::goals::PlannedGoal;
use super::knob::Change;
use super::load_record::Arrivals;
use super::objective::Objective;
use super::remark::Remark;
use super::slo::Slo;
use super::stated::Stated;
use super::target::{ConnectionMode, Target};
use super::units::{Bytes, Cores, Ratio, Threads, Workers};

/// One value of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    #[serde(flatten)]
    pub value: PlannedValue,
    pub source: PlanSource,
}

/// How long a server may be given to boot, at most. Many trials start it afresh: one that boots
/// longer leaves little of a day to measure in.
pub const BOOT_TIMEOUT_MOST: Duration = Duration::from_secs(1800);

/// What is planned; each kind stands in a plan once, but for knobs and remarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", content = "value", rename_all = "snake_case")]
pub enum PlannedValue {
    App {
        folder: String,
        framework: Framework,
        /// What the server runs of it, where the user named that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry: Option<String>,
    },
    /// The adapter's name; the program where the user gave a command, whose rest may be secret.
    Server {
        name: String,
        program: Option<String>,
    },
    /// A Deployment of a Kubernetes cluster; stands in a plan in place of app and server. The
    /// namespace is null where it is the one of the context that is used.
    Deployment {
        name: String,
        namespace: Option<String>,
    },
    /// An app that runs elsewhere and is changed by commands of the user's, which are not stored:
    /// where it answers. Stands in a plan in place of app and server.
    Remote {
        url: String,
        /// The commands are Kamal's.
        by_kamal: bool,
        /// Kamal's destination.
        destination: Option<String>,
        /// A command says when it is ready.
        is_asked_when_ready: bool,
        /// The service of AWS ECS that it is, as `CLUSTER/SERVICE`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        /// The host that sends the load, as `ssh://HOST`; without it this machine does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// Pods of a cluster that are made to be tuned, of this image, which answers at this port;
    /// stands in a plan in place of a Deployment.
    PodsOf {
        image: String,
        port: u16,
        namespace: Option<String>,
        /// Into how many pods the app is cut, each number a way to do it.
        #[serde(default = "one_pod")]
        cuts: Vec<u16>,
        /// Settings measured at the same time, each on a node of its own.
        #[serde(default = "one")]
        at_once: u16,
    },
    /// The file that says what else these pods are to be like, as it is found from the app's
    /// folder, and the container in it that runs the app, if one does. None stands in no plan.
    PodsLike {
        file: String,
        container: Option<String>,
    },
    /// Pods of the cluster that send the load together, and their image of sweetspot.
    Generators {
        pods: u16,
        image: String,
    },
    /// The name of what stands in front of the app server; none stands in no plan.
    Proxy(String),
    Workers(Vec<Workers>),
    /// Left out for servers whose workers have one thread each.
    Threads(Vec<Threads>),
    /// The values of one knob.
    Knob(Vec<Change>),
    Targets(Vec<PlannedTarget>),
    /// The names of headers that are sent.
    Headers(Vec<String>),
    /// What latency and errors are judged by; `has_own`: some targets have goals of their own.
    Slo {
        common: Option<PlannedGoal>,
        has_own: bool,
    },
    Objective(Objective),
    Cores(Allowance<Cores>),
    Memory(Allowance<Bytes>),
    Arrivals(Arrivals),
    Connection(ConnectionMode),
    /// From due to the last byte.
    Timeout {
        seconds: f64,
    },
    /// For everything.
    Budget {
        seconds: f64,
    },
    /// How long what is recommended is run at the end, besides the budget; none stands in no plan.
    Soak {
        seconds: f64,
    },
    /// Half the width of the capacity's interval; null: as the budget allows.
    Precision(Option<Ratio>),
    /// Whether the app is looked into from inside.
    Probe(bool),
    /// Whom the app runs as; stands in a plan only where sweetspot is root.
    User(String),
    /// The environment's name, such as `production`; null: the app's own, which nothing here says.
    Environment(Option<String>),
    /// The names of the app's variables.
    Variables(Vec<String>),
    /// The variables that the files which deploy the app give it, such as `WEB_CONCURRENCY=3`;
    /// numbers alone.
    DeployedVariables(Vec<String>),
    /// The flags that the app's server keeps of those that deploy the app, such as
    /// `--max-requests=500`; what may be secret of them is replaced by `[hidden]`. Stands in a plan
    /// only where there are some.
    KeptFlags(Vec<String>),
    ReadyPath(PlannedPath),
    /// How long the server may take from its start to its first answer; the default is not shown.
    BootTimeout {
        seconds: f64,
    },
    /// Most that may be open at once.
    DbConnections(Option<u32>),
    Seed(u64),
    Store(String),
    /// What the app runs with before anything is changed; `threads` is null for a server whose
    /// workers have one each.
    CurrentSetting {
        workers: Workers,
        threads: Option<Threads>,
    },
    /// Name and version, such as `ruby 3.1.2`.
    Runtime(String),
    /// What the server's adapter has to say of the app's settings.
    Remark(Stated<Remark>),
}

/// As all had it before there were cuts.
fn one_pod() -> Vec<u16> {
    vec![one()]
}

fn one() -> u16 {
    1
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum PlanSource {
    Flag,
    /// The plan file, with its line.
    PlanFile {
        line: usize,
    },
    /// Found in the app's folder.
    App,
    /// Read from the app's server when it was looked at before the first trial.
    Inspection,
    Default,
    /// Set where the app serves users, by these files of its folder.
    Deployment {
        files: Vec<String>,
    },
    /// Flags of the app's server where it serves users: each place that has some, in order of
    /// precedence.
    DeployedFlags {
        places: Vec<FlagPlace>,
    },
    /// What stands in front of the app where it serves users, by this file of its folder.
    ReverseProxy {
        name: ReverseProxy,
        file: String,
    },
    /// No file of the app's says what stands in front of it.
    NoReverseProxy,
    /// The app's folder belongs to this user.
    FolderOwner,
    /// This user called sudo, and the app's folder is root's.
    SudoUser,
    /// Whoever sweetspot runs as.
    OwnUser,
}

/// Where flags of the app's server stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlagPlace {
    /// Of the app's folder.
    pub file: String,
    /// The variable that has them there, such as `GUNICORN_CMD_ARGS`; without it the command that
    /// starts the server does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// What passes requests on to app servers, and keeps the connections that it does so over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReverseProxy {
    Thruster,
    KamalProxy,
}

impl ReverseProxy {
    /// As its users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thruster => "thruster",
            Self::KamalProxy => "kamal-proxy",
        }
    }
}

/// What the app server may use of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allowance<T> {
    Limit(T),
    /// All there is, and how much that was.
    All(T),
}

/// A path without its query, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedPath {
    pub path: String,
    pub has_query: bool,
}

impl From<&str> for PlannedPath {
    fn from(whole: &str) -> Self {
        let path = whole.split('?').next().unwrap_or_default().to_string();
        Self { path, has_query: whole.contains('?') }
    }
}

/// One kind of request of the mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTarget {
    pub method: String,
    #[serde(flatten)]
    pub path: PlannedPath,
    pub weight: u32,
    /// Its own goal.
    pub slo: Option<Slo>,
}

impl From<&Target> for PlannedTarget {
    fn from(target: &Target) -> Self {
        Self {
            method: target.method.clone(),
            path: target.path.as_str().into(),
            weight: target.weight,
            slo: target.slo.clone(),
        }
    }
}

impl PlannedTarget {
    /// As it is typed: `GET /a weight=3 slo=p95<2s`; `None` where its query was left out.
    pub fn typed(&self) -> Option<String> {
        let Self { method, path: PlannedPath { path, has_query }, weight, slo } = self;
        let weight = if *weight == 1 { String::new() } else { format!(" weight={weight}") };
        let slo = slo.as_ref().map_or_else(String::new, |slo| format!(" slo={slo}"));
        (!has_query).then(|| format!("{method} {path}{weight}{slo}"))
    }
}

impl PlannedValue {
    /// Both are of one kind, whatever their values.
    pub fn is_kind_of(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// A line of a stored plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlanLine {
    Record(PlanRecord),
    /// What, value and source as they were printed by a version before there were records.
    Verbatim(String, String, String),
}

impl PlanLine {
    /// The value and its source; `None` for a line that is only text.
    pub fn record(&self) -> Option<&PlanRecord> {
        match self {
            Self::Record(record) => Some(record),
            Self::Verbatim(..) => None,
        }
    }
}

/// The records of a plan, without the lines that are only text.
pub fn plan_records(lines: &[PlanLine]) -> Vec<PlanRecord> {
    lines.iter().filter_map(PlanLine::record).cloned().collect()
}

/// Where two plans differ, of the values that `matters` chooses: the first's and the second's, in
/// the first's order, then what the second alone has. Headers are the same in any order and case.
pub fn differing_values<'a>(
    a: &'a [PlanRecord],
    b: &'a [PlanRecord],
    matters: impl Fn(&PlannedValue) -> bool,
) -> Vec<[Option<&'a PlannedValue>; 2]> {
    let of_kind = |records: &'a [PlanRecord], of: &PlannedValue| {
        records.iter().map(|record| &record.value).find(|value| value.is_kind_of(of))
    };
    let in_a = a.iter().map(|it| [Some(&it.value), of_kind(b, &it.value)]);
    let only_b = b.iter().filter(|it| of_kind(a, &it.value).is_none());
    let all = in_a.chain(only_b.map(|it| [None, Some(&it.value)]));
    all.filter(|[a, b]| !is_same(*a, *b) && a.or(*b).is_some_and(&matters)).collect()
}

fn is_same(a: Option<&PlannedValue>, b: Option<&PlannedValue>) -> bool {
    match (a, b) {
        (Some(PlannedValue::Headers(a)), Some(PlannedValue::Headers(b))) => {
            in_any_order(a) == in_any_order(b)
        }
        _ => a == b,
    }
}

/// Names of headers as a server compares them, in an order of their own.
fn in_any_order(names: &[String]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    names.sort();
    names
}
