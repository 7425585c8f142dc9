//! A published experiment measured here, as text: what was measured beside what was published, and
//! whether its conclusions hold.
//!
//! In: a result or a run. Out: text of at most 80 columns, but for sentences of the article's own;
//! and a [`Document`] with less in it, for what is read of a page where no script runs.

use super::{Block, Document, Section, Table, Tone};
use crate::report::outside::{pad, pad_left, wrap};
use crate::report::{Language, figures};
use crate::terms::{
    Configuration, Holds, LabConclusion, LabEntry, LabEvent, LabEvidence, LabFigures, LabLatency,
    LabResult, LabRun, LabSetting, LabTune, LabTuneEvent,
};

const WIDTH: usize = 80;

/// The labs there are, a line each with its title below.
pub fn list(entries: &[LabEntry]) -> String {
    let name = |entry: &LabEntry| entry.name.chars().count();
    let width = entries.iter().map(name).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        text += &format!(
            "{}  {}  quick {}, full {}\n{}  {}\n",
            pad(&entry.name, width),
            pad(&entry.server, 8),
            figures::span(entry.quick_s),
            figures::span(entry.full_s),
            " ".repeat(width),
            entry.title,
        );
    }
    text
}

/// What happens while an experiment runs.
pub fn event(event: &LabEvent<'_>) -> String {
    match event {
        LabEvent::Begins { lab, runs, estimated_s } => {
            let time = figures::span(*estimated_s);
            format!("{lab}: {runs} runs, about {time} in all\n")
        }
        LabEvent::TakenUp { runs } => format!("{runs} of them were measured before and are kept\n"),
        LabEvent::Preparing { what } => format!("preparing: {what}\n"),
        LabEvent::Scaled { scale, cpu_s_per_request, published_s } => format!(
            "a request costs {:.1} ms of CPU here and {:.1} ms in the article: rates are x \
             {scale:.2}\n",
            cpu_s_per_request * 1e3,
            published_s * 1e3
        ),
        LabEvent::Measured { index, of, run } => progress(*index, *of, run),
    }
}

/// What happens while an experiment's app is tuned.
pub fn tune_event(event: &LabTuneEvent<'_>) -> String {
    let rate = |rate: Option<f64>| rate.map_or("none".to_string(), figures::rate);
    match event {
        LabTuneEvent::Preparing { what } => format!("preparing: {what}\n"),
        LabTuneEvent::Tunes => "tune begins\n".to_string(),
        LabTuneEvent::Chose { chosen, article } if chosen == article => {
            format!("chosen: {chosen}, which is the one that it is set against\n")
        }
        LabTuneEvent::Chose { chosen, article } => {
            format!("chosen: {chosen}; measuring it again beside {article}\n")
        }
        LabTuneEvent::Pair { index, of, pair } => {
            let (chosen, article) = (rate(pair.chosen_rps), rate(pair.article_rps));
            format!("{index}/{of}  {chosen} against {article}\n")
        }
    }
}

/// One run as it is shown while the experiment goes on.
fn progress(index: usize, of: usize, run: &LabRun) -> String {
    let measured = match (&run.measured, &run.failure) {
        (Some(measured), failure) => {
            let failure = failure.as_ref().map(|it| format!(" ({})", Language::English.say(it)));
            let failure = failure.unwrap_or_default();
            format!("{}{failure}", in_short(measured))
        }
        (None, failure) => Language::English.say_or_empty(failure.as_ref()),
    };
    let published = run.published.as_ref().map(|it| format!("; the article: {}", in_short(it)));
    let setting = setting(&run.setting);
    format!("{index}/{of}  {setting}: {measured}{}\n", published.unwrap_or_default())
}

/// One latency, and the good replies where some were not.
fn in_short(figures: &LabFigures) -> String {
    let LabLatency { p95, mean, .. } = figures.latency_s;
    let mean = mean.filter(|_| p95.is_none());
    in_words(&LabFigures {
        throughput_rps: figures.throughput_rps,
        success: figures.success.filter(|share| *share < 1.0),
        latency_s: LabLatency { mean, p95, ..LabLatency::default() },
        ..LabFigures::default()
    })
}

