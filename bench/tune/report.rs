//! The tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sweetspot::stats::Estimate;
use sweetspot::terms::Configuration;

use super::judge::{Agreement, FULL, Judged};
use super::rows::Row;
use super::site::SLO;
use crate::common::bars::{Bar, bars_table};
use crate::common::machine;
use crate::common::spread::Spread;
use crate::common::table::table;

/// Everything, as Markdown; `grounds`: what it was measured on.
pub fn of(judged: &[Judged], grounds: &str, bars: &[Bar]) -> String {
    let lines = grounds.lines().map(|line| format!("- {line}\n"));
    let mut text = format!(
        "# What `tune` chooses, beside the whole grid\n\nMeasured on:\n\n{}\n\
         Judged at commit {}. Capacities in requests/s, each on a fresh start.\n\n",
        lines.collect::<String>(),
        machine::commit()
    );
    text += &format!("{}\n{}", summary(judged), bars_table(bars));
    for one in judged {
        text += &workload(one);
    }
    text
}

fn summary(judged: &[Judged]) -> String {
    let head = [
        "workload",
        "the grid's best",
        "chosen",
        "chosen / best (95 %)",
        "share of the grid's time",
        "the next tunes",
    ];
    let row = |one: &Judged| {
        let joined = |all: Vec<String>| all.join("; ");
        let choices = one.choices();
        let agreements = one.agreements();
        [
            one.workload.name.to_string(),
            name(one.best),
            joined(choices.iter().map(Configuration::to_string).collect()),
            joined(choices.iter().map(|choice| ratio_to_best(one, *choice)).collect()),
            joined(one.tunes.iter().map(|row| share(one, row)).collect()),
            joined(agreements.iter().map(|(_, _, it)| short(it).to_string()).collect()),
        ]
    };
    table(&head, judged.iter().map(row))
}

fn name(cell: Option<Configuration>) -> String {
    cell.map_or("none".to_string(), |cell| cell.to_string())
}

fn short(agreement: &Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "the same",
        Agreement::AsGood(_) => "as good",
        Agreement::Other(_) => "another",
    }
}

fn workload(one: &Judged) -> String {
    let about = one.workload;
    let mut text = format!(
        "\n## {}: {}\n\n`GET {}` of `{}`, {}; {} x {:.0} s a cell. The median \
         (least..most):\n\n",
        about.name, about.words, about.path, about.app, SLO, one.rounds, one.asked_s
    );
    text += &grid(one);
    text += &best(one);
    text += &tunes(one);
    text += &agreements(one);
    text + &blocks(one)
}

