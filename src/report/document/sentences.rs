//! What a session found, in sentences.
//!
//! In: a [`Story`] and a [`Language`]. Out: unescaped plain text. What is said is decided here, and
//! how it is said in `wording`. Computes only, and judges nothing.

use std::collections::BTreeMap;

use super::{front, held, knobs, names, soak, used};
use crate::report::figures;
use crate::report::story::{GoalLatency, NoFigure, Story};
use crate::report::wording::{Counted, Found, Language, Nearest, Phrases, Today, Undone, WayOut};
use crate::terms::{
    BootAdvice, CurrentSetting, Decision, LimitKind, LoadSummary, Offered, ReplyAdvice,
    SessionState, TrialFailure, TrialPurpose, commonest_failure,
};

/// `3 workers x 5 threads`, or `3 workers` where there are no threads to choose.
fn in_full(story: &Story, workers: u16, threads: u16, say: &dyn Phrases) -> String {
    say.setting(u64::from(workers), story.has_threads().then_some(u64::from(threads)))
}

/// The session in one sentence: what to set, or why there is nothing to set.
pub fn headline(story: &Story, language: Language) -> String {
    if let Some(found) = &story.verification {
        return super::verification::headline(story, found, language);
    }
    let say = language.phrases();
    let goal = goal(story, language);
    let Some(decision) = &story.decision else { return without_decision(story, &goal, say) };
    let setting = in_full(story, decision.workers, decision.threads, say);
    let capacity = figures::number(decision.capacity_rps);
    let capacity = if story.is_estimate() { say.about(&capacity) } else { capacity };
    let fresh_start = story.fresh_start();
    let found = Found { setting: &setting, capacity: &capacity, goal: &goal, fresh_start };
    if let Some(text) = front::headline(story, &found, language) {
        return text;
    }
    if story.chosen() == story.current_configuration() {
        return match story.has_only_todays() {
            true => say.only_todays(&found),
            false => say.keep(&found),
        };
    }
    let is_known = |now: &&CurrentSetting| {
        now.capacity_rps.is_some() || story.why_no_figure_of_today() == NoFigure::HoldsNothing
    };
    let Some(now) = story.current.as_ref().filter(is_known) else { return say.run(&found) };
    let setting = names::name_of(story, now.workers, now.threads, language);
    let today = Today { setting: &setting, is_one: story.has_threads() || now.workers == 1 };
    say.run_instead(&found, &today, decision.gain_ratio.map(figures::ratio).as_deref())
}

/// What the printed rate was held within: a share of errors that was not shown is for the notes.
fn goal(story: &Story, language: Language) -> String {
    match story.goals.is_empty() {
        true => language.labels().the_goal.to_string(),
        false if story.is_open_about_errors() => story.goals.without_errors().to_string(),
        false => story.goals.to_string(),
    }
}

fn without_decision(story: &Story, goal: &str, say: &'static dyn Phrases) -> String {
    let trials = say.count(story.trials.len() as u64, Counted::Trials);
    let so_far = &say.trials_in(&trials, &say.span(story.elapsed_s));
    say.undone(&match (story.state, &story.error) {
        (_, Some(error)) => Undone::Failed { error },
        (SessionState::Running, None) => Undone::StillRuns { so_far },
        _ if story.trials.is_empty() && !story.boot_failures.is_empty() => Undone::NeverStarted,
        _ if story.trials.is_empty() => Undone::NoTrial,
        (SessionState::Stopped, None) => Undone::Stopped { so_far },
        _ if story.trials.iter().all(|trial| trial.failure.is_some()) => Undone::AlwaysEnded,
        _ if story.trials.iter().all(|trial| !trial.valid) => Undone::NoneValid { trials: &trials },
        _ if story.highest_held().is_some() => Undone::NotReached { so_far },
        _ if story.has_missed() => Undone::NothingHeld { goal },
        _ => Undone::CouldNotTell { goal, so_far },
    })
}

/// What stands behind the headline, as `(what, sentence)`.
pub fn facts(story: &Story, language: Language) -> Vec<(&'static str, String)> {
    let (say, labels) = (language.phrases(), language.labels());
    let mut facts = Vec::new();
    if story.state == SessionState::Stopped && story.decision.is_some() {
        facts.push((labels.stopped, labels.before_its_end.to_string()));
    }
    if let (Some(error), Some(_)) = (&story.error, &story.decision) {
        facts.push((labels.failed, say.failed(&language.say(error))));
    }
    if let Some(now) = &story.current {
        facts.push((labels.today, today(story, now, language)));
    }
    match &story.decision {
        Some(decision) => decision_facts(story, decision, language, &mut facts),
        None => facts.extend(best_known(story, language)),
    }
    facts
}

