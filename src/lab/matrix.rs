//! Blocks of settings to the runs that they mean, in order.
//!
//! In: a definition and the machine's cores. Out: settings. Only computes.

use super::definition::{Block, Course, Definition};
use crate::terms::{LabSetting, Threads, Workers};

/// A run with the block it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned<'a> {
    pub setting: LabSetting,
    pub block: &'a Block,
}

/// The runs of an experiment: repeats come after each other, not within, so that a machine that
/// changes meanwhile spoils no single setting; a server that runs is used on before another is
/// started.
pub fn runs(definition: &Definition, is_quick: bool, cores: u16) -> Vec<Planned<'_>> {
    let blocks = if is_quick { &definition.quick_runs } else { &definition.runs };
    let repeats = course(definition, is_quick).repeats;
    (1..=repeats)
        .flat_map(|repeat| blocks.iter().flat_map(move |it| of(it, cores, repeat)))
        .collect()
}

/// How long each of its runs takes.
pub fn course(definition: &Definition, is_quick: bool) -> Course {
    if is_quick { definition.quick } else { definition.full }
}

fn of(block: &Block, cores: u16, repeat: u32) -> Vec<Planned<'_>> {
    let name = block.name.clone().unwrap_or_else(|| block.targets[0].clone());
    let series = block.series.clone().unwrap_or_else(|| name.clone());
    let mut runs: Vec<Planned<'_>> = Vec::new();
    for workers in &block.workers {
        for threads in &block.threads {
            let open = block.rate_rps.iter().map(|rate| (Some(*rate), None));
            let closed = block.clients.iter().map(|clients| (None, Some(*clients)));
            for (rate_rps, clients) in open.chain(closed) {
                let Ok(workers) = Workers::new(workers.on(cores)) else { continue };
                let Ok(threads) = Threads::new(threads.on(cores)) else { continue };
                let setting = LabSetting {
                    target: name.clone(),
                    series: series.clone(),
                    workers,
                    threads,
                    rate_rps,
                    clients,
                    think_s: block.think_s,
                    env: block.env.clone(),
                    repeat,
                };
                // The cores may be one of the numbers that are there already.
                if !runs.iter().any(|run| run.setting == setting) {
                    runs.push(Planned { setting, block });
                }
            }
        }
    }
    runs
}
