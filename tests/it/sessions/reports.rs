//! Every report of the sample against its golden file in `tests/golden/`, and what must hold of
//! any.
//!
//! `UPDATE_GOLDEN=1 cargo test` writes the files anew; look at the difference before committing it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sweetspot::report::facts::without_sentences;
use sweetspot::report::terminal::{Channel, Live, Plain};
use sweetspot::report::{
    Format, Language, Reporter, Story, Style, csv, decision, document, fold, json, outside, render,
};
use sweetspot::terms::{
    Configuration, Event, EventKind, Limit, LimitKind, LiveSecond, PlannedGoal, SessionState,
    Settings, Threads, TrialSummary, WaitingEvidence, Window,
};

use super::sample;
use crate::schema::report_of;

/// The file's content must be `actual`, to the last byte.
fn assert_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == actual,
        "{} differs; UPDATE_GOLDEN=1 writes it anew. It is now:\n{actual}",
        path.display()
    );
}

pub fn rendered(events: &[Event], format: Format) -> String {
    format.render(&fold(events, Some(sample::stored())), Style::PLAIN)
}

fn lines(story: &Story, style: Style) -> Vec<String> {
    render::text(&document::session(story, style.language), style)
}

/// A writer whose content can be looked at.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn channel(&self, colour: bool) -> Channel {
        Channel { writer: Box::new(self.clone()), style: Style { colour, ..Style::PLAIN } }
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_finished_session_reads_the_same_in_every_format_as_it_did() {
    for (format, name) in [
        (Format::Text, "session.txt"),
        (Format::Markdown, "session.md"),
        (Format::Json, "session.json"),
        (Format::Csv, "session.csv"),
        (Format::Junit, "session.junit.xml"),
        (Format::Prometheus, "session.prom"),
    ] {
        assert_golden(name, &rendered(&sample::events(), format));
    }
}

#[test]
fn every_table_reads_as_it_did_and_has_its_columns_described() {
    let document = include_str!("../../../docs/reports.md");
    let story = fold(&sample::events(), Some(sample::stored()));
    let tables = csv::tables(&story);
    assert_eq!(tables[0].content, Format::Csv.render(&story, Style::PLAIN));
    for table in &tables {
        assert_golden(&format!("tables/{}", table.file), &table.content);
        assert!(document.contains(&format!("`{}`", table.file)), "{}", table.file);
        let mut reader = ::csv::Reader::from_reader(table.content.as_bytes());
        for column in reader.headers().unwrap() {
            assert!(document.contains(&format!("`{column}`")), "{column} of {}", table.file);
        }
        assert!(reader.records().all(|row| row.is_ok()), "{}", table.content);
    }
    // A session that knows nothing has the same files, with their heads alone.
    let empty = csv::tables(&fold(&[], None));
    assert!(empty.iter().all(|table| table.content.lines().count() == 1));
    assert_eq!(empty.len(), tables.len());
}

#[test]
fn ci_is_told_what_was_found_what_is_undecided_and_what_could_not_be_measured() {
    let cases = |events: &[Event]| -> Vec<String> {
        let text = rendered(events, Format::Junit);
        let outcome = |line: &&str| {
            ["<testcase", "<failure", "<error", "<skipped"].iter().any(|it| line.contains(it))
        };
        let tag = |line: &str| line.trim().split([' ', '>']).next().unwrap().to_string();
        text.lines().filter(outcome).map(tag).collect()
    };
    assert_eq!(cases(&sample::events()), ["<testcase"]);
    assert_eq!(cases(&sample::hopeless_events()), ["<testcase", "<failure"]);
    assert_eq!(cases(&sample::invalid_events()), ["<testcase", "<skipped"]);
    assert_eq!(cases(&sample::unfinished_events()), ["<testcase", "<error"]);
    assert_golden("hopeless.junit.xml", &rendered(&sample::hopeless_events(), Format::Junit));
}

