//! Results as JUnit XML, which CI servers show beside the tests: a goal or a figure a test case.
//!
//! In: what was found. Out: a document that keeps to the schemas of Ant and Jenkins. A case that is
//! undecided is skipped, one that could not be measured is an error. Computes only; what came from
//! outside is text.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::load::LoadResult;
use crate::report::document::{self, compare, goals, names, sentences};
use crate::report::outside::{line, xml};
use crate::report::story::Story;
use crate::report::{Language, Style, figures, render};
use crate::terms::{
    CompareReport, ComparedFigure, GoalSummary, LoadSummary, PlanRecord, PlanSource, PlannedValue,
    RecheckReason, SessionState, Soak, Standing, TrialSummary, Verdict, Verification, plan_records,
};

/// How a case came out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// Measured, and not certain.
    Undecided(String),
    /// Not measured.
    Error(String),
}

impl Outcome {
    fn of(verdict: Verdict, why: impl Into<String>) -> Self {
        match verdict {
            Verdict::Yes => Self::Passed,
            Verdict::No => Self::Failed(why.into()),
            Verdict::Undecided => Self::Undecided(why.into()),
        }
    }

    fn of_goal(met: Option<bool>, why: impl Into<String>) -> Self {
        Self::of(
            met.map_or(Verdict::Undecided, |met| if met { Verdict::Yes } else { Verdict::No }),
            why,
        )
    }
}

struct Case {
    name: String,
    outcome: Outcome,
}

impl Case {
    fn new(name: impl Into<String>, outcome: Outcome) -> Self {
        Self { name: name.into(), outcome }
    }
}

struct Suite {
    /// The verb: `tune`.
    verb: &'static str,
    /// RFC 3339, UTC.
    started_at: Option<String>,
    time_s: f64,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
    /// What a person would read.
    text: String,
}

/// A session of `tune`, or of `verify` when it is one.
pub fn session(story: &Story) -> String {
    match &story.verification {
        Some(found) => render(&verification(story, found)),
        None => render(&tuned(story)),
    }
}

/// What `load` found: whether it is valid, and each goal.
pub fn load(result: &LoadResult<'_>) -> String {
    let summary = result.summary;
    let mut cases = vec![Case::new("valid", validity(summary))];
    // A load that its generator limited shows of no goal whether the server meets it.
    let known = |met: Option<bool>| met.filter(|_| summary.valid);
    match (&summary.goals[..], &summary.slo) {
        ([], None) => {}
        ([], Some(slo)) => {
            let why = Language::DATA.say_or_empty(slo.reason.as_ref());
            cases.push(Case::new(slo.goals.to_string(), Outcome::of_goal(known(slo.met), why)));
        }
        (goals, _) => {
            let known = |goal: &GoalSummary| GoalSummary { met: known(goal.met), ..goal.clone() };
            cases.extend(goal_cases(&goals.iter().map(known).collect::<Vec<_>>()));
        }
    }
    let server = ("server", result.about.server.clone());
    render(&Suite {
        verb: "load",
        started_at: Some(result.about.began.to_string()),
        time_s: summary.duration_s,
        properties: vec![server],
        cases,
        text: super::load::text::render(result),
    })
}

/// What `compare` found: the verdict, then each figure.
pub fn comparison(report: &CompareReport) -> String {
    let reason = Language::DATA.say(&report.reason);
    let mut cases = vec![Case::new(
        "verdict",
        match (report.change, report.refused.first()) {
            (Some(change), _) => standing(change, &reason),
            (None, Some(why)) => Outcome::Error(Language::DATA.say(why)),
            (None, None) => Outcome::Error(reason),
        },
    )];
    cases.extend(report.figures.iter().map(|figure| {
        let why = ratio(figure);
        let outcome = match figure.change {
            Some(change) => standing(change, &why),
            None => Outcome::Undecided(why),
        };
        Case::new(figure.figure.to_string(), outcome)
    }));
    let sides = [("a", &report.a), ("b", &report.b)];
    render(&Suite {
        verb: "compare",
        started_at: None,
        time_s: 0.0,
        properties: sides.map(|(name, side)| (name, side.name.clone())).to_vec(),
        cases,
        text: render::plain(&compare::document(report)),
    })
}

fn standing(standing: Standing, why: &str) -> Outcome {
    match standing {
        Standing::Better | Standing::Equivalent => Outcome::Passed,
        Standing::Worse => Outcome::Failed(why.to_string()),
        Standing::Undecided => Outcome::Undecided(why.to_string()),
    }
}

