//! Servers that are not there: requests as the model says they are, and what is advised of them.

use super::*;
use crate::model::{self, open_latency};
use crate::terms::{AdviseNote, AdviseRefusal, Bytes, InsideRequest, LimitKind};

fn at(workers: u16, threads: u16) -> Configuration {
    Configuration::new(workers, threads).unwrap()
}

/// A server on two cores whose requests take `cpu_s` and wait `wait_s`, exponential as a whole,
/// watched at `rate` for ten minutes.
fn seen(setting: Configuration, (cpu_s, wait_s): (f64, f64), rate: f64) -> Seen {
    let demand = Demand { cpu_s, wait_s, handoff_s: 0.03 * cpu_s, cv2: 1.0, ..Demand::default() };
    let service_s = model::stay(&demand, setting, 2.0, rate).unwrap().service_s;
    let requests = (600.0 * rate) as u64;
    let mut times = Times::default();
    let told = requests.min(20_000);
    for index in 0..told {
        let size = -(1.0 - (index as f64 + 0.5) / told as f64).ln();
        times.add(&InsideRequest {
            app_s: size * service_s,
            cpu_s: size * cpu_s,
            gvl_wait_s: None,
            queue_s: None,
            route: if index % 2 == 0 { "items#show".into() } else { "items#index".into() },
        });
    }
    let whole = |each: f64| each * requests as f64;
    let (app_s, app_cpu_s) = (whole(service_s), whole(cpu_s));
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
    }
}

fn advised(seen: &Seen) -> AdviseReport {
    let settings = usual_settings(seen.cores, false);
    advise(seen, &Question { slo: Some("p95<300ms".parse().unwrap()), settings })
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
fn what_is_expected_of_the_current_setting_is_what_the_model_says_of_the_truth() {
    let one = seen(at(3, 5), (0.008, 0.02), 120.0);
    let current = advised(&one).current.unwrap();
    let truth =
        Demand { cpu_s: 0.008, wait_s: 0.02, handoff_s: 0.00024, cv2: 1.0, ..Demand::default() };
    let held = open_latency(&truth, at(3, 5), 2.0, 0.9 * current.capacity_rps).unwrap();
    assert!(held.p95_s < 0.3, "{held:?} at 0.9 of {}", current.capacity_rps);
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
    let slo = Some("p95<20ms".parse().unwrap());
    let why = advise(&one, &Question { slo, settings }).refused;
    assert!(matches!(why[0].fact(), Some(AdviseRefusal::NothingWithinGoal)), "{why:?}");
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
