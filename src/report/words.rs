//! What a session found, in sentences: said once here, laid out by each format.
//!
//! In: a [`Story`]. Out: unescaped plain text. Computes only, and judges nothing that the events
//! did not judge.

use super::story::Story;
use super::{figures, knob_words, objective_text, used_words};
use crate::terms::{
    Arrivals, Configuration, CurrentSetting, Decision, LimitKind, Machine, Offered, SessionState,
    Slo, TrialFailure, TrialPurpose, TrialSummary, Variant, Verdict,
};

/// As in JSON.
pub fn purpose(purpose: TrialPurpose) -> &'static str {
    match purpose {
        TrialPurpose::Unloaded => "unloaded",
        TrialPurpose::Saturate => "saturate",
        TrialPurpose::Probe => "probe",
        TrialPurpose::Confirm => "confirm",
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

/// The limit as people name it.
fn limit_title(story: &Story, kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Gvl | LimitKind::Threads if !story.has_threads => "workers",
        // Ruby's GVL, Python's GIL.
        LimitKind::Gvl => "interpreter lock",
        LimitKind::Gc => "garbage collection",
        LimitKind::Unknown => "not known",
        kind => limit(kind),
    }
}

/// What became of a trial, in two or three words. Nothing is asked of `Unloaded` and `Saturate`.
pub fn outcome(trial: &TrialSummary) -> &'static str {
    match (&trial.failure, trial.valid, trial.purpose, trial.verdict) {
        (Some(TrialFailure::Boot(_)), ..) => "did not start",
        (Some(TrialFailure::Died { .. }), ..) if trial.limit.kind == LimitKind::Memory => {
            "out of memory"
        }
        (Some(TrialFailure::Died { .. }), ..) => "server ended",
        (None, false, ..) => "not valid",
        (None, true, TrialPurpose::Unloaded | TrialPurpose::Saturate, _) => "measured",
        (None, true, TrialPurpose::Screen, _) if trial.offered.rate().is_none() => "measured",
        (None, true, _, Verdict::Yes) => "held",
        (None, true, _, Verdict::No) => "did not hold",
        (None, true, _, Verdict::Undecided) => "undecided",
    }
}

/// The load of a trial: `412/s` or `10 clients`.
pub fn offered(offered: &Offered) -> String {
    match offered {
        Offered::Open { rate, .. } => figures::rate(rate.as_per_second()),
        Offered::Closed { clients, .. } => figures::count(u64::from(*clients), "client", "clients"),
    }
}

/// `3 workers x 5 threads`, or `3 workers` where there are no threads to choose.
fn in_full(story: &Story, workers: u16, threads: u16) -> String {
    let workers = figures::count(u64::from(workers), "worker", "workers");
    match story.has_threads {
        true => format!("{workers} x {}", figures::count(u64::from(threads), "thread", "threads")),
        false => workers,
    }
}

/// The limit of one trial in a word.
pub fn limit_of(story: &Story, trial: &TrialSummary) -> &'static str {
    match trial.limit.kind {
        LimitKind::Gvl | LimitKind::Threads if !story.has_threads => "workers",
        kind => limit(kind),
    }
}

/// What a configuration consists of, as the head of a column.
pub fn configurations(story: &Story) -> &'static str {
    if story.has_threads { "workers x threads" } else { "workers" }
}

