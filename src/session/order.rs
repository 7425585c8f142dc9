//! What the search asks for, as the order that a trial is run by.

use crate::search::TrialRequest;
use crate::terms::{Goals, Slo};
use crate::trial::Order;

/// The order of one request. `goals`: as far as they are settled, so that a load which clearly
/// cannot meet them ends early. By Little's law no more are in flight than come within the limits
/// of their own goals, each as often as it is asked for: within the mean of these limits. `seed`:
/// the session's; `id`: the trial's.
pub fn order(request: &TrialRequest, seed: u64, id: u32, goals: &Goals) -> Order {
    Order {
        configuration: request.configuration,
        variant: request.variant,
        fresh_start: request.fresh_start,
        offered: request.offered,
        warm_up: request.warm_up,
        duration: request.duration,
        seed: seed.wrapping_add(arrivals(request, id)),
        latency_limit: goals.mean_limit(Slo::tightest_limit),
    }
}

/// Arrivals of its own by the trial's id; those of several lie where no id is.
fn arrivals(request: &TrialRequest, id: u32) -> u64 {
    const COMMON: u64 = 1 << 32;
    request.common_arrivals.map_or(u64::from(id), |number| COMMON + u64::from(number))
}
