//! Predictions.
//!
//! In: a [`PredictReport`]. Out: a [`Document`], and lines. Computes only.

use super::{Block, Document, Section, Table};
use crate::report::figures;
use crate::report::wording::Language;
use crate::terms::{
    FittedFigure, FleetDay, FleetDays, FleetReport, ModelForm, OPERATING_SHARE, PredictReport,
    PredictedSetting, SimulatedMachine, code,
};

/// Settings shown for each number of cores; JSON has all.
const SHOWN: usize = 10;

/// The whole answer.
pub fn document(report: &PredictReport) -> Document {
    let language = Language::English;
    let about = Block::Paragraph(format!(
        "predicted, not measured: {} on {}, from session {} ({}); goal {}",
        report.server,
        figures::cores(report.machine.cores.get()),
        report.session,
        report.machine.cpu_model,
        report.slo
    ));
    let mut sections = vec![Section::new("", vec![about]), request(report)];
    let by_cores = report.predicted.chunk_by(|one, next| one.cores == next.cores);
    sections.extend(by_cores.map(|settings| on_cores(report, settings)));
    sections.extend(report.fleets.iter().map(|one| fleet(report, one)));
    let warnings = report.warnings.iter();
    let warnings = warnings.map(|it| format!("warning: {}", language.say_warning(it)));
    sections.push(Section::new("", warnings.map(Block::Paragraph).collect()));
    Document { language, sections }
}

/// The answer in a line for each number of cores.
pub fn in_short(report: &PredictReport) -> String {
    let on_cores = |settings: &[PredictedSetting]| match best(settings) {
        None => format!("{}: nothing meets {}\n", figures::cores(settings[0].cores), report.slo),
        Some(one) => {
            let rate = figures::rate(one.capacity_rps);
            format!("{}: {} holds {rate}\n", figures::cores(one.cores), name(report, one))
        }
    };
    report.predicted.chunk_by(|one, next| one.cores == next.cores).map(on_cores).collect()
}

fn best(settings: &[PredictedSetting]) -> Option<&PredictedSetting> {
    settings.iter().find(|one| one.ruled_out.is_none() && one.capacity_rps > 0.0)
}

/// What it costs, and how well that is known.
fn request(report: &PredictReport) -> Section {
    let demand = &report.fit.demand;
    let is_lock = report.fit.form == ModelForm::Threads;
    let cpu = if is_lock { "CPU under the interpreter's lock" } else { "CPU" };
    let mut facts = vec![(cpu, fitted(&demand.cpu_s))];
    if demand.cpu_free_s.value > 0.0 {
        facts.push(("CPU outside it", fitted(&demand.cpu_free_s)));
    }
    facts.push(("waits", fitted(&demand.wait_s)));
    if demand.accept_gap_s > 0.0 {
        let least = format!(
            "{} while none ends, in a worker of several",
            figures::latency(demand.accept_gap_s)
        );
        facts.push(("before the next is taken in", least));
    }
    let quality = format!(
        "fitted to {}, which it meets within {}",
        figures::count(report.fit.residuals.len() as u64, "saturated trial", "saturated trials"),
        figures::percent(report.fit.misfit)
    );
    Section::new("a request takes", vec![Block::Facts(facts), Block::Paragraph(quality)])
}

/// A time with its interval.
pub(super) fn fitted(figure: &FittedFigure) -> String {
    let [low, high] = figure.interval.map(figures::latency);
    format!("{} ({low} to {high})", figures::latency(figure.value))
}

/// How many machines of a kind, and what of them is simulated.
fn fleet(report: &PredictReport, one: &FleetReport) -> Section {
    let memory = figures::bytes(one.memory_bytes);
    let kind = format!("{} ({}, {memory})", one.machine, figures::cores(one.cores));
    let Some(fleet) = &one.fleet else {
        let none = format!("{kind}: no setting fits and meets {}", report.slo);
        return Section::new("", vec![Block::Paragraph(none)]);
    };
    let [few, many] = fleet.machines_interval;
    let cost = fleet.cost_per_hour.map(|cost| format!(", {} an hour", figures::number(cost)));
    let doubt = match is_memory_known(report) {
        true => "",
        false => "; whether its memory suffices is not known",
    };
    let machines = format!(
        "{kind}: {} ({few} to {many}) with {} x {} each{}{doubt}",
        figures::count(fleet.machines, "machine", "machines"),
        fleet.workers,
        fleet.threads,
        cost.unwrap_or_default()
    );
    let mut simulations = vec![simulated("on an ordinary day", &fleet.ordinary)];
    simulations.extend(fleet.zone_lost.as_ref().map(|it| simulated("with a zone lost", it)));
    simulations.extend(fleet.days.iter().flat_map(of_days));
    Section::new("", vec![Block::Paragraph(machines), Block::Bullets(simulations)])
}

