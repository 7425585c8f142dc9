//! The tables.

use sweetspot::stats::log_ratio_interval;

use crate::judge::{Cell, Judged};
use crate::machine;

/// All tables, as Markdown.
pub fn of(judged: &[Judged], seconds: u64) -> String {
    let mut text = format!(
        "commit {}\n{}\n\nsaturated for {seconds} s a cell; open loads of 800 requests at half \
         and 2500 at four fifths\n",
        machine::commit(),
        machine::hardware().join("\n")
    );
    for one in judged {
        text += &workload(one);
    }
    let (working, all) = (|one: &&Judged| one.does_something, |_: &&Judged| true);
    text += &totals("that were not fitted to, of requests that do something", judged, working);
    text += &totals("that were not fitted to, `nothing` as well", judged, all);
    text
}

fn totals(which: &str, judged: &[Judged], is_it: impl Fn(&&Judged) -> bool) -> String {
    let mut text = format!("\n| cells {which} | |\n|---|---|\n");
    let cells = judged.iter().filter(is_it).flat_map(|one| &one.cells);
    let cells: Vec<&Cell> = cells.filter(|cell| !cell.is_fitted).collect();
    let throughput: Vec<f64> = cells.iter().map(|cell| error(cell).abs()).collect();
    text += &row("throughput, mean absolute error", mean(&throughput));
    text += &row("throughput, 90th percentile", quantile(&throughput, 0.9));
    text += &row("throughput, largest", quantile(&throughput, 1.0));
    for (share, at) in [(0, "half"), (1, "four fifths")] {
        let errors: Vec<f64> = cells.iter().filter_map(|cell| p95_error(cell, share)).collect();
        let errors: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let count = errors.len();
        text += &row(&format!("p95 at {at} of it, mean absolute error of {count}"), mean(&errors));
    }
    let covered = cells.iter().filter(|cell| is_covered(cell)).count();
    text + &format!("| 95 % intervals that cover | {covered} of {} |\n", cells.len())
}

fn workload(one: &Judged) -> String {
    let demand = &one.report.fit.demand;
    let mut text = format!(
        "\n## {}: {}\n\nfitted: CPU {:.2} ms, waits {:.2} ms, generator {:.2} ms, hand-over {:.2} \
         ms, contention {:.2}; misfit {:.1} %\n\n\
         | workers x threads | measured, req/s | predicted (95 %) | error | p95 at half: measured, \
         predicted | p95 at four fifths |\n|---|---|---|---|---|---|\n",
        one.name,
        one.words,
        demand.cpu_s.value * 1e3,
        demand.wait_s.value * 1e3,
        demand.generator_s * 1e3,
        demand.handoff_s.value * 1e3,
        demand.contention.value,
        one.report.fit.misfit * 100.0,
    );
    for cell in &one.cells {
        let [low, high] = cell.predicted.throughput_rps_max_interval;
        let ms = |s: Option<f64>| s.map_or("-".to_string(), |s| format!("{:.1} ms", s * 1e3));
        let p95 = |(predicted, measured)| format!("{}, {}", ms(measured), ms(predicted));
        text += &format!(
            "| {}{} | {:.1} | {:.1} ({low:.1} to {high:.1}) | {:+.1} % | {} | {} |\n",
            cell.cell,
            if cell.is_fitted { " (fitted)" } else { "" },
            cell.measured_rps,
            cell.predicted.throughput_rps_max,
            error(cell) * 100.0,
            p95(cell.p95_s[0]),
            p95(cell.p95_s[1]),
        );
    }
    text + &choice(one)
}

fn choice(one: &Judged) -> String {
    let again = match log_ratio_interval(&one.blocks, 0.95) {
        _ if one.chosen == one.best => "the same".to_string(),
        Some(ratio) => {
            format!(
                "measured again, in turn: {:.3} ({:.3} to {:.3})",
                ratio.value, ratio.low, ratio.high
            )
        }
        None => format!("measured again: {:?}", one.blocks),
    };
    format!("\nThe model alone chooses {}, the grid's best is {}: {again}.\n", one.chosen, one.best)
}

fn error(cell: &Cell) -> f64 {
    cell.predicted.throughput_rps_max / cell.measured_rps - 1.0
}

fn p95_error(cell: &Cell, share: usize) -> Option<f64> {
    let (predicted, measured) = cell.p95_s[share];
    Some(predicted? / measured? - 1.0)
}

fn is_covered(cell: &Cell) -> bool {
    let [low, high] = cell.predicted.throughput_rps_max_interval;
    (low..=high).contains(&cell.measured_rps)
}

fn row(what: &str, share: f64) -> String {
    format!("| {what} | {:.1} % |\n", share * 100.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}
