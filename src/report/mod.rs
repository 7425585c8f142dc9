//! Events in, pictures and tables out: a file or folder a format.
//!
//! A report shows what the events say and nothing else, so one made a year later from the store is
//! the same report. Must not measure, judge or open the store.
//!
//! Events are put together once ([`story`]) and put into words once (`words`, `map`, `figures`);
//! each format only lays them out.

pub mod csv;
mod detail;
pub mod facts;
pub mod figures;
mod goals_text;
pub mod html;
pub mod json;
pub mod junit;
mod knob_words;
pub mod load;
mod map;
mod map_text;
pub mod markdown;
pub mod metrics;
mod objective_text;
pub mod outside;
pub mod plan_words;
mod prometheus;
pub mod push;
mod sparkline;
pub mod story;
pub mod terminal;
pub mod text;
mod used_words;
mod wording;
mod words;

pub mod compare_text;
pub mod doctor_text;
pub mod lab_progress;
pub mod lab_text;
pub mod predict_text;
pub mod verify_text;
pub mod watch_text;

pub mod capacity_text;
use std::io;

use crate::terms::{Decision, Event};
pub use story::{Stored, Story, fold};
pub use text::Style;
pub use wording::{AnyFact, FindingWords, Language, Said};

/// Takes a session's events one by one.
pub trait Reporter {
    /// Takes the next event. Whatever is to be shown or written is so when this returns.
    ///
    /// # Errors
    /// The terminal or file cannot be written.
    fn take(&mut self, event: &Event) -> io::Result<()>;
}

/// The forms a whole session can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Text,
    Markdown,
    Json,
    Csv,
    Html,
    Junit,
    Prometheus,
}

impl Format {
    /// All of them, by the name that users type.
    pub const ALL: &[(&str, Self)] = &[
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("html", Self::Html),
        ("junit", Self::Junit),
        ("prometheus", Self::Prometheus),
    ];

    /// The format of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// The session in this form, with a line end. `style` is for text alone, but for its language,
    /// which is for all that people read.
    pub fn render(self, story: &Story, style: Style) -> String {
        match self {
            Self::Text => text::session(story, style).join("\n") + "\n",
            Self::Markdown => markdown::render(story, style.language),
            Self::Json => json::render(&json::tune_report(story)),
            Self::Csv => csv::render(story),
            Self::Html => html::render(story, None, &html::assets(), style.language),
            Self::Junit => junit::session(story),
            Self::Prometheus => prometheus::render(&metrics::of_session(story)),
        }
    }
}

/// A decision in a few words, for lists: `3 x 5, 412/s`; `name` is the configuration's.
pub fn in_short(name: &str, decision: &Decision) -> String {
    words::in_short(name, decision)
}
