use super::figures::confidence;
use super::*;
use crate::report::Language;
use crate::summary::used::{ListenQueueUse, MemoryUse, Neighbour, Used};
use crate::terms::{
    Configuration, GeneratorDoubt, InsideUse, LimitAdvice, LimitKind, LoadDoubt, LoadSummary,
    ResourceEvidence, Stated, WorkerShare,
};

/// One situation: what was seen in a second of a trial on two cores.
#[derive(Clone)]
struct Case {
    workers: u16,
    threads: u16,
    used: Used,
    load: LoadSummary,
    in_flight_mean: f64,
    unloaded_s: Option<f64>,
    has_proxy: bool,
    has_threads: bool,
}

impl Case {
    fn limit(&self) -> Limit {
        limit(&Figures {
            configuration: Configuration::new(self.workers, self.threads).unwrap(),
            cores: 2.0,
            used: &self.used,
            load: &self.load,
            in_flight_mean: self.in_flight_mean,
            unloaded_s: self.unloaded_s,
            has_proxy: self.has_proxy,
            has_threads: self.has_threads,
        })
    }

    fn kind(&self) -> LimitKind {
        self.limit().kind
    }
}

fn used(workers: &[f64], generator: f64, host_busy: f64) -> Used {
    let share = |(&cpu_cores, index): (&f64, u16)| WorkerShare {
        index,
        pid: u32::from(index) + 1,
        cpu_cores,
        run_delay_cores: 0.0,
        memory_bytes: None,
    };
    let cpu_s = [("worker", workers.iter().sum()), ("generator", generator)];
    Used {
        cpu_s: cpu_s.into_iter().map(|(role, s)| (role.to_string(), s)).collect(),
        workers: workers.iter().zip(0..).map(share).collect(),
        seen_s: 1.0,
        cores_seen: 2.0,
        host_busy: Some(host_busy),
        ..Used::default()
    }
}

/// A valid load whose requests were all answered, 100 a second.
fn case(configuration: (u16, u16), used: Used, in_flight_mean: f64) -> Case {
    let (due, completed, duration_s) = (1000, 1000, 10.0);
    let load = LoadSummary { valid: true, due, completed, duration_s, ..Default::default() };
    let (workers, threads) = configuration;
    let (unloaded_s, has_proxy, has_threads) = (None, false, true);
    Case { workers, threads, used, load, in_flight_mean, unloaded_s, has_proxy, has_threads }
}

fn busy_pair() -> Case {
    case((2, 5), used(&[0.92, 0.91], 0.15, 0.98), 20.0)
}

fn neighbour(name: &str, cores: f64, serves_app: Option<bool>) -> Neighbour {
    Neighbour { name: Stated::Verbatim(name.to_string()), cores, serves_app }
}

/// The evidence and the advice as they are printed.
fn said(limit: &Limit) -> String {
    let advice = Language::DATA.say_or_empty(limit.advice.as_ref());
    format!("{}; {advice}", Language::DATA.say(&limit.evidence))
}

#[test]
fn all_cores_busy_is_cores_even_when_the_workers_are_busy_too() {
    assert_eq!(busy_pair().kind(), LimitKind::Cores);
}

#[test]
fn a_worker_at_one_core_beside_an_idle_one_is_the_lock() {
    assert_eq!(case((1, 5), used(&[0.98], 0.1, 0.55), 10.0).kind(), LimitKind::Gvl);
}

#[test]
fn nothing_busy_and_nothing_full_is_unknown() {
    assert_eq!(case((2, 5), used(&[0.3, 0.3], 0.02, 0.35), 3.0).kind(), LimitKind::Unknown);
    let unseen = case((2, 5), used(&[], 0.0, 0.1), 30.0);
    assert_eq!(unseen.kind(), LimitKind::Unknown, "nothing was seen");
    assert_eq!(unseen.limit().advice, None);
}

#[test]
fn full_threads_on_an_idle_machine_are_threads_while_requests_take_as_long_as_alone() {
    // Two slots that answer 100 requests a second hold each for 20 ms.
    let full = case((2, 1), used(&[0.12, 0.12], 0.02, 0.15), 4.0);
    let alike = Case { unloaded_s: Some(0.019), ..full.clone() };
    assert_eq!(alike.kind(), LimitKind::Threads);
    assert!(alike.limit().confidence > 0.5);
    let limit = full.limit();
    assert_eq!((limit.kind, limit.confidence), (LimitKind::Threads, 0.5), "nothing to compare");
}

#[test]
fn requests_that_take_much_longer_than_alone_wait_behind_the_app() {
    let full = case((1, 5), used(&[0.12], 0.02, 0.15), 10.0);
    let pool_of_one = Case { unloaded_s: Some(0.011), ..full.clone() };
    assert_eq!(pool_of_one.kind(), LimitKind::Backend);
    // A worker at 60 % of its core stretches a request 2.5 times by itself.
    let shared = case((1, 5), used(&[0.6], 0.02, 0.35), 10.0);
    assert_eq!(Case { unloaded_s: Some(0.02), ..shared }.kind(), LimitKind::Threads);
}

