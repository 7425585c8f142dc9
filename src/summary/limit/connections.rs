//! How requests get to a worker: uneven workers, a proxy that turns them away, a listen queue that
//! is too short.

use super::figures::{BUSY, Figures, confidence, found};
use crate::terms::{Limit, LimitAdvice, LimitKind, WaitingEvidence};

/// A worker with less than this share of the busiest one's CPU has little to do beside it.
const LITTLE: f64 = 0.5;
/// Share of requests that is lost on the way, and it is felt.
const LOST: f64 = 0.01;
/// A queue that holds less than this share of its places on average is emptied as fast as it fills:
/// what overflows then is a burst, and not what a slow server leaves waiting.
const DRAINED: f64 = 0.7;

/// One worker does all it can, and another has time: connections are bound to workers.
pub(super) fn balance(figures: &Figures<'_>) -> Option<Limit> {
    let (busiest, idlest) = (figures.used.busiest_worker(), figures.used.idlest_worker());
    (idlest <= LITTLE * busiest && busiest >= BUSY - 0.05).then(|| {
        found(
            LimitKind::Balance,
            confidence(1.0 - idlest / busiest, 1.0 - LITTLE, 0.9, 0.7),
            WaitingEvidence::Unbalanced { busiest_ratio: busiest, idlest_ratio: idlest },
            LimitAdvice::FreshConnections,
        )
    })
}

/// The proxy closes connections, or says that no server took the request, while the server has
/// time. What else it passes on (503, 504) may be the app's own answer.
pub(super) fn proxy(figures: &Figures<'_>) -> Option<Limit> {
    if !figures.has_proxy || !figures.has_idle_cpu() {
        return None;
    }
    let load = figures.load;
    let not_taken = load.status.get("502").copied().unwrap_or(0);
    let closed = load.errors.reset + load.errors.closed_early + load.errors.refused;
    let share = |count: u64| count as f64 / load.due.max(1) as f64;
    let is_closed = share(closed) >= LOST;
    // A server that ended or whose own queue is full makes a proxy say so, too.
    let sure = if is_closed { confidence(share(closed), LOST, 0.1, 0.7) } else { 0.5 };
    (is_closed || share(not_taken) >= LOST).then(|| {
        found(
            LimitKind::Proxy,
            sure,
            WaitingEvidence::ProxyTurnedAway {
                due: load.due,
                closed,
                status_502: not_taken,
                cpu: figures.cpu_busy(),
            },
            LimitAdvice::RaiseProxyLimits,
        )
    })
}

/// The kernel turns connections away while the server has time: they come again after one and three
/// seconds, and no worker has work meanwhile.
pub(super) fn backlog(figures: &Figures<'_>) -> Option<Limit> {
    let queue = &figures.used.queue;
    let (overflows, backlog, mean) = (queue.overflows?, queue.backlog?, queue.mean?);
    let share = overflows as f64 / figures.load.due.max(1) as f64;
    // The kernel lets one more in than the backlog says.
    let places = f64::from(backlog) + 1.0;
    let is_drained = mean <= DRAINED * places;
    (share >= LOST && is_drained && figures.has_idle_cpu()).then(|| {
        found(
            LimitKind::Backlog,
            confidence(share, LOST, 0.1, 0.65),
            WaitingEvidence::ListenQueueFull {
                backlog,
                turned_away: overflows,
                p99_s: figures.load.latency_s.p99,
                cores_busy_ratio: figures.cores_busy(),
            },
            LimitAdvice::LongerListenQueue,
        )
    })
}