/// Where the session saw no memory of the server's, no setting could be ruled out by it.
fn is_memory_known(report: &PredictReport) -> bool {
    report.predicted.iter().any(|one| one.memory_bytes.is_some())
}

/// A day of the fleet when it is scaled with its load.
fn of_days(days: &FleetDays) -> Vec<String> {
    let FleetDay { machines: [least, most], machine_hours, .. } = days.ordinary;
    let cost = days.cost.map(|cost| format!(", {} a day", figures::number(cost)));
    let scaled = format!(
        "scaled with a day's load: {least} to {most} machines, {} machine hours{}",
        figures::number(machine_hours),
        cost.unwrap_or_default()
    );
    let lost = days.zone_lost.as_ref();
    let lost = lost.map(|lost| one_day("losing a zone at the busiest time", lost));
    [scaled, one_day("all day", &days.ordinary)].into_iter().chain(lost).collect()
}

fn one_day(which: &str, day: &FleetDay) -> String {
    format!(
        "{which}: p95 {}, p99 {}{}; in the worst five minutes p95 {}{}",
        figures::latency(day.p95),
        figures::latency(day.p99),
        failed(day.failed),
        figures::latency(day.worst_p95),
        failed(day.worst_failed)
    )
}

fn simulated(when: &str, one: &SimulatedMachine) -> String {
    format!(
        "{when}: {} each, p95 {}, p99 {}{} (simulated)",
        figures::rate(one.rate_rps),
        figures::latency(one.p95),
        figures::latency(one.p99),
        failed(one.failed)
    )
}

fn failed(share: f64) -> String {
    if share == 0.0 { String::new() } else { format!(", {} fail", figures::percent(share)) }
}

fn on_cores(report: &PredictReport, settings: &[PredictedSetting]) -> Section {
    let cores = figures::cores(settings[0].cores);
    let Some(best) = best(settings) else {
        let none = format!("on {cores} nothing meets {}", report.slo);
        return Section::new("", vec![Block::Paragraph(none)]);
    };
    let p95 = p95_head(best);
    let head = ["", "holds", "saturated", &p95, "memory", "limit"];
    let rows = settings.iter().take(SHOWN).map(|one| row(report, one)).collect();
    let mut blocks = vec![
        Block::Paragraph(format!(
            "on {cores} {} is expected to hold {}",
            name(report, best),
            holds(best)
        )),
        Block::Table(Table::new(&head, 1..5, rows)),
    ];
    if let Some(latency) = &best.latency_of_measured_s {
        blocks.push(Block::Small(format!(
            "with {}, at {}, the requests that were measured take p95 {}, p99 {}",
            name(report, best),
            figures::rate(latency.at_rps),
            figures::latency(latency.p95),
            figures::latency(latency.p99)
        )));
    }
    if settings.len() > SHOWN {
        let count = settings.len();
        blocks.push(Block::Small(format!("(the best {SHOWN} of {count}; --json has all)")));
    }
    Section::new("", blocks)
}

/// The head of the column of p95, with the rate that it is at.
fn p95_head(best: &PredictedSetting) -> String {
    let at = best.latency_s.map_or(String::new(), |latency| {
        let share = latency.at_rps / best.capacity_rps;
        // A share that is the same for all is a rate of each row's own.
        match (share - OPERATING_SHARE).abs() < 1e-6 {
            true => " at 70 %".to_string(),
            false => format!(" at {}", figures::rate(latency.at_rps)),
        }
    });
    format!("p95{at}")
}

fn row(report: &PredictReport, one: &PredictedSetting) -> Vec<String> {
    let first = [name(report, one), holds(one), figures::rate(one.throughput_rps_max)];
    first.into_iter().chain(last_cells(one)).collect()
}

/// Its capacity with the interval.
pub(super) fn holds(one: &PredictedSetting) -> String {
    let interval = figures::interval(one.capacity_rps_interval);
    format!("{} ({interval})", figures::rate(one.capacity_rps))
}

/// Its p95, its memory, and what limits it.
pub(super) fn last_cells(one: &PredictedSetting) -> [String; 3] {
    [
        one.latency_s.map_or("-".to_string(), |latency| figures::latency(latency.p95)),
        one.memory_bytes.map_or("-".to_string(), figures::bytes),
        match &one.ruled_out {
            Some(_) => "memory: does not fit".to_string(),
            None => code(&one.limit.kind),
        },
    ]
}

fn name(report: &PredictReport, one: &PredictedSetting) -> String {
    match report.fit.form {
        ModelForm::Threads | ModelForm::Scalability => {
            format!("{} x {}", one.workers, one.threads)
        }
        ModelForm::EventLoop => figures::count(u64::from(one.workers), "worker", "workers"),
    }
}
