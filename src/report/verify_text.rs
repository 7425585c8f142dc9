//! Whether a recommendation is still right, as text for people.
//!
//! In: a [`Verification`] and its session. Out: lines of at most 80 columns. Computes only.

use super::figures;
use super::outside::{pad, pad_left, width, wrap};
use super::story::Story;
use crate::terms::{SessionState, Verdict, Verification, VerifiedSetting};

/// The answer in a sentence.
pub fn headline(story: &Story, found: &Verification) -> String {
    let name = story.name_of(found.recommended.workers, found.recommended.threads);
    let session = found.session;
    let so_far = match story.state {
        SessionState::Stopped => "Stopped before its end; so far: ",
        _ => "",
    };
    let answer = match found.verdict {
        Verdict::Yes => format!("Still right: {name}, as session {session} recommends"),
        Verdict::No => format!("No longer right: {name}, as session {session} recommends"),
        Verdict::Undecided => {
            format!("Undecided whether {name}, as session {session} recommends, is still right")
        }
    };
    format!("{so_far}{answer}: {}.", found.reason)
}

/// What each setting held then and holds now, and what that is as ratios.
pub fn table(story: &Story, found: &Verification) -> Vec<String> {
    let recommended = story.name_of(found.recommended.workers, found.recommended.threads);
    let mut rows = vec![["", "then", "now", "(95 % interval)", ""].map(String::from)];
    rows.push(row(&format!("{recommended} (recommended)"), &found.recommended));
    let current = found.current.as_ref().map(|it| (story.name_of(it.workers, it.threads), it));
    if let Some((name, setting)) = &current {
        rows.push(row(&format!("{name} (current then)"), setting));
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
        let interval = interval.map(figures::ratio_interval)?;
        Some(format!("{} ({interval})", figures::ratio(value?)))
    };
    if let Some(ratio) = ratio(found.ratio, found.ratio_interval) {
        text.push(format!("  {recommended}, now / then: {ratio}"));
    }
    let gain = ratio(found.gain_ratio, found.gain_ratio_interval).zip(current);
    if let Some((ratio, (name, _))) = gain {
        text.push(format!("  {recommended} / {name}, now, within blocks: {ratio}"));
    }
    text
}

fn row(name: &str, setting: &VerifiedSetting) -> [String; 5] {
    [
        name.to_string(),
        figures::rate(setting.capacity_rps_then),
        setting.capacity_rps.map_or_else(|| "-".to_string(), figures::rate),
        setting
            .capacity_rps_interval
            .map_or_else(String::new, |it| format!("({})", figures::interval(it))),
        figures::count(setting.starts, "start", "starts"),
    ]
}

/// The answer in a line.
pub fn in_short(story: &Story, found: &Verification) -> String {
    wrap(&headline(story, found), 80).join("\n") + "\n"
}
