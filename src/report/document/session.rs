//! A session as a document: what it decided, what stands behind that, its trials and its plan.
//!
//! In: a [`Story`]. Out: a [`Document`]. Computes only.

use std::collections::BTreeMap;

use super::{Block, Document, Kind, Medium, Section, Table, Tone};
use super::{front, goals, held, knobs, map, names, sentences, soak, tables, verification};
use crate::report::story::Story;
use crate::report::wording::{Counted, Language, planned};
use crate::report::{figures, outside};
use crate::terms::{Decision, Equivalent, TrialPurpose, TrialSummary};

/// The store in which a session is looked for that is named without one.
const DEFAULT_STORE: &str = ".sweetspot/sweetspot.db";

/// All that is known of the session.
pub fn session(story: &Story, language: Language) -> Document {
    let Document { mut sections, .. } = decision(story, language);
    let labels = language.labels();
    let lines = story.trials.iter().map(|it| tables::trial(story, it, language)).collect();
    let count = language.phrases().count(story.trials.len() as u64, Counted::Trials);
    let trials = Section::new(labels.trials, vec![Block::Trials(lines)]).folded(count);
    let plan = plan_section(story, language).folded(labels.plan);
    // A page has the plan closed above the trials; a terminal, which shows all of both, below them.
    sections.extend(held::section(story, language));
    sections.extend([plan.clone().only(Medium::Page), trials, plan.only(Medium::Terminal)]);
    Document { language, sections }
}

/// The decision, or whether one is still right: all that `tune` and `verify` print at the end.
pub fn decision(story: &Story, language: Language) -> Document {
    let labels = language.labels();
    let mut sections = match &story.verification {
        Some(found) => verification::sections(story, found, language),
        None => decided(story, language),
    };
    sections.push(Section::new(
        labels.failures,
        vec![Block::Logs(sentences::failures(story, language))],
    ));
    sections.push(Section::bullets(labels.warnings, sentences::warnings(story, language)));
    let notes = match &story.verification {
        Some(found) => language.say_each(&found.notes),
        None => language.say_each(&story.notes),
    };
    sections.push(Section::bullets(labels.notes, notes.clone()).only(Medium::Terminal));
    sections.push(how_in_sentences(story, language));
    sections.push(how(story, notes, language));
    Document { language, sections }
}

/// The plan alone.
pub fn plan_alone(story: &Story, language: Language) -> Document {
    Document { language, sections: vec![plan_section(story, language)] }
}

fn plan_section(story: &Story, language: Language) -> Section {
    let rows = planned::rows(&story.plan, language);
    Section::new(language.labels().plan, vec![Block::Plan(rows)])
}

fn decided(story: &Story, language: Language) -> Vec<Section> {
    let labels = language.labels();
    let tone = match (&story.decision, &story.error) {
        (Some(_), _) => Tone::Good,
        (None, Some(_)) => Tone::Bad,
        (None, None) => Tone::Doubtful,
    };
    let headline = Block::Headline(tone, sentences::headline(story, language));
    let mut sections = vec![
        Section::new("", vec![headline]),
        Section::new("", vec![Block::Facts(sentences::facts(story, language))]),
        Section::bullets(labels.what_to_do, sentences::ways_out(story, language)),
    ];
    if let Some(decision) = &story.decision {
        sections.push(settings(story, decision, language));
        sections.push(equivalents(story, decision, language));
        sections.extend(goals::section(decision, language));
        sections.extend(decision.soak.as_ref().map(|it| soak::section(it, language)));
    }
    sections.extend(front::section(story, language));
    sections.extend(story.knobs.as_ref().map(|it| knobs::section(story, it, language)));
    sections.push(map::section(story, language));
    sections.push(latency(story, language));
    sections
}