/// All figures of a run that there are, in a line.
pub fn in_words(figures: &LabFigures) -> String {
    let latency = &figures.latency_s;
    let time =
        |name: &str, value: Option<f64>| value.map(|it| format!("{name} {}", figures::latency(it)));
    let share =
        |name: &str, value: Option<f64>| value.map(|it| format!("{name} {}", figures::percent(it)));
    let parts = [
        figures.throughput_rps.map(figures::rate),
        share("good", figures.success),
        time("mean", latency.mean),
        time("p50", latency.p50),
        time("p95", latency.p95),
        time("p99", latency.p99),
        figures.cpu_cores.map(|cores| format!("{cores:.2} cores")),
        share("CPU", figures.cpu_share),
        share("memory", figures.memory_share),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no figures".to_string() } else { parts.join(", ") }
}

/// Such as `GET /: 2 x 8, 120/s`.
pub fn setting(setting: &LabSetting) -> String {
    let repeat =
        if setting.repeat > 1 { format!(", again ({})", setting.repeat) } else { String::new() };
    format!("{}: {}{repeat}", setting.target, configuration(setting))
}

fn configuration(setting: &LabSetting) -> String {
    let load = match (setting.rate_rps, setting.clients) {
        (Some(rate), _) => format!("{}/s", figures::number(rate)),
        (None, Some(1)) => "1 client".to_string(),
        (None, clients) => format!("{} clients", clients.unwrap_or_default()),
    };
    let env = setting.env.iter().map(|(name, value)| format!(", {name}={value}"));
    format!("{} x {}, {load}{}", setting.workers, setting.threads, env.collect::<String>())
}

/// What is read of the page without a script.
pub fn document(result: &LabResult) -> Document {
    let rate = |it: Option<f64>| it.map(figures::rate).unwrap_or_default();
    let row = |run: &LabRun| {
        let throughput = |it: Option<&LabFigures>| rate(it.and_then(|it| it.throughput_rps));
        let setting = &run.setting;
        vec![
            setting.target.clone(),
            format!("{} x {}", setting.workers, setting.threads),
            rate(run.offered_rps),
            throughput(run.measured.as_ref()),
            throughput(run.published.as_ref()),
            Language::English.say_or_empty(run.failure.as_ref()),
        ]
    };
    let conclusions = result.conclusions.iter();
    let conclusions =
        conclusions.map(|it| vec![it.says.clone(), format!("{:?}", it.holds).to_lowercase()]);
    let runs = ["target", "setting", "offered", "measured", "published", ""];
    let blocks = vec![
        Block::Headline(Tone::Good, result.title.clone()),
        Block::Paragraph(result.source.clone()),
        Block::Table(Table::new(&["conclusion", "holds"], 2.., conclusions.collect())),
        Block::Table(Table::new(&runs, 2.., result.runs.iter().map(row).collect())),
    ];
    Document { language: Language::English, sections: vec![Section::new("", blocks)] }
}

/// The whole result.
pub fn result(result: &LabResult) -> String {
    let mut text = format!("{}: {}\n", result.lab, result.title);
    let machine = &result.machine;
    let here =
        format!("here: {} ({} cores, {})", machine.cpu_model, machine.cores, machine.memory_bytes);
    let article = match result.runs.iter().any(|run| run.published.is_some()) {
        true => format!("; the article: {}", result.published_machine),
        // Of an app as it comes nobody has published runs.
        false => String::new(),
    };
    text += &sentence(&(here + &article));
    if let Some(scale) = result.scale {
        text += &sentence(&format!(
            "rates are the article's x {scale:.2}, so that they mean as much work for this machine"
        ));
    }
    let mut series = "";
    for run in &result.runs {
        let shown = Shown::of(&result.runs, &run.setting.series);
        if run.setting.series != series {
            series = &run.setting.series;
            text += &heading(series, shown);
        }
        text += &row(run, shown);
    }
    text += "\n";
    for conclusion in &result.conclusions {
        text += &self::conclusion(conclusion);
    }
    text += &sentence(&format!("the rule: {}", result.rule));
    for warning in &result.warnings {
        text += &sentence(&format!("note: {}", Language::English.say_warning(warning)));
    }
    text
}

fn sentence(text: &str) -> String {
    wrap(text, WIDTH).join("\n") + "\n"
}

/// Columns of the settings, of the figures measured and of those published.
const SETTING: usize = 21;
const MEASURED: [usize; 4] = [8, 7, 6, 8];
const PUBLISHED: [usize; 4] = [9, 7, 6, 8];

/// The latency that a series is shown with: what the article has, as far as it has one.
#[derive(Clone, Copy)]
struct Shown {
    name: &'static str,
    is_published: bool,
}

impl Shown {
    fn of(runs: &[LabRun], series: &str) -> Self {
        let of_series = runs.iter().filter(|run| run.setting.series == series);
        let published: Vec<&LabFigures> =
            of_series.filter_map(|run| run.published.as_ref()).collect();
        let has =
            |get: fn(&LabFigures) -> Option<f64>| published.iter().any(|it| get(it).is_some());
        let is_mean = !has(|it| it.latency_s.p95) && has(|it| it.latency_s.mean);
        Self { name: if is_mean { "mean" } else { "p95" }, is_published: !published.is_empty() }
    }

    fn time(self, figures: &LabFigures) -> Option<f64> {
        match self.name {
            "mean" => figures.latency_s.mean,
            _ => figures.latency_s.p95,
        }
    }
}

fn heading(series: &str, shown: Shown) -> String {
    let columns: usize = MEASURED.iter().sum();
    let title = |widths: [usize; 4]| line_of(widths, ["req/s", "of 1st", "good", shown.name]);
    match shown.is_published {
        false => format!("\n{}{}\n", pad(series, SETTING), title(MEASURED)),
        true => {
            let series = pad(series, SETTING);
            let (left, right) = (pad_left("here", columns), "  the article");
            format!(
                "\n{series}{left}{right}\n{}{}{}\n",
                pad("", SETTING),
                title(MEASURED),
                title(PUBLISHED)
            )
        }
    }
}

fn line_of(widths: [usize; 4], texts: [&str; 4]) -> String {
    widths.iter().zip(texts).map(|(width, text)| pad_left(text, *width)).collect()
}

fn row(run: &LabRun, shown: Shown) -> String {
    let mut label = configuration(&run.setting);
    if run.setting.repeat > 1 {
        label += &format!(" #{}", run.setting.repeat);
    }
    if label.chars().count() > SETTING {
        label += &format!("\n{}", pad("", SETTING));
    }
    let measured = cells(MEASURED, run.measured.as_ref(), run.relative_measured, shown);
    let published = run.published.as_ref();
    let published = published.map(|it| cells(PUBLISHED, Some(it), run.relative_published, shown));
    let line = format!("{}{measured}{}", pad(&label, SETTING), published.unwrap_or_default());
    let mut text = line.trim_end().to_string() + "\n";
    let kinds = || run.measured.iter().flat_map(|figures| &figures.by_target);
    let width = kinds().map(|one| one.target.chars().count()).max().unwrap_or(0);
    for one in kinds() {
        let time = |time: Option<f64>| time.map_or("-".to_string(), figures::latency);
        text += &format!(
            "  {}  p50 {}  p95 {}  good {}\n",
            pad(&one.target, width),
            pad_left(&time(one.latency_s.p50), 7),
            pad_left(&time(one.latency_s.p95), 7),
            figures::percent(one.success),
        );
    }
    if let Some(used) = run.measured.as_ref().map(used).filter(|used| !used.is_empty()) {
        text += &format!("  {used}\n");
    }
    let failure = Language::English.say_or_empty(run.failure.as_ref());
    for line in wrap(&failure, WIDTH - 2).iter().filter(|line| !line.is_empty()) {
        text += &format!("  {line}\n");
    }
    text
}

/// CPU of server and services apart, where there are services.
fn used(measured: &LabFigures) -> String {
    if measured.services_cpu_cores.is_empty() {
        return String::new();
    }
    let server = measured.cpu_cores.map(|cores| format!("server {cores:.2}"));
    let services = measured.services_cpu_cores.iter();
    let services = services.map(|(name, cores)| format!("{name} {cores:.2}"));
    let parts: Vec<String> = server.into_iter().chain(services).collect();
    let share =
        measured.cpu_share.map(|share| format!("; machine {} busy", figures::percent(share)));
    format!("cores: {}{}", parts.join(", "), share.unwrap_or_default())
}

fn cells(
    widths: [usize; 4],
    figures: Option<&LabFigures>,
    relative: Option<f64>,
    shown: Shown,
) -> String {
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_string());
    let throughput = text(figures.and_then(|it| it.throughput_rps).map(figures::number));
    let relative = text(relative.map(|ratio| format!("{ratio:.2}")));
    let success = text(figures.and_then(|it| it.success).map(figures::percent));
    let time = text(figures.and_then(|it| shown.time(it)).map(figures::latency));
    line_of(widths, [&throughput, &relative, &success, &time])
}

