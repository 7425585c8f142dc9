//! A session as a Markdown page that reads well in a pull request.
//!
//! In: a [`Story`]. Out: GitHub-flavoured Markdown. Computes only; whatever came from outside is
//! shown as text, never obeyed.

use super::map::{self, Map, Mark};
use super::outside::{markdown as escape, markdown_block, markdown_code};
use super::plan_words::PlanRow;
use super::story::Story;
use super::wording::{Counted, Language, Outcome};
use super::{figures, goals_text, knob_words, objective_text, plan_words, verify_text, words};
use crate::terms::{Decision, TrialPurpose, TrialSummary};

/// A comment on a pull request has at most 65,536 characters: of more trials the last are shown,
/// which confirm the choice, and of more failures the first.
const MOST_TRIALS: usize = 200;
const MOST_FAILURES: usize = 20;

/// The whole page.
pub fn render(story: &Story, language: Language) -> String {
    let labels = language.labels();
    let mut page = Page::default();
    page.paragraph(&format!("**{}**", escape(&words::headline(story, language))));
    if let Some(found) = &story.verification {
        let table = verify_text::table(story, found, language).join("\n");
        page.block(&markdown_block("", &table));
        page.heading_list(
            labels.notes,
            language.say_each(&found.notes).iter().map(|note| escape(note)),
        );
    }
    let facts = words::facts(story, language);
    page.list(facts.iter().map(|(what, text)| format!("**{what}** {}", escape(text))));
    let ways = words::ways_out(story, language);
    page.heading_list(labels.what_to_do, ways.iter().map(|way| escape(way)));
    if let Some(decision) = &story.decision {
        settings(&mut page, story, decision, language);
        equivalents(&mut page, story, decision, language);
        if let Some(heading) = goals_text::heading(decision, language) {
            let lines = goals_text::lines(&decision.goals, language);
            page.heading_list(&heading, lines.iter().map(|line| escape(line)));
        }
    }
    if let Some((head, rows)) = objective_text::front(story, language) {
        page.heading(&objective_text::heading(story, language));
        page.table(&head, &rows, 2);
    }
    knobs(&mut page, story, language);
    map_section(&mut page, story, &map::draw(story), language);
    confirmed(&mut page, story, language);
    failures(&mut page, story, language);
    let warnings = words::warnings(story, language);
    page.heading_list(labels.warnings, warnings.iter().map(|warning| escape(warning)));
    how(&mut page, story, language);
    trials(&mut page, story, language);
    page.text
}

/// Text under construction; a blank line before each block.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn block(&mut self, block: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(block);
        if !block.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self, text: &str) {
        self.block(text);
    }

    fn heading(&mut self, text: &str) {
        self.block(&format!("## {text}"));
    }

    /// What few will read: closed until somebody opens it. `summary` is ours, not from outside.
    fn details(&mut self, summary: &str, fill: impl FnOnce(&mut Self)) {
        self.block(&format!("<details>\n<summary>{summary}</summary>"));
        fill(self);
        self.block("</details>");
    }

    fn list(&mut self, items: impl Iterator<Item = String>) {
        let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
        if !items.is_empty() {
            self.block(&items.join("\n"));
        }
    }

    fn heading_list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let mut items = items.peekable();
        if items.peek().is_some() {
            self.heading(heading);
            self.list(items);
        }
    }

    /// The first column is text, the others are figures.
    fn table(&mut self, head: &[String], rows: &[Vec<String>], figures_from: usize) {
        let rule: Vec<&str> =
            (0..head.len()).map(|at| if at < figures_from { "---" } else { "--:" }).collect();
        let mut lines = vec![format!("| {} |", head.join(" | ")), format!("|{}|", rule.join("|"))];
        lines.extend(rows.iter().map(|row| format!("| {} |", row.join(" | "))));
        self.block(&lines.join("\n"));
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// The same with a capital.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", chars.as_str())
}

/// What stands above lines to paste.
fn above(page: &mut Page, text: &str) {
    page.paragraph(&format!("{}:", capital(text)));
}

