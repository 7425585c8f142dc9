//! What `sweetspot observe` does: two settings in production, at once or one after the other, by
//! what Prometheus, CloudWatch or access logs recorded of them.
//!
//! In: a [`Question`]. Out: a [`CompareReport`] as `compare` makes. It puts no load on anything and
//! changes nothing.

mod balancer;
mod blocks;
mod cloudwatch;
mod log;
mod metrics;
mod prometheus;
mod question;
mod range;
mod recorded;

use crate::http_client::Peer;
use crate::observe::{Design, judge};
use crate::plan::header::{given_or_read, parse_header};
use crate::plan::traffic::Url;
use crate::session::load::LoadVerbError;
use crate::session::load::addresses::addresses;
use crate::terms::{CompareReport, ComparedSide};
use jiff::Timestamp;
pub use metrics::Named;
pub use prometheus::PrometheusError;
pub use question::{ObserveError, Question, Source, When};
use range::Blocks;
pub use range::Range;

/// Judges B against A.
///
/// # Errors
/// The question has no answer: ranges that are empty, overlap or are yet to come; nothing recorded
/// of a side; nobody who answers.
pub fn observe(question: &Question) -> Result<CompareReport, ObserveError> {
    let design = design(question)?;
    let now_s = Timestamp::now().as_second();
    let (blocks, mut recorded) = match &question.source {
        Source::Prometheus { url, headers, allows_public, named } => {
            let peer = peer(url, headers, *allows_public)?;
            let prometheus = prometheus::Prometheus::new(peer);
            recorded::of_prometheus(question, &prometheus, named, now_s)?
        }
        Source::CloudWatch => balancer::of_balancer(question, now_s)?,
        Source::AccessLogs => log::of_logs(question, now_s)?,
    };
    let [of_a, of_b] = blocks.each();
    let name_b = question.b.clone().unwrap_or_else(|| format!("{} after", question.a));
    let name_a = match question.b {
        Some(_) => question.a.clone(),
        None => format!("{} before", question.a),
    };
    let sides = (side(of_a, name_a), side(of_b, name_b));
    let left_out = std::mem::take(&mut recorded.left_out);
    let mut report = judge(sides, (&recorded.a, &recorded.b), design, left_out);
    report.notes.extend(recorded.notes.into_iter().map(Into::into));
    Ok(report)
}

fn design(question: &Question) -> Result<Design, ObserveError> {
    let usage = |what: &str| Err(ObserveError::Usage(what.to_string()));
    match (&question.b, question.when) {
        (None, When::BeforeAfter(before, after)) => {
            range::check_order(&before, &after).map_err(ObserveError::Usage)?;
            Ok(Design::BeforeAfter)
        }
        (Some(_), When::BeforeAfter(..)) => usage(
            "--before and --after are about A alone, at two times; leave out B, or say --last or \
             --between for both at once",
        ),
        (None, _) => usage(
            "B is missing: name a second setting that ran at once, or say --before and --after to \
             look at A at two times",
        ),
        (Some(b), _) if *b == question.a => usage("A and B are the same; name two"),
        (Some(_), _) => Ok(Design::AtOnce),
    }
}

fn side(blocks: Blocks, name: String) -> ComparedSide {
    let at = |second| Timestamp::from_second(second).ok().map(|at| at.to_string());
    ComparedSide {
        name,
        started_at: at(blocks.start_s),
        ended_at: at(blocks.end_s()),
        ..ComparedSide::default()
    }
}

/// Whom to ask; no message repeats a password or a header's value.
fn peer(url: &str, headers: &[String], allows_public: bool) -> Result<Peer, ObserveError> {
    let usage = |what: &str| ObserveError::Usage(format!("--prometheus: {what}"));
    let url = Url::parse(url).map_err(|error| usage(&error.to_string()))?;
    if url.user.is_some() || url.path.contains('?') {
        return Err(usage(
            "user, password and query do not stand in the address; put 'Authorization: Basic …' \
             into a file and say --header @FILE",
        ));
    }
    let addresses = addresses(&url, allows_public).map_err(|error| match error {
        LoadVerbError::PublicAddress { host, address } => {
            ObserveError::PublicAddress { host, address }
        }
        other => ObserveError::Address(other),
    })?;
    let mut read = Vec::new();
    for given in headers {
        for line in given_or_read(given)? {
            read.push(parse_header(&line)?);
        }
    }
    let path = url.path.trim_end_matches('/');
    let url = format!("{}://{}{path}", url.scheme.name(), url.host_header());
    Ok(Peer { url, addresses, headers: read })
}
