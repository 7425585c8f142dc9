//! Servers that are not there: requests as the model says they are, and what is advised of them.

use super::*;
use crate::model::simulator::{Backend, RequestKind, Server, Sharing, Simulator};
use crate::model::{self, Sizes, open_latency};
use crate::stats::normal;
use crate::terms::{
    AdviseNote, AdviseRefusal, Arrivals, BlindSpot, Bytes, InsideRequest, Latencies, LimitKind,
    Offered, Rate,
};

fn at(workers: u16, threads: u16) -> Configuration {
    Configuration::new(workers, threads).unwrap()
}

/// The size that a share of the requests stays below; the mean is 1.
type Size = fn(f64) -> f64;

fn cost(cpu_s: f64, wait_s: f64) -> Demand {
    Demand { cpu_s, wait_s, handoff_s: 0.03 * cpu_s, cv2: 1.0, ..Demand::default() }
}

fn exponential(share: f64) -> f64 {
    -(1.0 - share).ln()
}

/// A server on two cores whose requests take `cpu_s` and wait `wait_s`, exponential as a whole,
/// watched at `rate` for ten minutes.
fn seen(setting: Configuration, (cpu_s, wait_s): (f64, f64), rate: f64) -> Seen {
    seen_of(&cost(cpu_s, wait_s), exponential, setting, rate)
}

/// A server on two cores whose requests cost `truth` on average and have these sizes as a whole,
/// watched at `rate` for ten minutes.
fn seen_of(truth: &Demand, size: Size, setting: Configuration, rate: f64) -> Seen {
    let service_s = model::stay(truth, setting, 2.0, rate).unwrap().service_s;
    let requests = (600.0 * rate) as u64;
    let mut times = Times::default();
    let told = requests.min(20_000);
    for index in 0..told {
        let size = size((index as f64 + 0.5) / told as f64);
        times.add(&InsideRequest {
            app_s: size * service_s,
            cpu_s: size * truth.cpu_s,
            gvl_wait_s: None,
            queue_s: None,
            route: if index % 2 == 0 { "items#show".into() } else { "items#index".into() },
        });
    }
    let whole = |each: f64| each * requests as f64;
    let (app_s, app_cpu_s) = (whole(service_s), whole(truth.cpu_s));
    Seen {
        setting,
        cores: Cores::new(2.0).unwrap(),
        memory: Bytes(8 << 30),
        length_s: 600.0,
        instances: 1,
        sums: Sums { requests, app_s, app_cpu_s, gvl_wait_s: None, probe_s: Some(0.0) },
        cpu_s: Some(app_cpu_s),
        memory_bytes: Some(400 << 20),
        others_cores: None,
        are_threads_counted: false,
        watching_cores: None,
        times,
        rates: Vec::new(),
        batch: None,
        remarks: Vec::new(),
    }
}

fn advised(seen: &Seen) -> AdviseReport {
    let settings = usual_settings(seen.cores, false);
    advise(seen, Some(&"p95<300ms".parse().unwrap()), &settings)
}

#[test]
fn waits_are_told_from_the_lock_by_the_model_and_more_threads_are_advised() {
    let one = seen(at(2, 2), (0.005, 0.045), 35.0);
    let report = advised(&one);
    assert_eq!(report.refused, []);
    let demand = report.demand.unwrap();
    assert!((demand.wait_s.value / 0.045 - 1.0).abs() < 0.05, "{demand:?}");
    assert!((demand.cpu_s.value / 0.005 - 1.0).abs() < 0.02, "{demand:?}");
    let (advised, current) = (report.advised.unwrap(), report.current.unwrap());
    assert!(advised.threads >= 8 && advised.capacity_rps > 3.0 * current.capacity_rps);
    assert_eq!((current.workers, current.threads, current.limit.kind), (2, 2, LimitKind::Threads));
    let growth = report.growth.unwrap();
    assert!(growth.times > 1.3 && growth.at_rps == current.capacity_rps, "{growth:?}");
}

#[test]
fn a_setting_that_is_as_good_as_any_stays_and_one_that_is_too_large_shrinks() {
    let best = advised(&seen(at(2, 16), (0.005, 0.045), 100.0)).advised.unwrap();
    let stays = advised(&seen(at(best.workers, best.threads), (0.005, 0.045), 100.0));
    let stays = stays.advised.unwrap();
    assert_eq!((stays.workers, stays.threads), (best.workers, best.threads));
    let shrinks = advised(&seen(at(4, 16), (0.02, 0.0), 50.0)).advised.unwrap();
    assert!(shrinks.workers * shrinks.threads <= 32, "{shrinks:?}");
}

