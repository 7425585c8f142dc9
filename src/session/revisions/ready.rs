//! One revision, ready to be started: its worktree, its plan and its place.
//!
//! In: a commit. Out: a [`Ready`], or whose fault it is that there is none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::{Named, RevisionsError};
use super::question::{Question, Step};
use super::variables::OwnVariables;
use super::worktrees::Worktrees;
use crate::place::Place;
use crate::place::local::{Local, LocalSettings};
use crate::plan::{Key, Plan, PlanError, resolve};
use crate::server::Inspection;
use crate::session::local::settings;
use crate::terms::ConnectionMode;

/// One side, ready to be started.
pub struct Ready {
    pub plan: Plan,
    pub place: Local,
    pub inspection: Inspection,
}

impl Ready {
    /// Checks it out into a folder called `at`, and looks at what is there; `env`: the user's
    /// variables for the app; `connection`: how the other one is loaded, and so this one.
    ///
    /// # Errors
    /// The revision has no app that could be started, or its folder cannot be made.
    pub fn begin(
        question: &Question<'_>,
        worktrees: &mut Worktrees,
        (at, side): (&str, &Named),
        env: &BTreeMap<String, String>,
        connection: Option<ConnectionMode>,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<Self, RevisionsError> {
        let name = &side.name;
        tell(Step::CheckingOut { name });
        let is_prepared = question.prepare.is_some();
        let folder = worktrees.add(at, side, is_prepared)?;
        if !folder.is_dir() {
            let folder = worktrees.below().to_path_buf();
            return Err(RevisionsError::NoFolder { of: side.clone(), folder });
        }
        let of_side = |error| side.place(error);
        if let Some(command) = question.prepare {
            tell(Step::Preparing { name });
            let own = worktrees.own_variables(at, env);
            worktrees.prepare(command, &folder, env, own).map_err(of_side)?;
        }
        let mut plan = plan_of(question, folder).map_err(|error| side.plan(error))?;
        if let Some(path) = worktrees.shared_start(at, &plan.app) {
            return Err(RevisionsError::NotItsOwn { of: side.clone(), path });
        }
        // Only now: the command may have made what a variable leads to.
        let OwnVariables { mut all, mut inherited } = worktrees.own_variables(at, &plan.app.env);
        // What the app is started with comes before what is inherited.
        inherited.retain(|name| !plan.app.start_env.contains_key(name));
        all.retain(|name, _| plan.app.env.contains_key(name) || inherited.contains(name));
        plan.app.env.extend(all);
        let settings = LocalSettings {
            public: inherited,
            connection: connection.unwrap_or(plan.connection),
            ..settings(&plan).map_err(of_side)?
        };
        let mut place = Local::new(settings, question.stop.clone()).map_err(of_side)?;
        let inspection = place.inspect().map_err(of_side)?;
        Ok(Self { plan, place, inspection })
    }
}

fn plan_of(question: &Question<'_>, folder: PathBuf) -> Result<Plan, PlanError> {
    let typed = question.typed.clone().with_path(Key::App, folder);
    resolve(&typed, question.surroundings)
}
