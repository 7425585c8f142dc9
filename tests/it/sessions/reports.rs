//! Every report of the sample against its golden file in `tests/golden/`, and what must hold of
//! any.
//!
//! `UPDATE_GOLDEN=1 cargo test` writes the files anew; look at the difference before committing it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sweetspot::report::terminal::{Channel, Live, Plain};
use sweetspot::report::{Format, Language, Reporter, Story, Style, fold, json, outside, text};
use sweetspot::terms::{
    Configuration, Event, EventKind, Limit, LimitKind, LiveSecond, Phase, Settings, Threads,
};

use super::sample;

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

fn rendered(events: &[Event], format: Format) -> String {
    format.render(&fold(events, Some(sample::stored())), Style::PLAIN)
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
    ] {
        assert_golden(name, &rendered(&sample::events(), format));
    }
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
    story.has_threads = false;
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
    decision.limit = Limit::unknown("no rule holds");
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
    let decision = text::decision(&story, Style::PLAIN).join("\n");
    assert_eq!(result.text(), format!("{decision}\n"));
}

#[test]
fn on_a_terminal_one_line_shows_the_running_trial_and_is_gone_at_the_end() {
    let (progress, result) = (Captured::default(), Captured::default());
    let mut live = Live::new(progress.channel(false), result.channel(true), None);
    let events = sample::events();
    let started = events
        .iter()
        .position(|event| matches!(event.kind, EventKind::TrialStarted { .. }))
        .unwrap();
    for event in &events[..=started] {
        live.take(event).unwrap();
    }
    let second = LiveSecond {
        at: Duration::from_secs(9),
        phase: Phase::Measure,
        due: 260,
        sent: 260,
        replies: 257,
        errors: 2,
        in_flight: 9,
        in_flight_mean: 8.4,
        p95: Some(Duration::from_millis(38)),
    };
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
            for line in text::session(&story, style) {
                let is_pasted = pasted.lines().any(|pasted| pasted == line.trim());
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
    for format in [Format::Text, Format::Markdown, Format::Csv] {
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
    let report = json::fold(&sample::events(), Some(sample::stored()));
    let read: json::TuneReport = serde_json::from_str(&json::render(&report)).unwrap();
    assert_eq!(read, report);
    assert_eq!(report.trials.len(), 12);
    assert_eq!(report.decision.unwrap().workers, 3);
}

#[test]
fn colours_change_nothing_but_colours() {
    let story = fold(&sample::events(), Some(sample::stored()));
    let plain = text::session(&story, Style::PLAIN).join("\n");
    let coloured = text::session(&story, Style { colour: true, ..Style::PLAIN }).join("\n");
    let mut without = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        without.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    without.push_str(rest);
    assert_eq!(without, plain);
    assert_ne!(coloured, plain);
}
