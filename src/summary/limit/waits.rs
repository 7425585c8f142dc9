//! What requests wait for while the server's CPU is not the limit: what is behind the app, or a
//! free thread.

use super::around::busiest;
use super::figures::{BUSY, Figures, confidence, found};
use crate::summary::used::Neighbour;
use crate::terms::{Limit, LimitAdvice, LimitKind, WaitingEvidence};

/// A service that takes this share of the CPU that it and the server use together...
const MOSTLY: f64 = 0.5;
/// ...or uses this share of one core all the time: as much as a service of one thread can.
const ONE_CORE: f64 = 0.85;
/// Requests that take this many times as long as one alone, without CPU to explain it, wait for
/// one another behind the app.
const STRETCHED: f64 = 1.5;
/// What is still one request's own time, measured twice, at most and at least.
const ALIKE: f64 = 1.25;
const AT_LEAST: f64 = 0.8;

fn backend_advice(figures: &Figures<'_>) -> LimitAdvice {
    LimitAdvice::LookAtBackend { has_threads: figures.has_threads }
}

/// A process that works for the app uses the cores up, or all of one.
pub(super) fn busy_backend(figures: &Figures<'_>) -> Option<Limit> {
    let serving: Vec<&Neighbour> =
        figures.used.neighbours.iter().filter(|one| one.serves_app == Some(true)).collect();
    let first = serving.first()?;
    let all = figures.taken_by(&serving);
    let share = all / (all + figures.used.server_cores()).max(f64::MIN_POSITIVE);
    let takes_the_cores = figures.cores_busy() >= BUSY && share >= MOSTLY;
    // A service of many threads can use one core's time and have much left: then requests take as
    // long as they do alone.
    let stretch = stretch(figures);
    let takes_one = first.cores >= ONE_CORE
        && figures.waits_outside()
        && stretch.is_none_or(|stretch| stretch >= STRETCHED);
    let sure = confidence(share, 0.4, 0.8, 0.6);
    (takes_the_cores || takes_one).then(|| {
        found(
            LimitKind::Backend,
            if takes_the_cores || stretch.is_some() { sure } else { 0.5 },
            WaitingEvidence::BackendBusy {
                backend_cores: all,
                server_cores: figures.used.server_cores(),
                cores: figures.cores,
                processes: busiest(&serving),
            },
            backend_advice(figures),
        )
    })
}

/// Every thread is taken, the CPU idles, and a request takes much longer than it does alone: they
/// wait for one another at something that is not the server's.
pub(super) fn waiting_backend(figures: &Figures<'_>) -> Option<Limit> {
    if !figures.waits_outside() {
        return None;
    }
    let (held, stretch) = (held_s(figures)?, stretch(figures)?);
    // CPU that is shared stretches requests too: by 1 / (1 - busy) at most.
    let explained = 1.0 / (1.0 - figures.cores_busy().max(figures.busiest_worker()));
    let threshold = STRETCHED * explained;
    (stretch >= threshold).then(|| {
        found(
            LimitKind::Backend,
            confidence(stretch, threshold, 2.0 * threshold, 0.6),
            WaitingEvidence::BackendWaits {
                by_workers: figures.has_one_thread(),
                held_s: held,
                stretch,
                cpu: figures.cpu_busy(),
            },
            backend_advice(figures),
        )
    })
}

/// Every thread is taken by requests that take as long as they do alone, and the CPU idles.
pub(super) fn threads(figures: &Figures<'_>) -> Option<Limit> {
    if !figures.waits_outside() {
        return None;
    }
    let (busy, worker) = (figures.cores_busy(), figures.busiest_worker());
    let stretch = stretch(figures);
    // Nothing is held for less time than it takes alone: such a server has more places than workers
    // and threads, as an event loop has, and they are not known to be taken.
    if stretch.is_some_and(|stretch| stretch < AT_LEAST) {
        return None;
    }
    let sure = match stretch {
        Some(stretch) if stretch <= ALIKE / (1.0 - worker) => {
            (1.0 - busy.max(worker) / 2.0).clamp(0.6, 0.95)
        }
        // It may as well be something behind the app.
        _ => 0.5,
    };
    Some(found(
        LimitKind::Threads,
        sure,
        WaitingEvidence::SlotsTaken {
            slots: figures.named_slots(),
            in_flight_mean: figures.in_flight_mean,
            cpu: figures.cpu_busy(),
        },
        match figures.has_threads {
            true => LimitAdvice::MoreThreadsOrWorkers,
            false => LimitAdvice::MoreWorkers,
        },
    ))
}

/// That, as a multiple of what a request takes alone; `None` when either is not known.
fn stretch(figures: &Figures<'_>) -> Option<f64> {
    Some(held_s(figures)? / figures.unloaded_s?)
}

/// How long a slot is taken by one request when all are taken all the time; `None` when nothing was
/// answered. Without what waits before a slot, which the client's latency includes.
fn held_s(figures: &Figures<'_>) -> Option<f64> {
    // Bad replies take their time as well.
    let answered = figures.load.completed as f64;
    (answered > 0.0).then(|| figures.slots() * figures.load.duration_s / answered)
}