/// The name of a setting before a verb.
fn subject(story: &Story, name: &str, language: Language) -> String {
    language.phrases().subject(name, !story.has_threads())
}

fn today(story: &Story, now: &CurrentSetting, language: Language) -> String {
    let say = language.phrases();
    let name = names::name_of(story, now.workers, now.threads, language);
    let subject = subject(story, &name, language);
    let Some(capacity) = now.capacity_rps else {
        return say.holds_not(&subject, story.why_no_figure_of_today());
    };
    let interval = now.capacity_rps_interval.map(|bounds| say.interval(bounds));
    say.holds(&subject, &figures::rate(capacity), interval.as_deref())
}

fn decision_facts(
    story: &Story,
    decision: &Decision,
    language: Language,
    facts: &mut Vec<(&'static str, String)>,
) {
    let (say, labels) = (language.phrases(), language.labels());
    let name = names::name_of(story, decision.workers, decision.threads, language);
    let rate = figures::rate(decision.capacity_rps);
    let interval = say.interval(decision.capacity_rps_interval);
    let found = say.holds(&subject(story, &name, language), &rate, Some(&interval));
    facts.push((labels.found, found));
    facts.extend(held::sentence(story, language).map(|text| (labels.held_at_end, text)));
    if story.chosen() != story.current_configuration() {
        facts.extend(gain(decision, say).map(|text| (labels.gain, text)));
    }
    let knobs = story.knobs.as_ref();
    let knobs = knobs.and_then(|knobs| knobs::recommended(story, knobs, language));
    facts.extend(knobs.map(|text| (labels.with_knobs, text)));
    facts.push((labels.limit, limit_text(story, decision, language)));
    if let Some(advice) = &decision.limit.advice {
        facts.push((labels.what_helps, language.say(advice)));
    }
    let share = figures::percent(decision.operating_rps / decision.capacity_rps);
    let day_to_day = say.day_to_day(&figures::rate(decision.operating_rps), &share);
    facts.push((labels.day_to_day, day_to_day));
    facts.extend(decision.soak.as_ref().map(|it| (labels.soak, soak::sentence(it, language))));
    if let Some(memory) = decision.memory_bytes {
        let all = story.machine.as_ref().map(|machine| machine.memory_bytes.to_string());
        facts.push((labels.memory, say.memory_of(&figures::bytes(memory), all.as_deref())));
    }
    let parts = story.memory.as_ref();
    let parts = parts.map(|parts| used::memory_parts(parts, story.has_threads(), language));
    facts.extend(parts.map(|text| (labels.of_that, text)));
    facts.extend(used::inside(story, language).map(|text| (labels.inside, text)));
    if decision.database_connections > 0 {
        let connections = u64::from(decision.database_connections);
        facts.push((labels.database, say.up_to_connections(connections)));
    }
}

fn gain(decision: &Decision, say: &'static dyn Phrases) -> Option<String> {
    let gain = decision.gain_ratio?;
    let (change, ratio) = (figures::change(gain), figures::ratio(gain));
    let interval = decision.gain_ratio_interval.map(|bounds| {
        let is_doubtful = bounds[0] <= 1.0 && bounds[1] >= 1.0;
        (say.ratio_interval(bounds), is_doubtful)
    });
    let interval = interval.as_ref().map(|(text, is_doubtful)| (text.as_str(), *is_doubtful));
    Some(say.gain(&change, &ratio, interval))
}

fn limit_text(story: &Story, decision: &Decision, language: Language) -> String {
    let limit = &decision.limit;
    let title = names::limit_title(story, limit.kind, language);
    let is_known = limit.kind != LimitKind::Unknown;
    let confidence = is_known.then(|| figures::percent(limit.confidence));
    language.phrases().limit_because(title, &language.say(&limit.evidence), confidence.as_deref())
}

/// Without a decision: the best that is known.
fn best_known(story: &Story, language: Language) -> Option<(&'static str, String)> {
    let (say, labels) = (language.phrases(), language.labels());
    if let Some((trial, rate)) = story.highest_held() {
        let name = names::name(story, trial.configuration, language);
        let subject = subject(story, &name, language);
        let held = say.best_so_far(&subject, &figures::rate(rate), trial.id);
        return Some((labels.best_so_far, held));
    }
    let nearest = story.nearest()?;
    let GoalLatency { quantile, latency_s, .. } = story.goal_latency(&nearest.summary);
    let failed = nearest.summary.failed_share();
    let failed = (failed != 0.0).then(|| figures::percent(failed));
    let nearest = say.nearest(&Nearest {
        setting: &names::name(story, nearest.configuration, language),
        offered: &names::offered(&nearest.offered, language),
        quantile,
        latency: &figures::latency(latency_s),
        failed: failed.as_deref(),
        trial: nearest.id,
    });
    Some((labels.nearest, nearest))
}

/// Without a decision: what to do about it, a sentence each.
pub fn ways_out(story: &Story, language: Language) -> Vec<String> {
    let say = language.phrases();
    if story.decision.is_some() || story.error.is_some() {
        return Vec::new();
    }
    if story.state == SessionState::Running {
        return vec![say.way_out(&WayOut::TakeUpAgain)];
    }
    if story.trials.is_empty() && !story.boot_failures.is_empty() {
        let advice = story.boot_failures.iter().map(|(_, it)| language.say(&it.advice));
        let mut ways: Vec<String> = advice.collect();
        ways.dedup();
        return ways;
    }
    if story.state == SessionState::Stopped {
        return vec![say.way_out(&WayOut::LetItEnd)];
    }
    if !story.trials.is_empty() && story.trials.iter().all(|trial| trial.failure.is_some()) {
        return vec![say.way_out(&WayOut::FindWhatEndsIt)];
    }
    if story.highest_held().is_some() || story.trials.is_empty() {
        return vec![say.way_out(&WayOut::MoreTime)];
    }
    if !story.has_missed() {
        return when_undecided(story, language);
    }
    let mut ways: Vec<String> = unloaded_way_out(story, say).into_iter().collect();
    ways.extend(why_requests_fail(story, language));
    ways.push(say.way_out(&WayOut::AskForLess));
    ways
}

/// A way out for the requests that failed, and a second one where the app limits its rate.
fn why_requests_fail(story: &Story, language: Language) -> Vec<String> {
    let valid = || story.trials.iter().filter(|trial| trial.valid).map(|trial| &trial.summary);
    if valid().all(|summary| summary.failed_share() <= 0.0) {
        return Vec::new();
    }
    let status = commonest_status(valid());
    let see = language.phrases().way_out(&WayOut::SeeErrors { status });
    let lift = BootAdvice::Reply(ReplyAdvice::LiftRateLimit { limits: Vec::new() });
    let lift = (status == Some(429)).then(|| language.say_fact(&lift));
    [see].into_iter().chain(lift).collect()
}

/// The status with which most of the failed requests of these loads were answered; `None`: with
/// none, or more of them got no reply.
fn commonest_status<'a>(loads: impl Iterator<Item = &'a LoadSummary>) -> Option<u16> {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    let mut unanswered = 0;
    for load in loads {
        unanswered += load.errors.total();
        for (status, count) in &load.status {
            let Ok(status) = status.parse() else { continue };
            *counts.entry(status).or_default() += count;
        }
    }
    commonest_failure(&counts).filter(|status| counts[status] >= unanswered)
}

