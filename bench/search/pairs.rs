//! Two settings, as good as each other or one a tenth better: how often is a difference declared?

use std::time::Duration;

use sweetspot::stats::{Estimate, median};

use super::{apps, parallel, session};
use crate::common::Result;
use crate::common::bars::{Bar, Limit};
use crate::common::table::table;

/// What the second is better by.
const RATIOS: [f64; 2] = [1.0, 1.1];

pub fn run(first: u64, count: u64, budget: Duration) -> Result<Vec<Bar>> {
    let mut declared = Vec::new();
    let mut rows = Vec::new();
    for ratio in RATIOS {
        let all = parallel::each(first, count, |seed| one(seed, ratio, budget))?;
        let found: Vec<&Estimate> = all.iter().flatten().collect();
        let share = |is_it: &dyn Fn(&Estimate) -> bool| {
            let those = found.iter().filter(|estimate| is_it(estimate)).count();
            100.0 * those as f64 / found.len().max(1) as f64
        };
        let widths: Vec<f64> = found.iter().map(|it| it.log_half_width()).collect();
        let (better, worse) = (share(&|it| it.low > 1.0), share(&|it| it.high < 1.0));
        declared.push((better, worse));
        rows.push([
            format!("the second is {ratio} times the first ({} answered)", found.len()),
            format!("{better:.1} %"),
            format!("{worse:.1} %"),
            format!("{:.1} %", 100.0 * median(&widths).unwrap_or(f64::NAN)),
        ]);
    }
    let pairs = format!("{count} pairs each");
    let head = [&pairs, "declared better", "declared worse", "half width, median"];
    println!("\n{}", table(&head, rows));
    let different = declared[0].0 + declared[0].1;
    Ok(vec![
        Bar::new("equals declared different, %", Some(different), Limit::AtMost(5.0)),
        Bar::new("a tenth told, %", Some(declared[1].0), Limit::AtLeast(90.0)),
    ])
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
