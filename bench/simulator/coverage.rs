//! How often a 90 % prediction interval covers what is then measured, over applications of many
//! kinds on the simulated place: four settings are fitted to, one other is predicted and measured.
//!
//! The applications are not all as the formulas have it: starts and machines differ, garbage is
//! collected, requests are of different sizes, locks and accept rules are those of several servers.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::model::simulator::{Admission, Lock, Pauses};
use sweetspot::place::Place as _;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::report::Story;
use sweetspot::session::predict::{Question, answer};
use sweetspot::stats::{normal, quantile};
use sweetspot::terms::{Configuration, Goals, Offered, TrialPurpose, TrialSummary};
use sweetspot::trial::{Order, Runner};

use crate::common::bars::{Bar, Limit};
use crate::common::spread::mean;
use crate::common::table::table;
use crate::common::{Result, trial};

const LEVEL: f64 = 0.9;

pub fn run(apps: u64) -> Result<Vec<Bar>> {
    let all: Vec<Predicted> = (1..=apps).map(one).collect::<Result<_>>()?;
    let errors: Vec<f64> = all.iter().map(|one| one.error.abs()).collect();
    let widths: Vec<f64> = all.iter().map(|one| one.half_width).collect();
    let percent = |share: Option<f64>| format!("{:.1} %", 100.0 * share.unwrap_or(f64::NAN));
    let error = |share| percent(quantile(&errors, share));
    let covered = |is_it: fn(&SimulatedApp) -> bool| {
        let group = all.iter().filter(|one| is_it(&one.app));
        group.map(|one| f64::from(u8::from(one.is_covered))).collect::<Vec<f64>>()
    };
    let share = mean(&covered(|_| true));
    let rows = [
        ("90 % intervals that cover".to_string(), percent(share)),
        ("mean absolute error".to_string(), percent(mean(&errors))),
        ("median, 90th percentile, largest".to_string(), [0.5, 0.9, 1.0].map(error).join(", ")),
        ("half width of an interval, median".to_string(), percent(quantile(&widths, 0.5))),
    ];
    let groups = GROUPS.map(|(words, is_it)| {
        let covered = covered(is_it);
        (format!("of {} with {words}", covered.len()), percent(mean(&covered)))
    });
    let head = format!("{apps} simulated applications, one setting of each predicted");
    let rows = rows.into_iter().chain(groups).map(|(what, figure)| [what, figure]);
    println!("{}", table(&[&head, ""], rows));
    let covered = share.map(|share| 100.0 * share);
    let bar = |limit| Bar::new("90 % intervals that cover, %", covered, limit);
    Ok(vec![bar(Limit::AtLeast(87.0)), bar(Limit::AtMost(93.0))])
}

