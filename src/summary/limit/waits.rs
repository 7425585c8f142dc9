//! What requests wait for while the server's CPU is not the limit: what is behind the app, or a
//! free thread.

use super::around::names;
use super::{BUSY, Figures, confidence, found, percent};
use crate::summary::used::Neighbour;
use crate::terms::{Limit, LimitKind};

/// A service that takes this share of the CPU that it and the server use together...
const MOSTLY: f64 = 0.5;
/// ...or uses so much of one core all the time: as much as a service of one thread can.
const ONE_CORE: f64 = 0.85;
/// Requests that take so many times as long as alone, without CPU to explain it, wait for one
/// another behind the app.
const STRETCHED: f64 = 1.5;
/// What is still one request's own time, measured twice, at most and at least.
const ALIKE: f64 = 1.25;
const AT_LEAST: f64 = 0.8;

fn backend_advice(figures: &Figures<'_>) -> String {
    format!(
        "look at what the app asks of it: queries, indexes, the size of the connection pool; {} \
         only queue there",
        figures.more_of_either()
    )
}

/// A process that works for the app uses the cores up, or all of one.
pub(super) fn busy_backend(figures: &Figures<'_>) -> Option<Limit> {
    let serving: Vec<&Neighbour> =
        figures.used.neighbours.iter().filter(|one| one.serves_app == Some(true)).collect();
    let busiest = serving.first()?;
    let all = figures.taken_by(&serving);
    let share = all / (all + figures.used.server_cores()).max(f64::MIN_POSITIVE);
    let takes_the_cores = figures.cores_busy() >= BUSY && share >= MOSTLY;
    // A service of many threads can use one core's time and have much left: then requests take as
    // long as they do alone.
    let stretch = stretch(figures);
    let takes_one = busiest.cores >= ONE_CORE
        && figures.waits_outside()
        && stretch.is_none_or(|stretch| stretch >= STRETCHED);
    let sure = confidence(share, 0.4, 0.8, 0.6);
    (takes_the_cores || takes_one).then(|| {
        found(
            LimitKind::Backend,
            if takes_the_cores || stretch.is_some() { sure } else { 0.5 },
            format!(
                "what works behind the app used {all:.2} cores, the server {:.2} of {}: {}",
                figures.used.server_cores(),
                figures.cores,
                names(&serving)
            ),
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
            format!(
                "{} held a request for {:.1} ms on average, {stretch:.1} times what it takes \
                 alone, while the cores were {} busy and the busiest worker {}: requests wait for \
                 one another behind the app",
                a_slot(figures),
                held * 1e3,
                percent(figures.cores_busy()),
                percent(figures.busiest_worker()),
            ),
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
        format!(
            "{} taken (on average {:.1} requests in flight) while the cores were {} busy and the \
             busiest worker {}: requests wait for something outside",
            match figures.configuration.slots() {
                1 => "the only worker was".to_string(),
                several => format!("all {several} {} were", figures.slots_name()),
            },
            figures.in_flight_mean,
            percent(busy),
            percent(worker)
        ),
        if figures.has_threads { "more threads, or more workers" } else { "more workers" },
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

fn a_slot(figures: &Figures<'_>) -> &'static str {
    if figures.has_one_thread() { "a worker" } else { "a thread" }
}
