//! Predictions as text for people.
//!
//! In: a [`PredictReport`]. Out: text of at most 80 columns, but for names. Computes only.

use super::outside::{line, pad, pad_left, wrap};
use super::{Language, figures, words};
use crate::terms::{
    FittedFigure, FleetDay, FleetDays, ModelForm, OPERATING_SHARE, PredictReport, PredictedSetting,
    SimulatedMachine,
};

const WIDTH: usize = 80;

/// Settings shown for each number of cores; JSON has all.
const SHOWN: usize = 10;

/// The whole answer, ending in a line end.
pub fn result(report: &PredictReport) -> String {
    let mut text = sentences(&format!(
        "predicted, not measured: {} on {} cores, from session {} ({}); goal {}",
        line(&report.server),
        report.machine.cores,
        report.session,
        line(&report.machine.cpu_model),
        report.slo
    ));
    text += &request(report);
    let mut rest = &report.predicted[..];
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|one| one.cores == first.cores).count();
        let (these, others) = rest.split_at(count);
        text += "\n";
        text += &on_cores(report, these);
        rest = others;
    }
    text += &fleets(report);
    if !report.warnings.is_empty() {
        text += "\n";
    }
    for warning in &report.warnings {
        text += &sentences(&format!("warning: {}", Language::English.say_warning(warning)));
    }
    text
}

/// The answer in a line for each number of cores.
pub fn in_short(report: &PredictReport) -> String {
    let mut cores: Vec<f64> = report.predicted.iter().map(|one| one.cores).collect();
    cores.dedup();
    let best = |cores: &f64| {
        let these = report.predicted.iter().filter(|one| one.cores == *cores);
        best(these).map_or_else(
            || format!("{cores} cores: nothing meets {}\n", report.slo),
            |one| {
                let rate = figures::rate(one.capacity_rps);
                format!("{cores} cores: {} holds {rate}\n", name(report, one))
            },
        )
    };
    cores.iter().map(best).collect()
}

fn best<'a>(
    mut settings: impl Iterator<Item = &'a PredictedSetting>,
) -> Option<&'a PredictedSetting> {
    settings.find(|one| one.ruled_out.is_none() && one.capacity_rps > 0.0)
}

/// What it costs, and how well that is known.
fn request(report: &PredictReport) -> String {
    let demand = &report.fit.demand;
    let mut text = String::from("\na request takes\n");
    let mut add = |what: &str, figure: &FittedFigure| {
        let [low, high] = figure.interval.map(figures::latency);
        text += &format!(
            "  {} {:>8}  ({low} to {high})\n",
            pad(what, 34),
            figures::latency(figure.value)
        );
    };
    let is_lock = report.fit.form == ModelForm::Threads;
    add(if is_lock { "CPU under the interpreter's lock" } else { "CPU" }, &demand.cpu_s);
    if demand.cpu_free_s.value > 0.0 {
        add("CPU outside it", &demand.cpu_free_s);
    }
    add("waits", &demand.wait_s);
    text + &sentences(&format!(
        "fitted to {}, which it meets within {}",
        figures::count(report.fit.residuals.len() as u64, "saturated trial", "saturated trials"),
        figures::percent(report.fit.misfit)
    ))
}

/// How many machines of each kind, a line or two each.
fn fleets(report: &PredictReport) -> String {
    let mut text = String::new();
    for one in &report.fleets {
        let kind = format!(
            "{} ({} cores, {})",
            line(&one.machine),
            one.cores,
            figures::bytes(one.memory_bytes)
        );
        text += "\n";
        let Some(fleet) = &one.fleet else {
            text += &sentences(&format!("{kind}: no setting fits and meets {}", report.slo));
            continue;
        };
        let [few, many] = fleet.machines_interval;
        let cost = fleet.cost_per_hour.map(|cost| format!(", {} an hour", figures::number(cost)));
        text += &sentences(&format!(
            "{kind}: {} machines ({few} to {many}) with {} x {} each{}",
            fleet.machines,
            fleet.workers,
            fleet.threads,
            cost.unwrap_or_default()
        ));
        text += &simulated("on an ordinary day", &fleet.ordinary);
        if let Some(lost) = &fleet.zone_lost {
            text += &simulated("with a zone lost", lost);
        }
        if let Some(days) = &fleet.days {
            text += &of_days(days);
        }
    }
    text
}

