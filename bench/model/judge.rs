//! What the model says of a workload's cells from the four that it is fitted to, beside what was
//! measured.

use sweetspot::report::Story;
use sweetspot::session::predict::{Question, answer};
use sweetspot::terms::{
    Configuration, MachineDoubt, PredictReport, PredictedSetting, Rate, TrialSummary,
};

use super::rows::{Kind, Row, grid, is_fitted};
use crate::common::Result;
use crate::common::rows::Rows;
use crate::common::workload::Workload;

/// One cell: requests/s, and the 95th percentiles in seconds, predicted and measured.
pub struct Cell {
    pub cell: Configuration,
    pub is_fitted: bool,
    pub predicted: PredictedSetting,
    pub measured_rps: f64,
    /// At half, and at four fifths, of what it took; predicted `None` when it cannot keep up,
    /// measured when the generator could not.
    pub p95_s: [(Option<f64>, Option<f64>); 2],
}

/// A workload judged.
pub struct Judged {
    pub workload: &'static Workload,
    pub cells: Vec<Cell>,
    pub chosen: Configuration,
    pub best: Configuration,
    /// Requests/s of the chosen and of the best in each block; empty when they are the same.
    pub blocks: Vec<(f64, f64)>,
    pub report: PredictReport,
}

impl Judged {
    pub fn of(workload: &'static Workload, rows: &Rows<Row>) -> Result<Self> {
        let report = predicted(workload, rows, None)?;
        let cells: Vec<Cell> = grid()
            .into_iter()
            .map(|cell| judge(workload, rows, &report, cell))
            .collect::<Result<_>>()?;
        let [chosen, best] = two(workload, rows, &report)?;
        let of = |cell, round| {
            rows.find(workload.name, Kind::Block(round), cell).map(Row::got_through_rps)
        };
        let blocks = (1..).map_while(|round| Some((of(chosen, round)?, of(best, round)?)));
        let blocks = if chosen == best { Vec::new() } else { blocks.collect() };
        Ok(Self { workload, cells, chosen, best, blocks, report })
    }
}

/// Those to be measured again: the cell that the model alone would choose, and the grid's best; one
/// when they are the same.
pub fn contenders(workload: &Workload, rows: &Rows<Row>) -> Result<Vec<Configuration>> {
    let mut two = two(workload, rows, &predicted(workload, rows, None)?)?.to_vec();
    two.dedup();
    Ok(two)
}

fn two(
    workload: &Workload,
    rows: &Rows<Row>,
    report: &PredictReport,
) -> Result<[Configuration; 2]> {
    let mut all = report.predicted.iter();
    let most = |a: &&PredictedSetting, b: &&PredictedSetting| {
        a.throughput_rps_max.total_cmp(&b.throughput_rps_max)
    };
    let chosen = all.by_ref().max_by(most).ok_or("nothing was predicted")?;
    let measured = rows.of(workload.name).filter(|row| row.kind == Kind::Saturated);
    let most = |a: &&Row, b: &&Row| a.got_through_rps().total_cmp(&b.got_through_rps());
    let best = measured.max_by(most).ok_or("nothing was measured")?;
    Ok([Configuration::new(chosen.workers, chosen.threads)?, best.summary.configuration])
}

fn judge(
    workload: &Workload,
    rows: &Rows<Row>,
    report: &PredictReport,
    cell: Configuration,
) -> Result<Cell> {
    let find = |kind| rows.find(workload.name, kind, cell).ok_or(format!("{cell}: no {kind:?}"));
    let measured_rps = find(Kind::Saturated)?.got_through_rps();
    let p95 = |kind| -> Result<(Option<f64>, Option<f64>)> {
        let row = find(kind)?;
        let rate = row.summary.offered.rate();
        let asked = predicted(workload, rows, rate.map(|rate| (cell, rate)))?;
        let predicted = asked.predicted.first().and_then(|one| one.latency_s);
        let measured = row.summary.valid.then_some(row.summary.summary.latency_s.p95);
        Ok((predicted.map(|latency| latency.p95), measured))
    };
    let is_it = |one: &&PredictedSetting| {
        (one.workers, one.threads) == (cell.workers.get(), cell.threads.get())
    };
    Ok(Cell {
        cell,
        is_fitted: is_fitted(cell),
        predicted: report.predicted.iter().find(is_it).ok_or("not predicted")?.clone(),
        measured_rps,
        p95_s: [p95(Kind::Half)?, p95(Kind::Most)?],
    })
}

/// As `sweetspot predict` would answer, had a session measured the fitted cells and nothing else.
/// `at`: of one cell at one rate.
fn predicted(
    workload: &Workload,
    rows: &Rows<Row>,
    at: Option<(Configuration, Rate)>,
) -> Result<PredictReport> {
    let is_known = |row: &&Row| {
        let is_kind = matches!(row.kind, Kind::Unloaded | Kind::Saturated);
        is_kind && is_fitted(row.summary.configuration)
    };
    let known: Vec<&Row> = rows.of(workload.name).filter(is_known).collect();
    let first = known.first().ok_or("nothing was measured to fit to")?;
    let cores = first.machine.cores.get();
    let shared = MachineDoubt::GeneratorSharesCores { cores }.into();
    let trials: Vec<TrialSummary> = known.iter().map(|row| row.summary.clone()).collect();
    let story = Story {
        server: "puma".to_string(),
        goals: "p95<1s".parse()?,
        machine: Some(first.machine.clone()),
        warnings: if first.is_shared { vec![shared] } else { Vec::new() },
        trials,
        ..Story::default()
    };
    let counts = |of: fn(Configuration) -> u16| {
        let mut counts: Vec<u16> = match at {
            Some((cell, _)) => vec![of(cell)],
            None => grid().into_iter().map(of).collect(),
        };
        counts.sort_unstable();
        counts.dedup();
        Some(counts)
    };
    let question = Question {
        workers: counts(|cell| cell.workers.get()),
        threads: counts(|cell| cell.threads.get()),
        rate: at.map(|(_, rate)| rate),
        ..Question::default()
    };
    Ok(answer(&story, &question)?)
}