fn ratio(figure: &ComparedFigure) -> String {
    match (figure.ratio, figure.ratio_interval) {
        (Some(ratio), Some(interval)) => format!(
            "B / A is {} (95 % interval {})",
            figures::ratio(ratio),
            figures::ratio_interval(interval)
        ),
        (Some(ratio), None) => {
            format!("B / A is {}; its interval is not known", figures::ratio(ratio))
        }
        (None, _) => "A is 0, so that there is no ratio".to_string(),
    }
}

/// Whether a load measured the server, as its exit code has it.
fn validity(summary: &LoadSummary) -> Outcome {
    if summary.completed == 0 {
        return Outcome::Error(super::load::text::nothing_answered(summary));
    }
    if summary.valid {
        return Outcome::Passed;
    }
    let warnings = summary.warnings.iter();
    let why: Vec<String> = warnings.map(|it| Language::DATA.say_warning(it)).collect();
    Outcome::Undecided(if why.is_empty() { "not valid".to_string() } else { why.join("; ") })
}

fn goal_cases(goals: &[GoalSummary]) -> impl Iterator<Item = Case> {
    let with_goal = goals.iter().filter_map(|goal| Some((goal, goal.slo.as_ref()?)));
    with_goal.map(|(goal, slo)| {
        let seen = goals::lines(std::slice::from_ref(goal), Language::English).join("; ");
        let why = goal.reason.as_ref().map_or(seen, |reason| Language::DATA.say(reason));
        let name = format!("{}: {slo}", goals::name(goal, goals.len(), Language::DATA));
        Case::new(name, Outcome::of_goal(goal.met, why))
    })
}

fn tuned(story: &Story) -> Suite {
    let mut cases = vec![Case::new("decision", decided(story))];
    if let Some(objective) = &story.objective
        && let (Some(rate), Some(held)) = (objective.rate_rps, objective.held)
    {
        let why = sentences::headline(story, Language::English);
        cases.push(Case::new(format!("holds {}", figures::rate(rate)), Outcome::of(held, why)));
    }
    if let Some(decision) = &story.decision {
        cases.extend(goal_cases(&decision.goals));
        cases.extend(precision(story, decision));
        cases.extend(decision.soak.as_ref().map(lasts));
    }
    suite_of(story, "tune", cases)
}

/// Judged as the exit code is.
fn decided(story: &Story) -> Outcome {
    let headline = sentences::headline(story, Language::English);
    let is_gone = |trial: &TrialSummary| trial.failure.is_some();
    match story.state {
        _ if story.has_held_none() => Outcome::Failed(headline),
        _ if story.decision.is_some() => Outcome::Passed,
        SessionState::Running | SessionState::Stopped | SessionState::Failed => {
            Outcome::Error(headline)
        }
        SessionState::Done if story.trials.iter().all(is_gone) => Outcome::Error(headline),
        SessionState::Done if story.has_missed() => Outcome::Failed(headline),
        SessionState::Done => Outcome::Undecided(headline),
    }
}

fn lasts(soak: &Soak) -> Case {
    let name = format!("lasts {}", figures::span(soak.asked_s));
    let outcome = match soak.has_lasted() {
        true => Outcome::Passed,
        false => Outcome::Failed(document::soak::sentence(soak, Language::DATA)),
    };
    Case::new(name, outcome)
}

/// Only where a precision was asked for: every session aims at one.
fn precision(story: &Story, decision: &crate::terms::Decision) -> Option<Case> {
    let was_asked = |it: &PlanRecord| {
        matches!(it.value, PlannedValue::Precision(_)) && it.source != PlanSource::Default
    };
    if !plan_records(&story.plan).iter().any(was_asked) {
        return None;
    }
    let precision = decision.precision?;
    let reached = precision.reached_ratio.map_or("unknown".to_string(), figures::percent);
    let asked = figures::percent(precision.asked_ratio);
    let outcome = match precision.is_reached() {
        true => Outcome::Passed,
        false => Outcome::Undecided(format!("±{asked} was asked for, ±{reached} was reached")),
    };
    Some(Case::new(format!("precision of ±{asked}"), outcome))
}

fn verification(story: &Story, found: &Verification) -> Suite {
    let (workers, threads) = (found.recommended.workers, found.recommended.threads);
    let name = names::name_of(story, workers, threads, Language::DATA);
    let reason = Language::DATA.say(&found.reason);
    let outcome = match found.verdict {
        Verdict::Undecided if matches!(found.reason.fact(), Some(RecheckReason::NoWholeStart)) => {
            Outcome::Error(reason)
        }
        verdict => Outcome::of(verdict, reason),
    };
    let case = Case::new(format!("{name} is still right"), outcome);
    suite_of(story, "verify", vec![case])
}

