//! What `sweetspot observe` does: two settings in production, at once or one after the other, by
//! what Prometheus, CloudWatch, Datadog or access logs recorded of them.
//!
//! In: a [`Question`]. Out: a [`CompareReport`] as `compare` makes. It puts no load on anything and
//! changes nothing.

mod asked;
mod blocks;
mod cloudwatch;
mod counted;
mod datadog;
mod log;
mod metrics;
mod prometheus;
mod question;
mod range;
mod recorded;

use std::env;

use crate::http_client::Peer;
use crate::observe::{Design, judge};
use crate::plan::header::{given_or_read, parse_header};
use crate::session::peer::{Of, peer};
use crate::terms::{CompareReport, ComparedSide};
pub use asked::Tell;
use jiff::Timestamp;
pub use metrics::Named;
pub use question::{ObserveError, Question, Source, When};
use range::Blocks;
pub use range::Range;

/// What holds for the address of a Prometheus.
const PROMETHEUS: Of = Of {
    name: "--prometheus",
    no_user: PROMETHEUS_BARE,
    no_query: PROMETHEUS_BARE,
    rule: "only this machine and private networks are asked, unless you say --allow-public",
    bare_path: "",
};
const PROMETHEUS_BARE: &str = "user, password and query do not stand in the address; put \
                               'Authorization: Basic …' into a file and say --header @FILE";

/// What holds for the address of Datadog's site, which may be public.
const DATADOG: Of = Of { name: "DD_SITE", no_user: BARE, no_query: BARE, rule: "", bare_path: "" };
const BARE: &str = "user, password and query do not stand in the address";

/// Judges B against A. `tell` receives why it takes longer than it should, where it does.
///
/// # Errors
/// The question has no answer: ranges that are empty, overlap or are yet to come; nothing recorded
/// of a side; nobody who answers.
pub fn observe(question: &Question, tell: Tell) -> Result<CompareReport, ObserveError> {
    let design = design(question)?;
    let now_s = Timestamp::now().as_second();
    let (blocks, mut recorded) = match &question.source {
        Source::Prometheus { url, headers, allows_public, named } => {
            let headers = given_headers(headers)?;
            let peer = recorder(&PROMETHEUS, url, headers, *allows_public)?;
            let prometheus = prometheus::Prometheus::new(peer, tell);
            recorded::of_prometheus(question, &prometheus, named, now_s)?
        }
        Source::CloudWatch => cloudwatch::of_balancer(question, now_s)?,
        Source::Datadog { named } => {
            let peer = datadog_peer(|name| env::var(name).ok())?;
            datadog::of_traces(question, (peer, tell), named, now_s)?
        }
        Source::AccessLogs => log::of_logs(question, now_s)?,
    };
    let [of_a, of_b] = blocks;
    let name_b = question.b.clone().unwrap_or_else(|| format!("{} after", question.a));
    let name_a = match question.b {
        Some(_) => question.a.clone(),
        None => format!("{} before", question.a),
    };
    let sides = (side(of_a, name_a), side(of_b, name_b));
    let left_out = std::mem::take(&mut recorded.left_out);
    let mut report = judge(sides, (&recorded.a, &recorded.b), design, left_out);
    if report.refused.is_empty() {
        report.notes.push(blocks::looked_at(question.when, of_a).into());
    }
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

/// The account's site by its own variables (`DD_SITE`, else the first one's; an address where a
/// proxy stands before it), with its two keys.
fn datadog_peer(variable: impl Fn(&str) -> Option<String>) -> Result<Peer, ObserveError> {
    const KEYS: [(&str, &str); 2] =
        [("dd-api-key", "DD_API_KEY"), ("dd-application-key", "DD_APP_KEY")];
    let given = |name| variable(name).filter(|value| !value.trim().is_empty());
    let mut headers = Vec::new();
    for (header, name) in KEYS {
        let missing = || ObserveError::Usage(format!("--datadog: {name} is not set; {NEEDS_KEYS}"));
        let odd = |_| ObserveError::Usage(format!("--datadog: {name} holds a control character"));
        let key = given(name).ok_or_else(missing)?;
        headers.push(parse_header(&format!("{header}: {key}")).map_err(odd)?);
    }
    let site = given("DD_SITE").unwrap_or_else(|| "datadoghq.com".to_string());
    let url = match site.contains("://") {
        true => site,
        false => format!("https://api.{site}"),
    };
    recorder(&DATADOG, &url, headers, true)
}

/// What to do about a key that is missing.
const NEEDS_KEYS: &str = "Datadog is asked with an API key in DD_API_KEY and, in DD_APP_KEY, an \
                          application key that may read time series (timeseries_query)";

fn given_headers(given: &[String]) -> Result<Vec<(String, String)>, ObserveError> {
    let mut read = Vec::new();
    for given in given {
        for line in given_or_read(given)? {
            read.push(parse_header(&line)?);
        }
    }
    Ok(read)
}

/// Who recorded it; the paths that are asked for begin with a slash, and its address ends in none.
fn recorder(
    of: &Of,
    url: &str,
    headers: Vec<(String, String)>,
    allows_public: bool,
) -> Result<Peer, ObserveError> {
    let peer = peer(of, url, headers, allows_public)?;
    Ok(Peer { url: peer.url.trim_end_matches('/').to_string(), ..peer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datadogs_site_and_keys_come_from_its_own_variables() {
        let of = |site: &str, keys: &str| {
            datadog_peer(|name| match name {
                "DD_SITE" => Some(site.to_string()),
                _ => Some(keys.to_string()),
            })
        };
        let peer = of("http://127.0.0.1:8126/dd/", "k3y").unwrap();
        assert_eq!(peer.url, "http://127.0.0.1:8126/dd");
        let names: Vec<&str> = peer.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["dd-api-key", "dd-application-key"]);
        let said = |site, keys| of(site, keys).err().unwrap().to_string();
        assert!(said("http://127.0.0.1", " ").contains("DD_API_KEY is not set"));
        assert!(said("no such site", "k3y").starts_with("DD_SITE: "));
        assert!(!said("http://127.0.0.1", "a\nk3y").contains("k3y"));
    }
}
