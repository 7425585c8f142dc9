//! How good the search's answers are where the truth is known: seeded sessions on the simulated
//! place over random apps. Run by `make bench-search`; `SESSIONS`, `BUDGET_S` and `SEED` change its
//! size.

use std::error::Error;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sweetspot::model::Form;
use sweetspot::place::simulated::{Drift, Simulated, SimulatedApp};
use sweetspot::search::SearchPlan;
use sweetspot::session::rehearse;
use sweetspot::terms::{Arrivals, Configuration, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let number = |name: &str, default: u64| -> Result<u64, std::num::ParseIntError> {
        std::env::var(name).map_or(Ok(default), |text| text.parse())
    };
    let sessions = number("SESSIONS", 40)?;
    let budget = Duration::from_secs(number("BUDGET_S", 210)?);
    let first = number("SEED", 1)?;
    let began = Instant::now();
    let mut all = Vec::new();
    for seed in first..first + sessions {
        let session = one(seed, budget)?;
        println!("{}", session.line(seed));
        all.push(session);
    }
    summary(&all);
    println!("{:.1} s in all", began.elapsed().as_secs_f64());
    Ok(())
}

struct Session {
    app: String,
    chosen: Option<Configuration>,
    best: Configuration,
    /// True capacity of the chosen divided by the true best.
    quality: f64,
    /// Printed capacity divided by the true one of the chosen.
    bias: f64,
    covers: bool,
    width: f64,
    load_s: f64,
    trials: usize,
    undecided: usize,
}

impl Session {
    fn line(&self, seed: u64) -> String {
        let chosen = self.chosen.map_or("-".to_string(), |c| c.to_string());
        format!(
            "{seed:4} {:46} best {:8} chosen {chosen:8} quality {:.3} bias {:.3} width {:.3} {} \
             {:3} trials ({} undecided) {:.0} s",
            self.app,
            self.best.to_string(),
            self.quality,
            self.bias,
            self.width,
            if self.covers { "covers" } else { "MISSES" },
            self.trials,
            self.undecided,
            self.load_s
        )
    }
}

fn random_app(seed: u64) -> SimulatedApp {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let total_s = 0.005 * 20f64.powf(random.random::<f64>());
    let io_share = random.random::<f64>() * 0.95;
    let cores = [1.0, 2.0, 2.0, 4.0, 4.0, 8.0][random.random_range(0..6)];
    SimulatedApp {
        cpu_s: total_s * (1.0 - io_share),
        wait_s: total_s * io_share,
        waits: random.random_range(1..6),
        cv2: [0.1, 0.5, 1.0][random.random_range(0..3)],
        cores,
        drift: Drift { start: 0.015, window: 0.01, cold: 0.3, cold_s: 1.0, ..Drift::default() },
        ..SimulatedApp::default()
    }
}

fn one(seed: u64, budget: Duration) -> Result<Session, Box<dyn Error>> {
    let app = random_app(seed);
    let grid: Vec<Configuration> = (1..=(2.0 * app.cores) as u16)
        .flat_map(|w| [1, 2, 4, 8].into_iter().map(move |t| (w, t)))
        .filter_map(|(w, t)| Configuration::new(w, t).ok())
        .collect();
    let plan = SearchPlan {
        grid: grid.clone(),
        current: app.current,
        slo: None,
        cores: app.cores,
        form: if app.is_event_loop { Form::EventLoop } else { Form::Threads },
        generator_shares_cores: false,
        memory: None,
        db_connections: None,
        arrivals: Arrivals::Poisson,
        changes: Vec::new(),
        budget,
        seed,
    };
    let mut place = Simulated::new(app.clone(), seed);
    let rehearsed = rehearse::run(&plan, &mut place)?;
    let slo = rehearsed.slo.ok_or("no goal was settled")?;
    let limit = slo.quantiles[0].limit;
    let truth = |c: Configuration| app.true_capacity(c, limit, 0.95);
    let (best, best_rps) = grid
        .iter()
        .map(|&c| (c, truth(c)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .ok_or("the grid is empty")?;
    let choice = rehearsed.answer.choice;
    let chosen = choice.as_ref().map(|choice| choice.capacity.configuration);
    let rps = choice.as_ref().map(|choice| choice.capacity.rps);
    let chosen_rps = chosen.map_or(0.0, truth);
    Ok(Session {
        app: format!(
            "cpu {:5.1} ms wait {:5.1} ms/{} cv2 {} cores {}",
            app.cpu_s * 1e3,
            app.wait_s * 1e3,
            app.waits,
            app.cv2,
            app.cores
        ),
        chosen,
        best,
        quality: chosen_rps / best_rps,
        bias: rps.map_or(0.0, |rps| rps.value / chosen_rps),
        covers: rps.is_some_and(|rps| rps.low <= chosen_rps && chosen_rps <= rps.high),
        width: rps.map_or(0.0, |rps| (rps.high / rps.low).ln() / 2.0),
        load_s: rehearsed.elapsed.as_secs_f64(),
        trials: rehearsed.trials.len(),
        undecided: rehearsed.trials.iter().filter(|t| t.verdict == Verdict::Undecided).count(),
    })
}

fn summary(all: &[Session]) {
    let quantile = |of: &dyn Fn(&Session) -> f64, q: f64| -> f64 {
        let mut values: Vec<f64> = all.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[((values.len() - 1) as f64 * q).round() as usize]
    };
    let share = |of: &dyn Fn(&Session) -> bool| -> f64 {
        100.0 * all.iter().filter(|s| of(s)).count() as f64 / all.len() as f64
    };
    println!(
        "quality: median {:.3}, 5th percentile {:.3}, worst {:.3}; at least 0.95 in {:.0} %, at \
         least 0.90 in {:.0} %",
        quantile(&|s| s.quality, 0.5),
        quantile(&|s| s.quality, 0.05),
        quantile(&|s| s.quality, 0.0),
        share(&|s| s.quality >= 0.95),
        share(&|s| s.quality >= 0.90)
    );
    println!(
        "printed capacity / true: median {:.3}, 5..95 %: {:.3}..{:.3}; interval covers in {:.0} %, \
         half width {:.3} (median)",
        quantile(&|s| s.bias, 0.5),
        quantile(&|s| s.bias, 0.05),
        quantile(&|s| s.bias, 0.95),
        share(&|s| s.covers),
        quantile(&|s| s.width, 0.5)
    );
    println!(
        "session: median {:.0} s by its clock, longest {:.0} s",
        quantile(&|s| s.load_s, 0.5),
        quantile(&|s| s.load_s, 1.0)
    );
}