fn settings(page: &mut Page, story: &Story, decision: &Decision, language: Language) {
    let settings = &decision.settings;
    let (say, labels) = (language.phrases(), language.labels());
    page.heading(labels.settings);
    if !settings.start.is_empty() {
        above(page, labels.start_it_with);
        page.block(&markdown_block("sh", &settings.start));
    }
    if !settings.env.is_empty() {
        above(page, labels.environment);
        let env: Vec<String> =
            settings.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        page.block(&markdown_block("sh", &env.join("\n")));
    }
    if !settings.config_snippet.trim().is_empty() {
        let server = story.server.split_whitespace().next().unwrap_or(labels.the_server);
        let is_alternative = !settings.env.is_empty();
        let place = match &settings.place {
            Some(place) => say.place(&escape(&language.say(place)), is_alternative),
            None => say.configuration_file(&escape(server), is_alternative),
        };
        above(page, &place);
        page.block(&markdown_block("", settings.config_snippet.trim_end()));
    }
    if !settings.knobs_env.is_empty() {
        above(page, labels.with_these);
        let env: Vec<String> =
            settings.knobs_env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        page.block(&markdown_block("sh", &env.join("\n")));
    }
    for knob in &settings.knobs_lines {
        above(page, &say.and_in(&escape(&language.say(&knob.place))));
        page.block(&markdown_block("", &knob.line));
    }
    page.list(settings.advice.iter().map(|advice| escape(&language.say(advice))));
}

fn knobs(page: &mut Page, story: &Story, language: Language) {
    let Some(knobs) = &story.knobs else { return };
    let labels = language.labels();
    page.heading(labels.knobs);
    let heading = escape(&knob_words::heading(story, knobs, language));
    page.paragraph(&format!("{heading}{}", labels.stop));
    let rows: Vec<Vec<String>> = knob_words::rows(story, knobs, language)
        .iter()
        .map(|row| row.iter().map(|cell| escape(cell)).collect())
        .collect();
    page.table(&strings(&knob_words::head(language)), &rows, 4);
    page.paragraph(&escape(&knob_words::intervals(knobs, language)));
}

fn equivalents(page: &mut Page, story: &Story, decision: &Decision, language: Language) {
    let labels = language.labels();
    let rows: Vec<Vec<String>> =
        words::equivalents(story, decision, language).into_iter().map(|row| row.to_vec()).collect();
    if rows.is_empty() {
        return;
    }
    page.heading(labels.equivalent);
    page.paragraph(&format!("{}{}", capital(labels.least_memory_first), labels.stop));
    let head = [words::configurations(story, language), labels.capacity_beside, labels.memory];
    page.table(&strings(&head), &rows, 1);
}

fn map_section(page: &mut Page, story: &Story, map: &Map, language: Language) {
    let (say, labels) = (language.phrases(), language.labels());
    if map.is_empty() {
        return;
    }
    page.heading(labels.map);
    let by_both = story.has_threads;
    page.paragraph(if by_both { labels.map_by_both } else { labels.map_by_workers });
    let mut head = vec![labels.workers.to_string()];
    head.extend(map.threads.iter().map(|t| match story.has_threads {
        true => say.count(u64::from(*t), Counted::Threads),
        false => labels.requests_per_s.to_string(),
    }));
    let rows: Vec<Vec<String>> = map
        .workers
        .iter()
        .map(|w| {
            let mut row = vec![w.to_string()];
            row.extend(map.threads.iter().map(|t| {
                let cell = escape(&map.text(*w, *t));
                if map.mark(*w, *t) == Mark::Chosen { format!("**{cell}**") } else { cell }
            }));
            row
        })
        .collect();
    page.table(&head, &rows, 1);
    let legend = escape(&map.legend(language).join(" · "));
    page.paragraph(&format!("{}: {legend}{}", labels.marks, labels.stop));
    page.list(
        map.obstacles(story, language)
            .iter()
            .map(|(why, who)| format!("{}: {}", say.list(who), escape(why))),
    );
}

