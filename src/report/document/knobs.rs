//! What the knobs do, in sentences and rows.
//!
//! In: a [`Story`]. Out: unescaped plain text, and a [`Section`]. Computes only, and judges nothing
//! that the events did not judge.

use super::{Block, Section, Table, names};
use crate::report::figures;
use crate::report::story::Story;
use crate::report::wording::Language;
use crate::terms::{
    AtOneRate, BootFailure, Configuration, EventKind, KnobResult, KnobsReport, Variant,
};

/// What each change does; a change a sentence where its columns do not suffice.
pub(super) fn section(story: &Story, knobs: &KnobsReport, language: Language) -> Section {
    let (say, labels) = (language.phrases(), language.labels());
    let head = [labels.change, labels.capacity_without, labels.memory, labels.verdict];
    let rows = rows(story, knobs, language);
    let sentence = |[change, capacity, memory, verdict]: &[String; 4]| {
        let figures = (capacity != "-").then(|| say.knob_figures(capacity, memory));
        let verdict = (!verdict.is_empty()).then(|| verdict.clone());
        let parts = [Some(change.clone()), figures, verdict];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let sentences = rows.iter().map(sentence).collect();
    let rows = rows.into_iter().map(Vec::from).collect();
    let table = Table { sentences, ..Table::new(&head, head.len().., rows) };
    let at = names::name_of(story, knobs.workers, knobs.threads, language);
    let blocks = vec![Block::Table(table), Block::Small(intervals(knobs, language))];
    Section::new(say.knobs_heading(&at), blocks)
}

/// `2 x 5 with MALLOC_ARENA_MAX=2`, or the configuration alone for the app as it is.
pub fn name(
    story: &Story,
    configuration: Configuration,
    variant: Variant,
    language: Language,
) -> String {
    let name = names::name(story, configuration, language);
    match changes(story, variant, language) {
        Some(changes) => language.phrases().with(&name, &changes),
        None => name,
    }
}

/// The trial that begins, in a line.
pub fn trial_begins(story: &Story, event: &EventKind, language: Language) -> Option<String> {
    let EventKind::TrialStarted { id, purpose, configuration, variant, offered, duration, left } =
        event
    else {
        return None;
    };
    let say = language.phrases();
    let load = [
        name(story, *configuration, *variant, language),
        say.purpose(*purpose).to_string(),
        names::offered(offered, language),
    ];
    let time = say.span(duration.as_secs_f64());
    let left = left.map(|left| say.span(left.as_secs_f64()));
    Some(say.trial_begins(&say.trial(*id), &load, &time, left.as_deref()))
}

/// What was changed, where anything was.
pub fn changes(story: &Story, variant: Variant, language: Language) -> Option<String> {
    let names = variant.names(&story.changes);
    (!names.is_empty()).then(|| language.phrases().all_of(&names))
}

/// Who did not start, why, and what to do.
pub fn did_not_start(
    story: &Story,
    configuration: Configuration,
    variant: Variant,
    failure: &BootFailure,
    language: Language,
) -> String {
    let name = name(story, configuration, variant, language);
    let (message, advice) = (language.say(&failure.message), language.say(&failure.advice));
    language.phrases().did_not_start(&name, &message, &advice)
}

/// A row for each change, then those that were tried together and with other threads.
pub fn rows(story: &Story, knobs: &KnobsReport, language: Language) -> Vec<[String; 4]> {
    let say = language.phrases();
    let name = |threads| names::name_of(story, knobs.workers, threads, language);
    let as_it_is = knobs.at_one_rate.as_ref();
    let of_change = |it| row(it, as_it_is, language);
    let mut rows: Vec<[String; 4]> = knobs.results.iter().map(of_change).collect();
    rows.extend(knobs.together.iter().map(|it| {
        [
            say.knobs_together(&say.all_of(&it.changes)),
            say.share(it.capacity_ratio, it.capacity_ratio_interval),
            share(it.memory_ratio, it.memory_ratio_interval, language),
            String::new(),
        ]
    }));
    rows.extend(knobs.neighbours.iter().map(|it| {
        let at = names::name_of(story, it.workers, it.threads, language);
        let is_better = it.capacity_ratio_interval[0] > 1.0;
        [
            say.knobs_beside(&at, &name(knobs.threads), &say.all_of(&it.changes)),
            say.share(it.capacity_ratio, it.capacity_ratio_interval),
            share(it.memory_ratio, it.memory_ratio_interval, language),
            (if is_better { language.labels().is_better } else { "" }).to_string(),
        ]
    }));
    rows
}

fn row(result: &KnobResult, as_it_is: Option<&AtOneRate>, language: Language) -> [String; 4] {
    let at_one_rate = result.at_one_rate.as_ref().zip(as_it_is);
    let at_one_rate = at_one_rate.map(|(it, other)| language.phrases().at_one_rate(it, other));
    let verdict = std::iter::once(verdict(result, language)).chain(at_one_rate);
    [
        result.change.clone(),
        share(result.capacity_ratio, result.capacity_ratio_interval, language),
        share(result.memory_ratio, result.memory_ratio_interval, language),
        verdict.collect::<Vec<_>>().join("; "),
    ]
}

fn share(ratio: Option<f64>, bounds: Option<[f64; 2]>, language: Language) -> String {
    match (ratio, bounds) {
        (Some(ratio), Some(bounds)) => language.phrases().share(ratio, bounds),
        _ => "-".to_string(),
    }
}

fn verdict(result: &KnobResult, language: Language) -> String {
    let say = language.phrases();
    let more = result.more_s.map(|more| say.span(more));
    let reason = result.reason.as_ref().map(|reason| language.say(reason));
    if let (Some(cpus), Some(capacity)) = (result.cpus_ratio, result.capacity_ratio) {
        return say.with_other_cpus(cpus, capacity / cpus);
    }
    say.knob_outcome(result.verdict, reason.as_deref(), more.as_deref())
}

/// What the intervals are, in one sentence.
fn intervals(knobs: &KnobsReport, language: Language) -> String {
    // Those that fell out on the way were allowed for too.
    let tried = (0.05 / (1.0 - knobs.interval_level)).round() as usize;
    let level = (tried > 1).then(|| format!("{:.1}", knobs.interval_level * 100.0));
    language.phrases().knob_intervals(tried, level.as_deref())
}

/// What to change beside workers and threads; `None`: nothing.
pub fn recommended(story: &Story, knobs: &KnobsReport, language: Language) -> Option<String> {
    let say = language.phrases();
    let (gain, bounds) = (knobs.gain_ratio?, knobs.gain_ratio_interval?);
    let others = knobs.recommended_threads != knobs.threads;
    let better =
        others.then(|| names::name_of(story, knobs.workers, knobs.recommended_threads, language));
    let names = say.all_of(&knobs.recommended);
    Some(say.knobs_gain(
        &names,
        &figures::ratio(gain),
        &say.ratio_interval(bounds),
        better.as_deref(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{KnobVerdict, Stated, WithAPodLess};

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
            at_one_rate: None,
            cpus_ratio: None,
            reason: (!reason.is_empty()).then(|| Stated::Verbatim(reason.into())),
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
            let row = row(&result(verdict, reason, more_s), None, Language::English);
            assert_eq!(row[3], expected);
        }
        let undecided =
            &row(&result(KnobVerdict::Undecided, "", Some(240.0)), None, Language::English)[3];
        assert!(undecided.starts_with("undecided: about 4 min"), "{undecided}");
        let helps = result(KnobVerdict::Helps, "", None);
        let row = row(&helps, None, Language::English);
        assert_eq!(row[..3], ["X=1".to_string(), "110 % (102 to 119)".into(), "-".into()]);
    }

    #[test]
    fn what_was_seen_at_one_rate_stands_beside_the_verdict() {
        let at = |latency_s_p95| AtOneRate {
            rate_rps: 178.2,
            starts: 4,
            latency_s_p95,
            latency_s_p95_range: [latency_s_p95 * 0.9, latency_s_p95 * 1.1],
            latency_s_p99: latency_s_p95 * 2.0,
            memory_bytes: None,
            pods: 0,
            with_a_pod_less: None,
        };
        let helps =
            KnobResult { at_one_rate: Some(at(0.06)), ..result(KnobVerdict::Helps, "", None) };
        let expected = "helps; at 178/s p95 60 ms (54 ms to 66 ms) and p99 120 ms, as it is 80 ms \
                        (72 ms to 88 ms) and 160 ms";
        assert_eq!(row(&helps, Some(&at(0.08)), Language::English)[3], expected);
        let said = |less, language: Language| {
            let two = AtOneRate { pods: 2, with_a_pod_less: Some(less), ..at(0.06) };
            language.phrases().at_one_rate(&two, &AtOneRate { pods: 1, ..at(0.08) })
        };
        let left = WithAPodLess {
            pods_left: 1,
            latency_s_p95: 0.812,
            latency_s_p99: 1.6,
            failed_share: 0.034,
            keeps_up: None,
            another_ended: false,
        };
        let growing = WithAPodLess { keeps_up: Some(false), failed_share: 0.0, ..left };
        let ended = WithAPodLess { another_ended: true, failed_share: 1.0, ..left };
        for (less, language, expected) in [
            (
                left,
                Language::English,
                "; with 1 of 2 pods left p95 812 ms, p99 1.60 s, 3.4 % failed; as it is, without \
                 its only pod nothing is left",
            ),
            (
                growing,
                Language::English,
                " failed, and they cannot carry it: their queue grew to the end; as it is, without \
                 its only pod nothing is left",
            ),
            (
                ended,
                Language::English,
                "; with 1 of 2 pods left another ended too: all requests failed; as it is, without \
                 its only pod nothing is left",
            ),
            (
                left,
                Language::Japanese,
                "; 2 Pod のうち 1 個が残ったとき p95 812 ms、p99 1.60 s、失敗 3.4 %; \
                 変更なしでは唯一の Pod を失うと何も残りません",
            ),
            (
                growing,
                Language::Japanese,
                "、待ち行列が最後まで伸び続け、さばききれません; \
                 変更なしでは唯一の Pod を失うと何も残りません",
            ),
            (
                ended,
                Language::Japanese,
                "; 2 Pod のうち 1 個が残ったとき（別の Pod も終了）すべてのリクエストが失敗; \
                 変更なしでは唯一の Pod を失うと何も残りません",
            ),
        ] {
            let said = said(less, language);
            assert!(said.ends_with(expected), "{said}");
        }
    }
}
