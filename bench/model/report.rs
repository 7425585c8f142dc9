//! The tables.

use sweetspot::stats::{log_ratio_interval, quantile};

use super::judge::{Cell, Judged};
use crate::common::bars::{Bar, Limit, bars_table};
use crate::common::machine;
use crate::common::spread::mean;
use crate::common::table::table;

/// What the predictions of cells that were not fitted to are worth.
struct Errors {
    /// Of the throughput, absolute.
    throughput: Vec<f64>,
    /// Of the 95th percentile at half and at four fifths of it, absolute.
    p95: [Vec<f64>; 2],
    covered: usize,
}

impl Errors {
    fn of<'a>(judged: impl Iterator<Item = &'a Judged>) -> Self {
        let cells: Vec<&Cell> =
            judged.flat_map(|one| &one.cells).filter(|cell| !cell.is_fitted).collect();
        let p95 = |share| {
            let errors = cells.iter().filter_map(|cell| p95_error(cell, share));
            errors.map(f64::abs).collect()
        };
        Self {
            throughput: cells.iter().map(|cell| error(cell).abs()).collect(),
            p95: [p95(0), p95(1)],
            covered: cells.iter().filter(|cell| is_covered(cell)).count(),
        }
    }

    fn table(&self, which: &str) -> String {
        let row = |what: String, error: Option<f64>| {
            [what, error.map_or("-".to_string(), |error| format!("{:.1} %", error * 100.0))]
        };
        let [half, most] = &self.p95;
        let p95 = |at: &str, errors: &[f64]| {
            let what = format!("p95 at {at} of it, mean absolute error of {}", errors.len());
            row(what, mean(errors))
        };
        let covered = format!("{} of {}", self.covered, self.throughput.len());
        let rows = [
            row("throughput, mean absolute error".to_string(), mean(&self.throughput)),
            row("throughput, 90th percentile".to_string(), quantile(&self.throughput, 0.9)),
            row("throughput, largest".to_string(), quantile(&self.throughput, 1.0)),
            p95("half", half),
            p95("four fifths", most),
            ["95 % intervals that cover".to_string(), covered],
        ];
        format!("\n{}", table(&[&format!("cells {which}"), ""], rows))
    }
}

/// What is promised of predictions: of cells that were not fitted to, of requests that do
/// something, and of what the model alone would choose.
pub fn bars(judged: &[Judged]) -> Vec<Bar> {
    let errors = Errors::of(judged.iter().filter(|one| one.workload.does_something()));
    let p95 = "p95, mean absolute error";
    let mut bars = vec![
        Bar::new("throughput, mean absolute error", mean(&errors.throughput), Limit::AtMost(0.05)),
        Bar::new(
            "throughput, 90th percentile of the error",
            quantile(&errors.throughput, 0.9),
            Limit::AtMost(0.12),
        ),
        Bar::new(format!("{p95} at half of it"), mean(&errors.p95[0]), Limit::AtMost(0.2)),
        Bar::new(format!("{p95} at four fifths of it"), mean(&errors.p95[1]), Limit::AtMost(0.2)),
    ];
    bars.extend(judged.iter().map(|one| {
        let ratio = match one.chosen == one.best {
            true => Some(1.0),
            false => log_ratio_interval(&one.blocks, 0.95).map(|ratio| ratio.value),
        };
        let what = format!("{}: the model's choice of the best", one.workload.name);
        Bar::new(what, ratio, Limit::AtLeast(0.95))
    }));
    bars
}

/// All tables, as Markdown.
pub fn of(judged: &[Judged], bars: &[Bar], seconds: u64) -> String {
    let mut text = format!(
        "{}\n\nsaturated for {seconds} s a cell; open loads of 800 requests at half and 2500 at \
         four fifths\n",
        machine::line()
    );
    for one in judged {
        text += &workload(one);
    }
    let working = Errors::of(judged.iter().filter(|one| one.workload.does_something()));
    text += &working.table("that were not fitted to, of requests that do something");
    text += &Errors::of(judged.iter()).table("that were not fitted to, `nothing` as well");
    text + "\n" + &bars_table(bars)
}

fn workload(one: &Judged) -> String {
    let demand = &one.report.fit.demand;
    let text = format!(
        "\n## {}: {}\n\nfitted: CPU {:.2} ms, waits {:.2} ms, generator {:.2} ms, hand-over {:.2} \
         ms, contention {:.2}; misfit {:.1} %\n\n",
        one.workload.name,
        one.workload.words,
        demand.cpu_s.value * 1e3,
        demand.wait_s.value * 1e3,
        demand.generator_s * 1e3,
        demand.handoff_s.value * 1e3,
        demand.contention.value,
        one.report.fit.misfit * 100.0,
    );
    let head = [
        "workers x threads",
        "measured, req/s",
        "predicted (95 %)",
        "error",
        "p95 at half: measured, predicted",
        "p95 at four fifths",
    ];
    let row = |cell: &Cell| {
        let [low, high] = cell.predicted.throughput_rps_max_interval;
        let ms = |s: Option<f64>| s.map_or("-".to_string(), |s| format!("{:.1} ms", s * 1e3));
        let p95 = |(predicted, measured)| format!("{}, {}", ms(measured), ms(predicted));
        [
            format!("{}{}", cell.cell, if cell.is_fitted { " (fitted)" } else { "" }),
            format!("{:.1}", cell.measured_rps),
            format!("{:.1} ({low:.1} to {high:.1})", cell.predicted.throughput_rps_max),
            format!("{:+.1} %", error(cell) * 100.0),
            p95(cell.p95_s[0]),
            p95(cell.p95_s[1]),
        ]
    };
    text + &table(&head, one.cells.iter().map(row)) + &choice(one)
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
