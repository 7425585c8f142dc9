//! `--push`: who else gets the results.

use super::{Exit, UsageError, say};
use crate::report::push::{PushError, Receiver, Wanted};
use crate::session::push;

#[derive(Debug, clap::Args)]
pub struct PushArgument {
    /// Also push the results as metrics, such as to otlp=http://127.0.0.1:4318 (OpenTelemetry over
    /// HTTP; headers: OTEL_EXPORTER_OTLP_HEADERS); repeatable
    #[arg(long, value_name = "otlp=URL")]
    push: Vec<Wanted>,

    /// Let --push send to an address that is neither this machine nor on a private network
    #[arg(long)]
    allow_public_push: bool,
}

impl PushArgument {
    /// Nobody gets them.
    pub fn is_empty(&self) -> bool {
        self.push.is_empty()
    }

    /// Who gets them, known before anything is measured.
    pub fn receivers(&self) -> anyhow::Result<Vec<Receiver>> {
        let found = self.push.iter().map(|wanted| push::prepare(wanted, self.allow_public_push));
        found.map(|it| it.map_err(|error| UsageError::only_if(error.is_usage(), error))).collect()
    }
}

/// Pushes to each of them, and says on standard error who did not take it. A push that failed takes
/// nothing from the result: where that is a success it ends in `CouldNotMeasure`, and another
/// verdict stays.
pub fn push_to(
    receivers: &[Receiver],
    exit: Exit,
    push: impl Fn(&Receiver) -> Result<(), PushError>,
) -> Exit {
    let mut exit = exit;
    for receiver in receivers {
        let Err(error) = push(receiver) else { continue };
        say(format!("sweetspot: the result was not pushed: {error}"));
        if exit == Exit::Done {
            exit = Exit::CouldNotMeasure;
        }
    }
    exit
}
