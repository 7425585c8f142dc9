//! What is asked of production, and what may come of it.
//!
//! In and out: values.

use std::time::Duration;

use thiserror::Error;

use super::cloudwatch::CloudWatchError;
use super::datadog::DatadogError;
use super::metrics::Named;
use super::prometheus::PrometheusError;
use super::range::Range;
use crate::observe::Observed;
use crate::plan::header::HeaderError;
use crate::plan::traffic::InputError;
use crate::session::load::LoadVerbError;
use crate::terms::{CompareNote, FigureLeftOut};

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
    #[error("{of}: {source}")]
    Address {
        /// The option or variable that says it.
        of: &'static str,
        source: LoadVerbError,
    },
    #[error(
        "--prometheus: {host} is at {address}, a public address; only this machine and private \
         networks are asked, unless you say --allow-public"
    )]
    PublicAddress { host: String, address: std::net::IpAddr },
    #[error(transparent)]
    Prometheus(#[from] PrometheusError),
    #[error(transparent)]
    CloudWatch(#[from] CloudWatchError),
    #[error(transparent)]
    Datadog(#[from] DatadogError),
}

impl ObserveError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Prometheus(error) => error.is_usage(),
            Self::CloudWatch(error) => error.is_usage(),
            Self::Datadog(error) => error.is_usage(),
            Self::Address { source, .. } => source.is_usage(),
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
