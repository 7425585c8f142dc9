//! The search against simulated servers whose capacity is known.

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::window::Watch;
use super::*;
use crate::model::{Demand, capacity};
use crate::terms::{CapacityDoubt, Configuration, GeneratorUse, LoadRun, LoadSecond, Slo};

const GOAL: &str = "p95<200ms,errors<1%";

fn plan(slo: &str) -> Plan {
    Plan {
        goals: Goals::one(slo.parse().unwrap()),
        arrivals: Arrivals::Poisson,
        guess: None,
        time: Duration::from_secs(90),
        settle: Duration::from_secs(2),
        timeout: Duration::from_secs(10),
    }
}

fn found(
    plan: &Plan,
    mut send: impl FnMut(&Offer) -> Sent,
) -> Result<CapacitySummary, LoadVerbError> {
    find(plan, &mut |offer, _| Ok(send(offer)), &mut |_| {})
}

/// As many places that serve as `free_at` has, one queue, exponential service times; each offer
/// finds them empty.
struct Queue {
    places: usize,
    service_s: f64,
    random: Xoshiro256PlusPlus,
}

/// When a request was due and when it was answered, seconds.
type Request = (f64, f64);

impl Queue {
    fn new(places: usize, service_s: f64, seed: u64) -> Self {
        Self { places, service_s, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.random.random_range(1e-12..1.0_f64).ln()
    }

    fn send(&mut self, offer: &Offer) -> Sent {
        let length_s = (offer.settle + offer.duration).as_secs_f64();
        let requests = match offer.offered {
            Offered::Open { rate, .. } => self.open(rate.as_per_second(), length_s),
            Offered::Closed { clients, .. } => self.closed(clients as usize, length_s),
        };
        let overloaded_at = overloaded_at(offer, &requests, length_s);
        let length_s = overloaded_at.unwrap_or(length_s);
        let due: Vec<Request> = requests.into_iter().filter(|(due, _)| *due < length_s).collect();
        let mut record = record(offer, &due, length_s);
        record.run.is_cut_short = overloaded_at.is_some();
        let took = record.run.duration.max(record.run.last_reply);
        Sent { record, took, is_stopped: false }
    }

    /// Serves what is due at `due` in the place that is free first.
    fn serve(&mut self, free_at: &mut [f64], due: f64) -> f64 {
        let service_s = self.exponential(self.service_s);
        let first = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        *first = first.max(due) + service_s;
        *first
    }

    fn open(&mut self, rate_rps: f64, length_s: f64) -> Vec<Request> {
        let (mut free_at, mut requests) = (vec![0.0; self.places], Vec::new());
        let mut due = self.exponential(1.0 / rate_rps);
        while due < length_s {
            requests.push((due, self.serve(&mut free_at, due)));
            due += self.exponential(1.0 / rate_rps);
        }
        requests
    }

    fn closed(&mut self, clients: usize, length_s: f64) -> Vec<Request> {
        let (mut free_at, mut requests) = (vec![0.0; self.places], Vec::new());
        let mut ready_at: Vec<f64> = vec![0.0; clients];
        loop {
            let next = (0..clients).min_by(|a, b| ready_at[*a].total_cmp(&ready_at[*b])).unwrap();
            let due = ready_at[next];
            if due >= length_s {
                return requests;
            }
            ready_at[next] = self.serve(&mut free_at, due);
            requests.push((due, ready_at[next]));
        }
    }
}

/// When whoever watches would have ended it.
fn overloaded_at(offer: &Offer, requests: &[Request], length_s: f64) -> Option<f64> {
    let mut watch = Watch::new(offer);
    let mut ends = |at: &u64| {
        let in_flight_mean = mean_in_flight(requests, *at as f64);
        let at = Duration::from_secs(at + 1);
        let second = LiveSecond { at, ..LiveSecond::with_in_flight(in_flight_mean) };
        watch.look(&second) == ControlFlow::Break(())
    };
    (0..length_s as u64).find(|at| ends(at)).map(|at| (at + 1) as f64)
}

fn mean_in_flight(requests: &[Request], from: f64) -> f64 {
    requests.iter().map(|(due, end)| (end.min(from + 1.0) - due.max(from)).max(0.0)).sum()
}

fn record(offer: &Offer, requests: &[Request], length_s: f64) -> LoadRecord {
    let mut seconds = vec![LoadSecond::default(); length_s.ceil() as usize];
    for (due, end) in requests {
        let second = &mut seconds[*due as usize];
        let latency = Duration::from_secs_f64(end - due);
        second.due += 1;
        second.sent += 1;
        *second.status.entry(200).or_default() += 1;
        second.latency.record(latency);
        second.exchange_time.record(latency);
        second.send_lag.record(Duration::from_micros(50));
    }
    for (at, second) in seconds.iter_mut().enumerate() {
        let is_in_flight = |(due, end): &&Request| *due < at as f64 + 1.0 && *end > at as f64 + 1.0;
        second.in_flight = requests.iter().filter(is_in_flight).count() as u64;
        second.in_flight_mean = mean_in_flight(requests, at as f64);
    }
    let last = requests.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    let run = LoadRun {
        offered: offer.offered,
        warm_up: offer.settle,
        duration: Duration::from_secs_f64(length_s),
        last_reply: Duration::from_secs_f64(last),
        is_cut_short: false,
        tls_trouble: None,
        rows_left_out: 0,
        generator: GeneratorUse::default(),
    };
    LoadRecord { run, seconds }
}

/// Nobody listens.
fn refused(offer: &Offer) -> Sent {
    let mut sent = Queue::new(1, 1e-3, 1).send(offer);
    for second in &mut sent.record.seconds {
        second.status.clear();
        second.errors.refused = second.due;
    }
    sent.record.run.last_reply = Duration::ZERO;
    sent
}

/// Searches with 20 seeds: how many intervals cover the capacity that the formulas give, and by how
/// much the middle one of the answers is off.
fn twenty(places: u16, service_s: f64, slo: &str) -> (u32, f64) {
    let plan = plan(slo);
    let goal = slo.parse::<Slo>().unwrap().quantiles[0];
    let demand = Demand { cpu_s: service_s, cv2: 1.0, ..Demand::default() };
    let configuration = Configuration::new(places, 1).unwrap();
    let (quantile, limit_s) = (goal.quantile.get(), goal.limit.as_secs_f64());
    let truth = capacity(&demand, configuration, f64::from(places), quantile, limit_s);
    let mut covered = 0;
    let mut values: Vec<f64> = (0..20)
        .map(|seed| {
            let mut queue = Queue::new(usize::from(places), service_s, seed);
            let summary = found(&plan, |offer| queue.send(offer)).unwrap();
            assert_eq!(conclude(&summary), Conclusion::Done, "{slo}, {seed}: {summary:?}");
            assert!(summary.load_s <= 95.0, "{}", summary.load_s);
            let [low, high] = summary.capacity_rps_interval.unwrap();
            covered += u32::from(low <= truth && truth <= high);
            summary.capacity_rps.unwrap()
        })
        .collect();
    values.sort_by(f64::total_cmp);
    (covered, (values[9] + values[10]) / 2.0 / truth - 1.0)
}

#[test]
fn the_interval_covers_the_capacity_that_the_formulas_give() {
    for (places, service_s, slo, most_off) in [
        (2, 0.02, GOAL, 0.05),
        (8, 0.05, "p95<250ms", 0.05),
        (4, 0.005, "p99<50ms,errors<1%", 0.05),
        // Some 500 requests in all: too few to see how bad it gets at times, and the interval
        // allows for that.
        (1, 0.1, "p95<1s", 0.25),
    ] {
        let (covered, off) = twenty(places, service_s, slo);
        assert!(covered >= 17, "{slo} with {places}: {covered} of 20 intervals cover it");
        assert!(off.abs() < most_off, "{slo} with {places}: the answers are {off:.3} off");
    }
}

#[test]
fn a_server_that_answers_once_a_second_is_no_reason_to_wait_forever() {
    for seed in 0..5 {
        let mut queue = Queue::new(1, 1.0, seed);
        let summary = found(&plan("p95<5s,errors<1%"), |offer| queue.send(offer)).unwrap();
        assert!(summary.load_s < 150.0, "{seed}: {}", summary.load_s);
        // Some 60 requests in all name no capacity.
        assert_eq!(summary.conclusion, CapacityConclusion::Undecided, "{seed}: {summary:?}");
        assert_eq!(*summary.warnings.last().unwrap(), CapacityDoubt::NoCapacityNamed.into());
    }
}

#[test]
fn a_goal_that_no_rate_meets_is_an_answer() {
    let mut queue = Queue::new(1, 0.05, 3);
    let summary = found(&plan("p95<5ms"), |offer| queue.send(offer)).unwrap();
    assert_eq!((summary.conclusion, summary.capacity_rps), (CapacityConclusion::Below, None));
    assert_eq!(conclude(&summary), Conclusion::NotMet);
    let bound = summary.bound_rps.unwrap();
    assert!(bound < 3.0, "{bound}");
    assert!(summary.load_s < 60.0, "it doesn't use up its time for that: {}", summary.load_s);
}

#[test]
fn replies_that_are_all_errors_are_told_without_any_window() {
    let mut queue = Queue::new(1, 0.01, 3);
    let summary = found(&plan(GOAL), |offer| {
        let mut sent = queue.send(offer);
        for second in &mut sent.record.seconds {
            second.status = [(404, second.due)].into();
        }
        sent
    });
    let summary = summary.unwrap();
    assert_eq!(conclude(&summary), Conclusion::NotMet);
    assert!(summary.windows.is_empty());
    assert_eq!(summary.warnings[0].code(), "status");
}

/// A server without a limit, and a generator that sends 30,000 requests a second.
fn without_limit(offer: &Offer) -> Sent {
    const MOST_RPS: f64 = 30_000.0;
    let wanted = match offer.offered {
        Offered::Open { rate, .. } => rate.as_per_second(),
        Offered::Closed { clients, .. } => f64::from(clients) * 1000.0,
    };
    let due = wanted.min(MOST_RPS) as u64;
    let mut second = LoadSecond { due, sent: due, replies: due, ..LoadSecond::default() };
    second.status.insert(200, due);
    let latency = Duration::from_millis(1);
    second.latency.record_n(latency, due);
    second.exchange_time.record_n(latency, due);
    second.send_lag.record_n(Duration::from_micros(50), due);
    second.in_flight = due / 1000;
    second.in_flight_mean = due as f64 / 1000.0;
    let duration = offer.settle + offer.duration;
    let busiest_loop = (wanted / MOST_RPS).min(1.0);
    let run = LoadRun {
        offered: offer.offered,
        warm_up: offer.settle,
        duration,
        last_reply: duration,
        is_cut_short: false,
        tls_trouble: None,
        rows_left_out: 0,
        generator: GeneratorUse { busiest_loop, ..GeneratorUse::default() },
    };
    let record = LoadRecord { run, seconds: vec![second; duration.as_secs() as usize] };
    Sent { record, took: duration, is_stopped: false }
}

#[test]
fn a_server_without_a_limit_shows_the_generators() {
    let summary = found(&plan(GOAL), without_limit).unwrap();
    assert_eq!(summary.conclusion, CapacityConclusion::AtLeast);
    assert_eq!((summary.valid, conclude(&summary)), (false, Conclusion::Invalid));
    let bound = summary.bound_rps.unwrap();
    assert!((15_000.0..27_000.0).contains(&bound), "{bound}");
    let codes: Vec<String> = summary.warnings.iter().map(Warning::code).collect();
    assert_eq!(codes, ["generator_cpu", "generator_limit"]);
}

#[test]
fn a_server_that_dies_in_the_middle_ends_the_search_and_leaves_what_was_seen() {
    let mut queue = Queue::new(2, 0.02, 5);
    let mut windows = 0;
    let summary = found(&plan(GOAL), |offer| {
        windows += u32::from(offer.offered.rate().is_some());
        if windows > 2 { refused(offer) } else { queue.send(offer) }
    });
    let summary = summary.unwrap();
    assert_eq!((summary.windows.len(), windows), (2, 3));
    assert_eq!((summary.valid, conclude(&summary)), (false, Conclusion::Invalid));
    assert!(summary.warnings.iter().any(|warning| warning.code() == "server_gone"));
    assert!(summary.capacity_rps.is_some());
}

#[test]
fn a_server_that_dies_within_a_window_does_not_count_as_overloaded() {
    let mut queue = Queue::new(2, 0.02, 5);
    let summary = found(&plan(GOAL), |offer| {
        let mut sent = queue.send(offer);
        if offer.offered.rate().is_some() {
            let half = sent.record.seconds.len() / 2;
            for second in &mut sent.record.seconds[half..] {
                second.status.clear();
                second.errors.refused = second.due;
            }
            sent.record.run.last_reply = Duration::from_secs(half as u64);
        }
        sent
    });
    let summary = summary.unwrap();
    assert!(summary.windows.is_empty() && !summary.valid, "{summary:?}");
}

#[test]
fn a_server_that_is_not_there_ends_it_at_once() {
    let error = found(&plan(GOAL), refused).unwrap_err();
    assert!(error.to_string().contains("were refused: nothing listens there"), "{error}");
    assert!(!error.is_usage());
}

#[test]
fn whoever_stops_it_gets_the_answer_so_far() {
    let mut queue = Queue::new(2, 0.02, 7);
    let mut windows = 0;
    let summary = found(&plan(GOAL), |offer| {
        windows += u32::from(offer.offered.rate().is_some());
        Sent { is_stopped: windows > 3, ..queue.send(offer) }
    });
    let summary = summary.unwrap();
    assert_eq!(summary.windows.len(), 3, "the one that was cut off decides nothing");
    assert!(summary.capacity_rps.is_some() && summary.valid);
    assert!(summary.warnings.iter().any(|warning| warning.code() == "cut_short"));

    let nothing =
        found(&plan(GOAL), |offer| Sent { is_stopped: true, ..Queue::new(1, 0.01, 1).send(offer) });
    assert!(nothing.unwrap_err().to_string().contains("before anything was measured"));
}

fn asked() -> Asked {
    let rate = Rate::per_second(1.0).unwrap();
    let shape = Shape::Constant { rate, arrivals: Arrivals::Poisson };
    Asked {
        warm_up: Duration::from_secs(2),
        loops: Some(1),
        slo: Some(GOAL.parse().unwrap()),
        ..Asked::new("127.0.0.1:9/", shape, Duration::from_secs(90))
    }
}

#[test]
fn what_is_going_to_be_done_is_said() {
    let shown = prepare(asked(), None).unwrap().description.join("\n");
    assert_eq!(
        shown,
        "GET / on 127.0.0.1:9 (127.0.0.1:9)\n\
         the highest rate within p95<200ms,errors<1%, poisson arrivals, found in 1m30s\n\
         2s of settling before each window, keep-alive connections, timeout 10s"
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_out() {
    let refused = |change: &dyn Fn(&mut Asked), guess: Option<f64>| {
        let mut asked = asked();
        change(&mut asked);
        let guess = guess.map(|rate| Rate::per_second(rate).unwrap());
        let error = prepare(asked, guess).err().unwrap();
        assert!(error.is_usage());
        error.to_string()
    };
    assert!(refused(&|asked| asked.slo = None, None).contains("--slo"));
    assert!(refused(&|_| {}, Some(0.0)).contains("above zero"));
    assert!(refused(&|asked| asked.warm_up = Duration::from_millis(1500), None).contains("whole"));
    let short = |asked: &mut Asked| asked.length = Length::Duration(Duration::from_secs(11));
    assert!(refused(&short, None).contains("give it 12s or more"));
    let requests = |asked: &mut Asked| asked.length = Length::Requests(9);
    assert!(refused(&requests, None).contains("leave out"));
}
