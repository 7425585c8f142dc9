//! One HTML file with everything in it: what is to be read without a script, the data, and the page
//! that draws it. Opens years later without a network.
//!
//! In: a [`Story`], or what `compare` and `lab run` answer. Out: the file's text. Computes only.
//! The page itself is TypeScript in `ui/`; a build without Node leaves it out, and the file then
//! has what is read without it.

mod data;
mod file;

pub use data::{
    ComparePage, Content, Page, Running, SessionHead, TrialRow, Words, head, predictions, running,
    session, trial,
};
pub use file::{Assets, assets, shell};

use super::document::{self, Document, names};
use super::outside::line;
use super::story::Story;
use super::{Language, render};
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
    file(&title(story), &document::session(story, language), &page, assets)
}

/// The page of two sessions or loads that were compared.
pub fn compare(report: &CompareReport, assets: &Assets) -> String {
    let title = format!("{} beside {} - sweetspot", report.b.name, report.a.name);
    let page = Page::of(Content::Compare(ComparePage::of(report)));
    file(&title, &document::compare::document(report), &page, assets)
}

/// The page of a published experiment that was measured here.
pub fn lab(result: &LabResult, assets: &Assets) -> String {
    let page = Page::of(Content::Lab(result));
    let title = format!("{} - sweetspot", result.title);
    file(&title, &document::lab::document(result), &page, assets)
}

fn file(title: &str, plain: &Document, page: &Page<'_>, assets: &Assets) -> String {
    file::render(title, render::html(plain), page, assets, plain.language)
}

/// `3 x 5, 412/s - shop - sweetspot`.
fn title(story: &Story) -> String {
    let app = line(&story.app);
    let app = app.rsplit('/').next().unwrap_or_default();
    let decision = story.decision.as_ref().map(|decision| {
        let name = names::name_of(story, decision.workers, decision.threads, Language::English);
        document::sentences::in_short(&name, decision)
    });
    let parts = decision.into_iter().chain((!app.is_empty()).then(|| app.to_string()));
    parts.chain(["sweetspot".to_string()]).collect::<Vec<_>>().join(" - ")
}
