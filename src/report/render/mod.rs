//! Documents as text, Markdown and HTML: a file a format.
//!
//! In: a `Document`. Out: text in which whatever came from outside is
//! shown and does nothing ([`outside`](super::outside)). Says nothing of its own.

mod grid;
mod html;
pub mod log;
mod markdown;
pub mod sparkline;
mod style;
pub mod text;
pub mod trial;

pub use html::html;
pub use markdown::markdown;
pub use style::Style;
pub use text::text;

use super::document::Document;

/// A document as plain text of 80 columns, ending in a line end.
pub fn plain(document: &Document) -> String {
    text(document, Style::PLAIN).join("\n") + "\n"
}
