//! Whether a recommendation is still right.
//!
//! In: a [`Verification`] and its session. Out: a sentence, and [`Section`]s. Computes only.

use super::{Block, Section, Table, Tone, names};
use crate::report::story::Story;
use crate::report::wording::{Counted, Language};
use crate::report::{figures, outside};
use crate::terms::{SessionState, Verdict, Verification, VerifiedSetting};

/// The answer in a sentence.
pub fn headline(story: &Story, found: &Verification, language: Language) -> String {
    let recommended = &found.recommended;
    let name = names::name_of(story, recommended.workers, recommended.threads, language);
    language.phrases().still_right(found, &name, story.state == SessionState::Stopped)
}

/// The answer in a line.
pub fn in_short(story: &Story, found: &Verification, language: Language) -> String {
    outside::paragraph(&headline(story, found, language))
}

/// The answer, what each setting held then and holds now, what that is as ratios, and what differs
/// from then.
pub fn sections(story: &Story, found: &Verification, language: Language) -> Vec<Section> {
    let labels = language.labels();
    let tone = match found.verdict {
        Verdict::Yes => Tone::Good,
        Verdict::No => Tone::Bad,
        Verdict::Undecided => Tone::Doubtful,
    };
    let headline = Block::Headline(tone, headline(story, found, language));
    let name = |it: &VerifiedSetting| names::name_of(story, it.workers, it.threads, language);
    let (recommended, current) = (name(&found.recommended), found.current.as_ref());
    let mut rows = vec![row(&recommended, labels.recommended, &found.recommended, language)];
    rows.extend(current.map(|it| row(&name(it), labels.current_then, it, language)));
    let head = ["", labels.then, labels.now, labels.interval, ""];
    let blocks = vec![
        Block::Table(Table::new(&head, 1..3, rows)),
        Block::Bullets(ratios(&recommended, current.map(name), found, language)),
    ];
    vec![
        Section::new("", vec![headline]),
        Section::new("", blocks),
        Section::bullets(labels.differs, language.say_each(&found.differences)),
    ]
}

fn ratios(
    recommended: &str,
    current: Option<String>,
    found: &Verification,
    language: Language,
) -> Vec<String> {
    let say = language.phrases();
    let ratio = |value: Option<f64>, interval: Option<[f64; 2]>| {
        let interval = interval.map(|bounds| say.ratio_interval(bounds))?;
        Some(format!("{} ({interval})", figures::ratio(value?)))
    };
    let then = ratio(found.ratio, found.ratio_interval);
    let gain = ratio(found.gain_ratio, found.gain_ratio_interval).zip(current);
    let then = then.map(|ratio| say.now_then(recommended, &ratio));
    let gain = gain.map(|(ratio, name)| say.now_beside(recommended, &name, &ratio));
    then.into_iter().chain(gain).collect()
}

fn row(name: &str, which: &str, it: &VerifiedSetting, language: Language) -> Vec<String> {
    let say = language.phrases();
    let interval = it.capacity_rps_interval;
    vec![
        format!("{name} ({which})"),
        figures::rate(it.capacity_rps_then),
        it.capacity_rps.map_or_else(|| "-".to_string(), figures::rate),
        interval.map_or_else(String::new, |bounds| format!("({})", say.interval(bounds))),
        say.count(it.starts, Counted::Starts),
    ]
}
