//! `sweetspot compare --revisions`: arguments, and a line that says how far it is.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueHint;

use crate::cli::options::{Selection, TypedOf};
use crate::cli::progress::Progress;
use crate::cli::turn::TurnArgument;
use crate::cli::{UsageError, interrupt};
use crate::plan::{Key, Typed};
use crate::report::{Language, document};
use crate::session::local;
use crate::session::revisions::{Question, Range, Step, compare as measure};
use crate::terms::CompareReport;

const HEADING: &str = "With --revisions";

#[derive(clap::Args)]
pub struct OfRevisions {
    /// A command that a shell runs in each revision's folder before it is started, such as 'bundle
    /// install'; ignored files are copied then, and ignored folders not taken over
    #[arg(long, value_name = "COMMAND", requires = "revisions", help_heading = HEADING)]
    prepare: Option<String>,
    /// A plan file with what else is to be known [default: ./sweetspot.toml where it exists]
    #[arg(long, value_name = "PLAN", value_hint = ValueHint::AnyPath, requires = "revisions",
        help_heading = HEADING)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    asked: TypedOf<Asked>,
    #[command(flatten, next_help_heading = HEADING)]
    turn: TurnArgument,
}

/// What is asked of both revisions; all else stands in a plan file.
struct Asked;

impl Selection for Asked {
    const OPTIONS: &'static [(Key, &'static str)] = &[
        (Key::App, "The app's folder [default: the current one]"),
        (Key::Workers, "Worker processes of both [default: as A runs today]"),
        (Key::Threads, "Threads of each [default: as A runs today]"),
        (Key::Target, "A request of the mix, as of tune; repeatable"),
        (Key::Targets, "A file with more of them"),
        (Key::Header, "A header for every request; repeatable"),
        (Key::Env, "A variable for the app; repeatable"),
        (Key::BootTimeout, "How long each server may take to answer, as of tune [default: 60s]"),
        (Key::Slo, "The goal within which the capacity is looked for, as of tune"),
        (Key::Budget, "The most time for measuring [default: 6m]"),
        (Key::Seed, "Seed of everything random [default: 1]"),
    ];
    const HEADING: &'static str = HEADING;
    const BELONGS_TO: Option<&'static str> = Some("revisions");
}

/// Measures both.
///
/// # Errors
/// What keeps them from being measured, with its exit code.
pub fn compare(
    range: &Range,
    arguments: OfRevisions,
    shows_progress: bool,
) -> anyhow::Result<CompareReport> {
    let surroundings = local::surroundings().context("could not find the current folder")?;
    let typed = Typed { plan: arguments.plan, ..arguments.asked.0 };
    let stop = interrupt::install_with_answer();
    let _turn = arguments.turn.take_alone(&stop)?;
    let question = Question {
        range,
        typed: &typed,
        surroundings: &surroundings,
        prepare: arguments.prepare.as_deref(),
        stop,
    };
    let mut shown = Shown { on: Progress::new(!shows_progress), blocks: None };
    let report = measure(&question, &mut |step| shown.show(&step));
    drop(shown);
    report.map_err(|it| UsageError::only_if(it.is_usage(), it))
}

/// How far it is: on a terminal a line that is drawn over itself, elsewhere one for each block.
struct Shown {
    on: Progress,
    blocks: Option<u32>,
}

impl Shown {
    fn show(&mut self, step: &Step<'_>) {
        match step {
            Step::Noted { .. } => self.on.say(&said(step)),
            Step::Measuring { blocks, .. } if self.blocks.replace(*blocks) == Some(*blocks) => {
                self.on.draw(&said(step));
            }
            Step::Measuring { .. } | Step::CheckingOut { .. } | Step::Preparing { .. } => {
                self.on.draw_or_say(&said(step));
            }
        }
    }
}

fn said(step: &Step<'_>) -> String {
    match step {
        Step::CheckingOut { name } => format!("checking out {name}"),
        Step::Preparing { name } => format!("preparing {name}"),
        Step::Noted { note } => format!("note: {}", Language::English.say_fact(note)),
        Step::Measuring { name, left, blocks, so_far } => {
            document::compare::so_far(name, *left, *blocks, so_far.as_ref())
        }
    }
}