#[test]
fn an_app_that_only_computes_is_told_to_stay_or_to_shrink() {
    for (cost, rate) in [((0.02, 0.0), 50.0), ((0.008, 0.000_2), 120.0)] {
        let advised = advised(&seen(at(2, 3), cost, rate)).advised.unwrap();
        assert!(advised.workers * advised.threads <= 6, "{cost:?}: {advised:?}");
    }
}

#[test]
fn quiet_nights_are_not_what_requests_met() {
    let cost = (0.012, 0.02);
    // An hour of day and two of night.
    let [day_s, night_s] = [100.0, 3.0].map(|rate| {
        let one = seen(at(2, 5), cost, rate);
        one.sums.app_s / one.sums.requests as f64
    });
    let second = |second: u32| {
        let (requests, each_s) = if second < 3600 { (100, day_s) } else { (3, night_s) };
        RateSeen { second, requests, app_s: requests as f64 * each_s }
    };
    let rates: Vec<RateSeen> = (0..10_800).map(second).collect();
    let requests: u64 = rates.iter().map(|it| it.requests).sum();
    let app_s: f64 = rates.iter().map(|it| it.app_s).sum();
    let app_cpu_s = cost.0 * requests as f64;
    let by_day = seen(at(2, 5), cost, 100.0);
    let whole = Seen {
        length_s: 10_800.0,
        sums: Sums { requests, app_s, app_cpu_s, ..by_day.sums },
        cpu_s: Some(app_cpu_s),
        rates,
        ..by_day
    };
    let (mean, met, busiest) = (whole.rate_rps(), whole.met_rps(), whole.busiest_rps());
    assert!((mean - 35.3).abs() < 0.1 && (met - 94.5).abs() < 0.1, "{mean} {met}");
    assert!((busiest - 100.0).abs() < 1e-9, "{busiest}");
    let report = advised(&whole);
    let wait_s = report.demand.unwrap().wait_s.value;
    assert!((wait_s / cost.1 - 1.0).abs() < 0.05, "{wait_s}");
    let growth = report.growth.unwrap();
    assert!((growth.times - growth.at_rps / 100.0).abs() < 1e-9, "{growth:?}");
}

#[test]
fn of_requests_in_batches_no_minute_says_how_busy_it_was() {
    let alone = seen(at(1, 5), (0.012, 0.02), 2.0);
    let app_s = 100.0 * alone.sums.app_s / alone.sums.requests as f64;
    // Two a second, of which a hundred are written down each time.
    let rates = (0..12).map(|batch| RateSeen { second: 50 * batch, requests: 100, app_s });
    let one_by_one = Seen { rates: rates.collect(), ..alone };
    assert!((one_by_one.busiest_rps() - 200.0 / 60.0).abs() < 1e-9);
    let batches = Seen { batch: Some(100), ..one_by_one };
    assert!((batches.busiest_rps() - 2.0).abs() < 1e-9, "{}", batches.busiest_rps());
    let report = advised(&batches);
    assert_eq!(report.refused, []);
    assert!(report.notes.contains(&AdviseNote::RecordedInBatches.into()), "{:?}", report.notes);
}

#[test]
fn batches_say_nothing_of_how_requests_slow_down() {
    let alone = seen(at(3, 3), (0.006, 0.017), 60.0);
    let each_s = alone.sums.app_s / alone.sums.requests as f64;
    let second = |second: u32| {
        let (requests, times) = if second.is_multiple_of(2) { (40, 1.0) } else { (80, 1.6) };
        RateSeen { second, requests, app_s: requests as f64 * each_s * times }
    };
    let told = Seen { rates: (0..600).map(second).collect(), ..alone };
    let slower = |seen: &Seen| busy::slower_when_busy(seen, &Request::of(seen).unwrap());
    assert!(slower(&told).is_some());
    assert_eq!(slower(&Seen { batch: Some(100), ..told }), None);
}

