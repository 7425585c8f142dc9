//! What is around the server: the load generator, memory, and the host with its other guests.

use super::figures::{BUSY, Figures, IDLE, confidence, found};
use crate::summary::used::Neighbour;
use crate::terms::{
    Limit, LimitAdvice, LimitKind, MemoryFill, NeighbourCores, ResourceEvidence, Warning,
};

/// Stolen from the server's cores by other machines, and it is felt.
const STOLEN: f64 = 0.10;
/// Taken by processes beside the server; less than twice this is no more than likely.
const TAKEN: f64 = 0.05;
/// Share of the time spent waiting for memory, or for what is read again.
const PRESSED: f64 = 0.10;
/// Pages a second that are read again: less than half a megabyte is no matter.
const REREAD: f64 = 100.0;

/// The generator did not do what it was asked to, and the rest of the figures are its own.
pub(super) fn generator(figures: &Figures<'_>) -> Option<Limit> {
    if figures.load.valid {
        return None;
    }
    let doubt = figures.load.warnings.iter().find_map(Warning::of_generator)?;
    let advice = LimitAdvice::MendGenerator { doubt };
    Some(found(LimitKind::Generator, 0.9, ResourceEvidence::GeneratorLimits { doubt }, advice))
}

/// The memory that the server may use is used up.
pub(super) fn memory(figures: &Figures<'_>) -> Option<Limit> {
    const ADVICE: LimitAdvice = LimitAdvice::MoreMemoryOrFewerWorkers;
    let memory = &figures.used.memory;
    let bytes = memory.most_bytes.zip(memory.limit_bytes);
    let fill = bytes.map(|(most_bytes, limit_bytes)| MemoryFill { most_bytes, limit_bytes });
    if memory.out_of_memory_kills > 0 {
        let kills = memory.out_of_memory_kills;
        let evidence = ResourceEvidence::OutOfMemory { kills, memory: fill };
        return Some(found(LimitKind::Memory, 0.95, evidence, ADVICE));
    }
    // Files fill the memory up to its limit as a matter of course: only what has to be read again
    // shows that there is too little of it, and only a wait shows that it matters.
    let felt = memory.pressure.unwrap_or(0.0);
    // A server that computes all the time waits for nothing.
    let has_time = figures.used.server_cores() < IDLE * figures.cores;
    (memory.refaults_a_second >= REREAD && felt >= PRESSED && has_time).then(|| {
        let evidence = ResourceEvidence::MemoryPressure {
            reread_pages_per_s: memory.refaults_a_second,
            waited_ratio: felt,
            memory: fill,
        };
        found(LimitKind::Memory, confidence(felt, PRESSED, 0.5, 0.6), evidence, ADVICE)
    })
}

/// Others took the cores: other machines on the same host, or processes beside the server that do
/// not work for it.
pub(super) fn host(figures: &Figures<'_>) -> Option<Limit> {
    let stolen = figures.used.stolen();
    if stolen >= STOLEN && figures.cores_busy() + stolen >= BUSY {
        return Some(found(
            LimitKind::Host,
            confidence(stolen, STOLEN, 0.4, 0.6),
            ResourceEvidence::Stolen { ratio: stolen },
            LimitAdvice::MeasureAtAnotherTime,
        ));
    }
    let strangers: Vec<&Neighbour> =
        figures.used.neighbours.iter().filter(|one| one.serves_app != Some(true)).collect();
    let taken = figures.taken_by(&strangers) / figures.used.cores_seen.max(1.0);
    if taken < TAKEN || figures.cores_busy() < BUSY {
        return None;
    }
    // Where connections cannot be seen, it may work for the server all the same.
    let is_seen = strangers.iter().all(|one| one.serves_app.is_some());
    let sure = confidence(taken, TAKEN, 0.3, 0.45);
    Some(found(
        LimitKind::Host,
        if is_seen { sure } else { 0.5 },
        ResourceEvidence::TakenByOthers {
            cores: figures.cores,
            busy_ratio: figures.cores_busy(),
            taken_ratio: taken,
            processes: busiest(&strangers),
        },
        LimitAdvice::EndNeighbours,
    ))
}

/// The three busiest, with their use.
pub(super) fn busiest(neighbours: &[&Neighbour]) -> Vec<NeighbourCores> {
    let three = neighbours.iter().take(3);
    three.map(|one| NeighbourCores { name: one.name.clone(), cores: one.cores }).collect()
}
