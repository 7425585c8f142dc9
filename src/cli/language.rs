//! `--lang`: the language of what people read.

use crate::report::Language;

#[derive(Debug, clap::Args)]
pub struct LanguageArgument {
    /// Language of what people read, en or ja; JSON and CSV have none [default: ja where LC_ALL,
    /// LC_MESSAGES or LANG asks for it, else en]
    #[arg(long, value_name = "LANGUAGE", value_parser = parse)]
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

fn parse(name: &str) -> Result<Language, String> {
    let known = || Language::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Language::find(name).ok_or_else(|| format!("no such language; write one of {}", known()))
}