#[test]
fn what_was_noticed_while_watching_is_said_also_where_nothing_is_advised() {
    let spot = BlindSpot::StampsOdd { requests: 7 };
    let odd = || AdviseNote::NotWatched { what: spot.clone().into() };
    for rate in [0.5, 35.0] {
        let one = Seen {
            remarks: vec![odd()],
            memory_bytes: None,
            ..seen(at(2, 2), (0.005, 0.045), rate)
        };
        let report = advised(&one);
        assert_eq!(report.notes[0].fact(), Some(&odd()));
        let says = |note: AdviseNote| report.notes.contains(&note.into());
        // Something in front does set a time stamp.
        assert!(!says(AdviseNote::QueueTimeNotSeen), "{:?}", report.notes);
        assert_eq!(says(AdviseNote::MemoryNotSeen), report.refused.is_empty());
    }
}

#[test]
fn where_requests_slow_each_other_down_elsewhere_threads_have_to_be_clearly_better() {
    let alone = seen(at(3, 3), (0.006, 0.017), 60.0);
    let each_s = alone.sums.app_s / alone.sums.requests as f64;
    let with = |slower: f64| {
        let second = |second: u32| {
            let (requests, times) = if second.is_multiple_of(2) { (40, 1.0) } else { (80, slower) };
            RateSeen { second, requests, app_s: requests as f64 * each_s * times }
        };
        advised(&Seen { rates: (0..600).map(second).collect(), ..alone.clone() })
    };
    let is_noted = |report: &AdviseReport| {
        let is_it = |it: &AdviseNote| matches!(it, AdviseNote::SlowerWhenBusy { .. });
        report.notes.iter().filter_map(|note| note.fact()).any(is_it)
    };
    let slots =
        |report: &AdviseReport| report.advised.as_ref().map(|it| it.workers * it.threads).unwrap();
    let (free, slow) = (with(1.0), with(1.6));
    assert!(!is_noted(&free) && slots(&free) > 9, "{:?}", free.advised);
    assert!(is_noted(&slow) && slots(&slow) <= 9, "{:?}", slow.advised);
}

#[test]
fn a_server_that_is_full_for_a_while_is_still_seen_to_slow_down() {
    let alone = seen(at(3, 3), (0.006, 0.017), 60.0);
    let each_s = alone.sums.app_s / alone.sums.requests as f64;
    let with = |slower: f64| {
        // 400 requests in a second are more than two cores can do.
        let second = |second: u32| {
            let (requests, times) = match second % 10 {
                0 => (400, 1.0),
                2 | 4 | 6 | 8 => (40, 1.0),
                _ => (80, slower),
            };
            RateSeen { second, requests, app_s: requests as f64 * each_s * times }
        };
        let seen = Seen { rates: (0..600).map(second).collect(), ..alone.clone() };
        busy::slower_when_busy(&seen, &Request::of(&seen).unwrap())
    };
    assert_eq!(with(1.0), None);
    let slower = with(1.6).unwrap();
    assert!((slower.ratio - 1.6).abs() < 1e-9 && slower.expected_ratio < 1.2, "{slower:?}");
}

/// Half an hour of a server with threads enough, as the simulator plays it.
fn played(kind: RequestKind, backend: Option<Backend>, rate_rps: f64, seed: u64) -> Seen {
    const LENGTH_S: u32 = 1800;
    let server = Server { backend, timeout_s: 1e9, ..Server::new(2, 16, 2.0) };
    let mut simulator = Simulator::new(server, vec![kind], seed);
    let rate = Rate::per_second(rate_rps).unwrap();
    simulator.begin(Offered::Open { rate, arrivals: Arrivals::Poisson }, seed + 1000);
    let mut times = Times::default();
    let mut rates: Vec<RateSeen> =
        (0..LENGTH_S).map(|second| RateSeen { second, ..RateSeen::default() }).collect();
    simulator.run_until(f64::from(LENGTH_S), &mut |outcome| {
        let (app_s, cpu_s) = (outcome.ended_s - outcome.due_s, kind.cpu_s);
        let (gvl_wait_s, queue_s, route) = (None, None, String::new());
        times.add(&InsideRequest { app_s, cpu_s, gvl_wait_s, queue_s, route });
        let last = rates.len() - 1;
        let rate = &mut rates[(outcome.ended_s as usize).min(last)];
        rate.requests += 1;
        rate.app_s += app_s;
    });
    let requests = times.count();
    let app_s: f64 = rates.iter().map(|rate| rate.app_s).sum();
    let app_cpu_s = kind.cpu_s * requests as f64;
    let base = seen(at(2, 16), (kind.cpu_s, kind.wait_s), 1.0);
    Seen {
        length_s: f64::from(LENGTH_S),
        sums: Sums { requests, app_s, app_cpu_s, ..base.sums },
        cpu_s: Some(app_cpu_s),
        times,
        rates,
        ..base
    }
}

