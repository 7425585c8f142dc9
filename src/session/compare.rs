//! What `sweetspot compare` does: B judged against A, each a stored session, a setting of one, or a
//! result that was written to a file.
//!
//! In: two [`Source`]s. Out: a [`CompareReport`]. Must not measure.

mod loads;
pub(crate) mod same;
mod sessions;
mod source;

use std::path::Path;

use thiserror::Error;

pub use source::{Setting, Source, SourceError, Subject};

use crate::report::Story;
use crate::search::start_variance;
use crate::summary::compared::report;
use crate::terms::{
    CompareNote, CompareRefusal, CompareReport, ComparedSide, Configuration, Difference,
    FigureKind, GoalList, Side, Stated,
};
use sessions::{Found, Measured};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    pub a: &'a Source,
    pub b: &'a Source,
    /// Where sessions are that name no store.
    pub store: &'a Path,
    /// The machine is what is compared.
    pub compares_machines: bool,
}

/// Why nothing can be compared; always what was typed.
#[derive(Debug, Error)]
pub enum CompareError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(
        "{a} and {b} are results of different kinds; compare two sessions, two loads, or two \
         capacities"
    )]
    Kinds { a: String, b: String },
    #[error("{name} recommends nothing; name the setting to compare, such as {name}@current")]
    NoSetting { name: String },
    #[error("{name} has no trial of {setting}; it has {known}")]
    NotMeasured { name: String, setting: String, known: String },
    #[error("{name} is one load, which has no settings; leave out what follows the @")]
    NoSettings { name: String },
}

/// Of fewer starts a machine's own chance shows too much.
const STARTS_FOR_MACHINES: u64 = 3;

/// Judges B against A.
///
/// # Errors
/// One of them is not there, or they have nothing in common. That two results must not be compared
/// is an answer.
pub fn compare(question: &Question<'_>) -> Result<CompareReport, CompareError> {
    let (a, b) = (question.a.open(question.store)?, question.b.open(question.store)?);
    match (&a, &b) {
        (Subject::Session(a), Subject::Session(b)) => of_sessions(question, a, b),
        (Subject::Load(a), Subject::Load(b)) => {
            without_settings(question)?;
            let mut figures = loads::figures(a, b);
            figures.push(Ok(loads::errors(a, b)));
            let slos = [a, b].map(|load| load.slo.as_ref().map(|slo| slo.goals.clone()));
            let refused = loads::refusals(a, b);
            Ok(of_results(question, slos, refused, figures, loads::decisive(a)))
        }
        (Subject::Capacity(a), Subject::Capacity(b)) => {
            without_settings(question)?;
            let refused = loads::capacity_refusals(a, b);
            let slos = [a, b].map(|found| Some(found.slo.clone()));
            let figures = vec![loads::capacity(a, b)];
            Ok(of_results(question, slos, refused, figures, FigureKind::Capacity))
        }
        _ => Err(CompareError::Kinds { a: question.a.text.clone(), b: question.b.text.clone() }),
    }
}

fn without_settings(question: &Question<'_>) -> Result<(), CompareError> {
    let named = [question.a, question.b].into_iter().find(|it| it.setting != Setting::Recommended);
    match named {
        Some(one) => Err(CompareError::NoSettings { name: one.text.clone() }),
        None => Ok(()),
    }
}

/// The setting that is meant, which the session must have measured.
fn setting(source: &Source, story: &Story) -> Result<Configuration, CompareError> {
    let name = source.text.clone();
    let wanted = match source.setting {
        Setting::Recommended | Setting::Chosen => {
            return story.chosen().ok_or(CompareError::NoSetting { name });
        }
        Setting::Current => story.current_configuration(),
        Setting::Of(configuration) => Some(configuration),
    };
    let mut known: Vec<Configuration> = story.trials.iter().map(|it| it.configuration).collect();
    known.sort();
    known.dedup();
    match wanted.filter(|wanted| known.contains(wanted)) {
        Some(wanted) => Ok(wanted),
        None => Err(CompareError::NotMeasured {
            name,
            setting: wanted.map_or_else(|| "the current one".to_string(), |it| it.to_string()),
            known: known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        }),
    }
}

