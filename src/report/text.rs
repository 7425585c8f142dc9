//! The plan, the trials and the decision as text for a terminal or a file.
//!
//! In: a [`Story`] and a [`Style`]. Out: lines that keep to the style's width, with colours only
//! where it says so. Computes only.

use super::figures;
use super::outside::{line, lines, pad, pad_left, shorten, truncate, width, wrap};
use super::plan_words::PlanRow;
use super::story::Story;
use super::wording::{Counted, Language, Outcome};
use super::{
    goals_text, knob_words, map, map_text, objective_text, plan_words, sparkline, verify_text,
    words,
};
use crate::terms::{
    BootFailure, Configuration, Decision, TrialSummary, Variant, Verdict, Verification, Warning,
};

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// Columns; less than 60 is taken as 60.
    pub width: u16,
    pub language: Language,
}

impl Style {
    /// Eighty columns of English without colours: files, pipes, tests.
    pub const PLAIN: Self = Self { colour: false, width: 80, language: Language::English };

    pub(super) fn columns(self) -> usize {
        usize::from(self.width.max(60))
    }

    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// The last lines of a server's log that are shown.
const LOG_LINES: usize = 10;

/// Rows that one of them may take.
const ROWS_OF_A_LOG_LINE: usize = 3;

/// The plan: what, value, and where the value came from.
pub fn plan(story: &Story, style: Style) -> Vec<String> {
    let rows = plan_words::rows(&story.plan, style.language);
    let label = rows.iter().map(|row| width(&line(&row.what))).max().unwrap_or(0).min(16);
    let value_columns = style.columns().saturating_sub(2 + label + 2);
    let mut text = vec![style.bold(style.language.labels().plan)];
    for PlanRow { what, value, source } in &rows {
        let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
        let wrapped = wrap(&format!("{value}{source}"), value_columns);
        for (at, part) in wrapped.iter().enumerate() {
            let what = if at == 0 { truncate(&line(what), label) } else { String::new() };
            let is_last = at + 1 == wrapped.len();
            let part = match part.strip_suffix(line(&source).as_str()) {
                Some(value) if is_last && !source.is_empty() => {
                    format!("{value}{}", style.dim(&line(&source)))
                }
                _ => part.clone(),
            };
            text.push(format!("  {}  {part}", pad(&what, label)));
        }
    }
    text
}

/// The decision: all that `tune` prints at the end.
pub fn decision(story: &Story, style: Style) -> Vec<String> {
    decided(story, style)
}

fn decided(story: &Story, style: Style) -> Vec<String> {
    if let Some(found) = &story.verification {
        return verification(story, found, style);
    }
    let (language, labels) = (style.language, style.language.labels());
    let mut sections = vec![headline(story, style), facts(story, style)];
    sections.push(bullets(labels.what_to_do, &words::ways_out(story, language), style));
    if let Some(decision) = &story.decision {
        sections.push(settings(story, decision, style));
        sections.push(equivalents(story, decision, style));
    }
    sections.push(targets(story, style));
    sections.push(front(story, style));
    sections.push(knobs(story, style));
    sections.push(map_text::lines(story, &map::draw(story), style));
    sections.push(failures(story, style));
    sections.push(bullets(labels.warnings, &words::warnings(story, language), style));
    sections.push(bullets(labels.notes, &language.say_each(&story.notes), style));
    sections.push(how(story, style));
    join(sections)
}

/// Whether a recommendation is still right: all that `verify` prints at the end.
fn verification(story: &Story, found: &Verification, style: Style) -> Vec<String> {
    let (language, labels) = (style.language, style.language.labels());
    let headline = wrap(&verify_text::headline(story, found, language), style.columns());
    let painted = headline.iter().map(|part| match found.verdict {
        Verdict::Yes => style.green(part),
        Verdict::No => style.red(part),
        Verdict::Undecided => style.yellow(part),
    });
    join(vec![
        painted.collect(),
        verify_text::table(story, found, language),
        bullets(labels.differs, &language.say_each(&found.differences), style),
        failures(story, style),
        bullets(labels.warnings, &words::warnings(story, language), style),
        bullets(labels.notes, &language.say_each(&found.notes), style),
        how(story, style),
    ])
}

/// The whole session: plan, trials and decision.
pub fn session(story: &Story, style: Style) -> Vec<String> {
    let mut sections = vec![decided(story, style)];
    if !story.trials.is_empty() {
        let mut rows = vec![style.bold(style.language.labels().trials)];
        rows.extend(story.trials.iter().flat_map(|trial| self::trial(story, trial, style)));
        sections.push(rows);
    }
    if !story.plan.is_empty() {
        sections.push(plan(story, style));
    }
    join(sections)
}

fn join(sections: Vec<Vec<String>>) -> Vec<String> {
    let mut text: Vec<String> = Vec::new();
    for section in sections.into_iter().filter(|section| !section.is_empty()) {
        if !text.is_empty() {
            text.push(String::new());
        }
        text.extend(section);
    }
    text
}

fn headline(story: &Story, style: Style) -> Vec<String> {
    let wrapped = wrap(&words::headline(story, style.language), style.columns());
    wrapped
        .iter()
        .map(|part| match (&story.decision, &story.error) {
            (Some(_), _) => style.green(part),
            (None, Some(_)) => style.red(part),
            (None, None) => style.yellow(part),
        })
        .collect()
}

fn facts(story: &Story, style: Style) -> Vec<String> {
    let facts = words::facts(story, style.language);
    let label = facts.iter().map(|fact| width(fact.0)).max().unwrap_or(0);
    let mut text = Vec::new();
    for (what, sentence) in &facts {
        let parts = wrap(sentence, style.columns().saturating_sub(label + 4));
        for (at, part) in parts.iter().enumerate() {
            let what = if at == 0 { *what } else { "" };
            text.push(format!("  {}  {part}", style.dim(&pad(what, label))));
        }
    }
    text
}

/// Lines to paste are never broken or indented differently from what the server reads.
fn settings(story: &Story, decision: &Decision, style: Style) -> Vec<String> {
    let settings = &decision.settings;
    let (say, labels) = (style.language.phrases(), style.language.labels());
    let mut text = vec![style.bold(labels.settings)];
    if !settings.start.is_empty() {
        text.push(format!("  {}", labels.start_it_with));
        text.push(format!("    {}", line(&settings.start)));
    }
    if !settings.env.is_empty() {
        text.push(format!("  {}", labels.environment));
        for (name, value) in &settings.env {
            text.push(format!("    {}={}", line(name), line(value)));
        }
    }
    if !settings.config_snippet.trim().is_empty() {
        let server = line(&story.server);
        let server = server.split_whitespace().next().unwrap_or(labels.the_server);
        let is_alternative = !settings.env.is_empty();
        let place = match settings.place.as_ref().map(|it| line(&style.language.say(it))) {
            Some(place) => say.place(&place, is_alternative),
            None => say.configuration_file(server, is_alternative),
        };
        text.push(format!("  {place}"));
        text.extend(
            lines(&settings.config_snippet)
                .iter()
                .map(|l| format!("    {l}").trim_end().to_string()),
        );
    }
    text.extend(knob_settings(decision, style.language));
    text.extend(items(&style.language.say_each(&settings.advice), style));
    text
}

/// What the recommended knobs need, whichever of the ways above is taken.
fn knob_settings(decision: &Decision, language: Language) -> Vec<String> {
    let settings = &decision.settings;
    let mut text = Vec::new();
    if !settings.knobs_env.is_empty() {
        text.push(format!("  {}", language.labels().with_these));
        for (name, value) in &settings.knobs_env {
            text.push(format!("    {}={}", line(name), line(value)));
        }
    }
    for knob in &settings.knobs_lines {
        text.push(format!("  {}", language.phrases().and_in(&line(&language.say(&knob.place)))));
        text.push(format!("    {}", line(&knob.line)));
    }
    text
}

/// Each goal of several, at the rate that was confirmed.
fn targets(story: &Story, style: Style) -> Vec<String> {
    let Some(decision) = &story.decision else { return Vec::new() };
    let heading = goals_text::heading(decision, style.language);
    let lines = goals_text::lines(&decision.goals, style.language);
    heading.map_or_else(Vec::new, |it| bullets(&it, &lines, style))
}

fn equivalents(story: &Story, decision: &Decision, style: Style) -> Vec<String> {
    let rows = words::equivalents(story, decision, style.language);
    if rows.is_empty() {
        return Vec::new();
    }
    let (say, labels) = (style.language.phrases(), style.language.labels());
    let heading = say.list(&[labels.equivalent, labels.least_memory_first].map(String::from));
    let mut text = self::heading(&heading, style);
    let columns = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let (first, second) = (columns(0), columns(1));
    for [name, share, memory] in &rows {
        let row = format!("  {}  {}  {memory}", pad(name, first), pad(share, second));
        text.push(row.trim_end().to_string());
    }
    text
}

/// The settings that no other beats.
fn front(story: &Story, style: Style) -> Vec<String> {
    let Some((head, rows)) = objective_text::front(story, style.language) else {
        return Vec::new();
    };
    let columns: Vec<usize> = (0..head.len())
        .map(|at| rows.iter().chain([&head]).map(|row| width(&row[at])).max().unwrap_or(0))
        .collect();
    let laid_out = |row: &[String]| {
        let cells = row.iter().zip(&columns).map(|(cell, columns)| pad(cell, *columns));
        let row = format!("  {}", cells.collect::<Vec<_>>().join("  "));
        truncate(row.trim_end(), style.columns())
    };
    let mut text = heading(&objective_text::heading(story, style.language), style);
    text.push(style.dim(&laid_out(&head)));
    text.extend(rows.iter().map(|row| laid_out(row)));
    text
}

/// A change a line, its verdict below where the columns do not suffice.
fn knobs(story: &Story, style: Style) -> Vec<String> {
    let Some(knobs) = &story.knobs else { return Vec::new() };
    let mut text = heading(&knob_words::heading(story, knobs, style.language), style);
    for [change, capacity, memory, verdict] in knob_words::rows(story, knobs, style.language) {
        let mut parts = vec![line(&change)];
        if capacity != "-" {
            parts.push(style.language.phrases().knob_figures(&capacity, &memory));
        }
        if !verdict.is_empty() {
            parts.push(verdict);
        }
        text.extend(items(&[parts.join("; ")], style));
    }
    let intervals = wrap(&knob_words::intervals(knobs, style.language), style.columns() - 2);
    text.extend(intervals.iter().map(|part| style.dim(&format!("  {part}"))));
    text
}

fn failures(story: &Story, style: Style) -> Vec<String> {
    let failures = words::failures(story, style.language);
    if failures.is_empty() {
        return Vec::new();
    }
    let mut text = vec![style.bold(style.language.labels().failures)];
    for (what, last_lines) in failures {
        text.extend(items(&[what], style));
        text.extend(log(&last_lines, style));
    }
    text
}

/// A server's own last lines, as text.
fn log(last_lines: &[String], style: Style) -> Vec<String> {
    let skipped = last_lines.len().saturating_sub(LOG_LINES);
    last_lines[skipped..]
        .iter()
        .flat_map(|l| log_line(&line(l), style))
        .map(|l| style.dim(&format!("    | {l}")))
        .collect()
}

/// What is wrong often stands at the end of a long line, so it goes on below.
fn log_line(text: &str, style: Style) -> Vec<String> {
    let columns = style.columns() - 6;
    if width(text) <= columns {
        return vec![text.to_string()];
    }
    let mut rows = wrap(text, columns - 2);
    if rows.len() > ROWS_OF_A_LOG_LINE {
        rows.truncate(ROWS_OF_A_LOG_LINE);
        if let Some(last) = rows.last_mut() {
            *last = truncate(&format!("{last} …"), columns - 2);
        }
    }
    rows.iter_mut().skip(1).for_each(|row| row.insert_str(0, "  "));
    rows
}

/// One that may take more than a line.
pub(super) fn heading(text: &str, style: Style) -> Vec<String> {
    wrap(text, style.columns()).iter().map(|part| style.bold(part)).collect()
}

fn bullets(heading: &str, sentences: &[String], style: Style) -> Vec<String> {
    if sentences.is_empty() {
        return Vec::new();
    }
    let mut text = vec![style.bold(heading)];
    text.extend(items(sentences, style));
    text
}

pub(super) fn items(sentences: &[String], style: Style) -> Vec<String> {
    let mut text = Vec::new();
    for sentence in sentences {
        for (at, part) in wrap(sentence, style.columns() - 4).iter().enumerate() {
            text.push(format!("{}{part}", if at == 0 { "  - " } else { "    " }));
        }
    }
    text
}

fn how(story: &Story, style: Style) -> Vec<String> {
    let (language, say) = (style.language, style.language.phrases());
    let mut sentences = vec![words::method(story, language)];
    if let Some(machine) = &story.machine {
        sentences.push(say.measured_on(&words::machine(machine, language)));
    }
    sentences.extend(words::predictions_scored(story, language));
    if let Some((session, trials)) = story.resumed {
        sentences.push(say.took_up(session, &say.count(u64::from(trials), Counted::Trials)));
    }
    if let Some(stored) = &story.stored {
        let store = shorten(&line(&stored.store), 60);
        // The default one is found without being named.
        let is_default = stored.store.ends_with(".sweetspot/sweetspot.db");
        let named = if is_default { String::new() } else { format!(" --store {store}") };
        sentences.push(say.stored_as(stored.session, &store, &named));
    }
    sentences.iter().flat_map(|sentence| wrap(sentence, style.columns())).collect()
}

/// Columns that a trial's figures take before its seconds: `   271/s answered  p95 912 ms`.
const FIGURES: usize = 28;

/// One trial in a line; a second says why when it could not be decided.
pub fn trial(story: &Story, trial: &TrialSummary, style: Style) -> Vec<String> {
    let (language, labels) = (style.language, style.language.labels());
    let outcome = words::outcome(trial);
    let summary = &trial.summary;
    let padded = pad(language.phrases().outcome(outcome), 13);
    let painted = match outcome {
        Outcome::Held => style.green(&padded),
        Outcome::Measured => padded,
        Outcome::DidNotHold => style.yellow(&padded),
        Outcome::Undecided => style.dim(&padded),
        _ => style.red(&padded),
    };
    // Room for `16 x 16`, or `16 workers`.
    let room = if story.has_threads { 7 } else { 3 + width(labels.workers) };
    let configuration = pad(&words::name(story, trial.configuration, language), room);
    // What stands before: id, configuration, purpose, load, outcome, and the spaces between.
    let rest = style.columns() - (4 + 2 + room + 2 + 8 + 2 + 10 + 2 + 13);
    let figures = match summary.completed {
        0 => labels.no_reply.to_string(),
        _ => language.phrases().answered(
            &pad_left(&figures::rate(summary.throughput_rps), 7),
            &figures::latency(summary.latency_s.p95),
        ),
    };
    let figures = truncate(&figures, rest);
    let seconds = seconds(trial, rest.saturating_sub(FIGURES), style);
    let figures = if seconds.is_empty() { figures } else { pad(&figures, FIGURES) };
    let mut text = vec![format!(
        "{}  {configuration}  {}  {}  {painted}{figures}{seconds}",
        pad_left(&trial.id.to_string(), 4),
        pad(language.phrases().purpose(trial.purpose), 8),
        pad_left(&words::offered(&trial.offered, language), 10),
    )];
    if matches!(outcome, Outcome::Undecided | Outcome::NotValid) {
        let parts = wrap(&language.say(&trial.reason), style.columns().saturating_sub(6));
        text.extend(parts.iter().map(|part| style.dim(&format!("      {part}"))));
    }
    if let Some(changes) = knob_words::changes(story, trial.variant, language) {
        let with = format!("     {}", language.phrases().with("", &changes));
        text.push(style.dim(&truncate(&line(&with), style.columns())));
    }
    text
}

/// The measured seconds of a trial as sparklines, as far as there is room: p95, then throughput.
fn seconds(trial: &TrialSummary, room: usize, style: Style) -> String {
    let windows = trial.summary.windows.iter();
    let measured: Vec<_> =
        windows.filter(|window| window.start_s >= trial.warm_up.left_out_s).collect();
    let p95: Vec<f64> = measured.iter().map(|window| window.latency_s.p95).collect();
    let answered: Vec<f64> = measured.iter().map(|window| window.completed as f64).collect();
    let mut text = String::new();
    for (at, values) in [p95, answered].iter().enumerate() {
        if values.len() > 1 && room >= (at + 1) * (2 + sparkline::COLUMNS) {
            text.push_str(&format!("  {}", style.dim(&sparkline::draw(values))));
        }
    }
    text
}

/// A doubt as it comes up.
pub fn warning(warning: &Warning, style: Style) -> Vec<String> {
    let label = style.language.labels().warning;
    let parts = wrap(
        &style.language.say_warning(warning),
        style.columns().saturating_sub(width(label) + 1),
    );
    parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let label = if at == 0 { style.yellow(label) } else { " ".repeat(width(label)) };
            format!("{label} {part}")
        })
        .collect()
}

/// A server that never became ready, as it happens.
pub fn boot_failure(
    story: &Story,
    configuration: Configuration,
    variant: Variant,
    failure: &BootFailure,
    style: Style,
) -> Vec<String> {
    let sentence =
        knob_words::did_not_start(story, configuration, variant, failure, style.language);
    let mut text: Vec<String> =
        wrap(&sentence, style.columns()).iter().map(|part| style.red(part)).collect();
    text.extend(log(&failure.last_lines, style));
    text
}
