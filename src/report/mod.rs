//! Events in, pictures and tables out.
//!
//! A report shows what the events say and nothing else, so one made a year later from the store is
//! the same report. Must not measure, judge or open the store.
//!
//! On the way: events are put together into a [`story`], [`document`] makes blocks of it in the
//! words of `wording`, and [`render`] makes text, Markdown or HTML of these. What programs read
//! comes straight from the story: [`export`], and the data of the [`page`]. [`terminal`] shows
//! a session as it goes.

pub mod document;
pub mod export;
pub mod figures;
pub mod outside;
pub mod page;
pub mod render;
pub mod story;
#[expect(clippy::disallowed_methods, reason = "writes to the standard streams")]
pub mod terminal;
mod wording;

use std::io;

use crate::terms::Event;
pub use document::sentences::in_short;
pub use export::{csv, facts, json, junit, load, metrics, push};
pub use render::Style;
pub use story::{Stored, Story, fold};
pub use wording::{AnyFact, FindingWords, Language, Said, planned};

/// Takes a session's events one by one.
pub trait Reporter {
    /// Takes the next event. Whatever is to be shown or written is so when this returns.
    ///
    /// # Errors
    /// The terminal or file cannot be written.
    fn take(&mut self, event: &Event) -> io::Result<()>;
}

/// The forms that a result can be written in, each with a name.
pub trait NamedForm: Copy + PartialEq + 'static {
    /// All of them, by the name that users type.
    const ALL: &'static [(&'static str, Self)];

    /// The form of this name.
    fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
    }

    /// The name that users type.
    fn name(self) -> &'static str {
        let of_this = Self::ALL.iter().find(|(_, form)| *form == self);
        of_this.map(|(name, _)| *name).expect("ALL has every form")
    }
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

impl NamedForm for Format {
    const ALL: &'static [(&'static str, Self)] = &[
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("html", Self::Html),
        ("junit", Self::Junit),
        ("prometheus", Self::Prometheus),
    ];
}

impl Format {
    /// The session in this form, with a line end. `style` is for text alone, but for its language,
    /// which is for all that people read.
    pub fn render(self, story: &Story, style: Style) -> String {
        let document = || document::session(story, style.language);
        match self {
            Self::Text => render::text(&document(), style).join("\n") + "\n",
            Self::Markdown => render::markdown(&document()),
            Self::Json => json::render(&json::tune_report(story)),
            Self::Csv => csv::render(story),
            Self::Html => page::render(story, None, &page::assets(), style.language),
            Self::Junit => junit::session(story),
            Self::Prometheus => export::prometheus::render(&metrics::of_session(story)),
        }
    }
}

/// The decision as text, a line an entry: all that `tune` prints at the end.
pub fn decision(story: &Story, style: Style) -> Vec<String> {
    render::text(&document::decision(story, style.language), style)
}
