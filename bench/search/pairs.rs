//! Two settings, as good as each other or one a tenth better: how often is a difference declared?

use std::time::Duration;

use sweetspot::stats::{Estimate, median};

use crate::Result;
use crate::{apps, parallel, session};

/// What the second is better by.
const RATIOS: [f64; 2] = [1.0, 1.1];

pub fn run(first: u64, count: u64, budget: Duration) -> Result<()> {
    println!("\n| {count} pairs each | declared better | declared worse | half width, median |");
    println!("|---|---|---|---|");
    for ratio in RATIOS {
        let all = parallel::each(first, count, |seed| one(seed, ratio, budget))?;
        let found: Vec<&Estimate> = all.iter().flatten().collect();
        let share = |is_it: &dyn Fn(&Estimate) -> bool| {
            let those = found.iter().filter(|estimate| is_it(estimate)).count();
            100.0 * those as f64 / found.len().max(1) as f64
        };
        let widths: Vec<f64> = found.iter().map(|it| it.log_half_width()).collect();
        println!(
            "| the second is {ratio} times the first ({} answered) | {:.1} % | {:.1} % | {:.1} % |",
            found.len(),
            share(&|it| it.low > 1.0),
            share(&|it| it.high < 1.0),
            100.0 * median(&widths).unwrap_or(f64::NAN)
        );
    }
    println!();
    Ok(())
}

/// The second's capacity by the first's, as the search found it.
fn one(seed: u64, ratio: f64, budget: Duration) -> Result<Option<Estimate>> {
    let case = apps::random(seed);
    let alone_s = case.app.demand().unloaded_latency_s();
    // As the default goal would be, about.
    let limit = Duration::from_secs_f64((6.0 * alone_s).max(0.2));
    let pair = apps::pair(seed, ratio, limit);
    let ended = session::run(&pair, budget, seed)?;
    Ok(ended.and_then(|ended| ended.last_by_current))
}
