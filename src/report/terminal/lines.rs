//! Full lines of a session as it goes, with and without a progress line below them.
//!
//! In: the story and its last event. Out: lines, and the decision on its channel.

use std::io;

use super::Channel;
use crate::report::document::{self, knobs, tables};
use crate::report::render::{log, text, trial};
use crate::report::{Story, Style, decision};
use crate::terms::{Event, EventKind};

/// What is said of an event as it happens: plan, doubts, trials, failures.
pub fn noteworthy(story: &Story, event: &Event, style: Style) -> Vec<String> {
    let language = style.language;
    match &event.kind {
        EventKind::SessionStarted { .. } => {
            let mut lines = text::text(&document::plan_alone(story, language), style);
            lines.push(String::new());
            lines
        }
        EventKind::Resumed { session, trials } => {
            vec![language.phrases().taking_up(*session, *trials)]
        }
        EventKind::Warned(warning) => {
            text::labelled(language.labels().warning, &language.say_warning(warning), style)
        }
        EventKind::BootFailed { configuration, variant, failure } => {
            let what = knobs::did_not_start(story, *configuration, *variant, failure, language);
            log::failure(&what, &failure.last_lines, style)
        }
        EventKind::TrialFinished { summary, .. } => {
            trial::trial(&tables::trial(story, summary, language), style)
        }
        _ => Vec::new(),
    }
}

/// What a server said that could not be used, and what to do.
pub fn server_words(last_lines: &[String], advice: &str, style: Style) -> Vec<String> {
    let mut lines = log::log(last_lines, style);
    lines.extend(text::labelled(style.language.labels().what_to_do, advice, style));
    lines
}

/// The decision, set off from the progress above it.
pub fn conclude(progress: &mut Channel, result: &mut Channel, story: &Story) -> io::Result<()> {
    progress.print(&[String::new()])?;
    let style = result.style;
    result.print(&decision(story, style))
}
