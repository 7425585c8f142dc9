//! The languages that people read reports in, a file each.
//!
//! What is said is decided in `document`; how it is said, here. In: figures and
//! names that are text already. Out: unescaped plain text. Names of formats, JSON and CSV have no
//! language, and text of others stays as it is. Computes only.

/// Methods of a language that only put their arguments into a text.
macro_rules! texts {
    ($($name:ident($($argument:ident: $type:ty),*) => $text:literal;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> String {
            format!($text)
        })*
    };
}

mod english;
mod fact;
mod japanese;
mod labels;
mod language;
mod phrases;
mod plan;
pub mod planned;

use crate::terms::{AtOneRate, FigureKind, MachineCheck, Warning};
pub use fact::AnyFact;
pub use labels::{Labels, PageWords};
pub use language::{Fact, Language};
pub use phrases::{
    Counted, FindingWords, Found, FrontHeading, Inside, Lasted, MemoryPart, Nearest, Phrases,
    Soaked, Sureness, Today, Undone, WayOut, Why,
};
pub use plan::{PlanPhrases, PlanWord};

/// What each language says, and how it names things.
impl Language {
    /// What two results are compared by, as its row is headed.
    pub fn figure(self, figure: FigureKind) -> String {
        match self {
            Self::English => figure.to_string(),
            Self::Japanese => japanese::reason::name(figure).trim_end().to_string(),
        }
    }

    /// What a check of the machine found, and what to do about it.
    pub fn say_finding(self, check: &MachineCheck) -> FindingWords {
        match self {
            Self::English => english::finding::words(check),
            Self::Japanese => japanese::finding::words(check),
        }
    }

    /// What the other pods of a way to cut an app do once one is gone; `None`: that is not known.
    pub fn say_a_pod_less(self, of: &AtOneRate) -> Option<String> {
        match self {
            Self::English => english::at_one_rate::a_pod_less(of),
            Self::Japanese => japanese::at_one_rate::a_pod_less(of),
        }
    }

    /// A doubt, and its advice apart.
    pub fn say_doubt(self, warning: &Warning) -> Said {
        match warning {
            Warning::Doubt(doubt) => Said {
                message: self.say_fact(doubt),
                advice: match self {
                    Self::English => english::doubt::advice(doubt),
                    Self::Japanese => japanese::doubt::advice(doubt),
                },
            },
            Warning::Verbatim { message, advice, .. } => {
                Said { message: message.clone(), advice: advice.clone() }
            }
        }
    }

    /// Its sentences.
    pub(super) fn phrases(self) -> &'static dyn Phrases {
        match self {
            Self::English => &english::English,
            Self::Japanese => &japanese::Japanese,
        }
    }

    /// Its headings and single words.
    pub(super) fn labels(self) -> &'static Labels {
        match self {
            Self::English => &labels::ENGLISH,
            Self::Japanese => &labels::JAPANESE,
        }
    }

    /// What only the page says.
    pub(super) fn page_words(self) -> &'static PageWords {
        match self {
            Self::English => &labels::ENGLISH_PAGE,
            Self::Japanese => &labels::JAPANESE_PAGE,
        }
    }
}

impl Fact for Warning {
    /// A doubt and its advice as one sentence.
    fn in_words(&self, language: Language) -> String {
        let Said { message, advice } = language.say_doubt(self);
        match advice.as_str() {
            "" => message,
            _ => language.phrases().doubt(&message, &advice),
        }
    }
}

/// What was seen, and what to do about it: empty when nothing can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub message: String,
    pub advice: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures;

    #[test]
    fn times_leave_out_what_is_nothing() {
        let say = Language::Japanese.phrases();
        for (seconds, text) in [(0.0, "0 秒"), (60.0, "1 分"), (372.0, "6 分 12 秒")] {
            assert_eq!(say.span(seconds), text);
        }
        assert_eq!(say.span(7500.0), "2 時間 5 分");
        for seconds in [0.0, 48.2, 372.0, 600.0, 3600.0, 7505.0, f64::NAN] {
            assert_eq!(Language::English.phrases().span(seconds), figures::span(seconds));
        }
    }
}
