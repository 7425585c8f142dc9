//! What was counted of the traces of both sides, in blocks.
//!
//! In: the question. Out: p95, throughput and errors, and what there is to say of them.

use super::asked::Tell;
use super::blocks::{BlocksOfBoth, blocks};
use super::counted::UNSEEN;
use super::datadog::{Datadog, check, names};
use super::metrics::Named;
use super::question::{ObserveError, Question, Recorded};
use crate::http_client::Peer;
use crate::terms::{FigureLeftOut, Side};

/// Reads both sides.
///
/// # Errors
/// Datadog is not reached, says no, or counted no request of a side; a scope is none.
pub fn of_traces(
    question: &Question,
    (peer, tell): (Peer, Tell),
    named: &[Named],
    now_s: i64,
) -> Result<(BlocksOfBoth, Recorded), ObserveError> {
    let names = names(named)?;
    let (both, notes) = blocks(question, now_s, None)?;
    let scope_b = question.b.as_ref().unwrap_or(&question.a);
    let sides = [(Side::A, &question.a, both.a), (Side::B, scope_b, both.b)];
    for (side, scope, _) in sides {
        check(side, scope)?;
    }
    let (a, b) = Datadog::new(peer, tell).read_both(sides, &names)?;
    let left_out = UNSEEN.map(|figure| FigureLeftOut::NotInTraces { figure }).into();
    Ok((both, Recorded { a, b, left_out, notes }))
}
