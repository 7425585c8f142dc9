//! What can be wrong with a plan: always the plan's or the command line's doing, with the way out.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::app_error::{AppError, listed};
use super::cluster_error::ClusterError;
use super::header::HeaderError;
use super::range::RangeError;
use super::remote_error::RemoteError;
use super::start_error::StartError;
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

/// What is wrong with a value.
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
    Start(#[from] StartError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
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
