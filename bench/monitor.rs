//! The evidence for the monitor: what it costs to watch 64 processes of 8 threads each, beside
//! dstat and pidstat in one run, in turn; and whether its sums are the control group's own.
//!
//! Run by `make bench-monitor`. Watched is this program itself, started 64 times. Costs are the
//! watchers' own CPU clocks over ten seconds, after a second in which they get going.
//!
//! `SECONDS=10` and `ROUNDS=5` change how long and how often.

#[path = "monitor/crowd.rs"]
mod crowd;
#[path = "common/environment.rs"]
mod environment;
#[path = "monitor/group.rs"]
mod group;
#[path = "common/machine.rs"]
mod machine;
#[path = "monitor/watchers.rs"]
mod watchers;

use std::time::Duration;

use crowd::{Crowd, Kind};
use environment::number;
use watchers::Watcher;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, rest @ ..] = &arguments[..]
        && mode == crowd::MODE
    {
        return crowd::be(rest);
    }
    // Cargo asks every bench with `--bench`, and tests it without.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let seconds = Duration::from_secs(number("SECONDS", 10)?);
    let rounds = number("ROUNDS", 5)?;
    println!("commit {}\n{}", machine::commit(), machine::hardware().join("\n"));
    for kind in [Kind::Quiet, Kind::Busy] {
        costs(kind, seconds, rounds)?;
    }
    group::compare(seconds)
}

/// A table of what each watcher costs.
fn costs(kind: Kind, seconds: Duration, rounds: u64) -> Result<()> {
    let crowd = Crowd::start(kind, None)?;
    let watchers: Vec<Watcher> = Watcher::ALL.into_iter().filter(Watcher::is_there).collect();
    let mut shares: Vec<Vec<f64>> = vec![Vec::new(); watchers.len()];
    for round in 0..rounds as usize {
        for turn in 0..watchers.len() {
            let at = (round + turn) % watchers.len();
            shares[at].push(watchers[at].cost(crowd.root(), seconds)?);
        }
    }
    println!(
        "\n{} processes of {} threads, {}; {rounds} rounds of {} s\n\n\
         | watcher | share of a core: median (lowest..highest) |\n|---|---|",
        crowd::PROCESSES,
        crowd::THREADS,
        kind.words(),
        seconds.as_secs()
    );
    for (watcher, shares) in watchers.iter().zip(&mut shares) {
        shares.sort_by(f64::total_cmp);
        let [low, middle, high] = [0, shares.len() / 2, shares.len() - 1].map(|at| shares[at]);
        println!(
            "| {} | {:.2} % ({:.2}..{:.2}) |",
            watcher.name(),
            middle * 100.0,
            low * 100.0,
            high * 100.0
        );
    }
    Ok(())
}
