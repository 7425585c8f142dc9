//! How good the search's answers are on servers that it was not made for: whole sessions on a zoo
//! of simulated apps, with a simulation of their own and what real servers do beside it. Run by
//! `make bench-zoo`.
//!
//! Seeds follow from the commit's hash, so that nobody can have tuned on them; `SEED` is the first
//! of a run while developing. `SESSIONS` is how many, `KINDS` which kinds, `BUDGET_S` the budget of
//! a session, `PLACES` how many machines measure at the same time; `VERIFY=1` verifies each
//! recommendation on another day, where nothing has changed and where the app has become slower;
//! `TRACE=1` prints every trial. True capacities are kept in `target/bench-zoo`.

mod app;
pub mod chance;
mod checks;
pub mod figures;
mod job;
mod kinds;
mod machine;
mod place;
mod recheck;
mod record;
mod session;
mod simulation;
mod truth;

use std::time::{Duration, Instant};

use crate::common::options::{names, number};
use crate::common::seeds::first_seed;
use crate::common::{Result, bars, machine as host};
use crate::search::parallel;
use kinds::Kind;
use session::{Asked, One};
use truth::Kept;

/// What each session came to, as JSON, a line each.
pub const SESSIONS_FILE: &str = "target/bench-zoo/sessions.jsonl";

pub fn run() -> Result<()> {
    let began = Instant::now();
    let asked = Asked {
        budget: Duration::from_secs(number("BUDGET_S", 480)?),
        places: usize::try_from(number("PLACES", 1)?)?,
        is_verified: number("VERIFY", 0)? > 0,
    };
    let kinds = kinds()?;
    let count: u64 = number("SESSIONS", 2000)?;
    let first = first_seed()?;
    println!("{}", host::line());
    let mut bars = checks::bars();
    let kept = Kept::open()?;
    let seeds: Vec<u64> = (first..)
        .filter(|seed| kinds.contains(&Kind::of(*seed)))
        .take(usize::try_from(count)?)
        .collect();
    let all = parallel::each(0, count, |at| {
        let one = session::one(seeds[at as usize], asked, &kept)?;
        if std::env::var_os("TRACE").is_some() {
            println!("{}", one.line());
        }
        Ok(one)
    })?;
    println!("{}", figures::report(&all));
    let lines: Vec<String> = all.iter().map(One::line).collect();
    let as_json: Vec<String> =
        all.iter().map(serde_json::to_string).collect::<serde_json::Result<_>>()?;
    std::fs::write(SESSIONS_FILE, as_json.join("\n") + "\n")?;
    let path = "target/bench-zoo/sessions.txt";
    std::fs::write(path, lines.join("\n") + "\n")?;
    println!("a line for each session: {path}");
    bars.extend(figures::bars(&all));
    println!("{:.0} s in all", began.elapsed().as_secs_f64());
    bars::hold(&bars)
}

fn kinds() -> Result<Vec<Kind>> {
    let there = Kind::ALL.map(Kind::name);
    let asked = names("KINDS", &there.join(","), &there)?;
    Ok(Kind::ALL.into_iter().filter(|kind| asked.iter().any(|it| it == kind.name())).collect())
}