/// The session in one sentence: what to set, or why there is nothing to set.
pub fn headline(story: &Story) -> String {
    if let Some(found) = &story.verification {
        return super::verify_text::headline(story, found);
    }
    let goal = goal(story);
    let Some(decision) = &story.decision else { return without_decision(story, &goal) };
    let chosen = in_full(story, decision.workers, decision.threads);
    let holds = format!("{} requests/s within {goal}", figures::number(decision.capacity_rps));
    if let Some(text) = objective_text::headline(story, &chosen, &holds) {
        return text;
    }
    if story.chosen() == story.current_configuration() {
        if was_the_only_one(story) {
            return format!(
                "Too short to compare: today's {chosen} holds {holds}, and no other setting was \
                 measured; a longer --budget measures more."
            );
        }
        return format!("Keep {chosen}, as it runs today: it holds {holds}.");
    }
    match (&story.current, decision.gain_ratio) {
        (Some(now), Some(gain)) => format!(
            "Run {chosen}: it holds {holds}, {} times what today's {}.",
            figures::ratio(gain),
            todays_hold(story, now)
        ),
        (Some(now), None) => format!(
            "Run {chosen}: it holds {holds}; today's {} no rate within it.",
            todays_hold(story, now)
        ),
        (None, _) => format!("Run {chosen}: it holds {holds}."),
    }
}

/// `1 x 5 holds`, `1 worker holds` or `2 workers hold`.
fn todays_hold(story: &Story, now: &CurrentSetting) -> String {
    let is_one = story.has_threads || now.workers == 1;
    let verb = if is_one { "holds" } else { "hold" };
    format!("{} {verb}", story.name_of(now.workers, now.threads))
}

/// A configuration before a verb: `3 x 5` holds, `3 workers:` holds.
fn subject(story: &Story, workers: u16, threads: u16) -> String {
    let colon = if story.has_threads { "" } else { ":" };
    format!("{}{colon}", story.name_of(workers, threads))
}

fn subject_of(story: &Story, configuration: Configuration) -> String {
    subject(story, configuration.workers.get(), configuration.threads.get())
}

/// Was today's setting measured alone, although others were to be?
fn was_the_only_one(story: &Story) -> bool {
    let Some(current) = story.current_configuration() else { return false };
    let is_current = |workers, threads| Configuration::new(workers, threads) == Ok(current);
    let has_others = story.predicted.iter().any(|one| !is_current(one.workers, one.threads));
    let is_measured = |trial: &TrialSummary| trial.valid && trial.configuration != current;
    has_others && !story.trials.iter().any(is_measured)
}

fn goal(story: &Story) -> String {
    if story.slo.is_empty() { "the goal".to_string() } else { story.slo.clone() }
}

fn without_decision(story: &Story, goal: &str) -> String {
    let trials = figures::count(story.trials.len() as u64, "trial", "trials");
    let so_far = format!("{trials} in {}", figures::span(story.elapsed_s));
    match (story.state, &story.error) {
        (_, Some(error)) => match error.strip_prefix("could not ") {
            Some(what) => format!("Could not {what}."),
            None => format!("Could not measure: {error}."),
        },
        (SessionState::Running, None) => {
            format!("This session has not ended, so there is no decision yet ({so_far}).")
        }
        _ if story.trials.is_empty() && !story.boot_failures.is_empty() => {
            "The server did not start with any setting that was tried.".to_string()
        }
        _ if story.trials.is_empty() => "No trial was run, so nothing is known.".to_string(),
        (SessionState::Stopped, None) => {
            format!("Stopped before it could decide ({so_far}).")
        }
        _ if story.trials.iter().all(|trial| trial.failure.is_some()) => {
            "Could not measure: the server ended by itself in every trial.".to_string()
        }
        _ if story.trials.iter().all(|trial| !trial.valid) => {
            format!("Nothing can be concluded: none of the {trials} is valid.")
        }
        _ if story.highest_held().is_some() => {
            format!("No decision was reached within the budget ({so_far}).")
        }
        _ => format!("No configuration held any rate that was tried within {goal}."),
    }
}

/// What stands behind the headline, as `(what, sentence)`.
pub fn facts(story: &Story) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if story.state == SessionState::Stopped && story.decision.is_some() {
        facts.push(("stopped", "before its end: this is the answer so far".to_string()));
    }
    if let (Some(error), Some(_)) = (&story.error, &story.decision) {
        facts.push(("failed", format!("before its end: this is the answer so far; {error}")));
    }
    if let Some(now) = &story.current {
        facts.push(("today", today(story, now)));
    }
    match &story.decision {
        Some(decision) => decision_facts(story, decision, &mut facts),
        None => facts.extend(best_known(story)),
    }
    facts
}

