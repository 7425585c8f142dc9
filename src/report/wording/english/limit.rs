//! What a limit is known by, and what to do about it, in English.

use super::doubt;
use crate::report::Language;
use crate::report::figures::whole_percent as percent;
use crate::terms::{
    CpuBusy, LimitAdvice, MemoryFill, NeighbourCores, ProcessNames, ResourceEvidence, Slots,
    WaitingEvidence,
};

pub fn waiting(evidence: &WaitingEvidence) -> String {
    match evidence {
        WaitingEvidence::NotSaturated => "it was not pushed to its limit".into(),
        WaitingEvidence::NoRuleHolds { cpu, in_flight_mean, slots } => format!(
            "no rule holds: {}, {in_flight_mean:.1} requests in flight on {} {}",
            busy(cpu, "cores", ", "),
            slots.count,
            slots_name(*slots),
        ),
        WaitingEvidence::BackendBusy { backend_cores, server_cores, cores, processes } => format!(
            "what works behind the app used {backend_cores:.2} cores, the server \
             {server_cores:.2} of {cores}: {}",
            names(processes)
        ),
        WaitingEvidence::BackendWaits { by_workers, held_s, stretch, cpu } => format!(
            "{} held a request for {:.1} ms on average, {stretch:.1} times what it takes alone, \
             while {}: requests wait for one another behind the app",
            if *by_workers { "a worker" } else { "a thread" },
            held_s * 1e3,
            while_busy(cpu),
        ),
        WaitingEvidence::SlotsTaken { slots, in_flight_mean, cpu } => format!(
            "{} taken (on average {in_flight_mean:.1} requests in flight) while {}: requests wait \
             for something outside",
            match slots.count {
                1 => "the only worker was".to_string(),
                several => format!("all {several} {} were", slots_name(*slots)),
            },
            while_busy(cpu),
        ),
        WaitingEvidence::Unbalanced { busiest_ratio, idlest_ratio } => format!(
            "one worker was busy {} of the time and another {}: requests do not get to those that \
             are free",
            percent(*busiest_ratio),
            percent(*idlest_ratio)
        ),
        WaitingEvidence::ProxyTurnedAway { due, closed, status_502, cpu } => format!(
            "of {due} requests the proxy closed {closed} connections and answered {status_502} \
             with 502, while {}",
            while_busy(cpu)
        ),
        WaitingEvidence::ListenQueueFull { backlog, turned_away, p99_s, cores_busy_ratio } => {
            format!(
                "the listen queue (backlog {backlog}) was full and {turned_away} connections were \
             turned away (p99 {p99_s:.1} s: they come again after 1, 3 and 7 s), while the cores \
             were {} busy",
                percent(*cores_busy_ratio)
            )
        }
    }
}

pub fn resource(evidence: &ResourceEvidence) -> String {
    match evidence {
        ResourceEvidence::GeneratorLimits { doubt } => doubt::message(&(*doubt).into()),
        ResourceEvidence::CoresBusy { cores, busy_ratio, server_cores, generator_cores } => {
            format!(
                "the {cores} cores were {} busy (server {server_cores:.2}, load generator \
             {generator_cores:.2} cores)",
                percent(*busy_ratio),
            )
        }
        ResourceEvidence::WorkersBusy {
            workers,
            busy_ratio,
            has_one_thread,
            idle_cores,
            cores,
        } => format!(
            "{} busy {} of the time, all that {} allows, while {idle_cores:.2} of {cores} cores \
             were left idle",
            if *workers == 1 { "the one worker was" } else { "each worker was" },
            percent(*busy_ratio),
            // A worker with one thread shares its lock with nothing.
            if *has_one_thread { "one core at a time" } else { "its lock" },
        ),
        ResourceEvidence::Throttled { cores, throttled_ratio, server_cores } => format!(
            "the control group's quota of {cores} cores stopped the server in {} of the \
             scheduling periods; it used {server_cores:.2} cores",
            percent(*throttled_ratio)
        ),
        ResourceEvidence::Collecting { ratio, per_request_s } => format!(
            "{} of the workers' CPU time was garbage collection ({:.1} ms a request)",
            percent(*ratio),
            per_request_s * 1e3
        ),
        ResourceEvidence::OutOfMemory { kills, memory } => format!(
            "{kills} {} killed because memory ran out{}",
            if *kills == 1 { "process was" } else { "processes were" },
            of_limit(memory.as_ref())
        ),
        ResourceEvidence::MemoryPressure { reread_pages_per_s, waited_ratio, memory } => format!(
            "{reread_pages_per_s:.0} pages a second had to make room and were read from the disk \
             again{}, and something waited for that {} of the time",
            of_limit(memory.as_ref()),
            percent(*waited_ratio)
        ),
        ResourceEvidence::Stolen { ratio } => {
            format!("the hypervisor gave {} of the cores' time to others", percent(*ratio))
        }
        ResourceEvidence::TakenByOthers { cores, busy_ratio, taken_ratio, processes } => format!(
            "the {cores} cores were {} busy, {} of it by processes that are not the server's: {}",
            percent(*busy_ratio),
            percent(*taken_ratio),
            names(processes)
        ),
    }
}