#[test]
fn a_long_session_still_fits_a_comment_on_a_pull_request() {
    let mut story = fold(&sample::events(), Some(sample::stored()));
    let trials = story.trials.clone();
    for id in 13..=600 {
        let trial = trials[id as usize % trials.len()].clone();
        story.trials.push(TrialSummary { id, ..trial });
    }
    let page = Format::Markdown.render(&story, Style::PLAIN);
    assert!(page.chars().count() < 65_536, "{}", page.chars().count());
    assert!(page.contains("| 600 | "), "the last trials are shown");
    assert!(page.contains("400 more are left out here"), "{page}");
}

#[test]
fn in_japanese_a_session_reads_as_it_did_and_what_scripts_read_has_no_language() {
    let japanese = Style { language: Language::Japanese, ..Style::PLAIN };
    for (events, format, name) in [
        (sample::events(), Format::Text, "session.ja.txt"),
        (sample::events(), Format::Markdown, "session.ja.md"),
        (sample::hopeless_events(), Format::Text, "hopeless.ja.txt"),
        (sample::invalid_events(), Format::Text, "invalid.ja.txt"),
        (sample::unfinished_events(), Format::Text, "unfinished.ja.txt"),
    ] {
        let story = fold(&events, Some(sample::stored()));
        assert_golden(name, &format.render(&story, japanese));
    }
    let story = fold(&sample::events(), Some(sample::stored()));
    for format in [Format::Json, Format::Csv] {
        assert_eq!(format.render(&story, japanese), format.render(&story, Style::PLAIN));
    }
}

/// The sample on a server whose workers have one thread each.
fn story_in_workers() -> Story {
    let mut story = fold(&sample::events(), Some(sample::stored()));
    story.has_no_threads = true;
    let in_workers = |one: &mut Configuration| one.threads = Threads::new(1).unwrap();
    story.trials.iter_mut().for_each(|trial| in_workers(&mut trial.configuration));
    story.trials.iter_mut().for_each(|trial| trial.limit.kind = LimitKind::Threads);
    story.boot_failures.iter_mut().for_each(|(configuration, _)| in_workers(configuration));
    story.predicted.retain(|prediction| prediction.threads == 1);
    story.current.as_mut().unwrap().threads = 1;
    let decision = story.decision.as_mut().unwrap();
    decision.threads = 1;
    decision.equivalent.iter_mut().for_each(|other| other.threads = 1);
    // What a server's adapter, its app and the plan say is theirs.
    decision.settings = Settings::default();
    decision.limit = Limit::unknown(WaitingEvidence::NotSaturated);
    story.plan.clear();
    story.warnings.clear();
    story.notes.clear();
    story
}