fn today(story: &Story, now: &CurrentSetting) -> String {
    let name = subject(story, now.workers, now.threads);
    match (now.capacity_rps, now.capacity_rps_interval) {
        (Some(capacity), Some(bounds)) => {
            format!("{name} holds {} ({})", figures::rate(capacity), figures::interval(bounds))
        }
        (Some(capacity), None) => format!("{name} holds {}", figures::rate(capacity)),
        (None, _) => format!("{name} {}", without_capacity(story)),
    }
}

/// Why there is no figure for what runs today: only a believable trial shows that it holds nothing.
fn without_capacity(story: &Story) -> &'static str {
    let today = story.current_configuration();
    let mut trials =
        story.trials.iter().filter(|trial| Some(trial.configuration) == today).peekable();
    if trials.peek().is_none() && story.boot_failures.iter().any(|(it, _)| Some(*it) == today) {
        return "does not start";
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
        (true, _) => "holds no rate within the goal",
        (false, true) => "ended by itself under load",
        (false, false) => "was not measured far enough to say what it holds",
    }
}

fn decision_facts(story: &Story, decision: &Decision, facts: &mut Vec<(&'static str, String)>) {
    facts.push((
        "found",
        format!(
            "{} holds {} ({})",
            subject(story, decision.workers, decision.threads),
            figures::rate(decision.capacity_rps),
            figures::interval(decision.capacity_rps_interval)
        ),
    ));
    if story.chosen() != story.current_configuration() {
        facts.extend(gain(decision).map(|text| ("gain", text)));
    }
    let knobs = story.knobs.as_ref().and_then(|knobs| knob_words::recommended(story, knobs));
    facts.extend(knobs.map(|text| ("with knobs", text)));
    facts.push(("limit", limit_text(story, decision)));
    if !decision.limit.advice.is_empty() {
        facts.push(("what helps", decision.limit.advice.clone()));
    }
    facts.push(("day to day", day_to_day(decision)));
    if let Some(memory) = decision.memory_bytes {
        let of = story
            .machine
            .as_ref()
            .map(|machine| format!(" of {}", machine.memory_bytes))
            .unwrap_or_default();
        facts.push(("memory", format!("{}{of}", figures::bytes(memory))));
    }
    facts.extend(
        story
            .memory
            .as_ref()
            .map(|parts| ("of that", used_words::memory_parts(parts, story.has_threads))),
    );
    facts.extend(used_words::inside(story).map(|text| ("inside", text)));
    let connections = u64::from(decision.database_connections);
    facts.push((
        "database",
        format!("up to {}", figures::count(connections, "connection", "connections")),
    ));
}

fn gain(decision: &Decision) -> Option<String> {
    let gain = decision.gain_ratio?;
    let Some(bounds) = decision.gain_ratio_interval else {
        return Some(format!("{} ({} times as much)", figures::change(gain), figures::ratio(gain)));
    };
    let doubt = if bounds[0] <= 1.0 && bounds[1] >= 1.0 {
        "; no difference can be told apart here"
    } else {
        ""
    };
    Some(format!(
        "{}: {} times as much ({}){doubt}",
        figures::change(gain),
        figures::ratio(gain),
        figures::ratio_interval(bounds)
    ))
}

fn limit_text(story: &Story, decision: &Decision) -> String {
    let limit = &decision.limit;
    let title = limit_title(story, limit.kind);
    if limit.kind == LimitKind::Unknown {
        return format!("{title}: {}", limit.evidence);
    }
    format!("{title}: {} (confidence {})", limit.evidence, figures::percent(limit.confidence))
}

fn day_to_day(decision: &Decision) -> String {
    let share = decision.operating_rps / decision.capacity_rps;
    format!(
        "{}, {} of what it holds: the rest is for bursts and bad days",
        figures::rate(decision.operating_rps),
        figures::percent(share)
    )
}

/// Without a decision: the best that is known.
fn best_known(story: &Story) -> Option<(&'static str, String)> {
    if let Some((trial, rate)) = story.highest_held() {
        return Some((
            "best so far",
            format!(
                "{} held {} in trial {}",
                subject_of(story, trial.configuration),
                figures::rate(rate),
                trial.id
            ),
        ));
    }
    let nearest = nearest(story)?;
    let (name, latency) = goal_latency(story, nearest);
    let failed = failed_share(nearest);
    let errors = match failed {
        0.0 => "no request failed".to_string(),
        share => format!("{} of the requests failed", figures::percent(share)),
    };
    Some((
        "nearest",
        format!(
            "{} under {}: {name} {}, {errors} (trial {})",
            story.name(nearest.configuration),
            offered(&nearest.offered),
            figures::latency(latency),
            nearest.id
        ),
    ))
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

/// The latency that the goal's first term limits, with its name; p95 where it limits none we keep.
fn goal_latency(story: &Story, trial: &TrialSummary) -> (String, f64) {
    let latency = &trial.summary.latency_s;
    let quantile = story
        .slo
        .parse::<Slo>()
        .ok()
        .and_then(|slo| slo.quantiles.first().map(|term| term.quantile.get()));
    let kept = [
        (0.5, "p50", latency.p50),
        (0.75, "p75", latency.p75),
        (0.9, "p90", latency.p90),
        (0.95, "p95", latency.p95),
        (0.99, "p99", latency.p99),
        (0.999, "p99.9", latency.p999),
    ];
    kept.into_iter()
        .find(|(q, ..)| quantile.is_some_and(|wanted| (wanted - q).abs() < 1e-9))
        .map_or(("p95".to_string(), latency.p95), |(_, name, value)| (name.to_string(), value))
}

/// Without a decision: what to do about it, a sentence each.
pub fn ways_out(story: &Story) -> Vec<String> {
    if story.decision.is_some() || story.error.is_some() {
        return Vec::new();
    }
    if story.state == SessionState::Running {
        let way = "if its program died, 'sweetspot tune' with the same plan in the same folder \
                   takes up what was measured";
        return vec![way.to_string()];
    }
    let mut ways = Vec::new();
    if story.trials.is_empty() && !story.boot_failures.is_empty() {
        ways.extend(story.boot_failures.iter().map(|(_, failure)| failure.advice.clone()));
        ways.dedup();
        return ways;
    }
    if story.state == SessionState::Stopped {
        ways.push("let it run to its end, or give it less time with --budget".to_string());
        return ways;
    }
    if !story.trials.is_empty() && story.trials.iter().all(|trial| trial.failure.is_some()) {
        let way = "find out what ends the server: its own last lines are shown with each trial, \
                   and 'sweetspot load' can repeat the load on a server that you start yourself";
        ways.push(way.to_string());
        return ways;
    }
    if !story.trials.is_empty() && story.trials.iter().all(|trial| !trial.valid) {
        let mut reasons: Vec<&str> = story.trials.iter().map(|t| t.reason.as_str()).collect();
        reasons.dedup();
        ways.extend(reasons.into_iter().take(3).map(|reason| format!("mend this first: {reason}")));
        ways.push("'sweetspot doctor' says whether this machine is fit to measure on".to_string());
        return ways;
    }
    if story.highest_held().is_some() || story.trials.is_empty() {
        ways.push("give it more time: --budget 20m".to_string());
        return ways;
    }
    ways.extend(unloaded_way_out(story));
    if story.trials.iter().any(|trial| trial.valid && failed_share(trial) > 0.0) {
        ways.push("see why requests fail: the trials list each status and error".to_string());
    }
    ways.push("ask for less: --slo with a higher latency limit or error ratio".to_string());
    ways
}

/// When one request alone is slower than the goal, no setting can help.
fn unloaded_way_out(story: &Story) -> Option<String> {
    let slo: Slo = story.slo.parse().ok()?;
    let limit = slo.quantiles.first()?.limit.as_secs_f64();
    let alone =
        story.trials.iter().find(|trial| trial.valid && trial.purpose == TrialPurpose::Unloaded)?;
    let (name, latency) = goal_latency(story, alone);
    (latency >= limit).then(|| {
        format!(
            "make the app faster: one request alone takes {} ({name}), the goal is {}, so no \
             number of workers{} can meet it",
            figures::latency(latency),
            figures::latency(limit),
            if story.has_threads { " or threads" } else { "" }
        )
    })
}

/// How the figures came about.
pub fn method(story: &Story) -> String {
    let arrivals = story.trials.iter().find_map(|trial| match trial.offered {
        Offered::Open { arrivals, .. } => Some(arrivals),
        Offered::Closed { .. } => None,
    });
    let arrivals = match arrivals {
        Some(Arrivals::Poisson) => " Requests arrived as independent users do (Poisson).",
        Some(Arrivals::Uniform) => {
            " Requests arrived at equal distances, which overstates capacity."
        }
        None => "",
    };
    format!(
        "{} in {}, {} of it under load{}.{arrivals}",
        figures::count(story.trials.len() as u64, "trial", "trials"),
        figures::span(story.elapsed_s),
        figures::span(story.load_s),
        outcomes(story)
    )
}

/// `: 5 held, 3 did not hold, 1 undecided`; empty without trials.
fn outcomes(story: &Story) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for trial in &story.trials {
        let outcome = match outcome(trial) {
            "measured" => "for calibration",
            outcome => outcome,
        };
        match counts.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, count)) => *count += 1,
            None => counts.push((outcome, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) }
}

