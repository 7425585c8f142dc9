//! The simulated place as the stages above it see it.

use super::*;
use crate::model;
use crate::terms::{Arrivals, BootCause, LoadRecord, Offered, Rate, Role};

fn at(workers: u16, threads: u16) -> Configuration {
    Configuration::new(workers, threads).unwrap()
}

fn open(rate: f64) -> Offered {
    Offered::Open { rate: Rate::per_second(rate).unwrap(), arrivals: Arrivals::Poisson }
}

fn closed(clients: u32) -> Offered {
    Offered::Closed { clients, think: Duration::ZERO }
}

fn offer(offered: Offered, warm_up_s: u64, duration_s: u64) -> Offer {
    Offer {
        offered,
        warm_up: Duration::from_secs(warm_up_s),
        duration: Duration::from_secs(duration_s),
        seed: 7,
        connection: None,
        pods_away: 0,
    }
}

fn go_on(_: &LiveSecond) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn ready(app: SimulatedApp, seed: u64, configuration: Configuration) -> Simulated {
    let mut place = Simulated::new(app, seed);
    let started = place.start(configuration).unwrap();
    assert!(matches!(started, Started::Ready { .. }), "{started:?}");
    place
}

fn total(load: &LoadRecord, of: impl Fn(&crate::terms::LoadSecond) -> u64) -> u64 {
    load.seconds.iter().map(of).sum()
}

#[test]
fn one_client_alone_takes_what_a_request_takes() {
    let app = SimulatedApp { cv2: 0.0, handoff_s: 0.001, ..SimulatedApp::default() };
    let mut place = ready(app, 1, at(2, 5));
    let observed = place.offer(&offer(closed(1), 0, 5), &mut go_on).unwrap();
    for second in &observed.load.seconds {
        let p50 = second.latency.quantile(0.5).unwrap().as_secs_f64();
        assert!((p50 / 0.016 - 1.0).abs() < 0.002, "{p50}");
    }
    assert!((total(&observed.load, |s| s.due) as f64 - 5.0 / 0.016).abs() < 2.0);
}

#[test]
fn the_record_adds_up() {
    for (rate, what) in [(300.0, "easy"), (900.0, "overloaded")] {
        let app = SimulatedApp { timeout: Duration::from_secs(2), ..SimulatedApp::default() };
        let mut place = ready(app, 1, at(2, 3));
        let mut live = Vec::new();
        let observed = place
            .offer(&offer(open(rate), 2, 10), &mut |second| {
                live.push(*second);
                ControlFlow::Continue(())
            })
            .unwrap();
        let load = &observed.load;
        assert_eq!(load.seconds.len(), 12, "{what}");
        assert_eq!(load.run.duration, Duration::from_secs(12));
        assert!(!load.run.is_cut_short && observed.failure.is_none());
        for second in &load.seconds {
            assert_eq!(second.due, second.completed() + second.errors.total(), "{what}");
            assert_eq!(second.latency.count(), second.due);
            assert_eq!(second.sent, second.due);
            assert_eq!(second.exchange_time.count(), second.completed());
        }
        let due = total(load, |s| s.due);
        assert!((due as f64 / (12.0 * rate) - 1.0).abs() < 0.05, "{what}: {due} due");
        assert_eq!(live.iter().map(|s| s.due).sum::<u64>(), due, "{what}");
        let ended: u64 = live.iter().map(|s| s.replies + s.errors).sum();
        assert_eq!(ended, due, "{what}: every due request was seen to end");
        assert_eq!(live.last().unwrap().in_flight, 0);
        assert_eq!(live[0].phase, Phase::WarmUp);
        assert_eq!(live[2].phase, Phase::Measure);
        // The drain ends with the last reply or at the last timeout.
        assert!(place.elapsed() <= Duration::from_secs_f64(0.8 + 12.0 + 2.0 + 0.01));
    }
}

#[test]
fn in_flight_is_rate_times_latency_and_workers_used_what_requests_cost() {
    let mut place = ready(SimulatedApp::default(), 3, at(3, 4));
    let observed = place.offer(&offer(open(350.0), 0, 60), &mut go_on).unwrap();
    let load = &observed.load;
    let due = total(load, |s| s.due) as f64;
    let in_flight: f64 = load.seconds.iter().map(|s| s.in_flight_mean).sum::<f64>() / 60.0;
    let latency: f64 = load
        .seconds
        .iter()
        .map(|s| s.latency.mean().unwrap().as_secs_f64() * s.due as f64)
        .sum::<f64>()
        / due;
    assert!((in_flight / (due / 60.0 * latency) - 1.0).abs() < 0.02);
    let mut cpu_s = 0.0;
    for second in &observed.monitor.seconds {
        assert_eq!(second.processes.len(), 4, "a master and three workers");
        for process in second.processes.iter().filter(|p| p.role == Role::Worker) {
            assert!(process.cpu_s <= second.length_s * 1.0001, "one lock, one core");
            assert_eq!(process.threads, 7);
            cpu_s += process.cpu_s;
        }
        assert!(second.host.cores_busy.iter().all(|busy| (0.0..=1.0).contains(busy)));
    }
    assert!((cpu_s / (due * 0.004) - 1.0).abs() < 0.02);
    let memory: u64 = observed.monitor.memory.iter().map(|process| process.pss_bytes).sum();
    let expected = place.app().memory.of(at(3, 4));
    assert!(expected - memory < 8, "{memory} of {expected} but for rounding");
}