/// Latencies of the trials that stand behind the printed capacity.
fn confirmed(page: &mut Page, story: &Story, language: Language) {
    let rows: Vec<Vec<String>> = story
        .trials
        .iter()
        .filter(|trial| trial.purpose == TrialPurpose::Confirm && trial.valid)
        .filter(|trial| Some(trial.configuration) == story.chosen())
        .map(|trial| {
            let latency = &trial.summary.latency_s;
            let mut row = vec![trial.id.to_string(), words::offered(&trial.offered, language)];
            row.extend(
                [latency.p50, latency.p90, latency.p95, latency.p99, latency.p999, latency.max]
                    .map(figures::latency),
            );
            row
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let labels = language.labels();
    page.heading(labels.latency);
    page.paragraph(labels.latency_from);
    let quantiles = ["p50", "p90", "p95", "p99", "p99.9", "max"];
    let head = strings(&[&[labels.trial, labels.load], &quantiles[..]].concat());
    page.table(&head, &rows, 1);
}

fn failures(page: &mut Page, story: &Story, language: Language) {
    let failures = words::failures(story, language);
    if failures.is_empty() {
        return;
    }
    page.heading(language.labels().failures);
    let left_out = failures.len().saturating_sub(MOST_FAILURES);
    for (what, last_lines) in failures.into_iter().take(MOST_FAILURES) {
        page.paragraph(&format!("{}:", escape(&what)));
        if !last_lines.is_empty() {
            page.block(&markdown_block("", &last_lines.join("\n")));
        }
    }
    if left_out > 0 {
        page.paragraph(&language.phrases().left_out(left_out));
    }
}

fn how(page: &mut Page, story: &Story, language: Language) {
    let (say, labels) = (language.phrases(), language.labels());
    page.heading(labels.how);
    page.paragraph(&escape(&words::method(story, language)));
    let mut items = vec![format!("{}: {}", labels.app, markdown_code(&story.app))];
    items.push(format!("{}: {}", labels.server, escape(&story.server)));
    items.push(format!("{}: {}", labels.goal, markdown_code(&story.goals.to_string())));
    if let Some(machine) = &story.machine {
        let machine = escape(&words::machine(machine, language));
        items.push(format!("{}: {machine}", labels.machine));
    }
    if let Some(stored) = &story.stored {
        let (store, begun) = (markdown_code(&stored.store), escape(&stored.started_at));
        items.push(say.stored_in(stored.session, &store, &begun));
    }
    page.list(items.into_iter());
    page.list(story.notes.iter().map(|note| escape(&language.say(note))));
    if !story.plan.is_empty() {
        let row =
            |it: &PlanRow| vec![escape(&it.what), markdown_code(&it.value), escape(&it.source)];
        let rows: Vec<_> = plan_words::rows(&story.plan, language).iter().map(row).collect();
        let plan = labels.plan.to_lowercase();
        page.details(labels.plan, |page| {
            page.table(&strings(&[&plan, labels.value, labels.from]), &rows, 3);
        });
    }
}

fn trials(page: &mut Page, story: &Story, language: Language) {
    if story.trials.is_empty() {
        return;
    }
    let (say, labels) = (language.phrases(), language.labels());
    let head = strings(&[
        labels.trial,
        words::configurations(story, language),
        labels.purpose,
        labels.outcome,
        labels.load,
        labels.answered,
        "p95",
        labels.limit,
    ]);
    let left_out = story.trials.len().saturating_sub(MOST_TRIALS);
    let shown = &story.trials[left_out..];
    let rows: Vec<Vec<String>> =
        shown.iter().map(|trial| trial_row(story, trial, language)).collect();
    let is_doubtful = |trial: &&TrialSummary| {
        matches!(words::outcome(trial), Outcome::Undecided | Outcome::NotValid)
    };
    let doubts: Vec<String> = shown
        .iter()
        .filter(is_doubtful)
        .map(|trial| format!("{}: {}", say.trial(trial.id), escape(&language.say(&trial.reason))))
        .collect();
    page.details(&say.count(story.trials.len() as u64, Counted::Trials), |page| {
        page.table(&head, &rows, 4);
        if left_out > 0 {
            page.paragraph(&say.left_out(left_out));
        }
        page.list(doubts.into_iter());
    });
}

fn trial_row(story: &Story, trial: &TrialSummary, language: Language) -> Vec<String> {
    let say = language.phrases();
    let summary = &trial.summary;
    let (answered, p95) = match summary.completed {
        0 => ("-".to_string(), "-".to_string()),
        _ => (figures::rate(summary.throughput_rps), figures::latency(summary.latency_s.p95)),
    };
    vec![
        trial.id.to_string(),
        escape(&knob_words::name(story, trial.configuration, trial.variant, language)),
        say.purpose(trial.purpose).to_string(),
        say.outcome(words::outcome(trial)).to_string(),
        words::offered(&trial.offered, language),
        answered,
        p95,
        words::limit_title(story, trial.limit.kind, language).to_string(),
    ]
}