/// `2 cores of AMD EPYC 7763, 4.0 GiB, Linux 6.1.0`.
pub fn machine(machine: &Machine) -> String {
    let cores = machine.cores.get();
    let cores =
        if cores == 1.0 { "1 core".to_string() } else { format!("{} cores", machine.cores) };
    format!("{cores} of {}, {}, kernel {}", machine.cpu_model, machine.memory_bytes, machine.kernel)
}

/// One line for lists: `3 x 5, 412/s`; `name` is the configuration's.
pub fn in_short(name: &str, decision: &Decision) -> String {
    format!("{name}, {}", figures::rate(decision.capacity_rps))
}

/// Configurations as good as the chosen one: `(configuration, share, interval, memory)`.
pub fn equivalents(story: &Story, decision: &Decision) -> Vec<[String; 3]> {
    decision
        .equivalent
        .iter()
        .map(|other| {
            [
                story.name_of(other.workers, other.threads),
                format!(
                    "{} ({:.0} to {:.0})",
                    figures::percent(other.ratio),
                    other.ratio_interval[0] * 100.0,
                    other.ratio_interval[1] * 100.0
                ),
                other.memory_bytes.map(figures::bytes).unwrap_or_default(),
            ]
        })
        .collect()
}

/// A configuration that never became ready, or whose server ended: who, what, and its last lines.
pub fn failures(story: &Story) -> Vec<(String, Vec<String>)> {
    let mut failures: Vec<(String, Vec<String>)> = story
        .boot_failures
        .iter()
        .map(|(configuration, failure)| {
            let what = knob_words::did_not_start(story, *configuration, Variant::AS_IT_IS, failure);
            (what, failure.last_lines.clone())
        })
        .collect();
    failures.extend(story.variant_failures.iter().map(|(configuration, variant, failure)| {
        let what = knob_words::did_not_start(story, *configuration, *variant, failure);
        (what, failure.last_lines.clone())
    }));
    for trial in &story.trials {
        if let Some(TrialFailure::Died { status, last_lines }) = &trial.failure {
            let who = subject_of(story, trial.configuration);
            let what = format!("{who} ended in trial {} ({status})", trial.id);
            failures.push((what, last_lines.clone()));
        }
    }
    failures
}

