//! Flags among the words that a server is given: numbers, the kind of workers, and the variables
//! that these follow.
//!
//! In: words. Out: flags with their values. Only computes.

use super::shell::{expanded, least_and_most, variable};
use crate::server::{FlagNames, Flags, MinThreads, Obeys};

/// What a server is given by a command, or by the variable that has more of its flags.
pub struct Given {
    pub words: Vec<String>,
    pub file: &'static str,
    /// The variable that has them; `None`: a command does.
    pub variable: Option<&'static str>,
}

/// The flags of these; what is given last comes before what is given first.
pub fn flags(
    given: &[Given],
    names: FlagNames,
    of: &dyn Fn(&str) -> Option<String>,
) -> Option<Flags> {
    let last_count = |names| given.iter().rev().find_map(|it| count(it, names, of));
    let (workers, threads) = (last_count(names.workers), last_count(names.threads));
    let kind = given.iter().rev().find_map(|it| all_given(&it.words, names.kind).last());
    let counts = [&workers, &threads].into_iter().flatten();
    let file = counts.clone().next().map(|it| it.file).or(given.last().map(|it| it.file))?;
    let flags = Flags {
        fixed: counts.filter(|it| it.file == file).filter_map(Count::fixed).collect(),
        kind: kind.and_then(|(_, text)| expanded(text, of)).filter(|it| !it.is_empty()),
        obeys: obeys(workers.as_ref(), threads.as_ref()),
        workers: workers.map(|it| it.number),
        threads: threads.map(|it| it.number),
        file,
    };
    (flags != Flags { file, ..Flags::default() }).then_some(flags)
}

/// A number that a flag gives.
struct Count<'a> {
    flag: &'a str,
    text: &'a str,
    number: u16,
    file: &'static str,
}

impl Count<'_> {
    /// As it is written, where no variable changes it.
    fn fixed(&self) -> Option<String> {
        (!self.text.contains('$')).then(|| format!("{} {}", self.flag, self.text))
    }
}

/// The number that the last of these flags gives; of `least:most` the most.
fn count<'a>(
    given: &'a Given,
    names: &'a [&'a str],
    of: &dyn Fn(&str) -> Option<String>,
) -> Option<Count<'a>> {
    let number = |text: &str| expanded(text, of)?.rsplit(':').next()?.parse::<u16>().ok();
    let known = all_given(&given.words, names).filter_map(|(flag, text)| {
        let number = number(text)?.max(1);
        Some(Count { flag, text, number, file: given.file })
    });
    known.last()
}

/// The variables that flags take their numbers from.
fn obeys(workers: Option<&Count<'_>>, threads: Option<&Count<'_>>) -> Obeys {
    let named = |text: &str| variable(text).map(str::to_string);
    let (least, most) = threads.map(|it| least_and_most(it.text)).unwrap_or_default();
    let fixed = || MinThreads::Fixed(least.parse().unwrap_or_default());
    Obeys {
        workers: workers.and_then(|it| named(it.text)),
        max_threads: named(most),
        min_threads: named(least).map_or_else(fixed, MinThreads::Variable),
    }
}

/// Each of these flags with its value.
pub fn all_given<'a>(
    words: &'a [String],
    names: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    with_next(words).filter_map(move |(word, next)| given(word, next, names))
}

/// Each word with the one behind it; behind the last there is nothing.
pub fn with_next(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let all = words.iter().map(String::as_str);
    all.clone().zip(all.skip(1).chain([""]))
}

/// Flag and value of `-w 3`, `-w3`, `--workers 3` or `--workers=3`.
pub fn given<'a>(word: &'a str, next: &'a str, names: &[&'a str]) -> Option<(&'a str, &'a str)> {
    names.iter().find_map(|name| {
        let rest = word.strip_prefix(name)?;
        let joined = match name.starts_with("--") {
            true => rest.strip_prefix('='),
            false => Some(rest).filter(|rest| !rest.is_empty()),
        };
        match rest.is_empty() {
            true => Some((*name, next)),
            false => Some((*name, joined?)),
        }
    })
}