#[test]
fn the_same_seed_gives_the_same_session_and_another_gives_another() {
    let session = |seed| {
        let drift = Drift { start: 0.03, window: 0.02, ..Drift::default() };
        let mut place = ready(SimulatedApp { drift, ..SimulatedApp::default() }, seed, at(2, 3));
        let one = place.offer(&offer(open(200.0), 1, 4), &mut go_on).unwrap();
        place.start(at(1, 2)).unwrap();
        let two = place.offer(&offer(closed(4), 1, 4), &mut go_on).unwrap();
        (one, two, place.elapsed())
    };
    assert_eq!(session(5), session(5));
    assert_ne!(session(5), session(6));
}

#[test]
fn a_saturating_load_gets_what_the_formulas_say() {
    for (workers, threads) in [(1, 1), (1, 4), (2, 2), (4, 4)] {
        let mut place = ready(SimulatedApp::default(), 2, at(workers, threads));
        let clients = 2 * at(workers, threads).slots();
        let observed = place.offer(&offer(closed(clients), 2, 30), &mut go_on).unwrap();
        let replies: u64 = observed.load.seconds[2..].iter().map(|second| second.replies).sum();
        let demand = place.app().demand();
        let expected = model::closed_throughput(&demand, at(workers, threads), 2.0);
        let throughput = replies as f64 / 30.0;
        assert!((throughput / expected - 1.0).abs() < 0.04, "{workers} x {threads}: {throughput}");
    }
}

#[test]
fn the_known_answer_is_where_the_quantile_meets_the_limit() {
    let app = SimulatedApp::default();
    let limit = Duration::from_millis(60);
    let capacity = app.true_capacity(at(2, 3), limit, 0.95);
    let mut place = ready(app.clone(), 4, at(2, 3));
    let mut p95_at = |share: f64| {
        let observed = place.offer(&offer(open(share * capacity), 5, 200), &mut go_on).unwrap();
        let mut latencies = crate::terms::Latencies::default();
        observed.load.seconds[5..].iter().for_each(|second| latencies.add(&second.latency));
        latencies.quantile(0.95).unwrap()
    };
    assert!(p95_at(0.95) < limit);
    assert!(p95_at(1.05) > limit);
    // And it is not far from what the formulas say.
    let predicted = model::capacity(&app.demand(), at(2, 3), 2.0, 0.95, 0.06);
    assert!((predicted / capacity - 1.0).abs() < 0.1, "{predicted} against {capacity}");
    assert_eq!(app.true_capacity(at(2, 3), Duration::from_millis(2), 0.95), 0.0);
}

#[test]
fn predicted_capacities_are_near_the_known_answers_over_a_grid() {
    let limit = Duration::from_millis(60);
    for app in [
        SimulatedApp::default(),
        SimulatedApp { cpu_s: 0.001, wait_s: 0.02, cores: 4.0, ..SimulatedApp::default() },
    ] {
        for (workers, threads) in [(1, 1), (1, 4), (2, 2), (4, 1), (4, 4), (2, 16)] {
            let capacity = app.true_capacity(at(workers, threads), limit, 0.95);
            let predicted =
                model::capacity(&app.demand(), at(workers, threads), app.cores, 0.95, 0.06);
            assert!((predicted / capacity - 1.0).abs() < 0.1, "{workers} x {threads}");
        }
    }
}

