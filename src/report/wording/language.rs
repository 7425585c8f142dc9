//! A language by its name, and that a fact can be said in it.
//!
//! In: names and facts. Out: sentences, each made by what says its family: [`Fact::in_words`]. A
//! fact that holds another has it said here, and so needs no other file's sentences.

use crate::terms::{Stated, Warning};

/// Something that each language has a sentence for.
pub trait Fact {
    fn in_words(&self, language: Language) -> String;
}

/// A fact as its sentence, and text as it is.
impl<F: Fact> Fact for Stated<F> {
    fn in_words(&self, language: Language) -> String {
        match self {
            Self::Fact(fact) => fact.in_words(language),
            Self::Verbatim(text) => text.clone(),
        }
    }
}

/// A language for text that people read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    /// That of formats which programs read.
    pub const DATA: Self = Self::English;
    /// All of them, by the name that users type.
    pub const ALL: &[(&str, Self)] = &[("en", Self::English), ("ja", Self::Japanese)];

    /// The language of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, language)| *language)
    }

    /// Its name in `lang="…"` and `--lang`.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    /// What the locale asks for; `values`: those of `LC_ALL`, `LC_MESSAGES` and `LANG` in that
    /// order. As POSIX has it, the first one that is set and not empty decides.
    pub fn of_locale<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let locale = values.into_iter().flatten().find(|value| !value.is_empty());
        let name = locale.unwrap_or_default().split(['_', '.', '@']).next();
        name.and_then(Self::find).unwrap_or_default()
    }

    /// A fact as a sentence; text as it is.
    pub fn say<F: Fact>(self, stated: &Stated<F>) -> String {
        self.say_fact(stated)
    }

    /// A fact as a sentence.
    pub fn say_fact<F: Fact>(self, fact: &F) -> String {
        fact.in_words(self)
    }

    /// What is said, in its order.
    pub fn say_each(self, all: &[impl Fact]) -> Vec<String> {
        all.iter().map(|one| self.say_fact(one)).collect()
    }

    /// Empty where nothing is said.
    pub fn say_or_empty<F: Fact>(self, stated: Option<&Stated<F>>) -> String {
        stated.map(|it| self.say(it)).unwrap_or_default()
    }

    /// A doubt and its advice as one sentence.
    pub fn say_warning(self, warning: &Warning) -> String {
        self.say_fact(warning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_decides() {
        for (values, expected) in [
            ([None, None, Some("ja_JP.UTF-8")], Language::Japanese),
            ([Some(""), Some("ja"), Some("en_US")], Language::Japanese),
            ([Some("C"), None, Some("ja_JP.UTF-8")], Language::English),
            ([None, None, Some("java")], Language::English),
            ([None, None, Some("de_DE.UTF-8")], Language::English),
            ([None, None, None], Language::English),
        ] {
            assert_eq!(Language::of_locale(values), expected, "{values:?}");
        }
        for (name, language) in Language::ALL {
            assert_eq!(language.name(), *name);
        }
    }
}
