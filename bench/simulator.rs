//! The simulator: how fast it is, whether a fleet that is looked up by rate behaves as one that is
//! simulated request by request, and whether prediction intervals cover.
//!
//! Run by `make bench-simulator`; `PARTS=speed,day,coverage` runs some of it, `APPS` sets how many
//! simulated applications are predicted.

mod coverage;
mod day;
mod each;
mod speed;

use crate::common::{Result, bars, machine, options};

pub fn run() -> Result<()> {
    println!("{}\n", machine::line());
    let mut bars = Vec::new();
    for part in options::names("PARTS", "speed,day,coverage", &["speed", "day", "coverage"])? {
        bars.extend(match part.as_str() {
            "speed" => speed::run()?,
            "day" => day::run(),
            _ => coverage::run(options::number("APPS", 2000)?)?,
        });
    }
    bars::hold(&bars)
}
