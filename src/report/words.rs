//! What a session found, in sentences: said once here, laid out by each format.
//!
//! In: a [`Story`] and a [`Language`]. Out: unescaped plain text. What is said is decided here, and
//! how it is said in `language`. Computes only, and judges nothing that the events did not judge.

use super::story::Story;
use super::wording::{
    Counted, Found, Language, Nearest, NoFigure, Outcome, Phrases, Today, Undone, WayOut,
};
use super::{figures, knob_words, objective_text, used_words};
use crate::terms::{
    Configuration, CurrentSetting, Decision, GoalSummary, LimitKind, Machine, Offered,
    QuantileLimit, Reason, SessionState, Stated, TrialFailure, TrialPurpose, TrialSummary, Variant,
    Verdict,
};

/// As in JSON.
pub fn purpose(purpose: TrialPurpose) -> &'static str {
    match purpose {
        TrialPurpose::Unloaded => "unloaded",
        TrialPurpose::Saturate => "saturate",
        TrialPurpose::Probe => "probe",
        TrialPurpose::Confirm => "confirm",
        TrialPurpose::Hold => "hold",
        TrialPurpose::Screen => "screen",
    }
}

/// As in JSON.
pub fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Yes => "yes",
        Verdict::No => "no",
        Verdict::Undecided => "undecided",
    }
}

/// As in JSON.
pub fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Cores => "cores",
        LimitKind::Quota => "quota",
        LimitKind::Gvl => "gvl",
        LimitKind::Threads => "threads",
        LimitKind::Balance => "balance",
        LimitKind::Backlog => "backlog",
        LimitKind::Backend => "backend",
        LimitKind::Memory => "memory",
        LimitKind::Proxy => "proxy",
        LimitKind::Gc => "gc",
        LimitKind::Host => "host",
        LimitKind::Generator => "generator",
        LimitKind::Unknown => "unknown",
    }
}

/// The limit as people name it; where there are no threads to choose, workers are what it lacks.
pub fn limit_title(story: &Story, kind: LimitKind, language: Language) -> &'static str {
    match kind {
        LimitKind::Gvl | LimitKind::Threads if !story.has_threads => language.labels().workers,
        kind => language.phrases().limit(kind),
    }
}

