//! Whether a recommendation is still right, as text for people.
//!
//! In: a [`Verification`] and its session. Out: lines of at most 80 columns. Computes only.

use super::figures;
use super::outside::{pad, pad_left, width, wrap};
use super::story::Story;
use super::wording::{Counted, Language, StillRight};
use super::words;
use crate::terms::{SessionState, Verification, VerifiedSetting};

/// The answer in a sentence.
pub fn headline(story: &Story, found: &Verification, language: Language) -> String {
    let recommended = &found.recommended;
    let name = words::name_of(story, recommended.workers, recommended.threads, language);
    language.phrases().still_right(&StillRight {
        verdict: found.verdict,
        setting: &name,
        session: found.session,
        reason: &language.say(&found.reason),
        was_stopped: story.state == SessionState::Stopped,
    })
}

/// What each setting held then and holds now, and what that is as ratios.
pub fn table(story: &Story, found: &Verification, language: Language) -> Vec<String> {
    let (say, labels) = (language.phrases(), language.labels());
    let name = |it: &VerifiedSetting| words::name_of(story, it.workers, it.threads, language);
    let recommended = name(&found.recommended);
    let mut rows = vec![["", labels.then, labels.now, labels.interval, ""].map(String::from)];
    let marked = format!("{recommended} ({})", labels.recommended);
    rows.push(row(&marked, &found.recommended, language));
    let current = found.current.as_ref().map(|it| (name(it), it));
    if let Some((name, setting)) = &current {
        rows.push(row(&format!("{name} ({})", labels.current_then), setting, language));
    }
    let columns: [usize; 5] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    let laid_out = |row: &[String; 5]| {
        let text = format!(
            "  {}  {}  {}  {}  {}",
            pad(&row[0], columns[0]),
            pad_left(&row[1], columns[1]),
            pad_left(&row[2], columns[2]),
            pad(&row[3], columns[3]),
            row[4]
        );
        text.trim_end().to_string()
    };
    let mut text: Vec<String> = rows.iter().map(laid_out).collect();
    let ratio = |value: Option<f64>, interval: Option<[f64; 2]>| {
        let interval = interval.map(|bounds| say.ratio_interval(bounds))?;
        Some(format!("{} ({interval})", figures::ratio(value?)))
    };
    if let Some(ratio) = ratio(found.ratio, found.ratio_interval) {
        text.push(format!("  {}", say.now_then(&recommended, &ratio)));
    }
    let gain = ratio(found.gain_ratio, found.gain_ratio_interval).zip(current);
    if let Some((ratio, (name, _))) = gain {
        text.push(format!("  {}", say.now_beside(&recommended, &name, &ratio)));
    }
    text
}

fn row(name: &str, setting: &VerifiedSetting, language: Language) -> [String; 5] {
    let say = language.phrases();
    [
        name.to_string(),
        figures::rate(setting.capacity_rps_then),
        setting.capacity_rps.map_or_else(|| "-".to_string(), figures::rate),
        setting
            .capacity_rps_interval
            .map_or_else(String::new, |bounds| format!("({})", say.interval(bounds))),
        say.count(setting.starts, Counted::Starts),
    ]
}

/// The answer in a line.
pub fn in_short(story: &Story, found: &Verification, language: Language) -> String {
    wrap(&headline(story, found, language), 80).join("\n") + "\n"
}