fn grid(one: &Judged) -> String {
    let workers: BTreeSet<u16> = one.cells.keys().map(|cell| cell.workers.get()).collect();
    let threads: BTreeSet<u16> = one.cells.keys().map(|cell| cell.threads.get()).collect();
    let head: Vec<String> = ["workers \\ threads".to_string()]
        .into_iter()
        .chain(threads.iter().map(u16::to_string))
        .collect();
    let row = |w: &u16| {
        let cells = threads.iter().map(|&t| {
            let values = Configuration::new(*w, t).ok().and_then(|cell| one.cells.get(&cell));
            let spread = values.and_then(|values| Spread::of(values));
            spread.map_or("-".to_string(), |spread| spread.range(1.0, 0))
        });
        [w.to_string()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    table(&head, workers.iter().map(row))
}

fn best(one: &Judged) -> String {
    let Some(best) = one.best else { return "\nNo cell could be measured.\n".to_string() };
    let (rounds, asked_s) = FULL;
    let scaled = match one.is_full() {
        true => String::new(),
        false => format!(
            "; {rounds} rounds of {asked_s:.0} s of these cells would take about {:.0} s, which \
             shares are of",
            one.full_grid_s
        ),
    };
    let failed = one.cells.values().flatten().filter(|rps| **rps == 0.0).count();
    let failed = match failed {
        0 => String::new(),
        _ => format!(" {failed} capacities could not be measured and count as 0."),
    };
    format!(
        "\nThe best is {best} with {:.0}/s; {} of {} cells are within 5 % of it, itself included. \
         The grid took {:.0} s{scaled}.{failed}\n",
        one.rps(best),
        one.as_good(),
        one.cells.len(),
        one.grid_s
    )
}

fn tunes(one: &Judged) -> String {
    let head = [
        "tune",
        "choice",
        "printed capacity (95 %)",
        "seconds",
        "of these load",
        "of its budget",
        "share of the grid's time",
    ];
    let row = |row: &Row| {
        [
            format!("seed {}", row.round),
            name(row.configuration()),
            format!("{:.0} ({:.0} to {:.0})", row.capacity_rps, row.low_rps, row.high_rps),
            format!("{:.0}", row.seconds),
            format!("{:.0}", row.load_s),
            format!("{:.0}", row.asked_s),
            share(one, row),
        ]
    };
    format!("\n{}", table(&head, one.tunes.iter().map(row)))
}

fn share(one: &Judged, row: &Row) -> String {
    format!("1/{:.1}", one.full_grid_s / row.seconds)
}

fn agreements(one: &Judged) -> String {
    let mut text = String::new();
    for (first, round, agreement) in one.agreements() {
        let words = match agreement {
            Agreement::Same => "the same choice".to_string(),
            Agreement::AsGood(shares) => {
                format!("another choice, as good: {}", shares_text(shares))
            }
            Agreement::Other(shares) => {
                format!("another choice, and not as good: {}", shares_text(shares))
            }
        };
        let _ = write!(text, "\nTune {round} beside tune {first}: {words}.\n");
    }
    text
}

fn shares_text([first, this]: [f64; 2]) -> String {
    format!("by the grid the first's is {first:.3} of its best, this one's {this:.3}")
}

/// Each choice beside the best, block by block, and beside what was printed of it.
fn blocks(one: &Judged) -> String {
    let mut text = String::new();
    for choice in one.choices() {
        let _ = write!(
            text,
            "\n{choice} again, in blocks of {:.0} s each; chosen / best: {}.\n",
            one.block_s,
            ratio_to_best(one, choice)
        );
        let tunes: Vec<&Row> =
            one.tunes.iter().filter(|row| row.configuration() == Some(choice)).collect();
        let printed = tunes.iter().map(|row| format!("printed by tune {}", row.round));
        let head = ["block", "chosen", "best", "ratio"].map(str::to_string);
        let head: Vec<String> = head.into_iter().chain(printed).collect();
        let rows = one.blocks.iter().filter_map(|(round, block)| {
            let &rps = block.get(&choice)?;
            // Not there when another cell was the best at that time.
            let best_rps = one.best.and_then(|best| block.get(&best)).filter(|rps| **rps > 0.0);
            let ratio = best_rps.map_or("-".to_string(), |best| format!("{:.3}", rps / best));
            let best_rps = best_rps.map_or("-".to_string(), |best| format!("{best:.0}"));
            let row = [round.to_string(), format!("{rps:.0}"), best_rps, ratio];
            let beside = tunes.iter().map(|tune| beside_printed(rps, tune).to_string());
            Some(row.into_iter().chain(beside).collect::<Vec<_>>())
        });
        text += &format!("\n{}", table(&head, rows));
    }
    text
}

fn beside_printed(rps: f64, tune: &Row) -> &'static str {
    match rps {
        rps if rps < tune.low_rps => "below",
        rps if rps > tune.high_rps => "above",
        _ => "within",
    }
}

fn ratio_to_best(one: &Judged, choice: Configuration) -> String {
    let Some(best) = one.best.filter(|best| *best != choice) else {
        return "1, the best itself".to_string();
    };
    let pairs = one.pairs(choice, best);
    let lost = pairs.iter().filter(|(_, one, other)| *one == 0.0 || *other == 0.0).count();
    let lost = match lost {
        0 => String::new(),
        _ => format!("; {lost} more without a capacity of one of them"),
    };
    match one.ratio(choice, best) {
        Some(ratio) => format!("{}{lost}", ratio_text(&ratio)),
        None => format!("too few blocks{lost}"),
    }
}

fn ratio_text(ratio: &Estimate) -> String {
    format!("{:.3} ({:.3} to {:.3}; {} blocks)", ratio.value, ratio.low, ratio.high, ratio.count)
}
