//! A session as tables for spreadsheets: the trials alone, or every table, a file each.
//!
//! In: a [`Story`]. Out: CSV (RFC 4180 quoting, a header, line feeds). Computes only. An empty
//! field is a value that is not known or does not apply. `docs/reports.md` has every column.

use crate::report::document::{self, goals};
use crate::report::outside::csv as text;
use crate::report::story::Story;
use crate::report::story::map::{self, Cell};
use crate::report::wording::planned;
use crate::report::{Language, Said};
use crate::terms::{Configuration, KnobCheck, TrialSummary, Warning, code};

/// One table, which is there also when it has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Of its file: `trials.csv`.
    pub file: &'static str,
    /// A header, then a row a line.
    pub content: String,
}

impl Table {
    fn new(file: &'static str, header: &str, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut content = format!("{header}\n");
        for row in rows {
            content.push_str(&row.join(","));
            content.push('\n');
        }
        Self { file, content }
    }
}

/// All trials, a row each, oldest first.
pub fn render(story: &Story) -> String {
    trials(story).content
}

/// All of them; the same files for every session.
pub fn tables(story: &Story) -> Vec<Table> {
    vec![
        trials(story),
        seconds(story),
        map(story),
        equivalent(story),
        front(story),
        knobs(story),
        plan(story),
        predicted(story),
        warnings(story),
    ]
}

fn trials(story: &Story) -> Table {
    let row = |trial: &TrialSummary| {
        let summary = &trial.summary;
        let cpu = |role: &str| optional(trial.cpu_s.get(role));
        vec![
            trial.id.to_string(),
            trial.configuration.workers.to_string(),
            trial.configuration.threads.to_string(),
            code(&trial.purpose),
            trial.start.to_string(),
            optional(trial.offered.rate().map(|rate| rate.as_per_second())),
            optional(trial.offered.clients()),
            code(&trial.verdict),
            trial.valid.to_string(),
            summary.duration_s.to_string(),
            trial.warm_up.left_out_s.to_string(),
            summary.due.to_string(),
            summary.completed.to_string(),
            summary.errors.total().to_string(),
            summary.failed().to_string(),
            summary.throughput_rps.to_string(),
            optional(summary.goodput_rps),
            summary.latency_s.p50.to_string(),
            summary.latency_s.p95.to_string(),
            summary.latency_s.p99.to_string(),
            summary.latency_s.max.to_string(),
            cpu("master"),
            cpu("worker"),
            cpu("other"),
            cpu("generator"),
            optional(trial.memory_bytes),
            code(&trial.limit.kind),
            trial.limit.confidence.to_string(),
            text(&Language::DATA.say(&trial.limit.evidence)),
            text(&Language::DATA.say(&trial.reason)),
            trial.ended_s.to_string(),
            text(&goals::lines(&summary.goals, Language::English).join("; ")),
            text(&trial.variant.names(&story.changes).join(" ")),
        ]
    };
    let header = "id,workers,threads,purpose,start,offered_load_rps,clients,verdict,valid,\
                  duration_s,warm_up_s,due,completed,errors,failed,throughput_rps,goodput_rps,\
                  latency_s_p50,latency_s_p95,latency_s_p99,latency_s_max,cpu_s_master,\
                  cpu_s_worker,cpu_s_other,cpu_s_generator,memory_bytes,limit_kind,\
                  limit_confidence,limit_evidence,reason,ended_s,goals,changes";
    Table::new("trials.csv", header, story.trials.iter().map(row))
}

/// The requests due in each second of each trial, its warm-up included.
fn seconds(story: &Story) -> Table {
    let rows = story.trials.iter().flat_map(|trial| {
        trial.summary.windows.iter().map(|window| {
            vec![
                trial.id.to_string(),
                window.start_s.to_string(),
                (window.start_s < trial.warm_up.left_out_s).to_string(),
                window.due.to_string(),
                window.sent.to_string(),
                window.completed.to_string(),
                window.errors.to_string(),
                window.failed.to_string(),
                window.latency_s.p50.to_string(),
                window.latency_s.p95.to_string(),
                window.latency_s.p99.to_string(),
                window.latency_s.max.to_string(),
                window.in_flight.to_string(),
            ]
        })
    });
    let header = "trial,start_s,warm_up,due,sent,completed,errors,failed,\
                  latency_s_p50,latency_s_p95,latency_s_p99,latency_s_max,in_flight";
    Table::new("seconds.csv", header, rows)
}

fn map(story: &Story) -> Table {
    let map = map::draw(story);
    let intervals = story.intervals();
    let rows = map.workers.iter().flat_map(|w| map.threads.iter().map(move |t| (*w, *t)));
    let rows = rows.map(|(workers, threads)| {
        let cell = map.cell(workers, threads);
        let measured = cell.rps().filter(|_| !matches!(cell, Cell::Predicted(_)));
        let at = Configuration::new(workers, threads).ok();
        let interval = at.and_then(|at| intervals.get(&at).copied());
        let of_it = |it: &&crate::terms::Prediction| (it.workers, it.threads) == (workers, threads);
        let predicted = story.predicted.iter().find(of_it);
        let memory = at.and_then(|at| story.memory_of(at));
        vec![
            workers.to_string(),
            threads.to_string(),
            cell.state().to_string(),
            map.mark(workers, threads).name().unwrap_or_default().to_string(),
            optional(measured),
            optional(interval.map(|it| it[0])),
            optional(interval.map(|it| it[1])),
            optional(predicted.map(|it| it.capacity_rps)),
            optional(predicted.map(|it| it.capacity_rps_interval[0])),
            optional(predicted.map(|it| it.capacity_rps_interval[1])),
            optional(memory),
            optional(predicted.and_then(|it| it.memory_bytes)),
            text(&document::map::why(cell, Language::DATA).unwrap_or_default()),
        ]
    });
    let header = "workers,threads,state,mark,capacity_rps,capacity_rps_low,capacity_rps_high,\
                  predicted_capacity_rps,predicted_capacity_rps_low,predicted_capacity_rps_high,\
                  memory_bytes,predicted_memory_bytes,why";
    Table::new("map.csv", header, rows)
}

