//! How good the search's answers are where the truth is known: seeded sessions on the simulated
//! place over random apps. Run by `make bench-search`.
//!
//! `PARTS=sessions,pairs,peers` chooses parts; `SESSIONS`, `PAIRS` and `PEERS` their sizes, `SEED`
//! the first seed, `BUDGET_S` the budget of a session. `CHART` is where the chart of
//! our search beside its peers goes (`target/bench-search/regret.svg`). What a seed gave is kept in
//! `target/bench-search`, where a cut run goes on.

mod apps;
mod bayes;
mod chart;
mod methods;
mod pairs;
pub mod parallel;
mod peers;
mod rows;
pub mod session;
mod sessions;
mod truth;

use std::time::{Duration, Instant};

use crate::common::options::{self, number};
use crate::common::{Result, bars, machine};

pub fn run() -> Result<()> {
    let budget = Duration::from_secs(number("BUDGET_S", 480)?);
    let first: u64 = number("SEED", 1)?;
    let began = Instant::now();
    let all = ["sessions", "pairs", "peers"];
    let mut bars = Vec::new();
    println!("{}", machine::line());
    for part in options::names("PARTS", "sessions,pairs,peers", &all)? {
        bars.extend(match part.as_str() {
            "sessions" => sessions::run(first, number("SESSIONS", 2000)?, budget)?,
            "pairs" => pairs::run(first, number("PAIRS", 500)?, budget)?,
            _ => peers::run(first, number("PEERS", 200)?)?,
        });
    }
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    bars::hold(&bars)
}
