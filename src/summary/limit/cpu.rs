//! The server's own CPU: a quota, garbage collection, the cores, the interpreter's lock.

use super::figures::{BUSY, Figures, confidence, found};
use crate::terms::{Limit, LimitAdvice, LimitKind, ResourceEvidence};

/// Held back in this share of the scheduling periods, and the quota is what is felt.
const THROTTLED: f64 = 0.30;
/// This share of the app's CPU spent on collecting, and less garbage would be felt.
const COLLECTING: f64 = 0.30;
/// The server and the generator have to explain this much of what the cores did.
const EXPLAINED: f64 = 0.5;

/// The control group's quota stopped the server again and again.
pub(super) fn quota(figures: &Figures<'_>) -> Option<Limit> {
    let throttled = figures.used.throttled;
    // A neighbour in the same group can use the quota up; then it is not the server's.
    let server = figures.used.server_cores();
    (throttled >= THROTTLED && server >= 0.5 * figures.cores).then(|| {
        found(
            LimitKind::Quota,
            confidence(throttled, THROTTLED, 0.9, 0.6),
            ResourceEvidence::Throttled {
                cores: figures.cores,
                throttled_ratio: throttled,
                server_cores: server,
            },
            LimitAdvice::HigherQuotaOrWorkersPerCore,
        )
    })
}

/// Collecting takes a large part of the CPU that requests get. Only a probe inside can tell.
pub(super) fn garbage_collection(figures: &Figures<'_>) -> Option<Limit> {
    let inside = figures.used.inside.as_ref()?;
    let collecting_s = inside.gc_s?;
    let app_s = figures.used.cpu_s.get("worker").copied().unwrap_or(0.0);
    let share = if app_s > 0.0 { collecting_s / app_s } else { 0.0 };
    let is_busy = figures.cores_busy() >= BUSY || mean_worker(figures) >= BUSY;
    (share >= COLLECTING && is_busy).then(|| {
        found(
            LimitKind::Gc,
            confidence(share, COLLECTING, 0.7, 0.6),
            ResourceEvidence::Collecting {
                ratio: share,
                per_request_s: collecting_s / inside.requests.max(1) as f64,
            },
            LimitAdvice::LessGarbage,
        )
    })
}

/// All cores that the server may use are busy.
pub(super) fn cores(figures: &Figures<'_>) -> Option<Limit> {
    let busy = figures.cores_busy();
    let own = figures.used.server_cores() + figures.used.cores_of("generator");
    // Busy with what, where neither the server nor the generator was it?
    let is_explained = own >= EXPLAINED * busy * figures.cores;
    (busy >= BUSY).then(|| {
        found(
            LimitKind::Cores,
            if is_explained { confidence(busy, BUSY, 1.0, 0.6) } else { 0.5 },
            ResourceEvidence::CoresBusy {
                cores: figures.cores,
                busy_ratio: busy,
                server_cores: figures.used.server_cores(),
                generator_cores: figures.used.cores_of("generator"),
            },
            LimitAdvice::MoreCoresOrLessCpu { has_threads: figures.has_threads },
        )
    })
}

/// Each worker uses all of the one core that it can.
pub(super) fn lock(figures: &Figures<'_>) -> Option<Limit> {
    let busy = mean_worker(figures);
    (busy >= BUSY).then(|| {
        found(
            LimitKind::Gvl,
            confidence(busy, BUSY, 1.0, 0.6),
            ResourceEvidence::WorkersBusy {
                workers: figures.used.workers.len() as u32,
                busy_ratio: busy,
                has_one_thread: figures.has_one_thread(),
                idle_cores: (1.0 - figures.cores_busy()) * figures.cores,
                cores: figures.cores,
            },
            match figures.has_threads {
                true => LimitAdvice::MoreWorkersNotThreads,
                false => LimitAdvice::MoreWorkers,
            },
        )
    })
}

fn mean_worker(figures: &Figures<'_>) -> f64 {
    figures.used.worker_cores().sum::<f64>() / figures.used.workers.len().max(1) as f64
}
