//! What the knobs do, in sentences and rows: said once here, laid out by each format.
//!
//! In: a [`Story`]. Out: unescaped plain text. Computes only, and judges nothing that the events
//! did not judge.

use super::figures;
use super::story::Story;
use crate::terms::{BootFailure, Configuration, KnobResult, KnobVerdict, KnobsReport, Variant};

/// The heads of the table's columns.
pub const HEAD: [&str; 4] = ["change", "capacity beside without", "memory", "verdict"];

/// `2 x 5 with MALLOC_ARENA_MAX=2`, or the configuration alone for the app as it is.
pub fn name(story: &Story, configuration: Configuration, variant: Variant) -> String {
    let names = variant.names(&story.changes);
    match names.is_empty() {
        true => story.name(configuration),
        false => format!("{} with {}", story.name(configuration), names.join(" and ")),
    }
}

/// Who did not start, why, and what to do.
pub fn did_not_start(
    story: &Story,
    configuration: Configuration,
    variant: Variant,
    failure: &BootFailure,
) -> String {
    let name = name(story, configuration, variant);
    format!("{name} did not start: {}; {}", failure.message, failure.advice)
}

/// A row for each change, then those that were tried together and with other threads.
pub fn rows(story: &Story, knobs: &KnobsReport) -> Vec<[String; 4]> {
    let mut rows: Vec<[String; 4]> = knobs.results.iter().map(row).collect();
    let ratio = |value: f64, bounds: [f64; 2]| share(Some(value), Some(bounds));
    rows.extend(knobs.together.iter().map(|it| {
        [
            format!("together: {}", it.changes.join(" and ")),
            ratio(it.capacity_ratio, it.capacity_ratio_interval),
            share(it.memory_ratio, it.memory_ratio_interval),
            String::new(),
        ]
    }));
    rows.extend(knobs.neighbours.iter().map(|it| {
        let at = story.name_of(it.workers, it.threads);
        let chosen = story.name_of(knobs.workers, knobs.threads);
        [
            format!("{at} beside {chosen}, both with {}", it.changes.join(" and ")),
            ratio(it.capacity_ratio, it.capacity_ratio_interval),
            share(it.memory_ratio, it.memory_ratio_interval),
            (if it.capacity_ratio_interval[0] > 1.0 { "is better" } else { "" }).to_string(),
        ]
    }));
    rows
}

fn row(result: &KnobResult) -> [String; 4] {
    [
        result.change.clone(),
        share(result.capacity_ratio, result.capacity_ratio_interval),
        share(result.memory_ratio, result.memory_ratio_interval),
        verdict(result),
    ]
}

fn share(ratio: Option<f64>, bounds: Option<[f64; 2]>) -> String {
    match (ratio, bounds) {
        (Some(ratio), Some([low, high])) => {
            let percent = |ratio: f64| format!("{:.0}", ratio * 100.0);
            format!("{} ({} to {})", figures::percent(ratio), percent(low), percent(high))
        }
        _ => "-".to_string(),
    }
}

fn verdict(result: &KnobResult) -> String {
    let more = result.more_s.map(|more| format!(": about {} more would tell", figures::span(more)));
    match (result.verdict, result.reason.as_str()) {
        (KnobVerdict::Helps, _) => "helps".to_string(),
        (KnobVerdict::Hurts, _) => "hurts".to_string(),
        (KnobVerdict::NoDifference, _) => "no difference within 3 %".to_string(),
        (KnobVerdict::Undecided, "") => format!("undecided{}", more.unwrap_or_default()),
        (KnobVerdict::Undecided, reason) => format!("undecided: {reason}"),
        (KnobVerdict::Out, reason) => format!("out: {reason}"),
    }
}

/// What stands above the table.
pub fn heading(story: &Story, knobs: &KnobsReport) -> String {
    let at = story.name_of(knobs.workers, knobs.threads);
    format!("Knobs, each tried beside {at} as it is")
}

/// What the intervals are, in one sentence.
pub fn intervals(knobs: &KnobsReport) -> String {
    // Those that fell out on the way were allowed for too.
    let tried = (0.05 / (1.0 - knobs.interval_level)).round() as usize;
    match tried {
        0 | 1 => "Intervals of 95 %.".to_string(),
        _ => format!(
            "With {tried} changes tried, each interval is one of {:.1} %, so that all of them \
             together hold with 95 %.",
            knobs.interval_level * 100.0
        ),
    }
}

/// What to change beside workers and threads; `None`: nothing.
pub fn recommended(story: &Story, knobs: &KnobsReport) -> Option<String> {
    let (gain, bounds) = (knobs.gain_ratio?, knobs.gain_ratio_interval?);
    let names = knobs.recommended.join(" and ");
    let threads = match knobs.recommended_threads == knobs.threads {
        true => String::new(),
        false => {
            let at = story.name_of(knobs.workers, knobs.recommended_threads);
            format!("; with it {at} is better")
        }
    };
    Some(format!(
        "{names}: {} times the capacity ({}){threads}",
        figures::ratio(gain),
        figures::ratio_interval(bounds)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(verdict: KnobVerdict, reason: &str, more_s: Option<f64>) -> KnobResult {
        KnobResult {
            knob: "X".into(),
            change: "X=1".into(),
            verdict,
            capacity_ratio: Some(1.1),
            capacity_ratio_interval: Some([1.02, 1.19]),
            memory_ratio: None,
            memory_ratio_interval: None,
            blocks: 3,
            more_s,
            reason: reason.into(),
        }
    }

    #[test]
    fn every_verdict_is_said_with_its_reason() {
        for (verdict, reason, more_s, expected) in [
            (KnobVerdict::Helps, "", None, "helps"),
            (KnobVerdict::NoDifference, "", None, "no difference within 3 %"),
            (KnobVerdict::Undecided, "no time", None, "undecided: no time"),
            (KnobVerdict::Out, "does not start", None, "out: does not start"),
        ] {
            assert_eq!(row(&result(verdict, reason, more_s))[3], expected);
        }
        let undecided = &row(&result(KnobVerdict::Undecided, "", Some(240.0)))[3];
        assert!(undecided.starts_with("undecided: about 4 min"), "{undecided}");
        let row = row(&result(KnobVerdict::Helps, "", None));
        assert_eq!(row[..3], ["X=1".to_string(), "110 % (102 to 119)".into(), "-".into()]);
    }
}