/// A day of the fleet when it is scaled with its load.
fn of_days(days: &FleetDays) -> String {
    let FleetDay { machines: [least, most], machine_hours, .. } = days.ordinary;
    let cost = days.cost.map(|cost| format!(", {} a day", figures::number(cost)));
    let mut text = sentences(&format!(
        "  scaled with a day's load: {least} to {most} machines, {} machine hours{}",
        figures::number(machine_hours),
        cost.unwrap_or_default()
    ));
    text += &one_day("all day", &days.ordinary);
    if let Some(lost) = &days.zone_lost {
        text += &one_day("losing a zone at the busiest time", lost);
    }
    text
}

fn one_day(which: &str, day: &FleetDay) -> String {
    let failed = |share: f64| match share {
        0.0 => String::new(),
        share => format!(", {} fail", figures::percent(share)),
    };
    sentences(&format!(
        "  {which}: p95 {}, p99 {}{}; in the worst five minutes p95 {}{}",
        figures::latency(day.p95),
        figures::latency(day.p99),
        failed(day.failed),
        figures::latency(day.worst_p95),
        failed(day.worst_failed)
    ))
}

fn simulated(when: &str, one: &SimulatedMachine) -> String {
    let failed = match one.failed {
        0.0 => String::new(),
        share => format!(", {} fail", figures::percent(share)),
    };
    format!(
        "  {when}: {} each, p95 {}, p99 {}{failed} (simulated)\n",
        figures::rate(one.rate_rps),
        figures::latency(one.p95),
        figures::latency(one.p99)
    )
}

fn on_cores(report: &PredictReport, settings: &[PredictedSetting]) -> String {
    let cores = settings.first().map_or(0.0, |one| one.cores);
    let Some(best) = best(settings.iter()) else {
        return sentences(&format!("on {cores} cores nothing meets {}", report.slo));
    };
    let mut text = sentences(&format!(
        "on {cores} cores {} is expected to hold {} ({})",
        name(report, best),
        figures::rate(best.capacity_rps),
        figures::interval(best.capacity_rps_interval)
    ));
    let rows: Vec<[String; 6]> = std::iter::once(heading(best))
        .chain(settings.iter().take(SHOWN).map(|one| row(report, one)))
        .collect();
    let widths: [usize; 6] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let mut shown = format!("  {}", pad(&row[0], widths[0]));
        for (field, width) in row[1..5].iter().zip(&widths[1..5]) {
            shown += &format!("  {}", pad_left(field, *width));
        }
        text += &format!("{shown}  {}\n", row[5]);
    }
    if let Some(latency) = &best.latency_of_measured_s {
        text += &sentences(&format!(
            "  with {}, at {}, the requests that were measured take p95 {}, p99 {}",
            name(report, best),
            figures::rate(latency.at_rps),
            figures::latency(latency.p95),
            figures::latency(latency.p99)
        ));
    }
    if settings.len() > SHOWN {
        text += &format!("  (the best {SHOWN} of {}; --json has all)\n", settings.len());
    }
    text
}

fn heading(best: &PredictedSetting) -> [String; 6] {
    let at = best.latency_s.map_or(String::new(), |latency| {
        let share = latency.at_rps / best.capacity_rps;
        // A share that is the same for all is a rate of each row's own.
        match (share - OPERATING_SHARE).abs() < 1e-6 {
            true => " at 70 %".to_string(),
            false => format!(" at {}", figures::rate(latency.at_rps)),
        }
    });
    ["", "holds", "saturated", &format!("p95{at}"), "memory", "limit"].map(ToString::to_string)
}

fn row(report: &PredictReport, one: &PredictedSetting) -> [String; 6] {
    let [low, high] = one.capacity_rps_interval.map(figures::number);
    [
        name(report, one),
        format!("{} ({low} to {high})", figures::rate(one.capacity_rps)),
        figures::rate(one.throughput_rps_max),
        one.latency_s.map_or("-".to_string(), |latency| figures::latency(latency.p95)),
        one.memory_bytes.map_or("-".to_string(), figures::bytes),
        match &one.ruled_out {
            Some(_) => "memory: does not fit".to_string(),
            None => words::limit(one.limit.kind).to_string(),
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

fn sentences(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}
