//! A plan that has been checked.
//!
//! In and out: values.

use std::path::PathBuf;
use std::time::Duration;

use super::cluster::Cluster;
use super::elsewhere::Remote;
use super::run_as::Invoker;
use crate::server::{self, App};
use crate::terms::{
    Arrivals, Bytes, Change, ConnectionMode, Cores, Goals, GoalsError, Objective, PlanRecord,
    PlanSource, PlannedGoal, Ratio, Target, Threads, Workers,
};

/// Where the command was typed.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The current folder, absolute.
    pub folder: PathBuf,
    /// What a server started from here may use, or for a Deployment its container.
    pub cores: Cores,
    pub memory: Bytes,
    /// What an app elsewhere may use, where its platform says so.
    pub elsewhere: Option<(Cores, Bytes)>,
    /// The folders of `PATH`, in which programs are found.
    pub program_folders: Vec<PathBuf>,
    pub invoker: Invoker,
}

#[cfg(test)]
impl Surroundings {
    /// Of a test: two cores and 8 GiB, typed in this folder by a user who is not root.
    pub fn of_test(
        folder: impl Into<PathBuf>,
        program_folders: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        Self {
            folder: folder.into(),
            cores: Cores::new(2.0).expect("a number above zero"),
            memory: Bytes(8 << 30),
            elsewhere: None,
            program_folders: program_folders.into_iter().collect(),
            invoker: Invoker { uid: 1000, sudo_uid: None },
        }
    }
}

/// A checked plan of `tune`.
#[derive(Debug, Clone)]
pub struct Plan {
    pub app: App,
    /// The adapter's name.
    pub server: String,
    /// Where the app's pods run and what sends them the load; `None`: it runs on this machine.
    pub cluster: Option<Cluster>,
    /// How an app that runs elsewhere is changed and reached; `None`: it runs on this machine, or
    /// in a cluster.
    pub remote: Option<Remote>,
    /// Ascending, without repeats, not empty.
    pub workers: Vec<Workers>,
    /// Ascending, without repeats, not empty.
    pub threads: Vec<Threads>,
    /// False for a server whose workers have one thread each; [`threads`](Self::threads) is 1 then,
    /// and is not shown.
    pub has_threads: bool,
    /// Where [`threads`](Self::threads) came from: a default is narrowed to one thread for an app
    /// that runs one today, unless the user agrees.
    pub threads_source: PlanSource,
    pub targets: Vec<Target>,
    pub goal: PlannedGoal,
    /// What the best setting has most or least of.
    pub objective: Objective,
    /// `None`: all that this process may use.
    pub cores: Option<Cores>,
    pub memory: Option<Bytes>,
    pub budget: Duration,
    /// How long what is recommended is run at the end, besides the budget.
    pub soak: Option<Duration>,
    /// How well the capacity is to be known, half an interval's width; `None`: not asked for.
    pub precision: Option<Ratio>,
    pub arrivals: Arrivals,
    pub connection: ConnectionMode,
    /// From due to the last byte; longer than every limit of the goal that is known.
    pub timeout: Duration,
    /// How long the server may take from its start to its first answer; `None`: as long as the
    /// place where it runs gives it by default.
    pub boot_timeout: Option<Duration>,
    /// Most database connections that may be open at once.
    pub db_connections: Option<u32>,
    pub seed: u64,
    /// What is tried beside workers and threads, a value each.
    pub changes: Vec<Change>,
    /// Absolute.
    pub store: PathBuf,
    /// The user answers every question with yes beforehand.
    pub assume_yes: bool,
    /// What is shown and stored of the plan, in printing order.
    pub records: Vec<PlanRecord>,
}

impl Plan {
    /// The goals of all targets; the common one only where it was given.
    pub fn goals(&self) -> Goals {
        goals_of(&self.targets, &self.goal)
            .expect("a plan whose goals contradict each other is refused")
    }

    /// Does each worker work on as many requests at once as come, however few threads it has?
    pub fn has_event_loops(&self) -> bool {
        server::find(&self.server).is_some_and(|it| it.is_event_loop(self.has_threads))
    }
}

/// The goals of a mix.
pub(super) fn goals_of(targets: &[Target], goal: &PlannedGoal) -> Result<Goals, GoalsError> {
    let common = match goal {
        PlannedGoal::Given(slo) => Some(slo.clone()),
        PlannedGoal::FromUnloaded => None,
    };
    Goals::of(targets, common, true)
}
