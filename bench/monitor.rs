//! The evidence for the monitor: what it costs to watch 64 processes of 8 threads each, beside
//! dstat and pidstat in one run, in turn; and whether its sums are the control group's own.
//!
//! Run by `make bench-monitor`. Watched is this program itself, started 64 times. Costs are the
//! watchers' own CPU clocks over ten seconds, after a second in which they get going.
//!
//! `SECONDS=10` and `ROUNDS=5` change how long and how often.

mod crowd;
mod group;
mod watchers;

use std::time::Duration;

use crowd::{Crowd, Kind};
use watchers::Watcher;

use crate::common::bars::{self, Bar, Limit};
use crate::common::options::number;
use crate::common::spread::Spread;
use crate::common::table::table;
use crate::common::{Result, machine};

pub fn run(arguments: &[&str]) -> Result<()> {
    if !arguments.is_empty() {
        return crowd::be(arguments);
    }
    let seconds = Duration::from_secs(number("SECONDS", 10)?);
    let rounds = number("ROUNDS", 5)?;
    println!("{}", machine::line());
    let mut bars = Vec::new();
    for kind in [Kind::Quiet, Kind::Busy] {
        bars.extend(costs(kind, seconds, rounds)?);
    }
    bars.extend(group::compare(seconds)?);
    bars::hold(&bars)
}

/// Prints a table of what each watcher costs; what ours may cost.
fn costs(kind: Kind, seconds: Duration, rounds: usize) -> Result<Option<Bar>> {
    let crowd = Crowd::start(kind, None)?;
    let watchers: Vec<Watcher> = Watcher::ALL.into_iter().filter(Watcher::is_there).collect();
    let mut shares: Vec<Vec<f64>> = vec![Vec::new(); watchers.len()];
    for round in 0..rounds {
        for turn in 0..watchers.len() {
            let at = (round + turn) % watchers.len();
            shares[at].push(100.0 * watchers[at].cost(crowd.root(), seconds)?);
        }
    }
    println!(
        "\n{} processes of {} threads, {}; {rounds} rounds of {} s\n",
        crowd::PROCESSES,
        crowd::THREADS,
        kind.words(),
        seconds.as_secs()
    );
    let spreads: Vec<Spread> = shares.iter().filter_map(|shares| Spread::of(shares)).collect();
    let rows = watchers.iter().zip(&spreads);
    let rows = rows.map(|(watcher, spread)| [watcher.name().to_string(), spread.range(1.0, 2)]);
    println!("{}", table(&["watcher", "% of a core: median (lowest..highest)"], rows));
    let what = format!("sweetspot, {}, % of a core", kind.words());
    Ok(spreads.first().map(|ours| Bar::new(what, Some(ours.median), Limit::AtMost(1.0))))
}
