//! How far the advice is to be trusted.
//!
//! In: what was seen, and what was made of it. Out: notes. Computes only.

use super::demand::Request;
use super::seen::Seen;
use super::settings::Choice;
use super::times::RateSeen;
use crate::model::stay;
use crate::terms::AdviseNote;

/// Below this share of what the current setting holds, nothing shows what more traffic does.
const FAR_BELOW: f64 = 0.25;
/// Other processes that use less are no concern, cores.
const OTHERS_QUIET: f64 = 0.1;
/// Requests that slow down by this factor more than the model says wait for each other elsewhere.
const SLOWER: f64 = 1.25;
/// With fewer seconds the busiest tenth of them says nothing.
const SECONDS_LEAST: usize = 60;

pub fn notes(seen: &Seen, request: &Request, choice: &Choice) -> Vec<AdviseNote> {
    let capacity_ratio = seen.rate_rps() / choice.current.capacity_rps;
    let threads = seen.setting.threads.get();
    let others = seen.others_cores.filter(|cores| *cores > OTHERS_QUIET);
    let has_other_workers = choice.advised.workers != choice.current.workers;
    [
        (!request.is_lock_told && threads > 1).then_some(AdviseNote::LockWaitInferred),
        (capacity_ratio < FAR_BELOW).then_some(AdviseNote::TrafficFarBelow { capacity_ratio }),
        slower_when_busy(seen, request),
        others.map(|cores| AdviseNote::OthersUseCores { cores }),
        (seen.cpu_s.is_none()).then_some(AdviseNote::OnlyAppCpu),
        seen.are_threads_counted.then_some(AdviseNote::ThreadsSeen { threads }),
        choice.all.iter().all(|it| it.threads == 1).then_some(AdviseNote::OneThreadConsidered),
        (seen.memory_bytes.is_some() && has_other_workers)
            .then_some(AdviseNote::MemoryOfOneSetting),
        seen.times.queue_s().is_none().then_some(AdviseNote::QueueTimeNotSeen),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Times in the busiest tenth of all seconds beside those in the quietest, where that is more than
/// the model says of these rates.
fn slower_when_busy(seen: &Seen, request: &Request) -> Option<AdviseNote> {
    let mut seconds: Vec<RateSeen> =
        seen.rates.iter().copied().filter(|second| second.requests > 0).collect();
    if seconds.len() < SECONDS_LEAST {
        return None;
    }
    seconds.sort_by_key(|second| second.requests);
    let tenth = seconds.len() / 10;
    let (quiet, busy) = (&seconds[..tenth], &seconds[seconds.len() - tenth..]);
    let of = |part: &[RateSeen]| {
        let requests: u64 = part.iter().map(|second| second.requests).sum();
        let app_s: f64 = part.iter().map(|second| second.app_s).sum();
        let rate = requests as f64 / part.len() as f64;
        let expected = stay(&request.fit.demand, seen.setting, seen.cores.get(), rate)?;
        Some((app_s / requests as f64, expected.service_s))
    };
    let ((quiet_s, quiet_expected), (busy_s, busy_expected)) = (of(quiet)?, of(busy)?);
    let (ratio, expected_ratio) = (busy_s / quiet_s, busy_expected / quiet_expected);
    (ratio > SLOWER * expected_ratio)
        .then_some(AdviseNote::SlowerWhenBusy { ratio, expected_ratio })
}
