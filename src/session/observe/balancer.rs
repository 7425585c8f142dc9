//! What an application load balancer of AWS counted of both sides, in blocks.
//!
//! In: the question. Out: p95, throughput and errors, and what there is to say of them.

use super::blocks::{BlocksOfBoth, blocks};
use super::cloudwatch::{find, list, read};
use super::counted::UNSEEN;
use super::question::{ObserveError, Question, Recorded};
use crate::terms::{FigureLeftOut, Side};

/// Reads both sides.
///
/// # Errors
/// AWS says no, has no such target group or balancer, or counted no request of it.
pub fn of_balancer(
    question: &Question,
    now_s: i64,
) -> Result<(BlocksOfBoth, Recorded), ObserveError> {
    let (both, mut notes) = blocks(question, now_s, None)?;
    let there = list()?;
    let name_b = question.b.as_ref().unwrap_or(&question.a);
    // Both names before anything is asked for that takes longer.
    let (of_a, of_b) = (find(&there, Side::A, &question.a)?, find(&there, Side::B, name_b)?);
    let (a, of_it) = read((Side::A, of_a), both.a)?;
    let (b, of_other) = read((Side::B, of_b), both.b)?;
    notes.extend(of_it.into_iter().chain(of_other));
    let left_out = UNSEEN.map(|figure| FigureLeftOut::NotAtLoadBalancer { figure }).into();
    Ok((both, Recorded { a, b, left_out, notes }))
}
