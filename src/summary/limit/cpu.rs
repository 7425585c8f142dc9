//! The server's own CPU: a quota, garbage collection, the cores, the interpreter's lock.

use super::{BUSY, Figures, confidence, found, percent};
use crate::terms::{Limit, LimitKind};

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
            format!(
                "the control group's quota of {} cores stopped the server in {} of the \
                 scheduling periods; it used {server:.2} cores",
                figures.cores,
                percent(throttled)
            ),
            "a higher quota, or as many workers as it has whole cores: more only spend it sooner \
             and then all stand still",
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
            format!(
                "{} of the workers' CPU time was garbage collection ({:.1} ms a request)",
                percent(share),
                collecting_s / inside.requests.max(1) as f64 * 1e3
            ),
            "make less garbage: fewer objects a request, and a larger heap to start with \
             (RUBY_GC_HEAP_INIT_SLOTS, RUBY_GC_MALLOC_LIMIT)",
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
            format!(
                "the {} cores were {} busy (server {:.2}, load generator {:.2} cores)",
                figures.cores,
                percent(busy),
                figures.used.server_cores(),
                figures.used.cores_of("generator"),
            ),
            format!(
                "more cores, or less CPU a request; {} would only queue inside the server",
                figures.more_of_either()
            ),
        )
    })
}

/// Each worker uses all of the one core that it can.
pub(super) fn lock(figures: &Figures<'_>) -> Option<Limit> {
    let busy = mean_worker(figures);
    let workers = figures.used.workers.len();
    (busy >= BUSY).then(|| {
        found(
            LimitKind::Gvl,
            confidence(busy, BUSY, 1.0, 0.6),
            format!(
                "{} busy {} of the time, all that {} allows, while {:.2} of {} cores were left \
                 idle",
                if workers == 1 { "the one worker was" } else { "each worker was" },
                percent(busy),
                // A worker with one thread has nobody to share a lock with.
                if figures.has_one_thread() { "one core at a time" } else { "its lock" },
                (1.0 - figures.cores_busy()) * figures.cores,
                figures.cores,
            ),
            match figures.has_threads {
                true => "more workers; more threads would only wait for the same lock",
                false => "more workers",
            },
        )
    })
}

fn mean_worker(figures: &Figures<'_>) -> f64 {
    figures.used.worker_cores().sum::<f64>() / figures.used.workers.len().max(1) as f64
}