/// What to paste: never broken or indented differently from what the server reads.
fn settings(story: &Story, decision: &Decision, language: Language) -> Section {
    let settings = &decision.settings;
    let (say, labels) = (language.phrases(), language.labels());
    let code = |above: &str, syntax, text| Block::Code { above: above.to_string(), syntax, text };
    let env = |env: &BTreeMap<String, String>| {
        let lines = env.iter().map(|(name, value)| format!("{name}={value}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let place = match &settings.place {
        Some(place) => language.say(place),
        None => {
            let server = story.server.split_whitespace().next().unwrap_or(labels.the_server);
            say.configuration_file(server)
        }
    };
    let place = say.place(&place, !settings.env.is_empty());
    let mut blocks = vec![
        code(labels.start_it_with, "sh", settings.start.clone()),
        code(labels.environment, "sh", env(&settings.env)),
        code(&place, "", settings.config_snippet.clone()),
        code(labels.with_these, "sh", env(&settings.knobs_env)),
    ];
    blocks.extend(
        settings
            .knobs_lines
            .iter()
            .map(|knob| code(&say.and_in(&language.say(&knob.place)), "", knob.line.clone())),
    );
    blocks.push(Block::Bullets(language.say_each(&settings.advice)));
    Section::new(labels.settings, blocks)
}

/// Configurations as good as the chosen one; where their latencies were compared, beside its own.
fn equivalents(story: &Story, decision: &Decision, language: Language) -> Section {
    let (say, labels) = (language.phrases(), language.labels());
    let compared_rps = decision.latency_at_rps.filter(|_| !decision.equivalent.is_empty());
    let compared_at = compared_rps.map(|rps| format!("p95, {}", figures::rate(rps)));
    let row =
        |workers: u16, threads: u16, beside: String, memory: Option<u64>, p95: Option<f64>| {
            let p95 = p95.map_or_else(|| "-".to_string(), figures::latency);
            let memory = memory.map(figures::bytes).unwrap_or_default();
            let name = names::name_of(story, workers, threads, language);
            [name, beside, memory].into_iter().chain(compared_at.is_some().then_some(p95)).collect()
        };
    let of_other = |it: &Equivalent| {
        let beside = say.share(it.ratio, it.ratio_interval);
        row(it.workers, it.threads, beside, it.memory_bytes, it.latency_s_p95)
    };
    let of_chosen = || {
        let Decision { workers, threads, memory_bytes, latency_s_p95, .. } = decision;
        row(*workers, *threads, labels.chosen.to_string(), *memory_bytes, *latency_s_p95)
    };
    let chosen = compared_at.is_some().then(of_chosen).into_iter();
    let mut head = vec![names::configurations(story, language), labels.capacity_beside];
    head.push(labels.memory);
    head.extend(compared_at.as_deref());
    let rows = chosen.chain(decision.equivalent.iter().map(of_other)).collect();
    let table = Table::new(&head, 1.., rows);
    let title = say.list(&[labels.equivalent, labels.least_memory_first].map(String::from));
    Section::new(title, vec![Block::Table(table)])
}

/// Latencies of the trials that stand behind the printed capacity.
fn latency(story: &Story, language: Language) -> Section {
    let labels = language.labels();
    let is_of_it = |trial: &&TrialSummary| {
        trial.purpose == TrialPurpose::Confirm
            && trial.valid
            && Some(trial.configuration) == story.chosen()
    };
    let row = |trial: &TrialSummary| {
        let it = &trial.summary.latency_s;
        let mut row = vec![trial.id.to_string(), names::offered(&trial.offered, language)];
        row.extend([it.p50, it.p90, it.p95, it.p99, it.p999, it.max].map(figures::latency));
        row
    };
    let rows: Vec<_> = story.trials.iter().filter(is_of_it).map(row).collect();
    if rows.is_empty() {
        return Section::default();
    }
    let head = [labels.trial, labels.load, "p50", "p90", "p95", "p99", "p99.9", "max"];
    let from = Block::Paragraph(labels.latency_from.to_string());
    let table = Block::Table(Table::new(&head, 1.., rows));
    Section::new(labels.latency, vec![from, table]).only(Medium::Page)
}

/// How it was measured, for who sees it scroll past.
fn how_in_sentences(story: &Story, language: Language) -> Section {
    let say = language.phrases();
    let mut all = vec![sentences::method(story, language)];
    let mut report = None;
    let machine = story.machine.as_ref();
    all.extend(machine.map(|it| say.measured_on(&say.machine(it))));
    all.extend(sentences::predictions_scored(story, language));
    if let Some((session, trials)) = story.resumed {
        all.push(say.took_up(session, &say.count(u64::from(trials), Counted::Trials)));
    }
    if let Some(stored) = &story.stored {
        let store = outside::shorten(&outside::line(&stored.store), 60);
        all.push(say.stored_as(stored.session, &store));
        let (session, option) = (stored.session, store_option(&stored.store));
        let text = format!("sweetspot report {session} -o markdown=report.md{option}");
        report = Some(Block::Code { above: String::new(), syntax: "sh", text });
    }
    let sentences = all.into_iter().map(Block::Paragraph);
    Section::new("", sentences.chain(report).collect()).only(Medium::Terminal)
}

/// What names the store in a command to paste: all of its path, or nothing for the default one.
fn store_option(store: &str) -> String {
    if store == DEFAULT_STORE {
        return String::new();
    }
    // No path holds the one byte that a shell cannot be told.
    format!(" --store {}", shlex::try_quote(store).unwrap_or_default())
}

/// How it was measured, for who reads it elsewhere and later.
fn how(story: &Story, notes: Vec<String>, language: Language) -> Section {
    let (say, labels) = (language.phrases(), language.labels());
    let mut values = vec![
        (labels.app, story.app.clone(), Kind::Code),
        (labels.server, story.server.clone(), Kind::Text),
        (labels.goal, story.goals.to_string(), Kind::Code),
    ];
    let machine = story.machine.as_ref().map(|it| say.machine(it));
    values.extend(machine.map(|it| (labels.machine, it, Kind::Text)));
    let stored = story.stored.as_ref();
    let stored = stored.map(|it| say.stored_in(it.session, &it.store, &it.started_at));
    values.extend(stored.map(|it| ("", it, Kind::Text)));
    let method = Block::Paragraph(sentences::method(story, language));
    let blocks = vec![method, Block::Values(values), Block::Bullets(notes)];
    Section::new(labels.how, blocks).only(Medium::Page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::render::text;
    use crate::report::{Stored, Style};

    /// What is printed of a session in this store, and where it is said to be stored.
    fn said(store: &str, language: Language) -> (Vec<String>, String) {
        let started_at = "2026-11-20T18:46:44Z".to_string();
        let stored = Some(Stored { session: 3, store: store.to_string(), started_at });
        let section = how_in_sentences(&Story { stored, ..Story::default() }, language);
        let [.., Block::Paragraph(said), Block::Code { .. }] = &section.blocks[..] else {
            panic!("{section:?}")
        };
        let said = said.clone();
        let document = Document { language, sections: vec![section] };
        (text(&document, Style { language, ..Style::PLAIN }), said)
    }

    #[test]
    fn the_command_for_a_report_can_be_pasted_and_reads_this_store() {
        assert_eq!(DEFAULT_STORE, crate::store::DEFAULT_PATH);
        let long = format!("/srv/{}results.db", "deep/".repeat(20));
        let whole = format!(" --store {long}");
        let cases = [
            (DEFAULT_STORE, ""),
            ("results.db", " --store results.db"),
            ("../other/.sweetspot/sweetspot.db", " --store ../other/.sweetspot/sweetspot.db"),
            ("/srv/my shop/s.db", " --store '/srv/my shop/s.db'"),
            ("/srv/$(id)/s.db", " --store '/srv/$(id)/s.db'"),
            (long.as_str(), whole.as_str()),
        ];
        for language in [Language::English, Language::Japanese] {
            for (store, option) in cases {
                let command = format!("    sweetspot report 3 -o markdown=report.md{option}");
                let (lines, _) = said(store, language);
                assert_eq!(lines.last(), Some(&command), "{lines:#?}");
            }
        }
        let (_, said) = said(&long, Language::English);
        assert!(said.starts_with("Stored as session 3 in /srv/deep/deep/deep…"), "{said}");
    }
}
