//! Two places in turn: what the comparison asks for is measured on one or the other, until it is
//! sure, its time is up, or the user stops it.
//!
//! In: a [`Revisions`] and two places. Out: what they raised doubts about. Whatever happens both
//! servers are stopped.

use crate::place::{Place, PlaceError};
use crate::plan::Plan;
use crate::search::Revisions;
use crate::server::Proxy;
use crate::session::order::{Measured, measure};
use crate::summary::trial::Context;
use crate::terms::{BootFailure, Side, StopSignal, Warning};
use crate::trial::Runner;

/// Hears whose turn it is.
type Tell<'a> = &'a mut dyn FnMut(&Revisions, Side);

/// Why two revisions could not be measured.
#[derive(Debug)]
pub enum MeasureError {
    Place(PlaceError),
    DoesNotStart { side: Side, failure: Box<BootFailure> },
}

/// Measures until there is nothing left to ask. `plan`: what is asked of both. Seconds that
/// it took and doubts come back, each doubt once.
///
/// # Errors
/// A server does not start before a block is whole, or something else than the servers stands in
/// the way.
pub fn run(
    search: &mut Revisions,
    plan: &Plan,
    [a, b]: [&mut dyn Place; 2],
    stop: &StopSignal,
    tell: Tell<'_>,
) -> Result<(f64, Vec<Warning>), MeasureError> {
    let mut doubts = Vec::new();
    for doubt in a.warnings().into_iter().chain(b.warnings()) {
        doubt.raise_in(&mut doubts);
    }
    let cores = a.machine().cores.get();
    let mut runners = [Runner::new(a, 0), Runner::new(b, 0)];
    let ended = trials(search, (plan, cores), &mut runners, (stop, tell), &mut doubts);
    let [a, b] = runners.each_mut().map(Runner::finish);
    let elapsed_s = ended?;
    a.and(b).map_err(MeasureError::Place)?;
    Ok((elapsed_s, doubts))
}

fn trials(
    search: &mut Revisions,
    (plan, cores): (&Plan, f64),
    runners: &mut [Runner<'_>; 2],
    (stop, tell): (&StopSignal, Tell<'_>),
    doubts: &mut Vec<Warning>,
) -> Result<f64, MeasureError> {
    let mut spent_s = 0.0;
    let mut id = 0;
    while !stop.is_raised() {
        let Some((side, request)) = search.ask() else { break };
        tell(search, side);
        id += 1;
        let goals = plan.goals().with_common(search.slo());
        let context = Context {
            id,
            purpose: request.purpose,
            goals: &goals,
            cores,
            unloaded_s: search.unloaded_s(),
            has_proxy: plan.app.proxy != Proxy::None,
            has_threads: plan.has_threads,
            ended_s: 0.0,
        };
        let runner = &mut runners[side as usize];
        let began = runner.elapsed();
        let measured = measure(runner, &request, plan.seed, context, &mut |_| {});
        // Only one of the two is at work at a time, so that each place's own clock will do.
        spent_s += (runner.elapsed() - began).as_secs_f64();
        match measured {
            // What the user cut off says nothing.
            Err(PlaceError::Stopped) => break,
            Ok(Measured::Trial(..)) if stop.is_raised() => break,
            Err(error) => return Err(MeasureError::Place(error)),
            Ok(Measured::BootFailed(failure)) => {
                // One may be an accident where both have run, as on a machine that is busy.
                if !search.tell_not_started(spent_s) {
                    return Err(MeasureError::DoesNotStart { side, failure: failure.into() });
                }
            }
            Ok(Measured::Trial(summary, _)) => {
                for doubt in &summary.summary.warnings {
                    doubt.raise_in(doubts);
                }
                search.tell(&summary, spent_s);
            }
        }
    }
    Ok(spent_s)
}
