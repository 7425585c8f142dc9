//! Plan lines of versions before there were records: those values that other verbs ask for.
//!
//! In: what, value and source as they were printed. Out: the record, where one can be read.

use super::duration::parse_duration;
use super::load_record::Arrivals;
use super::plan_record::{
    Allowance, PlanLine, PlanRecord, PlanSource, PlannedPath, PlannedTarget, PlannedValue,
};
use super::target::ConnectionMode;

/// The records of a plan; of printed lines those that can still be read.
pub fn plan_records(lines: &[PlanLine]) -> Vec<PlanRecord> {
    let record = |line: &PlanLine| match line {
        PlanLine::Record(record) => Some(record.clone()),
        PlanLine::Verbatim(what, value, source) => read(what, value, source),
    };
    lines.iter().filter_map(record).collect()
}

/// `None` for values that nobody asks for, and for text that no version printed.
fn read(what: &str, value: &str, source: &str) -> Option<PlanRecord> {
    let text = || value.to_string();
    let value = match what {
        "server" => {
            let (name, program) = value.split_once(' ').unzip();
            PlannedValue::Server {
                name: name.unwrap_or(value).to_string(),
                program: program.map(String::from),
            }
        }
        "proxy" => PlannedValue::Proxy(text()),
        "targets" => PlannedValue::Targets(list(value).map(target).collect::<Option<_>>()?),
        "headers" => PlannedValue::Headers(names(value)),
        "cores" => PlannedValue::Cores(allowance(value)?),
        "memory" => PlannedValue::Memory(allowance(value)?),
        "arrivals" => PlannedValue::Arrivals(match value {
            "poisson" => Arrivals::Poisson,
            "uniform" => Arrivals::Uniform,
            _ => return None,
        }),
        "connection" => PlannedValue::Connection(match value {
            "fresh" => ConnectionMode::Fresh,
            "keep-alive" => ConnectionMode::KeepAlive,
            _ => return None,
        }),
        "timeout" => PlannedValue::Timeout { seconds: parse_duration(value).ok()?.as_secs_f64() },
        "precision" => {
            let asked = value.strip_prefix('\u{b1}').map(|share| share.replace(' ', "").parse());
            PlannedValue::Precision(asked.transpose().ok()?)
        }
        "probe" => PlannedValue::Probe(value == "on"),
        "environment" => {
            // As versions printed it, and as it is printed today.
            let is_own = ["the command's own", "the app's own"].contains(&value);
            PlannedValue::Environment((!is_own).then(text))
        }
        "variables" => PlannedValue::Variables(names(value)),
        "ready path" => PlannedValue::ReadyPath(value.into()),
        "runtime" => PlannedValue::Runtime(text()),
        _ => return None,
    };
    Some(PlanRecord { value, source: from(source) })
}

fn from(source: &str) -> PlanSource {
    let line = source.strip_prefix("plan file, line ").and_then(|line| line.parse().ok());
    match (source, line) {
        (_, Some(line)) => PlanSource::PlanFile { line },
        ("command line", _) => PlanSource::Flag,
        ("found in the app", _) => PlanSource::App,
        ("app", _) => PlanSource::Inspection,
        _ => PlanSource::Default,
    }
}

/// `A, B (values not shown)`.
fn names(value: &str) -> Vec<String> {
    let names = value.strip_suffix(" (values not shown)").unwrap_or(value);
    names.split(", ").map(String::from).collect()
}

/// `all (2)`, or a limit alone.
fn allowance<T: std::str::FromStr>(value: &str) -> Option<Allowance<T>> {
    match value.strip_prefix("all (").and_then(|rest| rest.strip_suffix(')')) {
        Some(all) => all.parse().ok().map(Allowance::All),
        None => value.parse().ok().map(Allowance::Limit),
    }
}

/// A list of targets in its parts: a comma in brackets belongs to one target.
fn list(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let parts = list.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(str::trim)
}

/// `GET /a (weight 3, p95<2s)`.
fn target(shown: &str) -> Option<PlannedTarget> {
    let (name, rest) = match shown.strip_suffix(')').and_then(|it| it.split_once(" (")) {
        Some((name, rest)) => (name, rest.split(", ").collect()),
        None => (shown, Vec::new()),
    };
    let (method, path) = name.split_once(' ')?;
    let path = PlannedPath::from(path);
    let mut target = PlannedTarget { method: method.to_string(), path, weight: 1, slo: None };
    for word in rest {
        match word.strip_prefix("weight ") {
            Some(weight) => target.weight = weight.parse().ok()?,
            None => target.slo = Some(word.parse().ok()?),
        }
    }
    Some(target)
}
