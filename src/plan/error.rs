//! What can be wrong with a plan: always the plan's or the command line's doing, with the way out.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::app_error::{AppError, listed};
use super::header::HeaderError;
use super::range::RangeError;
use super::variable::VariableError;
use super::written_knob::WrittenError;
use crate::place::kubernetes::TemplateError;
use crate::terms::{GoalsError, SloError, TargetError, UnitError};

/// Where a text was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line; the name without its dashes.
    Flag { name: &'static str },
    /// In the plan file; the path as people would type it.
    Plan { path: PathBuf, line: usize, key: String },
    /// In a file of targets.
    Targets { path: PathBuf, line: usize },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag { name } => write!(f, "--{name}"),
            Self::Plan { path, line, key } => write!(f, "{} line {line}: {key}", path.display()),
            Self::Targets { path, line } => write!(f, "{} line {line}", path.display()),
        }
    }
}

/// A plan that cannot be carried out.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A value that is impossible.
    #[error("{at}{}: {problem}", shown(at, value))]
    Value {
        at: Origin,
        /// As it was written; `None` where it may hold a secret.
        value: Option<String>,
        /// Boxed, so that a result that may hold it stays small.
        problem: Box<Problem>,
    },
    /// A value of the plan file that has another type than its key needs.
    #[error("{at} is {found}, but should be {expected}")]
    Type { at: Origin, found: &'static str, expected: String },
    #[error(
        "{} line {line}: unknown key '{key}'{}; known {}: {}",
        path.display(), did_you_mean(*close), of_table(table), known.join(", ")
    )]
    UnknownKey {
        path: PathBuf,
        line: usize,
        key: String,
        /// `target`, `knob` or nothing for the top of the file.
        table: Option<&'static str>,
        close: Option<&'static str>,
        known: Vec<&'static str>,
    },
    #[error("{} line {line}: '{key}' is set twice; keep one of the two", path.display())]
    RepeatedKey { path: PathBuf, line: usize, key: &'static str },
    #[error("{} line {line}: this target has no '{key}'; add for example {key} = \"/orders\"",
        path.display())]
    MissingKey { path: PathBuf, line: usize, key: &'static str },
    #[error("{} line {line}: {message}; see https://toml.io for the format", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("could not read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file that does not say what pods are to be like.
    #[error("{}: {source}", path.display())]
    PodTemplate {
        path: PathBuf,
        #[source]
        source: TemplateError,
    },
    #[error("there is no plan {}; name a plan file or a folder, or leave it out to tune the app of \
        the current folder", path.display())]
    NoPlan { path: PathBuf },
    #[error("{} names no target; write one a line, such as GET /orders weight=3", path.display())]
    NoTargets { path: PathBuf },
    #[error(transparent)]
    App(#[from] AppError),
}

/// What is wrong with a value. Of a command it holds nothing but names: the rest may be secret.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Problem {
    #[error(transparent)]
    Range(#[from] RangeError),
    #[error(transparent)]
    Unit(#[from] UnitError),
    #[error(transparent)]
    Slo(#[from] SloError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Goals(#[from] GoalsError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Variable(#[from] VariableError),
    #[error(transparent)]
    Knob(#[from] WrittenError),
    #[error("it must lie between {least} and {most}")]
    Bounds { least: String, most: String },
    #[error("it is no whole number from {least} to {most}")]
    Number { least: u64, most: u64 },
    #[error("it is unknown{}; choose {}", did_you_mean(*close), listed(choices, "or"))]
    Choice { close: Option<&'static str>, choices: Vec<&'static str> },
    #[error("this machine has no user of that name")]
    NoSuchUser,
    #[error("only root may run the app as somebody else; leave it out, or use sudo")]
    OnlyRootMay,
    #[error(
        "a web server sends what lies there to whoever asks; name a file outside of the folder of \
         the app's pages"
    )]
    StoreServed,
    #[error("this machine's users could not be looked at: {0}")]
    UsersUnread(String),
    #[error("this machine has {available}; ask for at most that, or leave it out to use all")]
    MoreThanMachine { available: String },
    #[error(
        "the SLO allows a reply {limit}, so that a request given up earlier could not violate it; \
         set a timeout above {limit}"
    )]
    TimeoutWithinSlo { limit: String },
    #[error(
        "the smallest configuration, {workers} workers{}, can hold {needed} connections at once; \
         allow at least {needed}, or try fewer workers{}",
        threads.map_or_else(String::new, |threads| format!(" x {threads} threads")),
        if threads.is_some() { " or threads" } else { "" }
    )]
    TooFewConnections {
        workers: u16,
        /// `None` for a server that has none to choose.
        threads: Option<u16>,
        needed: u32,
    },
    #[error(
        "a worker of {server} answers many requests at once and opens as many connections as its \
         pool allows; leave this out, and try --workers of which workers x pool size fit"
    )]
    ConnectionsOfPools { server: &'static str },
    #[error(
        "{server} runs one thread in each worker and cannot run more; leave --threads out, or \
         choose a server that has threads with --server"
    )]
    OneThreadOnly { server: &'static str },
    #[error(
        "no server runs this; write a module with its app (shop.wsgi:application), a JavaScript \
         file (server.js) or a rackup file (config.ru)"
    )]
    Entry,
    #[error(
        "the probe looks into Ruby's app servers ({}), and {server} is none; leave it out",
        listed(probed, "and")
    )]
    NoProbe {
        server: &'static str,
        /// Those that can be looked into.
        probed: Vec<&'static str>,
    },
    #[error("{server} needs nginx in front of it; leave this out, or write nginx")]
    ProxyNeeded { server: &'static str },
    #[error(
        "nginx reaches the server over a unix socket: write {{socket}} in the command in place of \
         {{port}}, or leave this out"
    )]
    SocketNeeded,
    #[error("it is for a command of yours; give that with --start, or leave this out")]
    NoStart,
    #[error("the command of --start says by itself what it runs; leave this out")]
    EntryBesideStart,
    #[error("the command of --start is the server; leave one of the two out")]
    ServerBesideStart,
    #[error(
        "a command is needed: give it with --start, such as 'bin/serve --workers {{workers}} \
         --port {{port}}'"
    )]
    StartMissing,
    #[error(
        "the command has no {{{place}}} to fill in, so nothing would change; write {{{place}}} \
         where the number belongs, or in a variable such as --env {variable}={{{place}}}"
    )]
    NoPlace { place: &'static str, variable: &'static str },
    #[error("it is empty; write for example 'bin/serve --workers {{workers}} --port {{port}}'")]
    StartEmpty,
    #[error("a quotation mark in it is never closed")]
    OpenQuote,
    #[error(
        "{{{name}}} is no place that can be filled in{}; there are {}",
        close.map_or_else(String::new, |close| format!(" (did you mean {{{close}}}?)")),
        all_places(known)
    )]
    UnknownPlace { name: String, close: Option<&'static str>, known: &'static [&'static str] },
    #[error(
        "it does not say where to listen: write {{port}} where the port belongs, such as \
         --port {{port}}; for a server that reads the variable PORT give it --env PORT={{port}}; \
         a server that listens on a unix socket needs {{socket}}"
    )]
    NoAddress,
    #[error("it has both {{port}} and {{socket}}; keep the one on which requests are answered")]
    TwoAddresses,
    #[error(
        "no shell is started, so '{word}' would be a plain word; write `sh -c 'exec ...'` around \
         it where a shell is needed"
    )]
    NeedsShell { word: String },
    #[error("no shell is started, so $PORT would stay as it is; write {{port}}")]
    ShellPort,
    #[error("'{name}=...' before a command is a shell's; give it as --env '{name}=...'")]
    Assignment { name: String },
    #[error("{program} is not in any folder of PATH, nor in {}", folder.display())]
    NoProgram { program: String, folder: PathBuf },
    #[error("{program} is in {}, where it is looked for only as ./{program}", folder.display())]
    NotInPath { program: String, folder: PathBuf },
    #[error("{} is no program that may be run; 'chmod +x' makes it one", path.display())]
    NotExecutable { path: PathBuf },
    #[error(
        "it needs the rate to be served; give it with --rate, such as --rate 120/s, or ask for the \
         highest capacity"
    )]
    GoalNeedsRate,
    #[error(
        "it needs a price; give --price-per-core-hour, --price-per-gib-hour or both, such as 0.04"
    )]
    GoalNeedsPrice,
    #[error("nobody would be served; give the rate that is to be served, such as 120/s")]
    NoRate,
    #[error(
        "the highest capacity is asked for at no rate; leave the rate out, or ask for --goal \
         memory, latency or cost"
    )]
    RateForCapacity,
    #[error("it is no price; give what an hour costs, 0 or more, such as 0.04")]
    Price,
    #[error("nothing would cost anything; give a price above 0 for cores, memory or both")]
    AllFree,
    #[error("it is no signal; choose {}, or a number from 1 to 31", names.join(", "))]
    Signal { names: Vec<&'static str> },
    #[error(
        "a Deployment of the cluster or an image is needed, such as --deployment shop, or --image \
         registry.internal/shop:1"
    )]
    DeploymentMissing,
    #[error("pods are made of an image with what that has itself; leave this out")]
    OfImage,
    #[error("it is not known where its app answers; say it, such as --port 3000")]
    PortMissing,
    #[error("its pods need limits to be measured with; give --cpus 1 --memory 512MiB, say")]
    LimitsMissing,
    #[error("--deployment names one of a cluster; write kubernetes, or leave one of the two out")]
    DeploymentNotHere,
    #[error(
        "a Deployment is measured with what it has itself; leave this out, or --deployment to tune \
         an app on this machine"
    )]
    OfDeployment,
    #[error("it is for a Deployment of a cluster; name that with --deployment, or leave this out")]
    NoDeployment,
    #[error("it is for an image that is tuned in a cluster; name that with --image")]
    NoImage,
    #[error("it names a container in the file of --pod-template; give that, or leave this out")]
    NoTemplate,
    #[error(
        "its load is sent by pods of the cluster, of an image of sweetspot; give one that the \
         cluster's nodes can pull, such as --generator-image registry.internal/sweetspot:1"
    )]
    GeneratorImageMissing,
    #[error(
        "it is no name that Kubernetes has; a-z, 0-9, '-' and '.' may stand in it, at most 253, \
         with a letter or digit first and last"
    )]
    ObjectName,
    #[error("it is empty; write what it is called, or leave it out")]
    NameEmpty,
    #[error(
        "no variable has {{{place}}} to fill in, so nothing would change; give one that the app \
         follows, such as --env {variable}={{{place}}}"
    )]
    NoPlaceInVariables { place: &'static str, variable: &'static str },
    #[error(
        "at most {most} ways to cut the app are tried, with numbers of pods that at most {workers} \
         workers can be shared by evenly, such as 1,2,4"
    )]
    Cuts { most: usize, workers: u16 },
    #[error(
        "no number of this range above 1 shares {cores} cores so that each pod has whole ones; \
         name numbers one by one, such as 1,2,4"
    )]
    NoUsualShare { cores: String },
    #[error(
        "{cores} cores make no whole number of pods with {size} each; sizes that divide them: \
         {fitting}"
    )]
    NotDivided { size: String, cores: String, fitting: String },
    #[error(
        "none of the numbers of pods that follow from it is among those of --pods; leave one of \
         the two out"
    )]
    NotAmongPods,
    #[error("each pod would have less than 0.01 cores or 16 MiB; cut it into fewer, or give more")]
    TooThin,
    #[error(
        "{pods} pods cannot share {workers} evenly; workers are those of all pods together: write \
         multiples of {together}, or leave them out"
    )]
    NotShared { workers: u16, pods: u16, together: u16 },
    #[error(
        "it is for an app that runs elsewhere; give --apply, the command that changes it, --kamal \
         or --ecs"
    )]
    NoApply,
    #[error(
        "an app that runs elsewhere is started by whoever runs it; leave this out, or --apply, \
         --kamal and --ecs to tune an app that sweetspot starts"
    )]
    OfRemote,
    #[error("it is not known where the app answers; say it, such as --url http://app1:3000")]
    UrlMissing,
    #[error(
        "nothing would put the app back; give --restore, a command that has it run as it did \
         before, whatever was applied"
    )]
    RestoreMissing,
    #[error("it is not known what the app may use there; say it, such as --cpus 4 --memory 8GiB")]
    MachineMissing,
    #[error("it is empty; write a command, or leave it out")]
    CommandEmpty,
    #[error(
        "nothing in it would change: write {{workers}} or {{threads}} where the numbers belong, \
         such as \"ssh app1 sudo shop-setting WEB_CONCURRENCY={{workers}}\""
    )]
    NoPlaces,
    /// A URL or a host that cannot be read, in the reader's own words.
    #[error("{0}")]
    Address(String),
    #[error("a path in it would be left out; say what is asked for with --target")]
    PathInUrl,
    #[error("user and password in it would not be sent; give -H 'Authorization: ...'")]
    UserInUrl,
    #[error("it is no setting; write workers x threads, such as 2x5")]
    Configuration,
    #[error("the app is changed and put back without it; leave this out, or {by}")]
    HasOwn { by: &'static str },
    #[error("it is no name of a service; write CLUSTER/SERVICE, such as prod/shop")]
    Service,
    #[error("there is no {}; type it in the app's folder, or name that with --app", path.display())]
    NoKamal { path: PathBuf },
    #[error("it is no name of a destination; write it as kamal's --destination takes it")]
    Destination,
}

fn shown(at: &Origin, value: &Option<String>) -> String {
    match (at, value) {
        (_, None) => String::new(),
        (Origin::Flag { .. }, Some(value)) => format!(" '{value}'"),
        (_, Some(value)) => format!(" = '{value}'"),
    }
}

fn did_you_mean(close: Option<&'static str>) -> String {
    close.map_or_else(String::new, |close| format!(" (did you mean '{close}'?)"))
}

fn of_table(table: &Option<&'static str>) -> String {
    table.map_or_else(|| "keys".to_string(), |table| format!("keys of [[{table}]]"))
}

/// Two with `and` between them, more as a list.
fn all_places(known: &[&str]) -> String {
    let between = if known.len() == 2 { " and " } else { ", " };
    known.iter().map(|place| format!("{{{place}}}")).collect::<Vec<_>>().join(between)
}
