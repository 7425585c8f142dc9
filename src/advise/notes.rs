//! How far the advice is to be trusted.
//!
//! In: what was seen, and what was made of it. Out: notes beside those of the watching. Computes
//! only.

use super::demand::Request;
use super::seen::Seen;
use super::settings::Choice;
use crate::terms::{AdviseNote, BlindSpot, Stated};

/// Below this share of what the current setting holds, nothing shows what more traffic does.
const FAR_BELOW: f64 = 0.25;
/// Other processes that use less are no concern, cores.
const OTHERS_QUIET: f64 = 0.1;

pub fn notes(seen: &Seen, request: &Request, choice: &Choice) -> Vec<AdviseNote> {
    let capacity_ratio = seen.met_rps() / choice.current.capacity_rps;
    let threads = seen.setting.threads.get();
    let others = seen.others_cores.filter(|cores| *cores > OTHERS_QUIET);
    let has_other_workers = choice.advised.workers != choice.current.workers;
    [
        (!request.is_lock_told && threads > 1).then_some(AdviseNote::LockWaitInferred),
        (capacity_ratio < FAR_BELOW).then_some(AdviseNote::TrafficFarBelow { capacity_ratio }),
        choice.slower.map(|it| AdviseNote::SlowerWhenBusy {
            ratio: it.ratio,
            expected_ratio: it.expected_ratio,
        }),
        others.map(|cores| AdviseNote::OthersUseCores { cores }),
        (seen.cpu_s.is_none()).then_some(AdviseNote::OnlyAppCpu),
        seen.are_threads_counted.then_some(AdviseNote::ThreadsSeen { threads }),
        choice.all.iter().all(|it| it.threads == 1).then_some(AdviseNote::OneThreadConsidered),
        (seen.memory_bytes.is_some() && has_other_workers)
            .then_some(AdviseNote::MemoryOfOneSetting),
        seen.memory_bytes.is_none().then_some(AdviseNote::MemoryNotSeen),
        seen.batch.map(|_| AdviseNote::RecordedInBatches),
        (seen.times.queue_s().is_none() && !has_odd_stamps(seen))
            .then_some(AdviseNote::QueueTimeNotSeen),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Something in front sets a time stamp all the same, and that was said.
fn has_odd_stamps(seen: &Seen) -> bool {
    let is_it = |it: &AdviseNote| {
        matches!(it, AdviseNote::NotWatched { what: Stated::Fact(BlindSpot::StampsOdd { .. }) })
    };
    seen.remarks.iter().any(is_it)
}
