//! What ended the growth: rules over figures, each with its evidence and what to do about it. No
//! rule, no name.
//!
//! The rules are asked in the order of causes, and the first that holds answers: what is below a
//! cause in the list often shows as well, as its consequence. A generator that could not keep up
//! explains everything that it measured; a quota explains busy cores; busy cores explain a full
//! listen queue.

mod around;
mod connections;
mod cpu;
mod figures;
mod waits;

pub use figures::Figures;

use crate::terms::{Limit, WaitingEvidence};

/// In the order of causes.
const RULES: [fn(&Figures<'_>) -> Option<Limit>; 13] = [
    around::generator,
    around::memory,
    cpu::quota,
    waits::busy_backend,
    around::host,
    cpu::garbage_collection,
    cpu::cores,
    connections::balance,
    cpu::lock,
    connections::proxy,
    connections::backlog,
    waits::waiting_backend,
    waits::threads,
];

/// Names the resource that set the limit in a trial that was pushed to it.
pub fn limit(figures: &Figures<'_>) -> Limit {
    let first = RULES.iter().find_map(|rule| rule(figures));
    first.unwrap_or_else(|| Limit::unknown(unknown_evidence(figures)))
}

fn unknown_evidence(figures: &Figures<'_>) -> WaitingEvidence {
    WaitingEvidence::NoRuleHolds {
        cpu: figures.cpu_busy(),
        in_flight_mean: figures.in_flight_mean,
        slots: figures.named_slots(),
    }
}

#[cfg(test)]
mod tests;