#[test]
fn a_busy_process_that_the_app_is_connected_to_is_its_backend() {
    let mut case = case((2, 5), used(&[0.2, 0.2], 0.1, 0.97), 20.0);
    case.used.neighbours = vec![neighbour("mariadbd", 1.4, Some(true))];
    assert_eq!(case.kind(), LimitKind::Backend);
    assert!(said(&case.limit()).contains("mariadbd (1.40 cores)"));
    // With one core all its own while the server waits.
    case.used = used(&[0.2, 0.2], 0.1, 0.7);
    case.used.neighbours = vec![neighbour("mariadbd", 0.97, Some(true))];
    assert_eq!(case.kind(), LimitKind::Backend);
}

#[test]
fn a_backend_that_takes_the_smaller_part_leaves_it_with_the_cores() {
    let mut case = busy_pair();
    case.used.neighbours = vec![neighbour("mariadbd", 0.2, Some(true))];
    assert_eq!(case.kind(), LimitKind::Cores);
}

#[test]
fn a_stranger_on_the_cores_is_the_host_and_less_surely_so_when_connections_are_hidden() {
    let mut case = case((2, 5), used(&[0.6, 0.6], 0.1, 0.99), 20.0);
    case.used.neighbours = vec![neighbour("ffmpeg", 0.7, Some(false))];
    let limit = case.limit();
    assert_eq!(limit.kind, LimitKind::Host);
    assert!(limit.confidence > 0.5 && said(&limit).contains("ffmpeg"), "{limit:?}");
    case.used.neighbours[0].serves_app = None;
    assert_eq!((case.kind(), case.limit().confidence), (LimitKind::Host, 0.5));
}

#[test]
fn stolen_time_is_the_host() {
    let mut case = case((2, 5), used(&[0.7, 0.7], 0.1, 0.75), 20.0);
    case.used.steal_s = 0.5;
    assert_eq!(case.kind(), LimitKind::Host);
    case.used.steal_s = 0.02;
    assert_ne!(case.kind(), LimitKind::Host);
}

#[test]
fn a_quota_that_stops_the_server_goes_before_the_cores_it_keeps_busy() {
    let mut case = busy_pair();
    case.used.throttled = 0.8;
    assert_eq!(case.kind(), LimitKind::Quota);
    case.used.throttled = 0.1;
    assert_eq!(case.kind(), LimitKind::Cores);
}

#[test]
fn memory_is_named_by_a_kill_or_by_waiting_for_it_and_not_by_a_full_cache() {
    let with =
        |memory: MemoryUse| Case { used: Used { memory, ..busy_pair().used }, ..busy_pair() };
    let killed = MemoryUse { out_of_memory_kills: 1, ..MemoryUse::default() };
    assert_eq!(with(killed).kind(), LimitKind::Memory);
    let (limit_bytes, most_bytes) = (Some(128 << 20), Some(128 << 20));
    let full = MemoryUse { limit_bytes, most_bytes, ..MemoryUse::default() };
    let reread = MemoryUse { refaults_a_second: 9000.0, pressure: Some(0.4), ..full };
    assert_eq!(with(reread).kind(), LimitKind::Cores, "a server that computes all the time");
    let idle = Used { memory: reread, ..used(&[0.3, 0.3], 0.1, 0.4) };
    let idle = Case { used: idle, ..busy_pair() };
    assert_eq!(idle.kind(), LimitKind::Memory);
    assert!(said(&idle.limit()).contains("(128 MiB of 128 MiB)"));
    // Files that are read once fill the cache up to the limit, and the disk is slow.
    let read_once = MemoryUse { pressure: Some(0.4), ..full };
    assert_eq!(with(read_once).kind(), LimitKind::Cores);
    let unfelt = MemoryUse { refaults_a_second: 9000.0, pressure: Some(0.01), ..full };
    assert_eq!(with(unfelt).kind(), LimitKind::Cores);
}

#[test]
fn a_generator_that_was_late_explains_everything() {
    let mut case = busy_pair();
    case.load.valid = false;
    let unanswered = LoadDoubt::Unanswered { requests: 1, due: 1000, silent_s: None };
    let doubt = GeneratorDoubt::SentLate { late: 40, requests: 1000, limit_s: 0.001 };
    case.load.warnings = vec![unanswered.into(), doubt.into()];
    let limit = case.limit();
    assert_eq!(limit.kind, LimitKind::Generator);
    assert_eq!(
        (limit.evidence, limit.advice),
        (
            Stated::Fact(ResourceEvidence::GeneratorLimits { doubt }.into()),
            Some(LimitAdvice::MendGenerator { doubt }.into())
        )
    );
}

#[test]
fn garbage_collection_needs_a_probe_and_a_busy_server() {
    let mut case = busy_pair();
    let inside = InsideUse { requests: 100, gc_s: Some(0.9), ..InsideUse::default() };
    case.used.inside = Some(inside.clone());
    assert_eq!(case.kind(), LimitKind::Gc);
    case.used.inside = Some(InsideUse { gc_s: None, ..inside.clone() });
    assert_eq!(case.kind(), LimitKind::Cores);
    case.used = Used { inside: Some(inside), ..used(&[0.3, 0.3], 0.1, 0.35) };
    assert_ne!(case.kind(), LimitKind::Gc);
}