/// What became of a trial. Nothing is asked of `Unloaded` and `Saturate`.
pub fn outcome(trial: &TrialSummary) -> Outcome {
    match (&trial.failure, trial.valid, trial.purpose, trial.verdict) {
        (Some(TrialFailure::Boot(_)), ..) => Outcome::DidNotStart,
        (Some(TrialFailure::Died { .. }), ..) if trial.limit.kind == LimitKind::Memory => {
            Outcome::OutOfMemory
        }
        (Some(TrialFailure::Died { .. }), ..) => Outcome::ServerEnded,
        (None, false, ..) => Outcome::NotValid,
        (None, true, TrialPurpose::Unloaded | TrialPurpose::Saturate, _) => Outcome::Measured,
        (None, true, TrialPurpose::Screen, _) if trial.offered.rate().is_none() => {
            Outcome::Measured
        }
        (None, true, _, Verdict::Yes) => Outcome::Held,
        (None, true, _, Verdict::No) => Outcome::DidNotHold,
        (None, true, _, Verdict::Undecided) => Outcome::Undecided,
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

/// `3 workers x 5 threads`, or `3 workers` where there are no threads to choose.
fn in_full(story: &Story, workers: u16, threads: u16, say: &dyn Phrases) -> String {
    say.setting(u64::from(workers), story.has_threads.then_some(u64::from(threads)))
}

/// A configuration in short: `3 x 5`, or `3 workers` where there are no threads to choose.
pub fn name_of(story: &Story, workers: u16, threads: u16, language: Language) -> String {
    match story.has_threads {
        true => story.name_of(workers, threads),
        false => language.phrases().count(u64::from(workers), Counted::Workers),
    }
}

/// The same.
pub fn name(story: &Story, configuration: Configuration, language: Language) -> String {
    name_of(story, configuration.workers.get(), configuration.threads.get(), language)
}

/// What a configuration consists of, as the head of a column.
pub fn configurations(story: &Story, language: Language) -> &'static str {
    let labels = language.labels();
    if story.has_threads { labels.workers_x_threads } else { labels.workers }
}

/// The session in one sentence: what to set, or why there is nothing to set.
pub fn headline(story: &Story, language: Language) -> String {
    if let Some(found) = &story.verification {
        return super::verify_text::headline(story, found, language);
    }
    let say = language.phrases();
    let goal = goal(story, language);
    let Some(decision) = &story.decision else { return without_decision(story, &goal, say) };
    let setting = in_full(story, decision.workers, decision.threads, say);
    let capacity = figures::number(decision.capacity_rps);
    let found = Found { setting: &setting, capacity: &capacity, goal: &goal };
    if let Some(text) = objective_text::headline(story, &found, language) {
        return text;
    }
    if story.chosen() == story.current_configuration() {
        return match was_the_only_one(story) {
            true => say.only_todays(&found),
            false => say.keep(&found),
        };
    }
    let Some(now) = &story.current else { return say.run(&found) };
    let setting = name_of(story, now.workers, now.threads, language);
    let today = Today { setting: &setting, is_one: story.has_threads || now.workers == 1 };
    say.run_instead(&found, &today, decision.gain_ratio.map(figures::ratio).as_deref())
}

/// Was today's setting measured alone, although others were to be?
fn was_the_only_one(story: &Story) -> bool {
    let Some(current) = story.current_configuration() else { return false };
    let is_current = |workers, threads| Configuration::new(workers, threads) == Ok(current);
    let has_others = story.predicted.iter().any(|one| !is_current(one.workers, one.threads));
    let is_measured = |trial: &TrialSummary| trial.valid && trial.configuration != current;
    has_others && !story.trials.iter().any(is_measured)
}

fn goal(story: &Story, language: Language) -> String {
    match story.goals.is_empty() {
        true => language.labels().the_goal.to_string(),
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
        _ => Undone::NotTold { goal, so_far },
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

fn today(story: &Story, now: &CurrentSetting, language: Language) -> String {
    let say = language.phrases();
    let name = name_of(story, now.workers, now.threads, language);
    let Some(capacity) = now.capacity_rps else {
        return say.holds_not(&name, !story.has_threads, without_capacity(story));
    };
    let interval = now.capacity_rps_interval.map(|bounds| say.interval(bounds));
    say.holds(&name, !story.has_threads, &figures::rate(capacity), interval.as_deref())
}

/// Why there is no figure for what runs today: only a believable trial shows that it holds nothing.
fn without_capacity(story: &Story) -> NoFigure {
    let today = story.current_configuration();
    let mut trials =
        story.trials.iter().filter(|trial| Some(trial.configuration) == today).peekable();
    if trials.peek().is_none() && story.boot_failures.iter().any(|(it, _)| Some(*it) == today) {
        return NoFigure::DoesNotStart;
    }
    let is_shown = |trial: &TrialSummary| {
        trial.valid && trial.failure.is_none() && trial.verdict == Verdict::No
    };
    let (mut is_slow, mut is_gone) = (false, false);
    for trial in trials {
        is_slow |= is_shown(trial);
        is_gone |= trial.failure.is_some();
    }
    match (is_slow, is_gone) {
        (true, _) => NoFigure::HoldsNothing,
        (false, true) => NoFigure::EndedUnderLoad,
        (false, false) => NoFigure::NotFarEnough,
    }
}

fn decision_facts(
    story: &Story,
    decision: &Decision,
    language: Language,
    facts: &mut Vec<(&'static str, String)>,
) {
    let (say, labels) = (language.phrases(), language.labels());
    let found = say.holds(
        &name_of(story, decision.workers, decision.threads, language),
        !story.has_threads,
        &figures::rate(decision.capacity_rps),
        Some(&say.interval(decision.capacity_rps_interval)),
    );
    facts.push((labels.found, found));
    if story.chosen() != story.current_configuration() {
        facts.extend(gain(decision, say).map(|text| (labels.gain, text)));
    }
    let knobs = story.knobs.as_ref();
    let knobs = knobs.and_then(|knobs| knob_words::recommended(story, knobs, language));
    facts.extend(knobs.map(|text| (labels.with_knobs, text)));
    facts.push((labels.limit, limit_text(story, decision, language)));
    if let Some(advice) = &decision.limit.advice {
        facts.push((labels.what_helps, language.say(advice)));
    }
    let share = figures::percent(decision.operating_rps / decision.capacity_rps);
    let day_to_day = say.day_to_day(&figures::rate(decision.operating_rps), &share);
    facts.push((labels.day_to_day, day_to_day));
    if let Some(memory) = decision.memory_bytes {
        let all = story.machine.as_ref().map(|machine| machine.memory_bytes.to_string());
        facts.push((labels.memory, say.memory_of(&figures::bytes(memory), all.as_deref())));
    }
    let parts = story.memory.as_ref();
    let parts = parts.map(|parts| used_words::memory_parts(parts, story.has_threads, language));
    facts.extend(parts.map(|text| (labels.of_that, text)));
    facts.extend(used_words::inside(story, language).map(|text| (labels.inside, text)));
    let connections = u64::from(decision.database_connections);
    facts.push((labels.database, say.up_to_connections(connections)));
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
    let title = limit_title(story, limit.kind, language);
    let is_known = limit.kind != LimitKind::Unknown;
    let confidence = is_known.then(|| figures::percent(limit.confidence));
    language.phrases().limit_because(title, &language.say(&limit.evidence), confidence.as_deref())
}

/// Without a decision: the best that is known.
fn best_known(story: &Story, language: Language) -> Option<(&'static str, String)> {
    let (say, labels) = (language.phrases(), language.labels());
    if let Some((trial, rate)) = story.highest_held() {
        let name = name(story, trial.configuration, language);
        let held = say.best_so_far(&name, !story.has_threads, &figures::rate(rate), trial.id);
        return Some((labels.best_so_far, held));
    }
    let nearest = nearest(story)?;
    let (quantile, latency) = goal_latency(story, nearest);
    let failed = failed_share(nearest);
    let failed = (failed != 0.0).then(|| figures::percent(failed));
    let told = say.nearest(&Nearest {
        setting: &name(story, nearest.configuration, language),
        offered: &offered(&nearest.offered, language),
        quantile,
        latency: &figures::latency(latency),
        failed: failed.as_deref(),
        trial: nearest.id,
    });
    Some((labels.nearest, told))
}

/// The believable trial that came nearest to the goal: fewest failures, then lowest latency.
fn nearest(story: &Story) -> Option<&TrialSummary> {
    let distance = |trial: &TrialSummary| (failed_share(trial), goal_latency(story, trial).1);
    story.trials.iter().filter(|trial| trial.valid && trial.summary.completed > 0).min_by(|a, b| {
        let ((a_failed, a_latency), (b_failed, b_latency)) = (distance(a), distance(b));
        a_failed.total_cmp(&b_failed).then(a_latency.total_cmp(&b_latency))
    })
}

/// Share of requests without a 2xx or 3xx reply.
fn failed_share(trial: &TrialSummary) -> f64 {
    let summary = &trial.summary;
    let good: u64 = summary
        .status
        .iter()
        .filter(|(status, _)| status.starts_with(['2', '3']))
        .map(|(_, count)| count)
        .sum();
    if summary.due == 0 { 0.0 } else { 1.0 - good as f64 / summary.due as f64 }
}

/// The first limit on a latency; of several goals the common one's comes first.
fn first_limit(story: &Story) -> Option<QuantileLimit> {
    story.goals.settled().next()?.quantiles.first().copied()
}

/// The latency that the first limit is on, with its name, of the requests that its goal is about;
/// p95 where it limits none we keep.
fn goal_latency(story: &Story, trial: &TrialSummary) -> (&'static str, f64) {
    let is_own = story.goals.common().is_none();
    let mut goals = trial.summary.goals.iter().filter(|_| !story.goals.own.is_empty());
    let kept = match goals.find(|goal| goal.own == is_own && goal.due > 0) {
        Some(GoalSummary { latency_s: it, .. }) => {
            vec![(0.95, "p95", it.p95), (0.5, "p50", it.p50), (0.99, "p99", it.p99)]
        }
        None => {
            let it = &trial.summary.latency_s;
            vec![
                (0.95, "p95", it.p95),
                (0.5, "p50", it.p50),
                (0.75, "p75", it.p75),
                (0.9, "p90", it.p90),
                (0.99, "p99", it.p99),
                (0.999, "p99.9", it.p999),
            ]
        }
    };
    let quantile = first_limit(story).map_or(0.95, |limit| limit.quantile.get());
    let found = kept.iter().find(|(kept, ..)| (quantile - kept).abs() < 1e-9);
    let (_, name, latency) = found.unwrap_or(&kept[0]);
    (name, *latency)
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
        return when_not_told(story, language);
    }
    let mut ways: Vec<String> = unloaded_way_out(story, say).into_iter().collect();
    if story.trials.iter().any(|trial| trial.valid && failed_share(trial) > 0.0) {
        ways.push(say.way_out(&WayOut::SeeErrors));
    }
    ways.push(say.way_out(&WayOut::AskForLess));
    ways
}

/// What kept trials from counting comes first: with more time it would do so again.
fn when_not_told(story: &Story, language: Language) -> Vec<String> {
    let say = language.phrases();
    let not_valid = story.trials.iter().filter(|trial| !trial.valid);
    let mut reasons: Vec<&Stated<Reason>> = not_valid.map(|trial| &trial.reason).collect();
    reasons.dedup();
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
    let limit = first_limit(story)?.limit.as_secs_f64();
    let alone =
        story.trials.iter().find(|trial| trial.valid && trial.purpose == TrialPurpose::Unloaded)?;
    let (quantile, latency) = goal_latency(story, alone);
    (latency >= limit).then(|| {
        say.way_out(&WayOut::FasterApp {
            alone: &figures::latency(latency),
            quantile,
            goal: &figures::latency(limit),
            has_threads: story.has_threads,
        })
    })
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
    let how = say.method(&trials_in, &say.span(story.load_s), &outcomes(story, say));
    format!("{how}{arrivals}")
}

/// `5 held`, `3 did not hold`, `1 undecided`; empty without trials.
fn outcomes(story: &Story, say: &dyn Phrases) -> Vec<String> {
    let mut counts: Vec<(Outcome, usize)> = Vec::new();
    for trial in &story.trials {
        let outcome = outcome(trial);
        match counts.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += 1,
            None => counts.push((outcome, 1)),
        }
    }
    counts.iter().map(|(outcome, count)| say.outcomes(*outcome, *count)).collect()
}

/// `2 cores of AMD EPYC 7763, 4.0 GiB, kernel 6.1.0`.
pub fn machine(machine: &Machine, language: Language) -> String {
    let is_one = machine.cores.get() == 1.0;
    let cores = if is_one { "1".to_string() } else { machine.cores.to_string() };
    let memory = machine.memory_bytes.to_string();
    language.phrases().machine(&cores, is_one, &machine.cpu_model, &memory, &machine.kernel)
}

/// One line for lists: `3 x 5, 412/s`; `name` is the configuration's.
pub fn in_short(name: &str, decision: &Decision) -> String {
    format!("{name}, {}", figures::rate(decision.capacity_rps))
}

/// Configurations as good as the chosen one: `(configuration, share, interval, memory)`.
pub fn equivalents(story: &Story, decision: &Decision, language: Language) -> Vec<[String; 3]> {
    let row = |other: &crate::terms::Equivalent| {
        [
            name_of(story, other.workers, other.threads, language),
            language.phrases().share(other.ratio, other.ratio_interval),
            other.memory_bytes.map(figures::bytes).unwrap_or_default(),
        ]
    };
    decision.equivalent.iter().map(row).collect()
}

/// A configuration that never became ready, or whose server ended: who, what, and its last lines.
pub fn failures(story: &Story, language: Language) -> Vec<(String, Vec<String>)> {
    let mut failures: Vec<(String, Vec<String>)> = story
        .boot_failures
        .iter()
        .map(|(configuration, failure)| {
            let as_it_is = Variant::AS_IT_IS;
            let what =
                knob_words::did_not_start(story, *configuration, as_it_is, failure, language);
            (what, failure.last_lines.clone())
        })
        .collect();
    failures.extend(story.variant_failures.iter().map(|(configuration, variant, failure)| {
        let what = knob_words::did_not_start(story, *configuration, *variant, failure, language);
        (what, failure.last_lines.clone())
    }));
    for trial in &story.trials {
        if let Some(TrialFailure::Died { status, last_lines }) = &trial.failure {
            let who = name(story, trial.configuration, language);
            let (status, in_workers) = (language.say(status), !story.has_threads);
            let what = language.phrases().ended(&who, in_workers, trial.id, &status);
            failures.push((what, last_lines.clone()));
        }
    }
    failures
}

/// Every doubt about the session.
pub fn warnings(story: &Story, language: Language) -> Vec<String> {
    story.warnings.iter().map(|it| language.say_warning(it)).collect()
}

/// How far the predictions were off that were made before each measurement; `None` when nothing
/// can be compared.
pub fn predictions_scored(story: &Story, language: Language) -> Option<String> {
    let (say, labels) = (language.phrases(), language.labels());
    let scored = story.scored();
    let off = |predicted: f64, measured: Option<f64>| {
        let measured = measured.filter(|measured| *measured > 0.0 && predicted > 0.0)?;
        Some((predicted / measured - 1.0).abs())
    };
    let throughput = scored
        .iter()
        .map(|it| off(it.predicted_throughput_rps_max, it.measured_throughput_rps_max));
    let capacity = scored.iter().map(|it| off(it.predicted_capacity_rps, it.measured_capacity_rps));
    let told = [
        (labels.throughput, throughput.flatten().collect()),
        (labels.capacity, capacity.flatten().collect()),
    ]
    .map(|(what, mut errors): (&str, Vec<f64>)| {
        errors.sort_by(f64::total_cmp);
        let median = errors.get(errors.len() / 2)?;
        let count = say.count(errors.len() as u64, Counted::Settings);
        Some(say.off_by(what, &figures::percent(*median), &count))
    });
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| say.predictions_off(&told))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{BootFailure, BootFailureKind, Limit, SessionError, Settings, Stated};
    use crate::terms::{CpuBusy, Slots, WaitingEvidence};
    use crate::terms::{PredictedLimit, Prediction};

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
            limit: Limit::unknown(WaitingEvidence::NotSaturated),
            goals: Vec::new(),
            goals_rps: None,
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
                story(Some((1, 5, None)), None),
                format!(
                    "Run 2 workers x 1 thread: it {holds}; today's 1 x 5 holds no rate within it."
                ),
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
        story.has_threads = false;
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
        let (what, why) = ("start a process".into(), "no memory".into());
        let error = SessionError::CouldNot { what, why };
        let story = Story { error: Some(error.into()), ..story };
        assert_eq!(headline(&story, Language::English), "Could not start a process: no memory.");
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
}
