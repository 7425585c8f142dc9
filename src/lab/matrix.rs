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
    let name = block.name.clone().unwrap_or_else(|| block.targets[0].name.clone());
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::lab::Lab;
    use crate::lab::definition::{Count, CountWord};

    fn block() -> Block {
        Block {
            name: None,
            series: None,
            targets: vec!["GET /".to_string().try_into().unwrap()],
            workers: vec![Count::Number(1), Count::Number(2), Count::Word(CountWord::Cores)],
            threads: vec![Count::Number(8)],
            rate_rps: Vec::new(),
            clients: vec![1, 40],
            think_s: 0.0,
            about_s: None,
            env: BTreeMap::new(),
            published: BTreeMap::new(),
        }
    }

    fn configurations(cores: u16) -> Vec<(u16, u32)> {
        let block = block();
        let runs = of(&block, cores, 1);
        let pair = |run: &Planned<'_>| (run.setting.workers.get(), run.setting.clients.unwrap());
        runs.iter().map(pair).collect()
    }

    #[test]
    fn every_combination_is_run_once_also_when_the_cores_are_a_number_that_is_there() {
        assert_eq!(configurations(4), [(1, 1), (1, 40), (2, 1), (2, 40), (4, 1), (4, 40)]);
        assert_eq!(configurations(2), [(1, 1), (1, 40), (2, 1), (2, 40)]);
    }

    #[test]
    fn all_labs_can_be_read_and_their_repeats_come_after_each_other() {
        for name in crate::lab::names() {
            let lab = Lab::read(name, crate::lab::built_in(name).unwrap()).unwrap();
            let all = runs(&lab.definition, false, 2);
            let repeats = lab.definition.full.repeats;
            assert_eq!(all.len() % repeats as usize, 0, "{name}");
            assert!(all.windows(2).all(|pair| pair[0].setting.repeat <= pair[1].setting.repeat));
            assert!(!runs(&lab.definition, true, 2).is_empty(), "{name}");
            assert!(lab.estimated_s(true, 2) <= 45.0, "{name}");
        }
    }
}