/// How far the predictions were off that were made before each measurement; `None` when nothing
/// can be compared.
pub fn predictions_scored(story: &Story) -> Option<String> {
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
        ("throughput", throughput.flatten().collect()),
        ("capacity", capacity.flatten().collect()),
    ]
    .map(|(what, mut errors): (&str, Vec<f64>)| {
        errors.sort_by(f64::total_cmp);
        let median = errors.get(errors.len() / 2)?;
        let count = figures::count(errors.len() as u64, "setting", "settings");
        Some(format!("{what} by {} ({count})", figures::percent(*median)))
    });
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| {
        format!("Predictions made beforehand were off in the median: {}.", told.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{BootFailure, BootFailureKind, Limit, Settings};
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
            operating_rps: 70.0,
            limit: Limit::unknown("no resource was busy"),
            goals: Vec::new(),
            goals_rps: None,
            equivalent: Vec::new(),
            settings: Settings::default(),
            memory_bytes: None,
            database_connections: 1,
        };
        Story { current, decision: Some(decision), slo: "p95<1s".into(), ..Story::default() }
    }

    fn fact(story: &Story, wanted: &str) -> Option<String> {
        facts(story).into_iter().find(|(what, _)| *what == wanted).map(|(_, text)| text)
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
            assert_eq!(headline(&story), headline_wanted);
        }
    }

    #[test]
    fn where_there_are_no_threads_to_choose_nothing_is_said_of_them() {
        let mut story = story(Some((2, 1, Some(80.0))), Some(1.25));
        let decision = story.decision.as_mut().unwrap();
        decision.workers = 4;
        decision.limit = Limit { kind: LimitKind::Threads, ..Limit::unknown("all 4 workers") };
        story.has_threads = false;
        assert_eq!(
            headline(&story),
            "Run 4 workers: it holds 100 requests/s within p95<1s, 1.25 times what today's 2 \
             workers hold."
        );
        assert!(fact(&story, "today").unwrap().starts_with("2 workers: holds 80"));
        assert!(fact(&story, "found").unwrap().starts_with("4 workers: holds 100"));
        assert!(fact(&story, "limit").unwrap().starts_with("workers: all 4 workers"));
        assert!(facts(&story).iter().all(|(_, text)| !text.contains("thread")));
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
        assert!(headline(&story).starts_with("Keep 2 workers x 1 thread"));
        story.predicted.push(prediction(3));
        assert!(headline(&story).contains("no other setting was measured"), "{}", headline(&story));
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
            error: Some("the port 3000 is taken".into()),
            ..Story::default()
        };
        assert_eq!(headline(&story), "Could not measure: the port 3000 is taken.");
        assert!(ways_out(&story).is_empty());
        let story = Story { error: Some("could not start a process".into()), ..story };
        assert_eq!(headline(&story), "Could not start a process.");
    }

    #[test]
    fn a_server_that_never_started_is_the_headline_and_its_advice_the_way_out() {
        let failure = BootFailure {
            kind: BootFailureKind::SecretKeyBase,
            message: "SECRET_KEY_BASE is missing".into(),
            advice: "set SECRET_KEY_BASE".into(),
            last_lines: Vec::new(),
        };
        let boot_failures = [(1, 5), (2, 5)]
            .map(|(w, t)| (Configuration::new(w, t).unwrap(), failure.clone()))
            .to_vec();
        let story = Story { state: SessionState::Done, boot_failures, ..Story::default() };
        assert!(headline(&story).starts_with("The server did not start"));
        assert_eq!(ways_out(&story), ["set SECRET_KEY_BASE"]);
    }
}