#[test]
fn the_watcher_ends_the_load_and_then_the_wait_for_replies() {
    let mut place = ready(SimulatedApp::default(), 1, at(1, 1));
    let mut calls = 0;
    let observed = place
        .offer(&offer(open(500.0), 0, 60), &mut |_| {
            calls += 1;
            if calls >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(calls, 4, "three seconds of load, one of waiting for replies");
    assert!(observed.load.run.is_cut_short);
    assert_eq!(observed.load.run.duration, Duration::from_secs(3));
    assert_eq!(observed.load.seconds.len(), 3);
    let given_up = total(&observed.load, |s| s.errors.timeout);
    assert!(given_up > 1000, "{given_up}");
    let second = &observed.load.seconds[2];
    assert_eq!(second.due, second.completed() + second.errors.total());
}

#[test]
fn a_server_that_dies_is_a_measurement_and_comes_back_with_the_next_start() {
    let app = SimulatedApp { dies_at: Some(Duration::from_secs(5)), ..SimulatedApp::default() };
    let mut place = ready(app, 1, at(2, 2));
    let observed = place.offer(&offer(open(300.0), 0, 20), &mut go_on).unwrap();
    assert!(matches!(observed.failure, Some(TrialFailure::Died { .. })));
    assert!(observed.load.run.is_cut_short);
    assert!(total(&observed.load, |s| s.errors.reset) > 0);
    for second in &observed.load.seconds {
        assert_eq!(second.due, second.completed() + second.errors.total());
    }
    assert_eq!(place.elapsed(), Duration::from_secs(5));
    place.start(at(2, 2)).unwrap();
    let observed = place.offer(&offer(open(300.0), 0, 5), &mut go_on).unwrap();
    assert_eq!(observed.failure, None);
    assert_eq!(total(&observed.load, |s| s.errors.total()), 0);
}

#[test]
fn configurations_that_do_not_boot_or_do_not_fit_say_so() {
    let app = SimulatedApp {
        boot_failure: Some(|configuration| configuration.workers.get() == 3),
        ..SimulatedApp::default()
    };
    let mut place = Simulated::new(app, 1);
    assert!(matches!(place.start(at(3, 1)).unwrap(), Started::Failed(_)));
    let Started::Failed(failure) = place.start(at(80, 1)).unwrap() else {
        panic!("80 workers of 60 MiB fit into 4 GiB")
    };
    let Some(BootCause::KilledForMemory { needed_bytes, limit_bytes, .. }) = failure.message.fact()
    else {
        panic!("{failure:?}")
    };
    assert!(needed_bytes > limit_bytes && *limit_bytes == 4 << 30, "{failure:?}");
    assert!(matches!(place.start(at(2, 1)).unwrap(), Started::Ready { .. }));
    assert_eq!(place.elapsed(), Duration::from_millis(2400));
    assert_eq!(place.inspect().unwrap().current, at(1, 5));
}

#[test]
fn a_cold_server_warms_up_and_a_slowing_one_slows() {
    let mean_ms = |drift: Drift, second: usize| {
        let app = SimulatedApp { drift, cv2: 0.0, ..SimulatedApp::default() };
        let mut place = ready(app, 1, at(1, 1));
        let observed = place.offer(&offer(closed(1), 0, 30), &mut go_on).unwrap();
        observed.load.seconds[second].latency.mean().unwrap().as_secs_f64() * 1e3
    };
    let cold = Drift { cold: 1.0, cold_s: 3.0, ..Drift::default() };
    assert!(mean_ms(cold, 0) > 30.0 && mean_ms(cold, 29) < 16.1);
    let slowing = Drift { slowing_per_minute: 0.2, ..Drift::default() };
    assert!((mean_ms(slowing, 29) / 16.0 - 1.1).abs() < 0.01);
}

#[test]
fn starts_differ_as_much_as_the_drift_says() {
    let drift = Drift { start: 0.05, ..Drift::default() };
    let app = SimulatedApp { drift, cv2: 0.0, ..SimulatedApp::default() };
    let mut place = Simulated::new(app, 9);
    let logs: Vec<f64> = (0..100)
        .map(|_| {
            place.start(at(1, 1)).unwrap();
            let observed = place.offer(&offer(closed(1), 0, 1), &mut go_on).unwrap();
            observed.load.seconds[0].latency.mean().unwrap().as_secs_f64().ln()
        })
        .collect();
    let mean = logs.iter().sum::<f64>() / 100.0;
    let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 99.0).sqrt();
    assert!((0.035..0.065).contains(&sd), "{sd}");
}

#[test]
fn without_one_of_two_pods_half_as_much_is_held_until_the_next_start() {
    let app = SimulatedApp { cv2: 0.0, pods: 2, ..SimulatedApp::default() };
    let mut place = ready(app, 1, at(2, 5));
    let mut got_through = |pods_away| {
        let offer = Offer { pods_away, ..offer(closed(20), 1, 4) };
        let observed = place.offer(&offer, &mut go_on).unwrap();
        total(&observed.load, |second| second.replies) as f64
    };
    let [all, left, still_left] = [0, 1, 0].map(&mut got_through);
    for fewer in [left, still_left] {
        assert!((0.45..0.55).contains(&(fewer / all)), "{left} and {still_left} of {all}");
    }
    place.start(at(2, 5)).unwrap();
    let observed = place.offer(&offer(closed(20), 1, 4), &mut go_on).unwrap();
    let again = total(&observed.load, |second| second.replies) as f64;
    assert!((again / all - 1.0).abs() < 0.05, "{again} of {all}");
}