#[test]
fn slow_requests_that_wait_for_a_pool_are_told_from_those_that_do_not() {
    let waiting = RequestKind { cpu_s: 0.05, wait_s: 1.0, waits: 3, ..RequestKind::default() };
    // Of these two cores can do 6.7 a second: in many a second more end.
    let computing = RequestKind { cpu_s: 0.3, wait_s: 0.1, waits: 3, ..RequestKind::default() };
    let pool = Backend { places: 2, sharing: Sharing::Server, slowing: 0.0 };
    for (kind, backend, rate_rps, is_slower) in [
        (waiting, Some(pool), 1.4, true),
        (waiting, Some(pool), 1.7, true),
        (waiting, None, 1.7, false),
        (computing, None, 5.0, false),
    ] {
        for seed in 1..=5 {
            let seen = played(kind, backend, rate_rps, seed);
            let slower = busy::slower_when_busy(&seen, &Request::of(&seen).unwrap());
            assert_eq!(slower.is_some(), is_slower, "{kind:?} at {rate_rps}, {seed}: {slower:?}");
        }
    }
}

/// A fifth that all take, and four fifths that are lognormal, cv^2 8.
fn long_tail(share: f64) -> f64 {
    let variance = 9.0_f64.ln();
    0.2 + 0.8 * (variance.sqrt() * normal::quantile(share) - 0.5 * variance).exp()
}

/// 3 % take ten times as long as the others.
fn few_long(share: f64) -> f64 {
    if share < 0.97 { 1.0 / 1.27 } else { 10.0 / 1.27 }
}

fn sizes(size: Size) -> Sizes {
    let mut all = Latencies::default();
    for index in 0..20_000 {
        let share = (f64::from(index) + 0.5) / 20_000.0;
        all.record(Duration::from_secs_f64(size(share)));
    }
    Sizes::of_all(&all).unwrap()
}

/// What the setting that is chosen with each of `doubts` holds, as a share of what the best of the
/// usual ones does: by the model's own figures of requests that cost `truth`, watched at half of
/// what `setting` holds.
fn shares<const N: usize>(
    truth: &Demand,
    size: Size,
    setting: Configuration,
    doubts: [f64; N],
) -> [f64; N] {
    let holds_rps = |setting: Configuration| model::capacity(truth, setting, 2.0, 0.95, 0.2);
    let seen = seen_of(truth, size, setting, 0.5 * holds_rps(setting));
    let settings = usual_settings(seen.cores, false);
    let best_rps = settings.iter().map(|it| holds_rps(*it)).fold(0.0, f64::max);
    let report = advise(&seen, Some(&"p95<200ms".parse().unwrap()), &settings);
    let open: Vec<&PredictedSetting> = report.predicted.iter().collect();
    let current = report.current.as_ref().unwrap();
    doubts.map(|doubt| {
        let chosen = settings::to_run(&open, current, doubt).unwrap();
        holds_rps(at(chosen.workers, chosen.threads)) / best_rps
    })
}

#[test]
fn doubt_gives_little_away_and_guards_against_what_the_model_does_not_know() {
    const DOUBTS: [f64; 4] = [settings::DOUBT, 1.0, 0.3, 0.0];
    // One of the 16 cases that chooses another setting changes a mean by up to half of this.
    const LITTLE: f64 = 0.015;
    let kinds: [((f64, f64), Size); 4] = [
        ((0.006, 0.02), long_tail),
        ((0.006, 0.026), few_long),
        ((0.002, 0.001_5), exponential),
        ((0.008_5, 0.000_2), exponential),
    ];
    let mut sums = [[0.0_f64; 4]; 2];
    for ((cpu_s, wait_s), size) in kinds {
        let sizes = sizes(size);
        // With 0.01 ten at once wait 1.9 times as long as one alone, which `advise` does not know.
        for (sum, crowding) in sums.iter_mut().zip([0.0, 0.01]) {
            let alone = cost(cpu_s, wait_s);
            let truth = Demand { cv2: sizes.cv2(), sizes: Some(sizes), crowding, ..alone };
            for setting in [at(1, 5), at(4, 1)] {
                let all = shares(&truth, size, setting, DOUBTS);
                println!("{cpu_s} + {wait_s}, crowding {crowding}, {setting}: {all:.3?}");
                assert!(crowding > 0.0 || all[0] > 0.9, "{cpu_s} + {wait_s}, {setting}: {all:?}");
                *sum = std::array::from_fn(|index| sum[index] + all[index]);
            }
        }
    }
    let [plain, crowded] = sums.map(|sum| sum.map(|it| it / 8.0));
    let means: [f64; 4] = std::array::from_fn(|index| 0.5 * (plain[index] + crowded[index]));
    println!("means with {DOUBTS:?}: {plain:.3?}, crowded {crowded:.3?}, of both {means:.3?}");
    assert!(plain[3] > plain[1] && crowded[1] > crowded[3], "{plain:?} {crowded:?}");
    assert!(means[1..].iter().all(|other| means[0] > other - LITTLE), "{means:?}");
    assert!(means[0] > means[3] + LITTLE, "none at all: {means:?}");
}