/// A conclusion with its figures below.
pub fn conclusion(conclusion: &LabConclusion) -> String {
    let mut text = sentence(&format!("{} {}", mark(conclusion.holds), conclusion.says));
    for evidence in &conclusion.evidence {
        let line = self::evidence(evidence);
        text +=
            &wrap(&line, WIDTH - 4).iter().map(|line| format!("    {line}\n")).collect::<String>();
    }
    text
}

/// What `tune` chose for an experiment's app, against the article's setting.
pub fn tuned(result: &LabTune) -> String {
    let mut text = format!("{}: {}\n", result.lab, result.slo);
    let nothing = "nothing: the goal was never held".to_string();
    let chosen = result.chosen.map_or(nothing, |chosen| chosen.to_string());
    text += &format!("tune chose {chosen}; set against {}\n", result.article);
    if !result.equivalent.is_empty() {
        let all: Vec<String> = result.equivalent.iter().map(Configuration::to_string).collect();
        text += &sentence(&format!("as good within 3 %: {}", all.join(", ")));
    }
    let capacity = |rate: Option<f64>| rate.map_or("-".to_string(), figures::rate);
    for pair in &result.pairs {
        text += &format!(
            "  measured again: {} against {}\n",
            capacity(pair.chosen_rps),
            capacity(pair.article_rps)
        );
    }
    if let Some(ratio) = result.ratio {
        let interval = result.ratio_interval.map(figures::ratio_interval);
        let interval = interval.map(|it| format!(" ({it})")).unwrap_or_default();
        text += &format!(
            "{} its capacity is {}{interval} of what that one holds; 0.97 needed\n",
            mark(result.holds),
            figures::ratio(ratio)
        );
    }
    text + &sentence(&format!(
        "tune took {} ({} of load); the experiment's runs at 3 x 60 s each take {}: {:.1} times \
         as long",
        figures::span(result.tune_s),
        figures::span(result.tune_load_s),
        figures::span(result.matrix_s),
        result.matrix_s / result.tune_s.max(1.0)
    ))
}