/// What kept trials from counting comes first: with more time it would do so again.
fn when_undecided(story: &Story, language: Language) -> Vec<String> {
    let say = language.phrases();
    let reasons = story.why_not_valid();
    if reasons.is_empty() {
        return vec![say.way_out(&WayOut::MoreTime)];
    }
    let mend = reasons.into_iter().take(3).map(|reason| {
        let reason = language.say(reason);
        say.way_out(&WayOut::Mend { reason: &reason })
    });
    mend.chain([say.way_out(&WayOut::AskDoctor)]).collect()
}

/// When one request alone is slower than the goal, no setting can help.
fn unloaded_way_out(story: &Story, say: &dyn Phrases) -> Option<String> {
    let (GoalLatency { quantile, latency_s, .. }, limit_s) = story.too_slow_alone()?;
    Some(say.way_out(&WayOut::FasterApp {
        alone: &figures::latency(latency_s),
        quantile,
        goal: &figures::latency(limit_s),
        has_threads: story.has_threads(),
    }))
}

/// How the figures came about.
pub fn method(story: &Story, language: Language) -> String {
    let say = language.phrases();
    let arrivals = story.trials.iter().find_map(|trial| match trial.offered {
        Offered::Open { arrivals, .. } => Some(arrivals),
        Offered::Closed { .. } => None,
    });
    let arrivals = arrivals.map_or("", |arrivals| say.arrivals(arrivals));
    let trials = say.count(story.trials.len() as u64, Counted::Trials);
    let trials_in = say.trials_in(&trials, &say.span(story.elapsed_s));
    let outcomes: Vec<String> =
        story.outcomes().iter().map(|(it, count)| say.outcomes(*it, *count)).collect();
    let how = say.method(&trials_in, &say.span(story.load_s), &outcomes);
    format!("{how}{arrivals}")
}

