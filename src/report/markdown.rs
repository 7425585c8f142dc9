//! A session as a Markdown page that reads well in a pull request.
//!
//! In: a [`Story`]. Out: GitHub-flavoured Markdown. Computes only; whatever came from outside is
//! shown as text, never obeyed.

use super::map::{self, Map, Mark};
use super::outside::{markdown as escape, markdown_block, markdown_code};
use super::story::Story;
use super::{figures, goals_text, knob_words, objective_text, verify_text, words};
use crate::terms::{Decision, TrialPurpose, TrialSummary, Warning};

/// The whole page.
pub fn render(story: &Story) -> String {
    let mut page = Page::default();
    page.paragraph(&format!("**{}**", escape(&words::headline(story))));
    if let Some(found) = &story.verification {
        let table = verify_text::table(story, found).join("\n");
        page.block(&markdown_block("", &table));
        page.heading_list("Notes", found.notes.iter().map(|note| escape(note)));
    }
    let facts = words::facts(story);
    page.list(facts.iter().map(|(what, text)| format!("**{what}** {}", escape(text))));
    page.heading_list("What to do", words::ways_out(story).iter().map(|way| escape(way)));
    if let Some(decision) = &story.decision {
        settings(&mut page, story, decision);
        equivalents(&mut page, story, decision);
        if let Some(heading) = goals_text::heading(decision) {
            let lines = goals_text::lines(&decision.goals);
            page.heading_list(&heading, lines.iter().map(|line| escape(line)));
        }
    }
    if let Some((head, rows)) = objective_text::front(story) {
        page.heading(&objective_text::heading(story));
        page.table(&head, &rows, 2);
    }
    knobs(&mut page, story);
    map_section(&mut page, story, &map::draw(story));
    confirmed(&mut page, story);
    failures(&mut page, story);
    page.heading_list(
        "Warnings",
        story.warnings.iter().map(Warning::to_string).map(|w| escape(&w)),
    );
    how(&mut page, story);
    trials(&mut page, story);
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

fn settings(page: &mut Page, story: &Story, decision: &Decision) {
    let settings = &decision.settings;
    page.heading("Settings");
    if !settings.start.is_empty() {
        page.paragraph("Start it with:");
        page.block(&markdown_block("sh", &settings.start));
    }
    if !settings.env.is_empty() {
        page.paragraph("Environment:");
        let env: Vec<String> =
            settings.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        page.block(&markdown_block("sh", &env.join("\n")));
    }
    if !settings.config_snippet.trim().is_empty() {
        let server = story.server.split_whitespace().next().unwrap_or("The server");
        let or = if settings.env.is_empty() { "" } else { "Or " };
        let place = settings.place.as_deref().map(escape);
        let place = place.unwrap_or_else(|| format!("{}'s configuration file", escape(server)));
        page.paragraph(&format!("{or}{place}:"));
        page.block(&markdown_block("", settings.config_snippet.trim_end()));
    }
    if !settings.knobs_env.is_empty() {
        page.paragraph("With these in the environment:");
        let env: Vec<String> =
            settings.knobs_env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        page.block(&markdown_block("sh", &env.join("\n")));
    }
    for knob in &settings.knobs_lines {
        page.paragraph(&format!("And {}:", escape(&knob.place)));
        page.block(&markdown_block("", &knob.line));
    }
    page.list(settings.advice.iter().map(|advice| escape(advice)));
}

fn knobs(page: &mut Page, story: &Story) {
    let Some(knobs) = &story.knobs else { return };
    page.heading("Knobs");
    page.paragraph(&format!("{}.", escape(&knob_words::heading(story, knobs))));
    let rows: Vec<Vec<String>> = knob_words::rows(story, knobs)
        .iter()
        .map(|row| row.iter().map(|cell| escape(cell)).collect())
        .collect();
    page.table(&strings(&knob_words::HEAD), &rows, 4);
    page.paragraph(&escape(&knob_words::intervals(knobs)));
}

fn equivalents(page: &mut Page, story: &Story, decision: &Decision) {
    let rows: Vec<Vec<String>> =
        words::equivalents(story, decision).into_iter().map(|row| row.to_vec()).collect();
    if rows.is_empty() {
        return;
    }
    page.heading("As good within 3 %");
    page.paragraph("Least memory first.");
    let head = [words::configurations(story), "capacity beside the chosen", "memory"];
    page.table(&strings(&head), &rows, 1);
}

fn map_section(page: &mut Page, story: &Story, map: &Map) {
    if map.is_empty() {
        return;
    }
    page.heading("Map");
    let by = if story.has_threads { "workers (rows) and threads (columns)" } else { "workers" };
    page.paragraph(&format!("Requests a second within the goal, by {by}."));
    let mut head = vec!["workers".to_string()];
    head.extend(map.threads.iter().map(|t| match story.has_threads {
        true => figures::count(u64::from(*t), "thread", "threads"),
        false => "requests/s".to_string(),
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
    page.paragraph(&format!("Marks: {}.", escape(&map.legend().join(" · "))));
    page.list(
        map.obstacles(story)
            .iter()
            .map(|(why, who)| format!("{}: {}", who.join(", "), escape(why))),
    );
}

/// Latencies of the trials that stand behind the printed capacity.
fn confirmed(page: &mut Page, story: &Story) {
    let rows: Vec<Vec<String>> = story
        .trials
        .iter()
        .filter(|trial| trial.purpose == TrialPurpose::Confirm && trial.valid)
        .filter(|trial| Some(trial.configuration) == story.chosen())
        .map(|trial| {
            let latency = &trial.summary.latency_s;
            let mut row = vec![trial.id.to_string(), words::offered(&trial.offered)];
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
    page.heading("Latency of the chosen setting");
    page.paragraph(
        "From the moment a request was due to its last byte, in the trials that confirmed the \
         capacity.",
    );
    let head = strings(&["trial", "load", "p50", "p90", "p95", "p99", "p99.9", "max"]);
    page.table(&head, &rows, 1);
}

fn failures(page: &mut Page, story: &Story) {
    let failures = words::failures(story);
    if failures.is_empty() {
        return;
    }
    page.heading("Server failures");
    for (what, last_lines) in failures {
        page.paragraph(&format!("{}:", escape(&what)));
        if !last_lines.is_empty() {
            page.block(&markdown_block("", &last_lines.join("\n")));
        }
    }
}

fn how(page: &mut Page, story: &Story) {
    page.heading("How it was measured");
    page.paragraph(&escape(&words::method(story)));
    let mut items = vec![format!("app: {}", markdown_code(&story.app))];
    items.push(format!("server: {}", escape(&story.server)));
    items.push(format!("goal: {}", markdown_code(&story.slo)));
    if let Some(machine) = &story.machine {
        items.push(format!("machine: {}", escape(&words::machine(machine))));
    }
    if let Some(stored) = &story.stored {
        items.push(format!(
            "session {} of {}, begun {}",
            stored.session,
            markdown_code(&stored.store),
            escape(&stored.started_at)
        ));
    }
    page.list(items.into_iter());
    page.list(story.notes.iter().map(|note| escape(note)));
    if !story.plan.is_empty() {
        let rows: Vec<Vec<String>> = story
            .plan
            .iter()
            .map(|(what, value, source)| vec![escape(what), markdown_code(value), escape(source)])
            .collect();
        page.table(&strings(&["plan", "value", "from"]), &rows, 3);
    }
}

fn trials(page: &mut Page, story: &Story) {
    if story.trials.is_empty() {
        return;
    }
    page.heading("Trials");
    let head = strings(&[
        "trial",
        words::configurations(story),
        "purpose",
        "outcome",
        "load",
        "answered",
        "p95",
        "limit",
    ]);
    let rows: Vec<Vec<String>> = story.trials.iter().map(|trial| trial_row(story, trial)).collect();
    page.table(&head, &rows, 4);
    let doubts: Vec<String> = story
        .trials
        .iter()
        .filter(|trial| matches!(words::outcome(trial), "undecided" | "not valid"))
        .map(|trial| format!("trial {}: {}", trial.id, escape(&trial.reason)))
        .collect();
    page.list(doubts.into_iter());
}

fn trial_row(story: &Story, trial: &TrialSummary) -> Vec<String> {
    let summary = &trial.summary;
    let (answered, p95) = match summary.completed {
        0 => ("-".to_string(), "-".to_string()),
        _ => (figures::rate(summary.throughput_rps), figures::latency(summary.latency_s.p95)),
    };
    vec![
        trial.id.to_string(),
        escape(&knob_words::name(story, trial.configuration, trial.variant)),
        words::purpose(trial.purpose).to_string(),
        words::outcome(trial).to_string(),
        words::offered(&trial.offered),
        answered,
        p95,
        words::limit_of(story, trial).to_string(),
    ]
}
