//! How settings, loads and limits are called in a language.

use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::{Counted, Language};
use crate::terms::{Configuration, LimitKind, Offered};

/// The limit as people name it; where there are no threads to choose, workers are what it lacks.
pub fn limit_title(story: &Story, kind: LimitKind, language: Language) -> &'static str {
    match kind {
        LimitKind::Gvl | LimitKind::Threads if !story.has_threads() => language.labels().workers,
        kind => language.phrases().limit(kind),
    }
}

/// The load of a trial: `412/s` or `10 clients`.
pub fn offered(offered: &Offered, language: Language) -> String {
    match offered {
        Offered::Open { rate, .. } => figures::rate(rate.as_per_second()),
        Offered::Closed { clients, .. } => {
            language.phrases().count(u64::from(*clients), Counted::Clients)
        }
    }
}

/// A configuration in short: `3 x 5`, or `3 workers` where there are no threads to choose.
pub fn name_of(story: &Story, workers: u16, threads: u16, language: Language) -> String {
    match story.has_threads() {
        true => format!("{workers} x {threads}"),
        false => language.phrases().count(u64::from(workers), Counted::Workers),
    }
}

/// [`name_of`] a configuration.
pub fn name(story: &Story, configuration: Configuration, language: Language) -> String {
    name_of(story, configuration.workers.get(), configuration.threads.get(), language)
}

/// What a configuration consists of, as the head of a column.
pub fn configurations(story: &Story, language: Language) -> &'static str {
    let labels = language.labels();
    if story.has_threads() { labels.workers_x_threads } else { labels.workers }
}
