//! What access logs recorded, in blocks.
//!
//! In: files. Out: throughput, p95 and the share of failed requests of each block.

use std::path::Path;

use super::blocks::blocks;
use super::counted::{self, Counted, UNSEEN};
use super::question::{ObserveError, Question, Recorded, When};
use super::range::{Blocks, Range};
use crate::observe::Observed;
use crate::plan::traffic::{Served, ServedLog, read_served};
use crate::stats::quantile;
use crate::terms::{CompareNote, FigureLeftOut, Side};

/// Lines may be left out without its being said.
const LEFT_OUT_QUIET: f64 = 0.01;

/// Reads both logs, or one for both times.
///
/// # Errors
/// One cannot be read, says no response times, or has no request in its range.
pub fn of_logs(question: &Question, now_s: i64) -> Result<([Blocks; 2], Recorded), ObserveError> {
    let a = read_served(Path::new(&question.a))?;
    let b = question.b.as_ref().map(|name| read_served(Path::new(name))).transpose()?;
    let of_b = b.as_ref().unwrap_or(&a);
    let whole = common(&a, of_b);
    if question.when == When::Whole && whole.is_some_and(|it| it.from_s >= it.to_s) {
        let nothing = "the two access logs have no time in common".to_string();
        return Err(ObserveError::Usage(nothing));
    }
    let (both, mut notes) = blocks(question, now_s, whole)?;
    let name_b = question.b.as_ref().unwrap_or(&question.a);
    let recorded = [observed(&question.a, &a, both[0])?, observed(name_b, of_b, both[1])?];
    let sides = [(Side::A, Some(&a)), (Side::B, b.as_ref())];
    notes.extend(sides.into_iter().filter_map(|(side, log)| left_out(side, log?)));
    let [a, b] = recorded;
    let left_out = UNSEEN.map(|figure| FigureLeftOut::NotInLog { figure }).into();
    Ok((both, Recorded { a, b, left_out, notes }))
}

fn extent(log: &ServedLog) -> Option<Range> {
    let times = || log.requests.iter().map(|it| it.at_s);
    let (first, last) = (times().min_by(f64::total_cmp)?, times().max_by(f64::total_cmp)?);
    Some(Range { from_s: first.ceil() as i64, to_s: last.floor() as i64 })
}

/// When both were written.
fn common(a: &ServedLog, b: &ServedLog) -> Option<Range> {
    let (a, b) = (extent(a)?, extent(b)?);
    Some(Range { from_s: a.from_s.max(b.from_s), to_s: a.to_s.min(b.to_s) })
}

fn left_out(side: Side, log: &ServedLog) -> Option<CompareNote> {
    let lines = log.lines.saturating_sub(log.requests.len() as u64);
    let is_said = lines as f64 > LEFT_OUT_QUIET * log.lines as f64;
    is_said.then_some(CompareNote::LinesLeftOut { side, lines, of: log.lines })
}

fn observed(name: &str, log: &ServedLog, blocks: Blocks) -> Result<Observed, ObserveError> {
    let mut sorted: Vec<Vec<Served>> = vec![Vec::new(); blocks.count];
    for request in &log.requests {
        if let Some(block) = blocks.index(request.at_s as i64) {
            sorted[block].push(*request);
        }
    }
    let of = |figure: fn(&[Served]) -> Option<f64>| -> Vec<Option<f64>> {
        sorted.iter().map(|block| figure(block).filter(|_| !block.is_empty())).collect()
    };
    let counted = Counted {
        p95_s: of(p95),
        requests: of(|block| Some(block.len() as f64)),
        failed: of(|block| Some(block.iter().filter(|it| it.failed).count() as f64)),
    };
    counted::observed(counted, blocks).ok_or_else(|| {
        let range = blocks.range();
        let there = extent(log).map_or_else(String::new, |it| format!("; it has {it}"));
        ObserveError::Usage(format!("the access log {name} has no request in {range}{there}"))
    })
}

fn p95(block: &[Served]) -> Option<f64> {
    let latencies: Vec<f64> = block.iter().map(|it| f64::from(it.latency_s)).collect();
    quantile(&latencies, 0.95)
}
