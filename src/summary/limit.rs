//! What ended the growth: rules over figures, each with its evidence. No rule, no name.

use super::used::Used;
use crate::terms::{Configuration, Limit, LimitKind};

/// The figures that the rules look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures<'a> {
    pub configuration: Configuration,
    /// Cores the server may use.
    pub cores: f64,
    pub used: &'a Used,
    /// Mean number of requests in flight or waiting, as sampled by a timer.
    pub in_flight_mean: f64,
}

/// Busy means this share of what there is: schedulers and sampling leave the rest.
const BUSY: f64 = 0.90;
/// Idle enough to say that something else than the CPU sets the limit.
const IDLE: f64 = 0.80;

/// Names the resource that set the limit in a trial that was pushed to it.
pub fn limit(figures: &Figures<'_>) -> Limit {
    cores(figures)
        .or_else(|| gvl(figures))
        .or_else(|| threads(figures))
        .unwrap_or_else(|| Limit::unknown(unknown_evidence(figures)))
}

/// Share of the allowed cores that was busy; the generator counts, since it shares them.
fn cores_busy(figures: &Figures<'_>) -> f64 {
    let own = figures.used.server_cores() + figures.used.cores_of("generator");
    (own / figures.cores).max(figures.used.host_busy.unwrap_or(0.0)).min(1.0)
}

fn busiest_worker(used: &Used) -> f64 {
    used.workers.iter().map(|worker| worker.cpu_cores).fold(0.0, f64::max)
}

fn cores(figures: &Figures<'_>) -> Option<Limit> {
    let busy = cores_busy(figures);
    (busy >= BUSY).then(|| Limit {
        kind: LimitKind::Cores,
        confidence: confidence(busy),
        evidence: format!(
            "the {} cores were {:.0} % busy (server {:.2}, load generator {:.2} cores)",
            figures.cores,
            busy * 100.0,
            figures.used.server_cores(),
            figures.used.cores_of("generator"),
        ),
    })
}

fn gvl(figures: &Figures<'_>) -> Option<Limit> {
    let workers = &figures.used.workers;
    let busy = workers.iter().map(|w| w.cpu_cores).sum::<f64>() / workers.len().max(1) as f64;
    (busy >= BUSY).then(|| Limit {
        kind: LimitKind::Gvl,
        confidence: confidence(busy),
        evidence: format!(
            "{} busy {:.0} % of the time, all that {} allows, while {:.2} of {} cores were left \
             idle",
            if workers.len() == 1 { "the one worker was" } else { "each worker was" },
            busy * 100.0,
            // A worker with one thread has nobody to share a lock with.
            if has_one_thread(figures) { "one core at a time" } else { "its lock" },
            (1.0 - cores_busy(figures)) * figures.cores,
            figures.cores,
        ),
    })
}

fn threads(figures: &Figures<'_>) -> Option<Limit> {
    let slots = f64::from(figures.configuration.slots());
    let busy = cores_busy(figures);
    let worker = busiest_worker(figures.used);
    let is_full = figures.in_flight_mean >= 0.95 * slots;
    let is_idle = busy < IDLE && worker < IDLE && !figures.used.workers.is_empty();
    (is_full && is_idle).then(|| Limit {
        kind: LimitKind::Threads,
        confidence: (1.0 - busy.max(worker) / 2.0).clamp(0.5, 0.95),
        evidence: format!(
            "{} taken (on average {:.1} requests in flight) while the cores were {:.0} % busy and \
             the busiest worker {:.0} %: requests wait for something outside",
            match figures.configuration.slots() {
                1 => "the only worker was".to_string(),
                several => format!("all {several} {} were", slots_name(figures)),
            },
            figures.in_flight_mean,
            busy * 100.0,
            worker * 100.0,
        ),
    })
}

/// From one half at the threshold to nearly sure when all of it was busy.
fn confidence(busy: f64) -> f64 {
    (0.6 + (busy - BUSY) / (1.0 - BUSY) * 0.35).clamp(0.5, 0.95)
}

fn unknown_evidence(figures: &Figures<'_>) -> String {
    format!(
        "no rule holds: cores {:.0} % busy, busiest worker {:.0} %, {:.1} requests in flight on {} \
         {}",
        cores_busy(figures) * 100.0,
        busiest_worker(figures.used) * 100.0,
        figures.in_flight_mean,
        figures.configuration.slots(),
        slots_name(figures),
    )
}

fn has_one_thread(figures: &Figures<'_>) -> bool {
    figures.configuration.threads.get() == 1
}

/// What requests occupy: threads, or whole workers where each has one thread.
fn slots_name(figures: &Figures<'_>) -> &'static str {
    match (has_one_thread(figures), figures.configuration.slots()) {
        (false, _) => "threads",
        (true, 1) => "worker",
        (true, _) => "workers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::WorkerShare;

    fn used(workers: &[f64], generator: f64, host_busy: f64) -> Used {
        let share = |(&cpu_cores, index): (&f64, u16)| WorkerShare {
            index,
            pid: u32::from(index) + 1,
            cpu_cores,
            run_delay_cores: 0.0,
        };
        let cpu_s = [("worker", workers.iter().sum()), ("generator", generator)];
        Used {
            cpu_s: cpu_s.into_iter().map(|(role, s)| (role.to_string(), s)).collect(),
            workers: workers.iter().zip(0..).map(share).collect(),
            seen_s: 1.0,
            host_busy: Some(host_busy),
            ..Used::default()
        }
    }

    fn kind(workers: u16, threads: u16, used: &Used, in_flight_mean: f64) -> LimitKind {
        let configuration = Configuration::new(workers, threads).unwrap();
        limit(&Figures { configuration, cores: 2.0, used, in_flight_mean }).kind
    }

    #[test]
    fn all_cores_busy_is_cores_even_when_the_workers_are_busy_too() {
        assert_eq!(kind(2, 5, &used(&[0.92, 0.91], 0.15, 0.98), 20.0), LimitKind::Cores);
    }

    #[test]
    fn a_worker_at_one_core_beside_an_idle_one_is_the_lock() {
        assert_eq!(kind(1, 5, &used(&[0.98], 0.1, 0.55), 10.0), LimitKind::Gvl);
    }

    #[test]
    fn full_threads_on_an_idle_machine_are_threads() {
        assert_eq!(kind(2, 1, &used(&[0.12, 0.12], 0.02, 0.15), 4.0), LimitKind::Threads);
    }

    #[test]
    fn nothing_busy_and_nothing_full_is_unknown() {
        assert_eq!(kind(2, 5, &used(&[0.3, 0.3], 0.02, 0.35), 3.0), LimitKind::Unknown);
        assert_eq!(kind(2, 5, &used(&[], 0.0, 0.1), 30.0), LimitKind::Unknown, "nothing was seen");
    }
}
