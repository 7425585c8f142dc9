//! `--lang`: the language of what people read.

use super::options::one_of;
use crate::report::Language;

#[derive(Debug, clap::Args)]
pub struct LanguageArgument {
    /// Language of what people read, en or ja; JSON and CSV have none [default: ja where LC_ALL,
    /// LC_MESSAGES or LANG asks for it, else en]
    #[arg(long, value_name = "LANGUAGE", hide_possible_values = true)]
    #[arg(value_parser = one_of(Language::ALL))]
    lang: Option<Language>,
}

impl LanguageArgument {
    /// What was typed, else what the environment asks for.
    pub fn language(&self) -> Language {
        self.lang.unwrap_or_else(|| {
            let values = ["LC_ALL", "LC_MESSAGES", "LANG"].map(|name| std::env::var(name).ok());
            Language::of_locale(values.iter().map(Option::as_deref))
        })
    }
}