fn equivalent(story: &Story) -> Table {
    let all = story.decision.iter().flat_map(|decision| &decision.equivalent);
    let rows = all.map(|it| {
        vec![
            it.workers.to_string(),
            it.threads.to_string(),
            it.ratio.to_string(),
            it.ratio_interval[0].to_string(),
            it.ratio_interval[1].to_string(),
            optional(it.memory_bytes),
            optional(it.latency_s_p95),
        ]
    });
    let header = "workers,threads,ratio,ratio_low,ratio_high,memory_bytes,latency_s_p95";
    Table::new("equivalent.csv", header, rows)
}

fn front(story: &Story) -> Table {
    let all = story.objective.iter().flat_map(|objective| &objective.front);
    let rows = all.map(|it| {
        vec![
            it.workers.to_string(),
            it.threads.to_string(),
            it.chosen.to_string(),
            it.confirmed.to_string(),
            it.capacity_rps.to_string(),
            it.capacity_rps_interval[0].to_string(),
            it.capacity_rps_interval[1].to_string(),
            it.memory_bytes.to_string(),
            optional(it.latency_s_p95),
            optional(it.cost_per_hour),
            optional(it.cost_per_million_requests),
        ]
    });
    let header = "workers,threads,chosen,confirmed,capacity_rps,capacity_rps_low,\
                  capacity_rps_high,memory_bytes,latency_s_p95,cost_per_hour,\
                  cost_per_million_requests";
    Table::new("front.csv", header, rows)
}

/// One at a time, then together, then with other numbers of threads.
fn knobs(story: &Story) -> Table {
    let mut rows = Vec::new();
    if let Some(knobs) = &story.knobs {
        rows.extend(knobs.results.iter().map(|it| {
            let mut row = vec![
                "change".to_string(),
                text(&it.change),
                knobs.workers.to_string(),
                knobs.threads.to_string(),
            ];
            row.extend(bounded(it.capacity_ratio, it.capacity_ratio_interval));
            row.extend(bounded(it.memory_ratio, it.memory_ratio_interval));
            row.push(it.blocks.to_string());
            row.push(code(&it.verdict));
            row.push(text(&Language::DATA.say_or_empty(it.reason.as_ref())));
            row.push(optional(it.more_s));
            row
        }));
        rows.extend(knobs.together.iter().map(|it| check("together", it)));
        rows.extend(knobs.neighbours.iter().map(|it| check("threads", it)));
    }
    let header = "kind,changes,workers,threads,capacity_ratio,capacity_ratio_low,\
                  capacity_ratio_high,memory_ratio,memory_ratio_low,memory_ratio_high,blocks,\
                  verdict,reason,more_s";
    Table::new("knobs.csv", header, rows)
}

fn check(kind: &str, it: &KnobCheck) -> Vec<String> {
    let mut row = vec![
        kind.to_string(),
        text(&it.changes.join(" ")),
        it.workers.to_string(),
        it.threads.to_string(),
    ];
    row.extend(bounded(Some(it.capacity_ratio), Some(it.capacity_ratio_interval)));
    row.extend(bounded(it.memory_ratio, it.memory_ratio_interval));
    row.push(it.blocks.to_string());
    row.extend([const { String::new() }; 3]);
    row
}

fn bounded(value: Option<f64>, interval: Option<[f64; 2]>) -> [String; 3] {
    [value, interval.map(|it| it[0]), interval.map(|it| it[1])].map(optional)
}

fn plan(story: &Story) -> Table {
    let rows = planned::rows(&story.plan, Language::DATA).into_iter();
    let rows = rows.map(|it| [it.what, it.value, it.source].map(|it| text(&it)));
    Table::new("plan.csv", "what,value,source", rows.map(Vec::from))
}

fn predicted(story: &Story) -> Table {
    let rows = story.predicted.iter().map(|it| {
        vec![
            it.workers.to_string(),
            it.threads.to_string(),
            it.throughput_rps_max.to_string(),
            it.capacity_rps.to_string(),
            it.capacity_rps_interval[0].to_string(),
            it.capacity_rps_interval[1].to_string(),
            optional(it.memory_bytes),
            code(&it.limit.kind),
            text(&Language::DATA.say_or_empty(it.ruled_out.as_ref())),
        ]
    });
    let header = "workers,threads,throughput_rps_max,capacity_rps,capacity_rps_low,\
                  capacity_rps_high,memory_bytes,limit_kind,ruled_out";
    Table::new("predicted.csv", header, rows)
}

fn warnings(story: &Story) -> Table {
    let row = |it: &Warning| {
        let Said { message, advice } = Language::DATA.say_doubt(it);
        vec![text(&it.code()), text(&message), text(&advice)]
    };
    let rows = story.warnings.iter().map(row);
    Table::new("warnings.csv", "code,message,advice", rows)
}

/// Empty where there is no value.
pub fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
