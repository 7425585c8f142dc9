//! The simulator: how fast it is, whether a fleet that is looked up by rate behaves as one that is
//! simulated request by request, and whether prediction intervals cover.
//!
//! Run by `make bench-simulator`; `PARTS=speed,day,coverage` runs some of it, `APPS` sets how many
//! simulated applications are predicted.

#[path = "simulator/coverage.rs"]
mod coverage;
#[path = "simulator/day.rs"]
mod day;
#[path = "common/environment.rs"]
mod environment;
#[path = "common/machine.rs"]
mod machine;
#[path = "simulator/speed.rs"]
mod speed;
#[path = "common/trial.rs"]
mod trial;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    // Cargo asks every bench with `--bench`, and tests it without.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let parts = std::env::var("PARTS").unwrap_or_else(|_| "speed,day,coverage".to_string());
    println!("commit {}\n{}\n", machine::commit(), machine::hardware().join("\n"));
    for part in parts.split(',') {
        match part {
            "speed" => speed::run()?,
            "day" => day::run()?,
            "coverage" => coverage::run(environment::number("APPS", 2000)?)?,
            other => return Err(format!("PARTS: '{other}' is not speed, day or coverage").into()),
        }
    }
    Ok(())
}
