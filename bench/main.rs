//! The benches: what takes long and proves something. `make bench-NAME` runs one; its head says
//! which variables change it. Each ends with an error when a bar is missed.

mod aa;
mod common;
mod diagnosis;
mod fleet;
mod holds;
mod load;
mod model;
mod monitor;
mod observe;
pub mod page;
mod pairs;
mod search;
mod sensitivity;
mod simulator;
mod tune;
mod verdicts;
mod zoo;

use common::Result;

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["aa"] => aa::run(),
        ["diagnosis", ref rest @ ..] => diagnosis::run(rest),
        ["fleet", ref rest @ ..] => fleet::run(rest),
        ["holds"] => holds::run(),
        ["load"] => load::run(),
        ["model"] => model::run(),
        ["monitor", ref rest @ ..] => monitor::run(rest),
        ["observe"] => observe::run(),
        ["page"] => page::run(),
        ["pairs", ref rest @ ..] => pairs::run(rest),
        ["search"] => search::run(),
        ["sensitivity"] => sensitivity::run(),
        ["simulator"] => simulator::run(),
        ["tune"] => tune::run(),
        ["verdicts"] => verdicts::run(),
        ["zoo"] => zoo::run(),
        _ => Err("name one bench: aa, diagnosis, fleet, holds, load, model, monitor, observe, \
             page, pairs, search, sensitivity, simulator, tune, verdicts, zoo"
            .into()),
    }
}
