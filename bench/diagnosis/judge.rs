//! From a record to what the rules name, and whether it is the truth.
//!
//! In: a record. Out: a row. The rules see the record's figures and nothing of the situation.

use sweetspot::report::Language;
use sweetspot::summary::trial::{Context, summarise};
use sweetspot::terms::Goals;

use super::Run;
use super::record::Record;
use super::report::Row;
use super::situation::Server;
use crate::common::Result;
use crate::common::trial::context;

/// What an open load is held to.
const GOAL: &str = "p95<200ms,errors<1%";

/// What the rules make of a record.
pub fn judge(run: &Run<'_>, record: &Record) -> Result<Row> {
    let goals = Goals::one(GOAL.parse()?);
    let has_proxy = run.size.server == Server::PumaBehindNginx;
    let alone = Context { has_proxy, ..context(&goals, record.cores) };
    let unloaded = summarise(&record.unloaded, &alone).summary;
    let unloaded_s = (unloaded.completed > 0).then_some(unloaded.latency_s.mean);
    let pushed = Context { id: 2, purpose: run.size.purpose, unloaded_s, ..alone };
    let pushed = summarise(&record.pushed, &pushed);
    Ok(Row {
        named: Some(pushed.limit.kind),
        confidence: pushed.limit.confidence,
        evidence: Language::DATA.say(&pushed.limit.evidence),
        unloaded_s,
        latency_s_p50: Some(pushed.summary.latency_s.p50),
        throughput_rps: Some(pushed.summary.throughput_rps),
        is_valid: Some(pushed.valid),
        verdict: Language::DATA.say(&pushed.reason),
        build: record.build.clone(),
        ..unmeasured(run, "")
    })
}

/// A row for what could not be measured, and why.
pub fn unmeasured(run: &Run<'_>, why: &str) -> Row {
    Row {
        situation: run.situation.name.to_string(),
        size: run.size.text(),
        is_control: run.situation.is_control,
        expected: run.situation.truth,
        named: None,
        confidence: 0.0,
        evidence: String::new(),
        unloaded_s: None,
        latency_s_p50: None,
        throughput_rps: None,
        is_valid: None,
        verdict: String::new(),
        build: String::new(),
        note: why.to_string(),
    }
}