pub fn advice(advice: &LimitAdvice) -> String {
    match *advice {
        LimitAdvice::MendGenerator { doubt } => doubt::advice(&doubt.into()),
        LimitAdvice::MoreCoresOrLessCpu { has_threads } => format!(
            "more cores, or less CPU a request; {} would only queue inside the server",
            more_of_either(has_threads)
        ),
        LimitAdvice::MoreWorkers => "more workers".into(),
        LimitAdvice::MoreWorkersNotThreads => {
            "more workers; more threads would only wait for the same lock".into()
        }
        LimitAdvice::MoreThreadsOrWorkers => "more threads, or more workers".into(),
        LimitAdvice::LookAtBackend { has_threads } => format!(
            "look at what the app asks of it: queries, indexes, the size of the connection pool; \
             {} only queue there",
            more_of_either(has_threads)
        ),
        LimitAdvice::MoreMemoryOrFewerWorkers => {
            "more memory, or fewer workers; what each takes stands with the results".into()
        }
        LimitAdvice::HigherQuotaOrWorkersPerCore => {
            "a higher quota, or as many workers as it has whole cores: more only spend it sooner \
             and then all stand still"
                .into()
        }
        LimitAdvice::LessGarbage => {
            "make less garbage: fewer objects a request, a larger heap to start with \
             (RUBY_GC_HEAP_0_INIT_SLOTS to RUBY_GC_HEAP_4_INIT_SLOTS; to Ruby 3.2: \
             RUBY_GC_HEAP_INIT_SLOTS) and a higher RUBY_GC_MALLOC_LIMIT"
                .into()
        }
        LimitAdvice::MeasureAtAnotherTime => {
            "measure again at another time; a machine with cores of its own (a dedicated or \
             non-burstable type) keeps what it promises"
                .into()
        }
        LimitAdvice::EndNeighbours => {
            "end them, or give the server cores on which they do not run, and measure again".into()
        }
        LimitAdvice::FreshConnections => {
            "measure with a fresh connection a request, as a proxy in front has it; with kept \
             connections a worker keeps its clients, however long they wait"
                .into()
        }
        LimitAdvice::RaiseProxyLimits => {
            "raise its limits (worker_connections, limit_conn, limit_req, the open files it may \
             have), and the listen queue of the server behind it"
                .into()
        }
        LimitAdvice::LongerListenQueue => {
            "a longer listen queue (the server's backlog, and net.core.somaxconn), or a proxy in \
             front that keeps what waits"
                .into()
        }
    }
}

/// What only lengthens a queue elsewhere.
fn more_of_either(has_threads: bool) -> &'static str {
    if has_threads { "more workers or threads" } else { "more workers" }
}

fn busy(cpu: &CpuBusy, cores: &str, and: &str) -> String {
    let (all, worker) = (percent(cpu.cores_ratio), percent(cpu.worker_ratio));
    format!("{cores} {all} busy{and}busiest worker {worker}")
}

fn while_busy(cpu: &CpuBusy) -> String {
    busy(cpu, "the cores were", " and the ")
}

fn slots_name(slots: Slots) -> &'static str {
    match (slots.are_workers, slots.count) {
        (false, _) => "threads",
        (true, 1) => "worker",
        (true, _) => "workers",
    }
}

fn of_limit(memory: Option<&MemoryFill>) -> String {
    let text =
        |it: &MemoryFill| format!(" ({} MiB of {} MiB)", it.most_bytes >> 20, it.limit_bytes >> 20);
    memory.map(text).unwrap_or_default()
}

pub fn processes(names: &ProcessNames) -> String {
    let ProcessNames::Alike { name, others } = names;
    format!("{name} and {others} more like it")
}

fn names(processes: &[NeighbourCores]) -> String {
    let name = |one: &NeighbourCores| Language::English.say(&one.name);
    let named = processes.iter().map(|one| format!("{} ({:.2} cores)", name(one), one.cores));
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_first_heap_is_named_as_each_ruby_calls_it() {
        let said = advice(&LimitAdvice::LessGarbage);
        for name in ["RUBY_GC_HEAP_0_INIT_SLOTS", "Ruby 3.2", "RUBY_GC_HEAP_INIT_SLOTS"] {
            assert!(said.contains(name), "{name} is missing in: {said}");
        }
    }
}