#[test]
fn one_busy_worker_beside_an_idle_one_is_the_balance() {
    assert_eq!(case((2, 1), used(&[0.97, 0.1], 0.1, 0.6), 8.0).kind(), LimitKind::Balance);
    assert_eq!(case((2, 1), used(&[0.97, 0.8], 0.1, 0.95), 8.0).kind(), LimitKind::Cores);
}

#[test]
fn a_proxy_that_turns_requests_away_from_an_idle_server_is_the_limit() {
    let mut case = case((2, 5), used(&[0.2, 0.2], 0.1, 0.3), 40.0);
    case.load.errors.closed_early = 400;
    assert_ne!(case.kind(), LimitKind::Proxy, "there is none");
    case.has_proxy = true;
    assert_eq!(case.kind(), LimitKind::Proxy);
    // What the app itself answers is not the proxy's doing, and who refused is not known for sure.
    case.load.errors.closed_early = 0;
    case.load.status.insert("503".to_string(), 400);
    assert_ne!(case.kind(), LimitKind::Proxy);
    case.load.status.insert("502".to_string(), 400);
    assert_eq!((case.kind(), case.limit().confidence), (LimitKind::Proxy, 0.5));
    case.load.errors.closed_early = 400;
    case.used = used(&[0.95, 0.95], 0.1, 0.99);
    assert_eq!(case.kind(), LimitKind::Cores, "a busy server makes a proxy answer for it");
}

#[test]
fn a_short_listen_queue_overflows_between_idle_moments() {
    let mut case = case((2, 5), used(&[0.2, 0.2], 0.1, 0.3), 40.0);
    case.unloaded_s = Some(0.004);
    let queue = ListenQueueUse { mean: Some(1.2), backlog: Some(8), overflows: Some(300) };
    case.used.queue = queue;
    assert_eq!(case.kind(), LimitKind::Backlog);
    // Always full: whoever should empty it is slow.
    case.used.queue = ListenQueueUse { mean: Some(7.9), ..queue };
    assert_eq!(case.kind(), LimitKind::Backend);
    // A busy server lets its queue overflow because it is busy.
    case.used = Used { queue, ..used(&[0.95, 0.95], 0.1, 0.99) };
    assert_eq!(case.kind(), LimitKind::Cores);
}

#[test]
fn workers_that_hold_many_requests_each_are_not_called_full() {
    // An event loop: two workers that answer 1000 requests a second of 21 ms each.
    let mut case = case((2, 1), used(&[0.3, 0.3], 0.02, 0.35), 64.0);
    case.load.completed = 10_000;
    case.unloaded_s = Some(0.021);
    assert_eq!(case.kind(), LimitKind::Unknown);
}

#[test]
fn a_service_of_many_threads_that_slows_nobody_is_not_the_limit() {
    let mut case = case((4, 16), used(&[0.15, 0.15, 0.15, 0.15], 0.05, 0.4), 80.0);
    case.used.neighbours = vec![neighbour("mysqld", 1.25, Some(true))];
    // 64 threads that answer 125 requests a second hold each for 512 ms.
    case.load.completed = 1250;
    case.unloaded_s = Some(0.5);
    assert_eq!(case.kind(), LimitKind::Threads);
}

#[test]
fn what_neighbours_used_elsewhere_is_not_taken_from_the_server() {
    let mut case = busy_pair();
    case.used.cores_seen = 2.0;
    case.used.neighbours = vec![neighbour("cc1", 3.0, Some(false))];
    assert_eq!(case.kind(), LimitKind::Cores);
}

#[test]
fn a_generator_with_cores_of_its_own_does_not_fill_the_servers() {
    let case = case((1, 1), used(&[0.98], 1.0, 0.5), 10.0);
    assert_eq!(case.kind(), LimitKind::Gvl);
}

#[test]
fn nothing_is_said_of_threads_where_a_server_has_none() {
    let full = case((2, 1), used(&[0.12, 0.12], 0.02, 0.15), 4.0);
    let slow = Case { unloaded_s: Some(0.002), ..full.clone() };
    let one_busy = case((1, 1), used(&[0.98], 0.1, 0.55), 10.0);
    for case in [busy_pair(), full, slow, one_busy] {
        let limit = Case { threads: 1, has_threads: false, ..case }.limit();
        assert!(limit.advice.is_some());
        assert!(!said(&limit).contains("thread"), "{limit:?}");
    }
}

#[test]
fn confidence_grows_with_the_figure_and_is_never_certain() {
    assert_eq!(confidence(0.9, 0.9, 1.0, 0.6), 0.6);
    assert_eq!(confidence(1.0, 0.9, 1.0, 0.6), 0.95);
    assert_eq!(confidence(7.0, 0.9, 1.0, 0.6), 0.95);
}
