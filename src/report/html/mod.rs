//! One HTML file with everything in it: what is to be read without a script, the data, and the page
//! that draws it. Opens years later without a network.
//!
//! In: a [`Story`], or what `compare` and `lab run` answer. Out: the file's text. Computes only.
//! The page itself is TypeScript in `ui/`; a build without Node leaves it out, and the file then
//! has what is read without it.

mod document;
mod fallback;
pub mod page;

pub use document::{Assets, assets, shell};
pub use page::{
    ComparePage, Content, Page, Running, SessionHead, TrialRow, Words, head, running, session,
    trial,
};

use super::Language;
use super::story::Story;
use crate::terms::{CompareReport, LabResult, PredictTable};

/// A session's page. `predict`: what its sliders move over; `language`: of what is read without a
/// script, and what the page begins with.
pub fn render(
    story: &Story,
    predict: Option<&PredictTable>,
    assets: &Assets,
    language: Language,
) -> String {
    let page = Page::of(Content::Session(Box::new(session(story, predict))));
    let plain = fallback::session(story, language);
    document::render(&fallback::title(story), plain, &page, assets, language)
}

/// The page of two sessions or loads that were compared.
pub fn compare(report: &CompareReport, assets: &Assets) -> String {
    let title = format!("{} beside {} - sweetspot", report.b.name, report.a.name);
    let page = Page::of(Content::Compare(ComparePage::of(report)));
    document::render(&title, fallback::compare(report), &page, assets, Language::English)
}

/// The page of a published experiment that was measured here.
pub fn lab(result: &LabResult, assets: &Assets) -> String {
    let page = Page::of(Content::Lab(result));
    let title = format!("{} - sweetspot", result.title);
    document::render(&title, fallback::lab(result), &page, assets, Language::English)
}
