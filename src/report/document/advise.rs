//! What is advised from watching a server.
//!
//! In: an [`AdviseReport`]. Out: a [`Document`], and a line. Computes only.

use super::predict::{fitted, holds, last_cells};
use super::{Block, Document, Section, Table};
use crate::report::figures;
use crate::report::wording::Language;
use crate::terms::{
    AdviseNote, AdviseReport, GoalList, Growth, PredictedSetting, ScalingTarget, SeenRoute,
    SeenTraffic, code,
};

/// Rows shown; JSON has all.
const SETTINGS_SHOWN: usize = 8;
const ROUTES_SHOWN: usize = 10;

/// The whole answer.
pub fn document(report: &AdviseReport) -> Document {
    let language = Language::English;
    let mut sections = vec![Section::new("", vec![Block::Paragraph(about(&report.seen))])];
    let advice = advice(report, language).into_iter().map(Block::Paragraph).collect();
    sections.push(Section::new("", advice));
    sections.push(request(report));
    if !report.routes.is_empty() {
        sections.push(routes(&report.routes));
    }
    if !report.predicted.is_empty() {
        sections.push(settings(report));
    }
    let notes = report.notes.iter().map(|note| language.say(note)).collect();
    sections.push(Section::new("bear in mind", vec![Block::Bullets(notes)]));
    sections.push(Section::new("", vec![Block::Small(cost(&report.seen))]));
    Document { language, sections }
}

/// The answer in a line.
pub fn in_short(report: &AdviseReport) -> String {
    let language = Language::English;
    let refused = report.refused.first().map(|why| language.say(why));
    format!("{}\n", refused.or_else(|| verdict(report, language)).unwrap_or_default())
}

fn about(seen: &SeenTraffic) -> String {
    let (of, each) = match seen.instances {
        1 => (String::new(), ""),
        many => (format!(" of {many} instances"), " each"),
    };
    format!(
        "{}{of} in {}: {}{each} at {} x {} on {}; nothing was sent, nothing changed",
        figures::count(seen.requests, "request", "requests"),
        figures::span(seen.length_s),
        figures::rate(seen.rate_rps),
        seen.workers,
        seen.threads,
        figures::cores(seen.cores)
    )
}

fn name(setting: &PredictedSetting) -> String {
    format!("{} x {}", setting.workers, setting.threads)
}

/// The setting to run, and why; `None` where nothing is advised.
fn verdict(report: &AdviseReport, language: Language) -> Option<String> {
    let (advised, current) = (report.advised.as_ref()?, report.current.as_ref()?);
    let (new, old) = (name(advised), name(current));
    if new == old {
        return Some(keep(report, current));
    }
    if let Some(obstacle) = &current.ruled_out {
        return Some(format!(
            "run {new}: it is expected to hold {}; {old}, which runs, {}, but does not fit into \
             the memory ({})",
            holds(advised),
            holds(current),
            language.say(obstacle)
        ));
    }
    let why = match advised.capacity_rps > current.capacity_rps * 1.03 {
        true => format!("it is expected to hold {}", holds(advised)),
        false => format!("it is smaller, and expected to hold {} all the same", holds(advised)),
    };
    Some(format!("run {new}: {why}; {old}, which runs, {}", holds(current)))
}

/// Where requests slow each other down elsewhere, what is expected of more threads in all is not
/// believed: more than the present setting holds may well be expected of some.
fn keep(report: &AdviseReport, current: &PredictedSetting) -> String {
    let is_slower = |note: &AdviseNote| matches!(note, AdviseNote::SlowerWhenBusy { .. });
    let why = match report.notes.iter().filter_map(|note| note.fact()).any(is_slower) {
        true => "as requests wait for each other elsewhere, no setting is sure enough to hold",
        false => "no setting is expected to hold",
    };
    format!("keep {}: {why} much more than its {}", name(current), holds(current))
}

fn advice(report: &AdviseReport, language: Language) -> Vec<String> {
    let refused =
        report.refused.iter().map(|why| format!("nothing is advised: {}", language.say(why)));
    let verdict = verdict(report, language);
    let within = |slo: &GoalList| {
        format!("that is expected, not measured, within {slo}; 'sweetspot tune' measures")
    };
    let within = verdict.as_ref().and(report.slo.as_ref()).map(within);
    let growth = report.growth.as_ref().zip(report.current.as_ref());
    let growth = growth.map(|(growth, current)| ending(growth, current));
    let scaling = report.scaling.as_ref().zip(report.advised.as_ref());
    let scaling = scaling.map(|(target, advised)| aim(target, advised));
    refused.chain(verdict).chain(within).chain(growth).chain(scaling).collect()
}

fn ending(growth: &Growth, current: &PredictedSetting) -> String {
    format!(
        "as traffic grows, {} ends at {} ({}), {} times what the busiest minutes brought; the \
         limit then: {}",
        name(current),
        figures::rate(growth.at_rps),
        figures::interval(growth.at_rps_interval),
        figures::number(growth.times),
        code(&growth.limit)
    )
}

fn aim(target: &ScalingTarget, advised: &PredictedSetting) -> String {
    format!(
        "autoscaling: give each instance with {} up to {}; {} of its CPU is busy then, and \
         requests wait {} for a thread",
        name(advised),
        figures::rate(target.rate_rps),
        figures::whole_percent(target.cpu_ratio),
        figures::latency(target.queue_s)
    )
}