#[test]
fn what_is_expected_of_the_current_setting_is_what_the_model_says_of_the_truth() {
    let one = seen(at(3, 5), (0.008, 0.02), 120.0);
    let current = advised(&one).current.unwrap();
    let truth =
        Demand { cpu_s: 0.008, wait_s: 0.02, handoff_s: 0.00024, cv2: 1.0, ..Demand::default() };
    let held = open_latency(&truth, at(3, 5), 2.0, 0.9 * current.capacity_rps).unwrap();
    assert!(held.p95 < 0.3, "{held:?} at 0.9 of {}", current.capacity_rps);
}

#[test]
fn too_little_and_what_contradicts_itself_is_refused() {
    let few = seen(at(2, 5), (0.005, 0.045), 0.5);
    let why = advised(&few).refused;
    assert!(matches!(why[0].fact(), Some(AdviseRefusal::RequestsTooFew { requests: 300, .. })));
    let one = seen(at(2, 5), (0.005, 0.045), 50.0);
    let busy_with_jobs = Seen { cpu_s: Some(one.cpu_s.unwrap() * 30.0), ..one.clone() };
    let why = advised(&busy_with_jobs);
    assert!(
        matches!(why.refused[0].fact(), Some(AdviseRefusal::CpuNotExplained { .. })),
        "{:?}",
        why.refused
    );
    assert!(why.advised.is_none() && !why.routes.is_empty());
    let settings = usual_settings(one.cores, false);
    let slo = "p95<20ms".parse().unwrap();
    let why = advise(&one, Some(&slo), &settings).refused;
    assert!(matches!(why[0].fact(), Some(AdviseRefusal::NothingWithinGoal)), "{why:?}");
}

#[test]
fn a_memory_that_no_setting_fits_into_is_not_put_down_to_the_goal() {
    let full = Seen {
        memory: Bytes(512 << 20),
        memory_bytes: Some(490 << 20),
        ..seen(at(1, 5), (0.005, 0.045), 30.0)
    };
    let refused = advised(&full).refused;
    let Some(AdviseRefusal::NothingFits { needed_bytes, limit_bytes }) = refused[0].fact() else {
        panic!("{refused:?}");
    };
    assert_eq!(*limit_bytes, 512 << 20);
    assert!(needed_bytes.abs_diff(490 << 20) < 1 << 20, "{needed_bytes}");
    // Where nothing is within the goal either, that is why.
    let slo = "p95<20ms".parse().unwrap();
    let why = advise(&full, Some(&slo), &[at(1, 1)]).refused;
    assert!(matches!(why[0].fact(), Some(AdviseRefusal::NothingWithinGoal)), "{why:?}");
    let roomy = Seen { memory: Bytes(1 << 30), ..full };
    assert_eq!(advised(&roomy).advised.unwrap().workers, 1);
}

#[test]
fn parts_of_the_app_that_mostly_wait_are_named() {
    let mut one = seen(at(2, 5), (0.005, 0.005), 50.0);
    for _ in 0..2000 {
        let (gvl_wait_s, queue_s) = (None, Some(0.003));
        let route = "reports#slow".to_string();
        one.times.add(&InsideRequest { app_s: 0.5, cpu_s: 0.002, gvl_wait_s, queue_s, route });
    }
    let report = advised(&one);
    assert_eq!(report.routes[0].name, "reports#slow");
    assert!(report.routes[0].is_io_bound && !report.routes[1].is_io_bound, "{:?}", report.routes);
    assert!((report.seen.queue_s.unwrap() - 0.003).abs() < 1e-9);
}
