//! What `verify` says of a session's recommendation on another day: where nothing has changed, and
//! where the app has become slower.
//!
//! In: a session that has ended. Out: two verdicts.

use serde::{Deserialize, Serialize};
use sweetspot::search::{CapacityEstimate, VerifyPlan, VerifySetting};
use sweetspot::session::verify::DEFAULT_BUDGET;
use sweetspot::terms::{Arrivals, Slo, Verdict};

use super::app::Case;
use super::place::Zoo;
use crate::common::Result;
use crate::common::played::{Played, verify};

/// So many times as much computing and waiting as before.
pub const SLOWER: f64 = 1.25;

/// Is it still right?
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Rechecked {
    pub unchanged: Verdict,
    pub slower: Verdict,
}

/// `None` where the session recommends nothing.
pub fn again(case: &Case, played: &Played, slo: &Slo, seed: u64) -> Result<Option<Rechecked>> {
    let Some(plan) = plan(played, seed) else { return Ok(None) };
    let on = |case: &Case, day: u64| -> Result<Verdict> {
        let mut place = Zoo::new(case, seed.rotate_left(23) ^ day);
        Ok(verify(&mut place, plan.clone(), played, slo, case.app.cores())?.verdict)
    };
    Ok(Some(Rechecked { unchanged: on(case, 1)?, slower: on(&slower(case), 2)? }))
}

fn plan(played: &Played, seed: u64) -> Option<VerifyPlan> {
    let answer = played.search.answer();
    let choice = answer.choice?;
    let chosen = choice.capacity;
    let known = |it: CapacityEstimate| {
        let held = (it.rps.value, it.rps.interval());
        VerifySetting::of_session(&played.trials, it.configuration, held)
    };
    let current = answer.current.filter(|it| it.configuration != chosen.configuration);
    Some(VerifyPlan {
        recommended: known(chosen),
        rate_rps: choice.held.map_or(chosen.rps.low, |held| held.rate_rps),
        held_then: choice.held,
        current: current.map(known),
        arrivals: Arrivals::Poisson,
        budget: DEFAULT_BUDGET,
        seed,
    })
}

fn slower(case: &Case) -> Case {
    let mut case = case.clone();
    for endpoint in &mut case.app.endpoints {
        endpoint.cpu_s *= SLOWER;
        endpoint.wait_s *= SLOWER;
    }
    case
}