/// What it takes: as seen, and as fitted.
fn request(report: &AdviseReport) -> Section {
    let seen = &report.seen;
    let time = figures::latency;
    let in_app = format!(
        "{} on average; p50 {}, p95 {}, p99 {}",
        time(seen.app_s),
        time(seen.app_s_p50),
        time(seen.app_s_p95),
        time(seen.app_s_p99)
    );
    let mut facts = vec![("in the app", in_app)];
    match &report.demand {
        Some(demand) => {
            facts.push(("CPU", fitted(&demand.cpu_s)));
            facts.push(("waits for others", fitted(&demand.wait_s)));
        }
        None => facts.push(("CPU of its thread", time(seen.app_cpu_s))),
    }
    facts.extend(seen.gvl_wait_s.map(|lock_s| ("waits for the lock", time(lock_s))));
    facts.extend(seen.queue_s.map(|queue_s| ("waits before the app", time(queue_s))));
    Section::new("a request takes", vec![Block::Facts(facts)])
}

fn routes(routes: &[SeenRoute]) -> Section {
    let head = ["", "requests", "of all time", "mean", "CPU", "waits"];
    let row = |route: &SeenRoute| {
        vec![
            route.name.clone(),
            route.requests.to_string(),
            figures::whole_percent(route.time_ratio),
            figures::latency(route.app_s),
            figures::latency(route.cpu_s),
            figures::whole_percent(route.wait_ratio),
        ]
    };
    let rows = routes.iter().take(ROUTES_SHOWN).map(row).collect();
    let mut blocks = vec![Block::Table(Table::new(&head, 1.., rows))];
    let waiting: Vec<&str> =
        routes.iter().filter(|it| it.is_io_bound).map(|it| it.name.as_str()).collect();
    // Where all wait, it is the number of threads that matters.
    if !waiting.is_empty() && waiting.len() < routes.len() {
        blocks.push(Block::Paragraph(format!(
            "mostly wait, so that threads of their own serve them (Puma 8: mark_as_io_bound and \
             max_io_threads): {}",
            waiting.join(", ")
        )));
    }
    Section::new("by part of the app", blocks)
}

fn settings(report: &AdviseReport) -> Section {
    let head = ["", "holds", "p95 at 70 %", "memory", "limit"];
    let row = |one: &PredictedSetting| -> Vec<String> {
        [name(one), holds(one)].into_iter().chain(last_cells(one)).collect()
    };
    let rows = report.predicted.iter().take(SETTINGS_SHOWN).map(row).collect();
    let mut blocks = vec![Block::Table(Table::new(&head, 1..4, rows))];
    let count = report.predicted.len();
    if count > SETTINGS_SHOWN {
        let more = format!("(the best {SETTINGS_SHOWN} of {count}; --json has all)");
        blocks.push(Block::Small(more));
    }
    Section::new("expected", blocks)
}

fn cost(seen: &SeenTraffic) -> String {
    let cores = seen.watching_cores.map(|it| format!("{} of a core", figures::percent(it)));
    let probe = seen.probe_s.map(|it| format!("{} a request in the app", figures::latency(it)));
    let parts: Vec<String> = cores.into_iter().chain(probe).collect();
    match parts.is_empty() {
        true => "watching took nothing: it was recorded".to_string(),
        false => format!("watching took {}", parts.join(", and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{LimitKind, Obstacle, PredictedLimit};

    fn expected(workers: u16, threads: u16, rps: f64) -> PredictedSetting {
        PredictedSetting {
            workers,
            threads,
            cores: 2.0,
            throughput_rps_max: rps,
            throughput_rps_max_interval: [rps; 2],
            capacity_rps: rps,
            capacity_rps_interval: [0.9 * rps, 1.1 * rps],
            latency_s: None,
            latency_of_measured_s: None,
            memory_bytes: None,
            limit: PredictedLimit { kind: LimitKind::Threads },
            ruled_out: None,
            distance: 0.0,
        }
    }

    /// What is said in a line of `current`, for which `advised` is to be run.
    fn said(
        current: &PredictedSetting,
        advised: &PredictedSetting,
        notes: Vec<AdviseNote>,
    ) -> String {
        in_short(&AdviseReport {
            seen: SeenTraffic::default(),
            slo: None,
            refused: Vec::new(),
            demand: None,
            current: Some(current.clone()),
            advised: Some(advised.clone()),
            predicted: vec![current.clone(), advised.clone()],
            growth: None,
            scaling: None,
            routes: Vec::new(),
            notes: notes.into_iter().map(Into::into).collect(),
        })
    }

    #[test]
    fn a_setting_that_holds_less_is_to_be_run_only_where_what_runs_does_not_fit() {
        let (large, small) = (expected(4, 5, 200.0), expected(3, 5, 150.0));
        let obstacle = Obstacle::NeedsMemory { needed_bytes: 980 << 20, limit_bytes: 1 << 30 };
        let full = PredictedSetting { ruled_out: Some(obstacle.into()), ..large.clone() };
        assert_eq!(
            said(&full, &small, Vec::new()),
            "run 3 x 5: it is expected to hold 150/s (135 to 165); 4 x 5, which runs, 200/s (180 \
             to 220), but does not fit into the memory (would need about 980 MiB of 1.0 GiB)\n"
        );
        let as_good = expected(3, 5, 199.0);
        let why = "run 3 x 5: it is smaller, and expected to hold 199/s";
        assert!(said(&large, &as_good, Vec::new()).starts_with(why));
    }

    #[test]
    fn what_more_threads_are_expected_to_hold_is_not_denied_where_it_is_not_believed() {
        let current = expected(3, 3, 120.0);
        let plain = said(&current, &current, Vec::new());
        assert!(plain.starts_with("keep 3 x 3: no setting is expected to hold"), "{plain}");
        let slower = AdviseNote::SlowerWhenBusy { ratio: 1.6, expected_ratio: 1.1 };
        let doubted = said(&current, &current, vec![slower]);
        assert!(!doubted.contains("is expected to hold"), "{doubted}");
        assert!(doubted.starts_with("keep 3 x 3: as requests wait for each other"), "{doubted}");
    }
}
