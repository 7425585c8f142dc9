//! What is asked of production, and what may come of it.
//!
//! In and out: values.

use std::time::Duration;

use thiserror::Error;

use super::asked::AskError;
use super::metrics::{Named, NoLatency};
use super::range::Range;
use crate::observe::Observed;
use crate::place::ecs::AwsError;
use crate::plan::header::HeaderError;
use crate::plan::traffic::InputError;
use crate::session::peer::PeerError;
use crate::terms::{CompareNote, FigureLeftOut, Side};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    pub source: Source,
    /// A label selector of Prometheus, a scope of Datadog, a target group or load balancer of AWS,
    /// or an access log.
    pub a: String,
    /// `None`: A, later.
    pub b: Option<String>,
    pub when: When,
    /// How long a block is where both ran at once.
    pub block: Duration,
}

/// Who recorded it.
#[derive(Debug, Clone)]
pub enum Source {
    Prometheus {
        /// As it was typed.
        url: String,
        /// As they were typed: `Name: value`, or `@FILE` with one a line.
        headers: Vec<String>,
        allows_public: bool,
        /// Metrics that have other names than are known.
        named: Vec<Named>,
    },
    /// As AWS's own command is set up.
    CloudWatch,
    /// At the site that `DD_SITE` names, with the keys in `DD_API_KEY` and `DD_APP_KEY`.
    Datadog {
        /// Operations that have other names than are known.
        named: Vec<Named>,
    },
    AccessLogs,
}

/// Which time is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Both at once, up to now.
    Last(Duration),
    /// Both at once.
    Between(Range),
    /// Both at once, as long as both logs are.
    Whole,
    /// A then, B later.
    BeforeAfter(Range, Range),
}

/// Why nothing can be said.
#[derive(Debug, Error)]
pub enum ObserveError {
    /// The command line's.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Log(#[from] InputError),
    #[error("--header: {0}")]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error(transparent)]
    Asked(#[from] AskError),
    #[error(transparent)]
    Aws(#[from] AwsError),
    #[error(
        "{side} has no series: nothing matches {{{selector}}} in {range}; try the selector in \
         Prometheus' own page"
    )]
    NoSeries { side: Side, selector: String, range: Range },
    #[error("{}", no_latency(.0))]
    NoLatency(NoLatency),
    #[error(
        "{name} is there for {there} and not for the other side{}; --metric latency=NAME names one \
         that both have", and_near(.near)
    )]
    OneSided { name: String, there: Side, near: Vec<String> },
    #[error(
        "{side}: '{scope}' is no scope; write what stands between the braces of a query, such as \
         service:web,version:2"
    )]
    Scope { side: Side, scope: String },
    #[error(
        "Datadog is asked for response times alone; of --metric only latency=trace.NAME is for it"
    )]
    Figure,
    #[error(
        "Datadog has no request of {side} ({scope}) in {range} by the name {}; --metric \
         latency=trace.NAME names another operation",
        .names.join(", ")
    )]
    DatadogNothing { side: Side, scope: String, range: Range, names: Vec<String> },
    #[error("Datadog keeps {there} s together in that range; give --block {there}s, or longer")]
    DatadogBlock { there: i64 },
    #[error(
        "{side}: CloudWatch knows no target group and no load balancer called '{name}', of the \
         last two weeks and in the region that the aws command asks; {}",
        there_are(.there)
    )]
    Unknown { side: Side, name: String, there: Vec<String> },
    #[error("{side}: '{name}' may be {}; say which", .may_be.join(" or "))]
    Ambiguous { side: Side, name: String, may_be: Vec<String> },
    #[error(
        "CloudWatch has no request of {side} ({name}) in {range}; it keeps minutes for 15 days, \
         five minutes for 63 days and hours for 455"
    )]
    CloudWatchNothing { side: Side, name: String, range: Range },
    #[error("CloudWatch keeps whole minutes; give --block so many, such as 5m")]
    CloudWatchBlock,
}

fn no_latency(NoLatency { wanted, near }: &NoLatency) -> String {
    let what = match wanted {
        Some(name) => format!("no series of A and B has the name {name}"),
        None => "no metric of A and B that is known says how long requests took".to_string(),
    };
    let near = match near.is_empty() {
        true => "none looks like one".to_string(),
        false => format!("near it are {}", near.join(", ")),
    };
    format!("{what}; {near}; --metric latency=NAME names one")
}

fn and_near(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(", which has {}", near.join(", ")) }
}

fn there_are(names: &[String]) -> String {
    match names {
        [] => "there are none with metrics".to_string(),
        names => format!("there are {}", names.join(", ")),
    }
}

impl ObserveError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Peer(error) => error.is_usage(),
            Self::Asked(error) => error.is_usage(),
            Self::Aws(_) => false,
            _ => true,
        }
    }
}

/// Both sides as they were recorded, and what there is to say of the record.
#[derive(Default)]
pub struct Recorded {
    pub a: Observed,
    pub b: Observed,
    pub left_out: Vec<FigureLeftOut>,
    pub notes: Vec<CompareNote>,
}
