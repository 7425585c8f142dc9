//! How text may look, and the codes of its colours.

use crate::report::Language;
use crate::report::outside::wrap;

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// Columns; less than 60 is taken as 60.
    pub width: u16,
    pub language: Language,
}

impl Style {
    /// Eighty columns of English without colours: files, pipes, tests.
    pub const PLAIN: Self = Self { colour: false, width: 80, language: Language::English };

    pub(super) fn columns(self) -> usize {
        usize::from(self.width.max(60))
    }

    /// A sentence behind a label of this many columns; where it goes on below, it stands below its
    /// beginning.
    pub(super) fn behind(self, label: &str, columns: usize, sentence: &str) -> Vec<String> {
        let parts = wrap(sentence, self.columns().saturating_sub(columns)).into_iter();
        let labels = std::iter::once(label.to_string());
        let labels = labels.chain(std::iter::repeat(" ".repeat(columns)));
        labels.zip(parts).map(|(label, part)| label + &part).collect()
    }

    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}