fn of_sessions(
    question: &Question<'_>,
    a: &Story,
    b: &Story,
) -> Result<CompareReport, CompareError> {
    let side = |source: &Source, story: &'_ Story| -> Result<Configuration, CompareError> {
        setting(source, story)
    };
    let (at_a, at_b) = (side(question.a, a)?, side(question.b, b)?);
    let (of_a, of_b) = (Measured::new(a, at_a), Measured::new(b, at_b));
    let is_one_session = a.stored.is_some() && a.stored == b.stored;
    let refused = match is_one_session {
        true => Vec::new(),
        false => refusals(question, &of_a, &of_b),
    };
    let mut figures = vec![
        sessions::capacity(&of_a, &of_b, is_one_session),
        sessions::memory(&of_a, &of_b),
        sessions::cpu_per_request(&of_a, &of_b),
        sessions::latency(&of_a, &of_b),
    ];
    let names_setting =
        [question.a, question.b].iter().any(|it| it.setting != Setting::Recommended);
    if !names_setting && !is_one_session {
        figures.insert(1, sessions::current_capacity(&of_a, &of_b));
        figures.insert(2, sessions::gain(&of_a, &of_b));
    }
    let sides = (compared_side(question.a, a, at_a), compared_side(question.b, b, at_b));
    let mut report = report(sides, refused, figures, FigureKind::Capacity);
    report.differences = same::differences(a, b);
    if at_a != at_b && !names_setting {
        let [a, b] = [(a, at_a), (b, at_b)]
            .map(|(story, at)| same::named(story, at.workers.get(), at.threads.get()));
        report.differences.insert(0, Difference::RecommendedDiffers { a, b }.into());
    }
    report.notes = notes(&report, (&of_a, &of_b), is_one_session, question.compares_machines);
    Ok(report)
}

/// Why the sessions must not be compared, each with the way out.
fn refusals(question: &Question<'_>, a: &Measured<'_>, b: &Measured<'_>) -> Vec<CompareRefusal> {
    let mut refused = same::loads(a.story, b.story);
    let machines = same::machines(a.story.machine.as_ref(), b.story.machine.as_ref());
    if question.compares_machines {
        let counts = [(Side::A, a.count() as u64), (Side::B, b.count() as u64)];
        let few = counts.into_iter().filter(|(_, starts)| *starts < STARTS_FOR_MACHINES);
        refused.extend(few.map(|(side, starts)| CompareRefusal::TooFewStarts {
            side,
            starts,
            needed: STARTS_FOR_MACHINES,
        }));
    } else {
        refused.extend(machines.map(|why| CompareRefusal::MachinesDiffer { why }));
    }
    refused
}

fn notes(
    report: &CompareReport,
    (a, b): (&Measured<'_>, &Measured<'_>),
    is_one_session: bool,
    compares_machines: bool,
) -> Vec<Stated<CompareNote>> {
    let mut notes = Vec::new();
    if !report.refused.is_empty() {
        return notes;
    }
    let decisive = report.figures.iter().find(|it| it.figure == FigureKind::Capacity);
    if !is_one_session {
        notes.push(CompareNote::NotMeasuredInTurn.into());
    } else if decisive.is_some_and(|it| !it.within_blocks) {
        notes.push(CompareNote::NoCommonBlock.into());
    }
    for (side, measured) in [(Side::A, a), (Side::B, b)] {
        if !measured.is_confirmed() {
            notes.push(CompareNote::FiguresOfRace { side }.into());
        }
        if measured.story.plan.is_empty() && !compares_machines && !is_one_session {
            notes.push(CompareNote::PlanNotKnown { side }.into());
        }
    }
    notes
}

fn compared_side(source: &Source, story: &Story, at: Configuration) -> ComparedSide {
    let stored = story.stored.as_ref();
    ComparedSide {
        name: source.text.clone(),
        session: stored.map(|stored| stored.session),
        started_at: stored.map(|stored| stored.started_at.clone()),
        app: Some(story.app.clone()),
        server: Some(story.server.clone()),
        runtime: story.runtime(),
        workers: Some(at.workers.get()),
        threads: Some(at.threads.get()),
        slo: Some(story.goals.clone()),
        machine: story.machine.clone(),
        ..ComparedSide::default()
    }
}

fn of_results(
    question: &Question<'_>,
    [slo_a, slo_b]: [Option<GoalList>; 2],
    mut refused: Vec<CompareRefusal>,
    figures: Vec<Found>,
    decides: FigureKind,
) -> CompareReport {
    if question.compares_machines {
        refused.push(CompareRefusal::OneStartEach { needed: STARTS_FOR_MACHINES });
    }
    let side = |source: &Source, slo| ComparedSide {
        name: source.text.clone(),
        slo,
        ..ComparedSide::default()
    };
    let sides = (side(question.a, slo_a), side(question.b, slo_b));
    let mut report = report(sides, refused, figures, decides);
    if report.refused.is_empty() {
        let starts_differ_ratio = start_variance().sqrt();
        report.notes.push(CompareNote::MachinesNotSaid { starts_differ_ratio }.into());
    }
    report
}