/// One line for lists: `3 x 5, 412/s`; `name` is the configuration's.
pub fn in_short(name: &str, decision: &Decision) -> String {
    format!("{name}, {}", figures::rate(decision.capacity_rps))
}

/// A configuration that never became ready, or whose server ended: who, what, and its last lines.
pub fn failures(story: &Story, language: Language) -> Vec<(String, Vec<String>)> {
    let boot = story.all_boot_failures().map(|(at, variant, failure)| {
        let what = knobs::did_not_start(story, at, variant, failure, language);
        (what, failure.last_lines.clone())
    });
    let died = story.trials.iter().filter_map(|trial| {
        let Some(TrialFailure::Died { status, last_lines }) = &trial.failure else { return None };
        let who = knobs::name(story, trial.configuration, trial.variant, language);
        let (say, status) = (language.phrases(), language.say(status));
        let status = match trial.purpose {
            TrialPurpose::LostPod => format!("{}: {status}", say.purpose(trial.purpose)),
            _ => status,
        };
        let what = say.ended(&subject(story, &who, language), trial.id, &status);
        Some((what, last_lines.clone()))
    });
    boot.chain(died).collect()
}

/// Every doubt about the session.
pub fn warnings(story: &Story, language: Language) -> Vec<String> {
    story.warnings.iter().map(|it| language.say_warning(it)).collect()
}