type Group = (&'static str, fn(&SimulatedApp) -> bool);

const GROUPS: [Group; 4] = [
    ("garbage collections", |app| app.pauses.is_some()),
    ("queues of their own", |app| app.admission == Admission::Split),
    ("no lock", |app| app.lock == Lock::None),
    ("steps that vary widely", |app| app.cv2 > 1.5),
];

struct Predicted {
    app: SimulatedApp,
    /// Predicted over measured, less 1.
    error: f64,
    is_covered: bool,
    /// Relative.
    half_width: f64,
}

fn random_app(random: &mut Xoshiro256PlusPlus) -> SimulatedApp {
    let mut one_of = |count: usize| random.random_range(0..count);
    let lock = [
        Lock::Ruby26 { quantum_s: 0.1 },
        Lock::Ruby26 { quantum_s: 0.1 },
        Lock::Ruby33 { quantum_s: 0.1 },
        Lock::None,
    ][one_of(4)];
    let admission = [Admission::Random, Admission::LeastBusy, Admission::Split][one_of(3)];
    let cv2 = [0.1, 0.5, 1.0, 2.0][one_of(4)];
    let cores = [1.0, 2.0, 2.0, 4.0, 4.0, 8.0][one_of(6)];
    let has_pauses = one_of(3) == 0;
    let total_s = 0.005 * 20f64.powf(random.random::<f64>());
    let io_share = random.random::<f64>() * 0.95;
    let cpu_s = total_s * (1.0 - io_share);
    let free = if random.random_range(0..3) == 0 { 0.3 * random.random::<f64>() } else { 0.0 };
    let pause = |random: &mut Xoshiro256PlusPlus| Pauses {
        every: random.random_range(20..200),
        length_s: cpu_s * (1.0 + 9.0 * random.random::<f64>()),
    };
    SimulatedApp {
        cpu_s: cpu_s * (1.0 - free),
        cpu_free_s: cpu_s * free,
        wait_s: total_s * io_share,
        waits: random.random_range(1..6),
        cv2,
        handoff_s: 0.1 * cpu_s * random.random::<f64>(),
        cores,
        lock,
        admission,
        pauses: has_pauses.then(|| pause(random)),
        drift: Drift { start: 0.03, window: 0.02, ..Drift::default() },
        ..SimulatedApp::default()
    }
}

fn one(seed: u64) -> Result<Predicted> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let app = random_app(&mut random);
    let cores = app.cores as u16;
    let threads = [1, 3, 8];
    let fitted = [(1, 1), (1, 8), (cores.max(2), 3), (2 * cores, 1)];
    let others: Vec<(u16, u16)> = (1..=2 * cores)
        .flat_map(|workers| threads.map(|threads| (workers, threads)))
        .filter(|cell| !fitted.contains(cell))
        .collect();
    let asked = others[random.random_range(0..others.len())];
    let mut place = Simulated::new(app.clone(), seed);
    let mut trials = vec![trial(&mut place, &app, (1, 1), TrialPurpose::Unloaded, seed)?];
    for cell in fitted {
        trials.push(trial(&mut place, &app, cell, TrialPurpose::Saturate, seed)?);
    }
    let measured = trial(&mut place, &app, asked, TrialPurpose::Saturate, seed)?;
    let measured_rps = measured.summary.got_through_rps();
    let story = Story {
        server: "puma".to_string(),
        goals: "p95<10s".parse().unwrap(),
        machine: Some(place.machine().clone()),
        trials,
        ..Story::default()
    };
    let question = Question {
        workers: Some(vec![asked.0]),
        threads: Some(vec![asked.1]),
        without_generator: true,
        ..Question::default()
    };
    let report = answer(&story, &question)?;
    let predicted = report.predicted.first().ok_or("nothing was predicted")?;
    let value = predicted.throughput_rps_max;
    // The interval is printed for 95 %; it is even on a logarithmic scale.
    let half = (predicted.throughput_rps_max_interval[1] / value).ln()
        * (normal::quantile(0.5 + 0.5 * LEVEL) / normal::quantile(0.975));
    let error = value / measured_rps;
    Ok(Predicted {
        app,
        error: error - 1.0,
        is_covered: error.ln().abs() <= half,
        half_width: half.exp() - 1.0,
    })
}

fn trial(
    place: &mut Simulated,
    app: &SimulatedApp,
    (workers, threads): (u16, u16),
    purpose: TrialPurpose,
    seed: u64,
) -> Result<TrialSummary> {
    let configuration = Configuration::new(workers, threads)?;
    let clients = match purpose {
        TrialPurpose::Unloaded => 1,
        _ => (2 * configuration.slots()).max(4),
    };
    let offered = Offered::Closed { clients, think: Duration::ZERO };
    let order = trial::order(configuration, offered, [1, 4].map(Duration::from_secs), seed);
    let order = Order { fresh_start: true, ..order };
    let mut runner = Runner::new(place, 0);
    let summary = trial::run(&mut runner, &order, purpose, app.cores, &Goals::default())?;
    runner.finish()?;
    Ok(summary)
}
