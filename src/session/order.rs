//! What the search asks for, as the order that a trial is run by.

use crate::search::TrialRequest;
use crate::terms::Slo;
use crate::trial::Order;

/// The order of one request. `slo`: the goal as far as it is settled, so that a load which clearly
/// cannot meet it ends early.
pub fn order(request: &TrialRequest, seed: u64, slo: Option<&Slo>) -> Order {
    Order {
        configuration: request.configuration,
        variant: request.variant,
        fresh_start: request.fresh_start,
        offered: request.offered,
        warm_up: request.warm_up,
        duration: request.duration,
        seed,
        latency_limit: slo.and_then(Slo::tightest_limit),
    }
}