/// How far the predictions were off that were made before each measurement; `None` when nothing
/// can be compared.
pub fn predictions_scored(story: &Story, language: Language) -> Option<String> {
    let (say, labels) = (language.phrases(), language.labels());
    let said = |(off, what): (Option<(f64, usize)>, &str)| {
        let (median, count) = off?;
        let count = say.count(count as u64, Counted::Settings);
        Some(say.off_by(what, &figures::percent(median), &count))
    };
    let all = story.predictions_off().into_iter().zip([labels.throughput, labels.capacity]);
    let said: Vec<String> = all.filter_map(said).collect();
    (!said.is_empty()).then(|| say.predictions_off(&said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{BootFailure, BootFailureKind, Limit, SessionError, Settings, Stated, Task};
    use crate::terms::{Configuration, ErrorCounts, GoalSummary};
    use crate::terms::{CpuBusy, Note, SearchNote, Slots, WaitingEvidence};
    use crate::terms::{PredictedLimit, Prediction, WindowLatency};

    fn story(today: Option<(u16, u16, Option<f64>)>, gain: Option<f64>) -> Story {
        let current = today.map(|(workers, threads, capacity_rps)| CurrentSetting {
            workers,
            threads,
            capacity_rps,
            capacity_rps_interval: None,
        });
        let decision = Decision {
            workers: 2,
            threads: 1,
            capacity_rps: 99.97,
            capacity_rps_interval: [95.0, 105.0],
            gain_ratio: gain,
            gain_ratio_interval: gain.map(|gain| [gain - 0.05, gain + 0.05]),
            precision: None,
            held: None,
            operating_rps: 70.0,
            soak: None,
            limit: Limit::unknown(WaitingEvidence::NotSaturated),
            goals: Vec::new(),
            goals_rps: None,
            latency_at_rps: None,
            latency_s_p95: None,
            equivalent: Vec::new(),
            settings: Settings::default(),
            memory_bytes: None,
            database_connections: 1,
        };
        Story {
            current,
            decision: Some(decision),
            goals: "p95<1s".parse().unwrap(),
            ..Story::default()
        }
    }

    #[test]
    fn a_headline_says_no_more_than_was_shown() {
        let told = |note| {
            let goals = "p95<1s,errors<0.1%".parse().unwrap();
            let notes = vec![Stated::Fact(Note::Search(note))];
            headline(&Story { goals, notes, ..story(None, None) }, Language::English)
        };
        let failing =
            SearchNote::ErrorsAtAnyRate { failed: 17, requests: 9000, allowed_ratio: 0.001 };
        assert!(told(failing).ends_with("holds 100 requests/s within p95<1s."));
        let (requests, requests_needed) = (900, 2995);
        let unsure = SearchNote::ErrorsNotCertified {
            failed: 0,
            requests,
            allowed_ratio: 0.001,
            requests_needed,
        };
        assert!(told(unsure).ends_with("holds 100 requests/s within p95<1s."));
        let estimate = told(SearchNote::NotHeldAtEnd);
        assert!(estimate.ends_with("holds about 100 requests/s within p95<1s,errors<0.1%."));
        let of_warm = told(SearchNote::ColdAtFirst { requests: 400, warm_rps: None });
        assert!(of_warm.ends_with("holds 100 requests/s once warm, within p95<1s,errors<0.1%."));
        let of_cold = told(SearchNote::ColdAtFirst { requests: 400, warm_rps: Some(140.0) });
        let holds = "holds 100 requests/s (about 140 once warm) within p95<1s,errors<0.1%.";
        assert!(of_cold.ends_with(holds), "{of_cold}");
    }

    fn fact(story: &Story, wanted: &str) -> Option<String> {
        facts(story, Language::English)
            .into_iter()
            .find(|(what, _)| *what == wanted)
            .map(|(_, text)| text)
    }

    #[test]
    fn the_headline_says_what_to_set_and_beside_what() {
        let holds = "holds 100 requests/s within p95<1s";
        for (story, headline_wanted) in [
            (
                story(Some((1, 5, Some(80.0))), Some(1.25)),
                format!(
                    "Run 2 workers x 1 thread: it {holds}, 1.25 times what today's 1 x 5 holds."
                ),
            ),
            (
                // Nothing was measured of it.
                story(Some((1, 5, None)), None),
                format!("Run 2 workers x 1 thread: it {holds}."),
            ),
            (
                story(Some((2, 1, Some(100.0))), Some(1.0)),
                format!("Keep 2 workers x 1 thread, as it runs today: it {holds}."),
            ),
            (story(None, None), format!("Run 2 workers x 1 thread: it {holds}.")),
        ] {
            assert_eq!(headline(&story, Language::English), headline_wanted);
        }
    }

    #[test]
    fn where_there_are_no_threads_to_choose_nothing_is_said_of_them() {
        let mut story = story(Some((2, 1, Some(80.0))), Some(1.25));
        let decision = story.decision.as_mut().unwrap();
        decision.workers = 4;
        let cpu = CpuBusy { cores_ratio: 0.2, worker_ratio: 0.3 };
        let slots = Slots { count: 4, are_workers: true };
        let taken = WaitingEvidence::SlotsTaken { slots, in_flight_mean: 4.2, cpu };
        decision.limit = Limit { kind: LimitKind::Threads, ..Limit::unknown(taken) };
        story.has_no_threads = true;
        assert_eq!(
            headline(&story, Language::English),
            "Run 4 workers: it holds 100 requests/s within p95<1s, 1.25 times what today's 2 \
             workers hold."
        );
        assert!(fact(&story, "today").unwrap().starts_with("2 workers: holds 80"));
        assert!(fact(&story, "found").unwrap().starts_with("4 workers: holds 100"));
        assert!(fact(&story, "limit").unwrap().starts_with("workers: all 4 workers"));
        assert!(facts(&story, Language::English).iter().all(|(_, text)| !text.contains("thread")));
    }

    #[test]
    fn todays_setting_alone_is_no_advice_to_keep_it() {
        let mut story = story(Some((2, 1, Some(100.0))), Some(1.0));
        let prediction = |workers| Prediction {
            workers,
            threads: 1,
            throughput_rps_max: 100.0,
            capacity_rps: 90.0,
            capacity_rps_interval: [80.0, 100.0],
            memory_bytes: None,
            limit: PredictedLimit { kind: LimitKind::Cores },
            ruled_out: None,
        };
        story.predicted = vec![prediction(2)];
        assert!(headline(&story, Language::English).starts_with("Keep 2 workers x 1 thread"));
        story.predicted.push(prediction(3));
        assert!(
            headline(&story, Language::English).contains("no other setting was measured"),
            "{}",
            headline(&story, Language::English)
        );
    }

    #[test]
    fn a_gain_within_its_interval_of_nothing_is_not_claimed() {
        let doubtful = fact(&story(Some((1, 5, Some(80.0))), Some(1.03)), "gain").unwrap();
        assert!(doubtful.ends_with("no difference can be told apart here"), "{doubtful}");
        let sure = fact(&story(Some((1, 5, Some(80.0))), Some(1.25)), "gain").unwrap();
        assert_eq!(sure, "+25 %: 1.25 times as much (1.20 to 1.30)");
        assert_eq!(fact(&story(Some((2, 1, Some(100.0))), Some(1.0)), "gain"), None);
    }

    #[test]
    fn a_session_that_failed_says_why_first() {
        let story = Story {
            state: SessionState::Failed,
            error: Some(Stated::Verbatim("the port 3000 is taken".into())),
            ..Story::default()
        };
        assert_eq!(
            headline(&story, Language::English),
            "Could not measure: the port 3000 is taken."
        );
        assert!(ways_out(&story, Language::English).is_empty());
        let (what, why) = (Task::FindFreePort.into(), "no memory".into());
        let error = SessionError::CouldNot { what, why };
        let story = Story { error: Some(error.into()), ..story };
        assert_eq!(headline(&story, Language::English), "Could not find a free port: no memory.");
    }

    #[test]
    fn a_server_that_never_started_is_the_headline_and_its_advice_the_way_out() {
        let failure = BootFailure {
            kind: BootFailureKind::SecretKeyBase,
            message: Stated::Verbatim("SECRET_KEY_BASE is missing".into()),
            advice: Stated::Verbatim("set SECRET_KEY_BASE".into()),
            last_lines: Vec::new(),
        };
        let boot_failures = [(1, 5), (2, 5)]
            .map(|(w, t)| (Configuration::new(w, t).unwrap(), failure.clone()))
            .to_vec();
        let story = Story { state: SessionState::Done, boot_failures, ..Story::default() };
        assert!(headline(&story, Language::English).starts_with("The server did not start"));
        assert_eq!(ways_out(&story, Language::English), ["set SECRET_KEY_BASE"]);
    }

    #[test]
    fn requests_that_fail_are_told_by_what_most_of_them_were_answered_with() {
        let load = |counts: &[(&str, u64)], timeout| {
            let status = counts.iter().map(|(status, count)| (status.to_string(), *count));
            let errors = ErrorCounts { timeout, ..ErrorCounts::default() };
            LoadSummary { status: status.collect(), errors, ..LoadSummary::default() }
        };
        let of = |loads: &[LoadSummary]| commonest_status(loads.iter());
        let limited = load(&[("200", 900), ("429", 60), ("503", 50)], 0);
        let broken = load(&[("200", 900), ("503", 20)], 0);
        assert_eq!(of(std::slice::from_ref(&limited)), Some(429));
        assert_eq!(of(&[limited, broken.clone()]), Some(503));
        assert_eq!(of(&[broken, load(&[], 21)]), None);
        assert_eq!(of(&[load(&[("200", 900)], 0)]), None);
    }

    #[test]
    fn of_several_goals_the_common_ones_requests_are_looked_at_first() {
        let goal = |own, due, p95| GoalSummary {
            own,
            due,
            latency_s: WindowLatency { p50: p95 / 2.0, p95, p99: 2.0 * p95, ..Default::default() },
            ..GoalSummary::default()
        };
        let mut summary = LoadSummary::default();
        summary.latency_s.p95 = 0.3;
        summary.goals = vec![goal(false, 900, 0.02), goal(true, 100, 1.2)];
        for (goals, expected) in [
            ("p95<1s", ("p95", 0.3)),
            ("p50<1s; GET /report: p95<2s", ("p50", 0.01)),
            ("p99<1s; GET /report: p95<2s", ("p99", 0.04)),
            ("errors<1%; GET /report: p99<2s", ("p95", 0.02)),
            ("GET /report: p99<2s", ("p99", 2.4)),
        ] {
            let story = Story { goals: goals.parse().unwrap(), ..Story::default() };
            let GoalLatency { quantile, latency_s, .. } = story.goal_latency(&summary);
            assert_eq!((quantile, latency_s), expected, "{goals}");
        }
    }
}
