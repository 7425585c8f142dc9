//! How good the search's answers are where the truth is known: seeded sessions on the simulated
//! place over random apps. Run by `make bench-search`.
//!
//! `PARTS=sessions,pairs,peers` chooses parts; `SESSIONS`, `PAIRS` and `PEERS` their sizes, `SEED`
//! the first seed, `BUDGET_S` the budget of a session. `CHART` is where the chart of
//! our search beside its peers goes (`target/bench-search/regret.svg`). What a seed gave is kept in
//! `target/bench-search`, where a cut run goes on.

#[path = "search/apps.rs"]
mod apps;
#[path = "search/bayes.rs"]
mod bayes;
#[path = "search/chart.rs"]
mod chart;
#[path = "common/environment.rs"]
mod environment;
#[path = "common/machine.rs"]
mod machine;
#[path = "search/methods.rs"]
mod methods;
#[path = "search/pairs.rs"]
mod pairs;
#[path = "search/parallel.rs"]
mod parallel;
#[path = "search/peers.rs"]
mod peers;
#[path = "search/rehearse.rs"]
mod rehearse;
#[path = "search/rows.rs"]
mod rows;
#[path = "search/session.rs"]
mod session;
#[path = "search/sessions.rs"]
mod sessions;
#[path = "search/truth.rs"]
mod truth;

use std::error::Error;
use std::time::{Duration, Instant};

use environment::number;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let parts = std::env::var("PARTS").unwrap_or_else(|_| "sessions,pairs,peers".to_string());
    let budget = Duration::from_secs(number("BUDGET_S", 480)?);
    let first: u64 = number("SEED", 1)?;
    let began = Instant::now();
    println!("{}; commit {}", machine::hardware().join("; "), machine::commit());
    for part in parts.split(',') {
        match part {
            "sessions" => sessions::run(first, number("SESSIONS", 2000)?, budget)?,
            "pairs" => pairs::run(first, number("PAIRS", 500)?, budget)?,
            "peers" => peers::run(first, number("PEERS", 200)?)?,
            other => return Err(format!("PARTS: '{other}' is none of sessions,pairs,peers").into()),
        }
    }
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    Ok(())
}
