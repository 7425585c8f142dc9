//! What `sweetspot compare --revisions` does: two commits of the app, each in a worktree of its
//! own, started side by side at one setting and loaded in turn.
//!
//! In: a range of git's, and what was typed. Out: a [`CompareReport`]. Nothing is stored, and
//! nothing is left of the worktrees, however it ends.

mod error;
mod git;
pub mod measure;
mod question;
mod ready;
mod result;
mod shared;
mod variables;
mod worktrees;

use std::time::Duration;

pub use self::error::RevisionsError;
use self::error::{Named, of_measuring};
use self::git::Repository;
pub use self::git::{Range, RangeError};
pub use self::question::{Question, Step};
use self::ready::Ready;
use self::result::{Compared, figure};
use self::worktrees::Worktrees;
use super::doctor::{self, DoctorSettings};
use crate::model::Form;
use crate::place::Place;
use crate::plan::{Key, Plan, Typed, resolve};
use crate::search::{Revisions, RevisionsPlan};
use crate::terms::{
    CompareNote, CompareReport, Configuration, PlanSource, PlannedGoal, PlannedValue, Side,
};

/// Of a comparison for which neither the user nor a plan file has one.
const BUDGET: Duration = Duration::from_secs(360);

/// Compares two revisions, within six minutes unless another budget was given.
///
/// # Errors
/// One of them is not there, cannot be made ready or does not start; or our own environment fails
/// us.
pub fn compare(
    question: &Question<'_>,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<CompareReport, RevisionsError> {
    let range = question.range;
    // Looked at as a tune would, before anything is checked out.
    let plan = resolve(question.typed, question.surroundings)?;
    if plan.cluster.is_some() || plan.remote.is_some() {
        return Err(RevisionsError::RunsElsewhere);
    }
    let run_as = plan.app.run_as.clone();
    let repository = Repository::find(&plan.app.folder, run_as.clone())?;
    let [a, b] = repository.commits(range)?;
    if a == b && range.a != range.b {
        let (a, b) = (range.a.clone(), range.b.clone());
        let commit = repository.commit(&b)?;
        return Err(RevisionsError::Same { a, b, commit });
    }
    let sides =
        [(&range.a, a), (&range.b, b)].map(|(name, commit)| Named { name: name.clone(), commit });
    let mut notes = notes(&repository, &sides, question.prepare)?;
    let folder = plan.app.folder.clone();
    let mut worktrees = Worktrees::begin(repository, run_as, question.stop.clone())
        .map_err(RevisionsError::Environment)?;
    let env = &plan.app.env;
    let mut ready = |at: &str, side: &Named, connection| {
        Ready::begin(question, &mut worktrees, (at, side), env, connection, tell)
    };
    let a = ready("a", &sides[0], None)?;
    // What differs in how they are loaded would not be the code's.
    let b = ready("b", &sides[1], Some(a.plan.connection))?;
    let mut both = [a, b];
    if let Some(note) = worktrees.shared_code() {
        tell(Step::Noted { note: note.clone() });
        notes.push(note);
    }
    let at = setting(question.typed, &both[0])?;
    let goal = match &both[0].plan.goal {
        PlannedGoal::Given(slo) => Some(slo.clone()),
        PlannedGoal::FromUnloaded => None,
    };
    let mut search = Revisions::new(RevisionsPlan {
        configuration: at,
        form: form(&both),
        slo: goal,
        arrivals: plan.arrivals,
        budget: budget(&plan),
    });
    let findings =
        doctor::check(&DoctorSettings { quick: true, app: folder, store: plan.store.clone() });
    let [ready_a, ready_b] = &mut both;
    let places: [&mut dyn Place; 2] = [&mut ready_a.place, &mut ready_b.place];
    let mut is_noted = false;
    let mut tell = |search: &Revisions, side: Side| {
        if let Some(note) = search.short_budget().filter(|_| !is_noted) {
            is_noted = true;
            tell(Step::Noted { note });
        }
        let (name, left) = (&sides[side as usize].name, search.time_left());
        let answer = search.answer();
        let so_far = answer.figures.first().map(figure);
        tell(Step::Measuring { name, left, blocks: answer.blocks, so_far });
    };
    let measured = measure::run(&mut search, &ready_a.plan, places, &question.stop, &mut tell);
    let (elapsed_s, doubts) =
        measured.map_err(|error| of_measuring(error, &sides, question.prepare.is_some()))?;
    let warnings = doctor::warnings(&findings).into_iter().chain(doubts).collect();
    let compared =
        Compared { sides: &sides, both: &both, at, search: &search, elapsed_s, warnings };
    Ok(compared.report(notes))
}

/// Not what a tune takes by default: two revisions need less.
fn budget(plan: &Plan) -> Duration {
    let is_given = plan.records.iter().any(|record| {
        matches!(record.value, PlannedValue::Budget { .. }) && record.source != PlanSource::Default
    });
    if is_given { plan.budget } else { BUDGET }
}

/// How workers take requests in: both are sent the same, and what keeps an event loop busy is more
/// than enough for threads.
fn form(both: &[Ready; 2]) -> Form {
    match both.iter().any(|ready| ready.plan.has_event_loops()) {
        true => Form::EventLoop,
        false => Form::Threads,
    }
}

/// What differs from the setting that A runs with today.
fn setting(typed: &Typed, a: &Ready) -> Result<Configuration, RevisionsError> {
    let Configuration { workers, threads } = a.inspection.current;
    Ok(Configuration {
        workers: typed_or(typed, Key::Workers, &a.plan.workers, workers)?,
        threads: typed_or(typed, Key::Threads, &a.plan.threads, threads)?,
    })
}

/// The one number that was typed, or today's: those of a plan file are for a tune.
fn typed_or<T: Copy>(typed: &Typed, key: Key, all: &[T], today: T) -> Result<T, RevisionsError> {
    match all {
        _ if !typed.has(key) => Ok(today),
        [one] => Ok(*one),
        _ => Err(RevisionsError::SeveralSettings { flag: key.name() }),
    }
}

fn notes(
    repository: &Repository,
    sides: &[Named; 2],
    prepare: Option<&str>,
) -> Result<Vec<CompareNote>, RevisionsError> {
    let files = repository.changed_files()? as u64;
    let mut notes = Vec::new();
    if files > 0 {
        notes.push(CompareNote::ChangesNotMeasured { files });
    }
    // A command may bring submodules.
    for side in [Side::A, Side::B].into_iter().filter(|_| prepare.is_none()) {
        if repository.has_submodules(&sides[side as usize].commit)? {
            notes.push(CompareNote::SubmodulesLeftOut { side });
        }
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::Surroundings;

    #[test]
    fn the_budget_is_the_one_that_was_typed_or_the_plan_files_or_six_minutes() {
        let folder = tempfile::tempdir().unwrap();
        let [app, programs] = ["app", "programs"].map(|name| folder.path().join(name));
        for (folder, file) in [(&app, "config.ru"), (&programs, "puma")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), "run App\n").unwrap();
        }
        let surroundings = Surroundings::of_test(app.clone(), [programs]);
        let of = |typed: &Typed| budget(&resolve(typed, &surroundings).unwrap()).as_secs();
        let typed = Typed::default().with(Key::Budget, "8m");
        assert_eq!([of(&Typed::default()), of(&typed)], [360, 480]);
        fs::write(app.join("sweetspot.toml"), "budget = \"10m\"\n").unwrap();
        assert_eq!([of(&Typed::default()), of(&typed)], [600, 480]);
    }
}