fn mark(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "[holds]",
        Holds::No => "[does not hold]",
        Holds::Undecided => "[undecided]",
    }
}

fn evidence(evidence: &LabEvidence) -> String {
    let value = evidence.value.map_or("not measured".to_string(), |value| format!("{value:.3}"));
    let interval = evidence.interval.map(|[low, high]| format!(" ({low:.3} to {high:.3})"));
    let needed = match (evidence.at_least, evidence.at_most) {
        (Some(low), Some(high)) => format!(", {low} to {high} needed"),
        (Some(low), None) => format!(", at least {low} needed"),
        (None, Some(high)) => format!(", at most {high} needed"),
        (None, None) => String::new(),
    };
    let published = evidence.published.map(|value| format!("; the article: {value:.3}"));
    format!(
        "{}: {value}{}{needed}{}",
        Language::English.say(&evidence.what),
        interval.unwrap_or_default(),
        published.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::terms::{Bytes, Cores, Machine, Stated};

    fn figures(throughput: f64, latency: LabLatency) -> LabFigures {
        let throughput_rps = Some(throughput);
        LabFigures { throughput_rps, latency_s: latency, ..LabFigures::default() }
    }

    fn run(workers: u16, relative: f64) -> LabRun {
        let p95 = LabLatency { p95: Some(0.34), mean: Some(0.3), ..LabLatency::default() };
        let mean = LabLatency { mean: Some(0.151), ..LabLatency::default() };
        let services = BTreeMap::from([("mariadb".to_string(), 0.48)]);
        LabRun {
            measured: Some(LabFigures {
                success: Some(1.0),
                cpu_cores: Some(0.63),
                cpu_share: Some(0.56),
                services_cpu_cores: services,
                ..figures(12.7 * relative, p95)
            }),
            published: Some(figures(12.66, mean)),
            relative_measured: Some(relative),
            relative_published: Some(1.0),
            ..LabRun::sample(workers)
        }
    }

    fn sample() -> LabResult {
        LabResult {
            lab: "isucon-unicorn".into(),
            title: "An image board".into(),
            source: "an article".into(),
            is_quick: false,
            machine: Machine {
                cpu_model: "CPU".into(),
                cores: Cores::new(2.0).unwrap(),
                memory_bytes: Bytes(4 << 30),
                kernel: "6.1".into(),
            },
            published_machine: "another".into(),
            scale: Some(0.66),
            rule: "workers = 2 x cores".into(),
            runs: vec![run(1, 1.0), run(4, 2.1)],
            conclusions: vec![LabConclusion {
                says: "one worker leaves half of two cores idle".into(),
                holds: Holds::Yes,
                evidence: vec![LabEvidence {
                    what: Stated::Verbatim("cpu_share of 1 worker".into()),
                    value: Some(0.56),
                    interval: Some([0.54, 0.58]),
                    published: Some(0.55),
                    at_least: None,
                    at_most: Some(0.65),
                    holds: Holds::Yes,
                }],
            }],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn measured_and_published_stand_beside_each_other_in_eighty_columns() {
        let text = result(&sample());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let head = text.lines().find(|line| line.contains("req/s")).unwrap();
        assert!(head.contains("mean") && !head.contains("p95"), "as the article has it: {head}");
        let row = text.lines().find(|line| line.starts_with("4 x 1, 4 clients")).unwrap();
        for cell in ["26.7", "2.10", "100 %", "300 ms", "12.7", "1.00", "151 ms"] {
            assert!(row.contains(cell), "{cell} is missing in: {row}");
        }
        for line in [
            "  cores: server 0.63, mariadb 0.48; machine 56 % busy",
            "[holds] one worker leaves half of two cores idle",
            "    cpu_share of 1 worker: 0.560 (0.540 to 0.580), at most 0.65 needed; the",
            "rates are the article's x 0.66",
        ] {
            assert!(text.contains(line), "{line} is missing in:\n{text}");
        }
    }

    #[test]
    fn a_run_without_a_result_says_why() {
        let mut failed = run(96, 1.0);
        failed.measured = None;
        failed.failure = Some(Stated::Verbatim("the database refused connections".into()));
        let text = result(&LabResult { runs: vec![failed.clone()], ..sample() });
        assert!(text.contains("  the database refused connections\n"), "{text}");
        let line = progress(3, 9, &failed);
        let expected = "3/9  GET /: 96 x 1, 4 clients: the database refused connections; the \
                        article: 12.7/s, mean 151 ms\n";
        assert_eq!(line, expected);
    }
}