#[test]
fn a_server_without_threads_is_reported_in_workers_alone() {
    let story = story_in_workers();
    for format in [Format::Text, Format::Markdown] {
        let text = format.render(&story, Style::PLAIN);
        assert!(!text.to_lowercase().contains("thread"), "{text}");
        let is_pair = |words: &[&str]| {
            let is_number = |word: &str| word.parse::<u16>().is_ok();
            words[1] == "x" && is_number(words[0]) && is_number(words[2])
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(!words.windows(3).any(is_pair), "{text}");
        assert!(text.contains("Run 3 workers: it holds"), "{text}");
    }
    let text = Format::Text.render(&story, Style::PLAIN);
    assert!(text.contains("Map: requests/s within the goal, workers\n  workers\n"), "{text}");
}

#[test]
fn a_goal_on_a_smaller_quantile_than_is_kept_is_not_ruled_out_by_a_larger_one() {
    let mut story = fold(&sample::hopeless_events(), Some(sample::stored()));
    for (goal, is_ruled_out) in
        [("p95<200ms", true), ("p99.5<200ms", true), ("p80<200ms", false), ("p95<400ms", false)]
    {
        story.goals.common = Some(PlannedGoal::Given(goal.parse().unwrap()));
        assert_eq!(story.too_slow_alone().is_some(), is_ruled_out, "{goal}");
    }
}

#[test]
fn sessions_without_a_decision_say_what_was_best_and_what_to_do() {
    for (events, name) in [
        (sample::hopeless_events(), "hopeless.txt"),
        (sample::invalid_events(), "invalid.txt"),
        (sample::unfinished_events(), "unfinished.txt"),
        (Vec::new(), "empty.txt"),
    ] {
        assert_golden(name, &rendered(&events, Format::Text));
    }
    assert_golden("hopeless.md", &rendered(&sample::hopeless_events(), Format::Markdown));
}

#[test]
fn a_session_that_was_stopped_says_so_before_it_judges_its_trials() {
    let mut story = fold(&sample::invalid_events(), Some(sample::stored()));
    story.state = SessionState::Stopped;
    for (language, said) in [
        (Language::English, "Stopped before it could decide ("),
        (Language::Japanese, "決める前に"),
    ] {
        let text = Format::Text.render(&story, Style { language, ..Style::PLAIN });
        assert!(text.starts_with(said), "{text}");
    }
}

#[test]
fn without_a_terminal_progress_is_plain_lines_and_the_decision_goes_to_the_result() {
    let (progress, result) = (Captured::default(), Captured::default());
    let mut plain =
        Plain::new(progress.channel(false), result.channel(false), Some(sample::stored()));
    for event in sample::events() {
        plain.take(&event).unwrap();
    }
    assert_golden("plain.txt", &progress.text());
    assert!(!progress.text().contains(['\r', '\u{1b}']), "{}", progress.text());
    let story = fold(&sample::events(), Some(sample::stored()));
    let decision = decision(&story, Style::PLAIN).join("\n");
    assert_eq!(result.text(), format!("{decision}\n"));
}

/// Where the first trial begins.
fn first_start(events: &[Event]) -> usize {
    let is_start = |event: &Event| matches!(event.kind, EventKind::TrialStarted { .. });
    events.iter().position(is_start).unwrap()
}

#[test]
fn on_a_terminal_one_line_shows_the_running_trial_and_is_gone_at_the_end() {
    let (progress, result) = (Captured::default(), Captured::default());
    let mut live = Live::new(progress.channel(false), result.channel(true), None);
    let events = sample::events();
    let started = first_start(&events);
    for event in &events[..=started] {
        live.take(event).unwrap();
    }
    let p95 = Some(Duration::from_millis(38));
    let second = LiveSecond { errors: 2, p95, ..sample::second(9) };
    live.take(&sample::event(33.0, EventKind::Second(second))).unwrap();
    let text = progress.text();
    let last = text.rsplit('\r').next().unwrap();
    for part in ["trial 1", "1 x 5", "1 client", "257/s", "38 ms", "2 errors", "left"] {
        assert!(last.contains(part), "'{part}' is missing in {last:?}");
    }
    for event in &events[started + 1..] {
        live.take(event).unwrap();
    }
    drop(live);
    // Each redrawing of the line begins a line here, and the other sequences can be seen.
    let visible = progress.text().replace("\r\u{1b}[2K", "\n<clear>").replace('\u{1b}', "<esc>");
    assert_golden("live.txt", &visible);
    let text = progress.text();
    let below = text.rsplit('\n').next().unwrap();
    assert!(below.is_empty(), "nothing is left below the last line: {below:?}");
    assert!(result.text().contains("\u{1b}[1;32m"), "the headline is coloured on a terminal");
}

/// The sample with twelve seconds in each trial, whose p95 rises.
fn story_of_seconds() -> Story {
    let mut story = fold(&sample::events(), Some(sample::stored()));
    for trial in &mut story.trials {
        let first = trial.summary.windows[0].clone();
        let second = |at: u32| {
            let mut window = Window { start_s: f64::from(3 + at), ..first.clone() };
            window.latency_s.p95 *= f64::from(1 + at * at) / 40.0;
            window.completed += u64::from(at % 3) * first.completed / 2;
            window
        };
        trial.summary.windows = (0..12).map(second).collect();
    }
    story
}

#[test]
fn colours_shade_the_map_and_a_wide_terminal_shows_the_seconds() {
    let story = story_of_seconds();
    for (name, width) in [("colour.txt", 80), ("wide.txt", 100)] {
        let style = Style { colour: true, width, ..Style::PLAIN };
        let text = Format::Text.render(&story, style);
        assert_golden(name, &text.replace('\u{1b}', "<esc>"));
        let plain = lines(&story, Style { width, ..Style::PLAIN });
        for line in &plain {
            let is_too_wide = outside::width(line) > usize::from(width);
            assert!(!is_too_wide || line.starts_with("    "), "{line:?}");
        }
        let has_seconds = plain.iter().any(|line| line.contains('▇'));
        assert_eq!(has_seconds, width == 100, "{plain:#?}");
    }
}

#[test]
fn the_progress_line_shows_the_last_seconds_where_there_is_room() {
    for (width, expected) in [(80, "▂▂▃▃▅▅▇▇"), (100, "▇▇▇▇▇▇▇▇")] {
        let progress = Captured::default();
        let channel = Channel { style: Style { width, ..Style::PLAIN }, ..progress.channel(false) };
        let mut live = Live::new(channel, Captured::default().channel(false), None);
        let events = sample::events();
        let started = first_start(&events);
        events[..=started].iter().for_each(|event| live.take(event).unwrap());
        for at in 1..=12_u64 {
            let p95 = Some(Duration::from_millis(3 * at.saturating_sub(3)));
            let second = LiveSecond { p95, ..sample::second(at) };
            live.take(&sample::event(33.0, EventKind::Second(second))).unwrap();
        }
        let text = progress.text();
        let last = text.rsplit("\u{1b}[?7l").next().unwrap().split('\u{1b}').next().unwrap();
        assert!(last.contains(expected), "{last:?}");
        assert!(last.contains("257/s") && last.contains("left"), "{last:?}");
        assert!(outside::width(last) < usize::from(width), "{last:?}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_but_lines_to_paste() {
    for events in [sample::events(), sample::hopeless_events(), sample::invalid_events()] {
        let story = fold(&events, Some(sample::stored()));
        let languages = Language::ALL.iter().map(|(_, language)| *language);
        for (columns, language) in [60, 80, 100]
            .into_iter()
            .flat_map(|columns| languages.clone().map(move |language| (columns, language)))
        {
            let style = Style { width: columns, language, ..Style::PLAIN };
            let pasted = story
                .decision
                .as_ref()
                .map(|decision| decision.settings.config_snippet.clone())
                .unwrap_or_default();
            for line in lines(&story, style) {
                let is_pasted = pasted.lines().any(|pasted| pasted == line.trim())
                    || line.contains("'systemd-run --user --scope -p Delegate=yes sweetspot ...'");
                assert!(
                    outside::width(&line) <= usize::from(columns) || is_pasted,
                    "{line:?} is wider than {columns}"
                );
            }
        }
    }
}

#[test]
fn what_came_from_outside_is_shown_as_text() {
    for format in [Format::Text, Format::Markdown, Format::Csv, Format::Junit, Format::Prometheus] {
        let text = rendered(&sample::events(), format);
        let obeyed = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(obeyed, None, "{format:?}");
    }
    let markdown = rendered(&sample::events(), Format::Markdown);
    assert!(markdown.contains("``/srv/shop \\| `beta` <b>🛒</b>[31m``"), "{markdown}");
    assert!(
        markdown.contains("````\n[4099] * Booting `shop` | workers: 4\n"),
        "a log with a fence of its own needs a longer one: {markdown}"
    );
}

#[test]
fn json_reads_back_as_the_report_it_was_made_from() {
    let report = report_of(&sample::events(), Some(sample::stored()));
    let printed = serde_json::from_str(&json::render(&report)).unwrap();
    let read: json::TuneReport = without_sentences(printed).unwrap();
    assert_eq!(read, report);
    assert_eq!(report.trials.len(), 12);
    assert_eq!(report.decision.unwrap().workers, 3);
}

#[test]
fn colours_change_nothing_but_colours() {
    let story = fold(&sample::events(), Some(sample::stored()));
    let plain = lines(&story, Style::PLAIN).join("\n");
    let coloured = lines(&story, Style { colour: true, ..Style::PLAIN }).join("\n");
    let mut without = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        without.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    without.push_str(rest);
    // The shade of a last cell ends where the others of its column end.
    let trimmed: Vec<&str> = without.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n"), plain);
    assert_ne!(coloured, plain);
}