fn suite_of(story: &Story, verb: &'static str, cases: Vec<Case>) -> Suite {
    let mut properties = vec![
        ("app", story.app.clone()),
        ("server", story.server.clone()),
        ("goal", story.goals.to_string()),
    ];
    properties.extend(story.stored.as_ref().map(|it| ("session", it.session.to_string())));
    if let Some(decision) = &story.decision {
        properties.push(("workers", decision.workers.to_string()));
        properties.push(("threads", decision.threads.to_string()));
        properties.push(("capacity_rps", decision.capacity_rps.to_string()));
    }
    Suite {
        verb,
        started_at: story.stored.as_ref().map(|stored| stored.started_at.clone()),
        time_s: story.elapsed_s,
        properties,
        cases,
        text: render::text(&document::decision(story, Language::English), Style::PLAIN).join("\n"),
    }
}

fn render(suite: &Suite) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, suite).expect("a vector takes every byte");
    let mut document = writer.into_inner();
    document.push(b'\n');
    String::from_utf8(document).expect("only text was written")
}

fn write(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.create_element("testsuites").write_inner_content(|writer| {
        let count = |wanted: fn(&Outcome) -> bool| {
            suite.cases.iter().filter(|case| wanted(&case.outcome)).count().to_string()
        };
        let name = format!("sweetspot {}", suite.verb);
        writer
            .create_element("testsuite")
            .with_attributes([
                ("name", name.as_str()),
                ("package", "sweetspot"),
                ("id", "0"),
                ("timestamp", &timestamp(suite)),
                ("hostname", "localhost"),
                ("tests", &suite.cases.len().to_string()),
                ("failures", &count(|it| matches!(it, Outcome::Failed(_)))),
                ("errors", &count(|it| matches!(it, Outcome::Error(_)))),
                ("skipped", &count(|it| matches!(it, Outcome::Undecided(_)))),
                ("time", &format!("{:.3}", suite.time_s)),
            ])
            .write_inner_content(|writer| {
                properties(writer, suite)?;
                suite.cases.iter().try_for_each(|one| case(writer, suite.verb, one))?;
                text_element(writer, "system-out", &suite.text)?;
                text_element(writer, "system-err", "")
            })
            .map(drop)
    })?;
    Ok(())
}

/// Ant's schema has no zone in a time stamp, and does not let it be left out.
fn timestamp(suite: &Suite) -> String {
    let text = suite.started_at.as_deref().unwrap_or("1970-01-01T00:00:00");
    text.chars().take("1970-01-01T00:00:00".len()).collect()
}

fn properties(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let element = writer.create_element("properties");
    element.write_inner_content(|writer| {
        suite.properties.iter().try_for_each(|(name, value)| {
            let attributes = [("name", *name), ("value", &xml(&line(value)))];
            writer.create_element("property").with_attributes(attributes).write_empty().map(drop)
        })
    })?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, verb: &str, case: &Case) -> io::Result<()> {
    let (name, class) = (xml(&line(&case.name)), format!("sweetspot.{verb}"));
    let attributes = [("name", name.as_str()), ("classname", &class), ("time", "0.000")];
    let element = writer.create_element("testcase").with_attributes(attributes);
    let (tag, kind, why) = match &case.outcome {
        Outcome::Passed => return element.write_empty().map(drop),
        Outcome::Failed(why) => ("failure", "not met", why),
        Outcome::Undecided(why) => ("skipped", "undecided", why),
        Outcome::Error(why) => ("error", "not measured", why),
    };
    let message = xml(&line(why));
    element.write_inner_content(|writer| {
        let reason = writer.create_element(tag).with_attribute(("message", message.as_str()));
        let reason = match &case.outcome {
            // Of a skipped case the schemas know no type.
            Outcome::Undecided(_) => reason,
            _ => reason.with_attribute(("type", kind)),
        };
        reason.write_text_content(BytesText::new(&xml(why))).map(drop)
    })?;
    Ok(())
}

fn text_element(writer: &mut Writer<Vec<u8>>, name: &str, text: &str) -> io::Result<()> {
    let element = writer.create_element(name);
    element.write_text_content(BytesText::new(&xml(text))).map(drop)
}
