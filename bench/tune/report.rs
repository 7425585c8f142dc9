//! The tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sweetspot::stats::Estimate;
use sweetspot::terms::Configuration;

use crate::judge::{Agreement, FULL, Judged, median};
use crate::machine;
use crate::rows::Row;

/// Everything, as Markdown; `grounds`: what it was measured on.
pub fn of(judged: &[Judged], grounds: &str) -> String {
    let lines = grounds.lines().map(|line| format!("- {line}\n"));
    let mut text = format!(
        "# What `tune` chooses, beside the whole grid\n\nMeasured on:\n\n{}\n\
         Judged at commit {}. Capacities in requests/s, each on a fresh start.\n\n",
        lines.collect::<String>(),
        machine::commit()
    );
    text += &summary(judged);
    for one in judged {
        text += &workload(one);
    }
    text
}

fn summary(judged: &[Judged]) -> String {
    let mut text = "| workload | the grid's best | chosen | chosen / best (95 %) | share of the \
                    grid's time | the next tunes |\n|---|---|---|---|---|---|\n"
        .to_string();
    for one in judged {
        let name = one.workload.name;
        let best = one.best.map_or("none".to_string(), |best| best.to_string());
        let choices = one.choices().into_iter();
        let choices: Vec<String> = choices.map(|choice| choice.to_string()).collect();
        let ratios = one.choices().into_iter().map(|choice| ratio_to_best(one, choice));
        let ratios: Vec<String> = ratios.collect();
        let shares: Vec<String> = one.tunes.iter().map(|row| share(one, row)).collect();
        let again = one.agreements().into_iter();
        let again: Vec<&str> = again.map(|(_, _, agreement)| short(&agreement)).collect();
        let [choices, ratios] = [choices, ratios].map(|all| all.join("; "));
        let [shares, again] = [shares.join("; "), again.join("; ")];
        let _ = writeln!(text, "| {name} | {best} | {choices} | {ratios} | {shares} | {again} |");
    }
    text
}

fn short(agreement: &Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "the same",
        Agreement::Equivalent(..) => "equivalent",
        Agreement::Other(_) => "another",
    }
}

fn workload(one: &Judged) -> String {
    let about = one.workload;
    let mut text = format!(
        "\n## {}: {}\n\n`GET {}` of `{}`, {}; {} x {:.0} s a cell. The median \
         (least..most):\n\n",
        about.name, about.words, about.path, about.app, about.slo, one.rounds, one.asked_s
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
    let head: String = threads.iter().map(|count| format!(" {count} |")).collect();
    let rule = "---|".repeat(threads.len());
    let mut text = format!("| workers \\ threads |{head}\n|---|{rule}\n");
    for &w in &workers {
        let cells = threads.iter().map(|&t| {
            let values = Configuration::new(w, t).ok().and_then(|cell| one.cells.get(&cell));
            format!(" {} |", values.map_or("-".to_string(), |values| cell_text(values)))
        });
        let _ = writeln!(text, "| {w} |{}", cells.collect::<String>());
    }
    text
}

fn cell_text(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.0} ({low:.0}..{high:.0})", median(values))
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
    let mut text =
        "\n| tune | choice | printed capacity (95 %) | seconds | of these load | of its \
                    budget | share of the grid's time |\n|---|---|---|---|---|---|---|\n"
            .to_string();
    for row in &one.tunes {
        let choice = row.configuration.map_or("none".to_string(), |choice| choice.to_string());
        let _ = writeln!(
            text,
            "| seed {} | {choice} | {:.0} ({:.0} to {:.0}) | {:.0} | {:.0} | {:.0} | {} |",
            row.round,
            row.capacity_rps,
            row.low_rps,
            row.high_rps,
            row.seconds,
            row.load_s,
            row.asked_s,
            share(one, row)
        );
    }
    text
}

fn share(one: &Judged, row: &Row) -> String {
    format!("1/{:.1}", one.full_grid_s / row.seconds)
}

fn agreements(one: &Judged) -> String {
    let mut text = String::new();
    for (first, round, agreement) in one.agreements() {
        let words = match agreement {
            Agreement::Same => "the same choice".to_string(),
            Agreement::Equivalent(near, by) => {
                let near = near.map(|ratio| format!("the blocks' ratio is {}", ratio_text(&ratio)));
                let by = by.iter().map(|round| format!("tune {round} names the other's choice"));
                let reasons: Vec<String> = near.into_iter().chain(by).collect();
                format!("equivalent: {}", reasons.join("; "))
            }
            Agreement::Other(ratio) => {
                let ratio = ratio.map_or("is not known".to_string(), |r| ratio_text(&r));
                format!("another choice; its ratio in the blocks {ratio}")
            }
        };
        let _ = write!(text, "\nTune {round} beside tune {first}: {words}.\n");
    }
    text
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
            one.tunes.iter().filter(|row| row.configuration == Some(choice)).collect();
        let head = tunes.iter().map(|row| format!(" printed by tune {} |", row.round));
        let head: String = head.collect();
        let rule = "---|".repeat(tunes.len());
        let _ =
            write!(text, "\n| block | chosen | best | ratio |{head}\n|---|---|---|---|{rule}\n");
        for (round, block) in &one.blocks {
            let Some(&rps) = block.get(&choice) else { continue };
            // Not there when another cell was the best at that time.
            let best_rps = one.best.and_then(|best| block.get(&best)).filter(|rps| **rps > 0.0);
            let ratio = best_rps.map_or("-".to_string(), |best| format!("{:.3}", rps / best));
            let best_rps = best_rps.map_or("-".to_string(), |best| format!("{best:.0}"));
            let beside: String = tunes.iter().map(|row| beside_printed(rps, row)).collect();
            let _ = writeln!(text, "| {round} | {rps:.0} | {best_rps} | {ratio} |{beside}");
        }
    }
    text
}

fn beside_printed(rps: f64, tune: &Row) -> String {
    let place = match rps {
        rps if rps < tune.low_rps => "below",
        rps if rps > tune.high_rps => "above",
        _ => "within",
    };
    format!(" {place} |")
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
