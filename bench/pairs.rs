//! What one setting of an app holds beside another: both are measured in turn on fresh starts, as
//! `tune` measures a capacity, until their ratio is told from a bar.
//!
//! Run by `scripts/bench-advise` with both settings (`pairs 3x5 4x5`); prints a line, the ratio
//! with its 95 % interval and the number of pairs (`1.021,0.974,1.070,3`; `-` where too few could
//! be measured). Every pair is a row of `pairs.csv`, and one that is there already is not measured
//! again. With one setting alone it prints what that holds, requests/s.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sweetspot::plan::{Key, Typed};
use sweetspot::stats::{Estimate, log_ratio_interval};
use sweetspot::terms::Configuration;

use crate::common::options::{self, at_least};
use crate::common::rows::Rows;
use crate::common::tuned::Tuned;
use crate::common::{Result, interrupt, site};
use crate::tune::capacity;

/// What the ratio is told from.
const BAR: f64 = 0.9;
/// With fewer there is no interval.
const PAIRS_LEAST: u32 = 2;
/// With less, no window fits behind the burst that a capacity begins with.
const SECONDS_LEAST: u64 = 15;
/// Seeds of a pair's arrivals, none of which a session uses; a second attempt has another.
const SEED: u64 = 2_000_000;
const AGAIN: u64 = 500;

/// Two capacities, one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    app: String,
    one: String,
    other: String,
    /// From 1; in every second one the other is measured first.
    pair: u32,
    /// Requests/s; 0: it could not be measured, and not the second time either.
    one_rps: f64,
    other_rps: f64,
}

/// An app, and how its settings are measured.
struct Bench {
    /// What rows call it (`NAME`).
    name: String,
    tuned: Tuned,
    /// Load of one capacity (`SECONDS`).
    time: Duration,
    /// At most so many pairs (`PAIRS`).
    pairs: u32,
    rows: Rows<Row>,
}

/// `settings`: one, or two to be compared, such as `2x3`.
pub fn run(settings: &[&str]) -> Result<()> {
    let settings: Result<Vec<Configuration>> = settings.iter().map(|text| setting(text)).collect();
    let mut bench = Bench::from_environment()?;
    match settings?[..] {
        [alone] => {
            let rps = bench.holds_rps(alone, SEED)?.ok_or("it could not be measured, twice")?;
            println!("{rps:.2}");
        }
        [one, other] => match bench.ratio(one, other)? {
            Some(Estimate { value, low, high, count }) => {
                println!("{value:.3},{low:.3},{high:.3},{count}");
            }
            None => println!("-,-,-,0"),
        },
        _ => return Err("name one setting or two, such as 3x5 4x5".into()),
    }
    Ok(())
}

fn setting(text: &str) -> Result<Configuration> {
    let (workers, threads) =
        text.split_once('x').ok_or_else(|| format!("'{text}' is no setting such as 2x3"))?;
    Ok(Configuration::new(workers.parse()?, threads.parse()?)?)
}

impl Bench {
    /// The app's folder (`APP`), a file with a target a line (`TARGETS`), variables (`APP_ENV`,
    /// words) and the goal (`SLO`) are what `tune` would be given.
    fn from_environment() -> Result<Self> {
        let stop = interrupt::install();
        let targets = fs::read_to_string(options::text("TARGETS", "targets"))?;
        let (slo, env) =
            (options::text("SLO", "p95<200ms,errors<1%"), options::text("APP_ENV", ""));
        let typed = Typed::default()
            .with_path(Key::App, options::text("APP", "."))
            .with_all(Key::Target, targets.lines())
            .with_all(Key::Env, env.split_whitespace())
            .with(Key::Slo, slo.clone());
        let time = Duration::from_secs(at_least(SECONDS_LEAST, "SECONDS", 30)?);
        let asked = format!("{slo}, {} s each", time.as_secs());
        let folder = options::folder("target/bench-advise")?;
        Ok(Self {
            name: options::text("NAME", "app"),
            tuned: Tuned::prepare(typed, site::services(&stop)?, &stop)?,
            time,
            pairs: at_least(PAIRS_LEAST, "PAIRS", 6)?,
            rows: Rows::of_build(&folder.join("pairs.csv"), &asked)?,
        })
    }

    /// One by other, of all pairs of which both could be measured; `None` of fewer than two.
    fn ratio(&mut self, one: Configuration, other: Configuration) -> Result<Option<Estimate>> {
        for pair in 1..=self.pairs {
            if self.estimate(one, other).is_some_and(|it| it.low > BAR || it.high < BAR) {
                break;
            }
            if self.pairs_of(one, other).all(|row| row.pair != pair) {
                let row = self.pair(one, other, pair)?;
                eprintln!(
                    "{} pair {pair}: {} holds {:.1}/s, {} {:.1}/s",
                    row.app, row.one, row.one_rps, row.other, row.other_rps
                );
                self.rows.add(row)?;
            }
        }
        Ok(self.estimate(one, other))
    }

    fn pair(&self, one: Configuration, other: Configuration, pair: u32) -> Result<Row> {
        let holds = |at| -> Result<f64> {
            Ok(self.holds_rps(at, SEED + u64::from(pair) * 1000)?.unwrap_or(0.0))
        };
        let (one_rps, other_rps) = if pair % 2 == 1 {
            let one_rps = holds(one)?;
            (one_rps, holds(other)?)
        } else {
            let other_rps = holds(other)?;
            (holds(one)?, other_rps)
        };
        let (app, one, other) = (self.name.clone(), spelt(one), spelt(other));
        Ok(Row { app, one, other, pair, one_rps, other_rps })
    }

    /// On a fresh start; what could not be measured is tried once more.
    fn holds_rps(&self, at: Configuration, seed: u64) -> Result<Option<f64>> {
        for seed in [seed, seed + AGAIN] {
            let measured = capacity::measure(&self.tuned, at, self.time, seed)?;
            if let Some(rps) = measured.capacity_rps.filter(|rps| rps.value > 0.0) {
                return Ok(Some(rps.value));
            }
        }
        Ok(None)
    }

    fn estimate(&self, one: Configuration, other: Configuration) -> Option<Estimate> {
        let both = self.pairs_of(one, other).map(|row| (row.one_rps, row.other_rps));
        let measured: Vec<(f64, f64)> =
            both.filter(|(one, other)| *one > 0.0 && *other > 0.0).collect();
        log_ratio_interval(&measured, 0.95)
    }

    fn pairs_of(&self, one: Configuration, other: Configuration) -> impl Iterator<Item = &Row> {
        let (one, other) = (spelt(one), spelt(other));
        let is_it = move |row: &&Row| row.app == self.name && row.one == one && row.other == other;
        self.rows.iter().filter(is_it)
    }
}

/// As it is typed.
fn spelt(at: Configuration) -> String {
    format!("{}x{}", at.workers.get(), at.threads.get())
}
