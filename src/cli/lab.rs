//! `sweetspot lab`: arguments.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::sessions::StoreArgument;
use super::turn::TurnArgument;
use super::{Exit, UsageError, interrupt, print, say};
use crate::report::document::lab;
use crate::report::terminal::{Channel, Wanted, for_standard_streams};
use crate::report::{Language, json, page};
use crate::session::lab::{self as labs, RunOptions};
use crate::session::report::{named_file, write_file};
use crate::terms::{Holds, LabEvent, LabResult, LabTuneEvent};

const EXAMPLES: &str = "\
Examples:
  sweetspot lab list
  sweetspot lab show rails-puma
  sweetspot lab run thin-nginx --quick -o html=lab.html";

/// The published experiments, measured here and set beside what was published.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists the experiments.
    #[command(after_help = "Example: sweetspot lab list --json")]
    List {
        /// Print JSON.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
        /// Print only their names.
        #[arg(short, long)]
        quiet: bool,
    },
    /// Shows what an article found, and what would be run here.
    #[command(after_help = "Examples:\n  sweetspot lab show rails-puma\n  \
                            sweetspot lab show rails-puma --copy-to ./mine")]
    Show {
        /// The experiment's name, or a folder with one (with a slash in it).
        lab: String,
        /// Write its files into this new folder, to edit and run them.
        #[arg(long, value_name = "DIR")]
        copy_to: Option<PathBuf>,
        /// Print JSON: as one entry of 'lab list'.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
        /// Print only the rule that it ended with.
        #[arg(short, long)]
        quiet: bool,
    },
    /// Runs an experiment with real servers.
    #[command(after_help = "Exits with 4 when a conclusion is undecided or a run has no result, \
                            and with 1 when it\nwas stopped before its end.\n\nExample: \
                            sweetspot lab run thin-nginx --quick")]
    Run {
        /// The experiment's name, or a folder with one (with a slash in it).
        lab: String,
        /// At most 45 seconds: a few of its runs, each for a moment.
        #[arg(long)]
        quick: bool,
        /// Begin anew, also when an earlier run was cut off.
        #[arg(long)]
        fresh_session: bool,
        /// Also write it as a page, measured beside published.
        #[arg(short, long, value_name = "html=FILE", value_parser = page)]
        output: Option<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Lets 'tune' find a setting for an experiment's app, and measures it against the article's.
    #[command(after_help = "Exits with 3 when the article's setting is better, and with 4 when \
                            that is undecided.\n\nExample: sweetspot lab tune isucon-unicorn")]
    Tune {
        /// The experiment's name, or a folder with one (with a slash in it).
        lab: String,
        /// Pairs of measurements afterwards, in turn, a minute and more each.
        #[arg(long, value_name = "N", default_value_t = 4,
              value_parser = clap::value_parser!(u32).range(0..=100))]
        pairs: u32,
        #[command(flatten)]
        how: How,
    },
}

// No doc comment: clap would take it for the description of the verb.
#[derive(Debug, clap::Args)]
struct How {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Print only the result, and no progress.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    turn: TurnArgument,
    #[command(flatten)]
    store: StoreArgument,
}

impl How {
    /// Where what happens is told.
    fn progress(&self) -> Channel {
        if self.quiet { Channel::nowhere() } else { Channel::standard_error() }
    }
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    match arguments.action {
        Action::List { json, quiet } => list(json, quiet),
        Action::Show { lab, copy_to, json, quiet } => show(&lab, copy_to, json, quiet),
        Action::Run { lab, quick, fresh_session, output, how } => {
            let folder = how.store.path.parent().map(PathBuf::from).unwrap_or_default();
            let options = RunOptions {
                is_quick: quick,
                kept_in: folder,
                may_resume: !fresh_session,
                stop: interrupt::install_with_answer(),
            };
            experiment(&lab, &options, output.as_deref(), &how)
        }
        Action::Tune { lab, pairs, how } => tune(&lab, pairs, &how),
    }
}

fn list(json: bool, quiet: bool) -> anyhow::Result<Exit> {
    let entries = labs::entries()?;
    let text = match (json, quiet) {
        (true, _) => serde_json::to_string_pretty(&entries)? + "\n",
        (_, true) => entries.iter().map(|entry| entry.name.clone() + "\n").collect(),
        _ => lab::list(&entries),
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn show(name: &str, copy_to: Option<PathBuf>, json: bool, quiet: bool) -> anyhow::Result<Exit> {
    let found = find(name)?;
    if let Some(folder) = copy_to {
        labs::write(name, &folder)?;
    }
    let text = match (json, quiet) {
        (true, _) => serde_json::to_string_pretty(&labs::entry(&found))? + "\n",
        (_, true) => found.definition.rule.clone() + "\n",
        _ => labs::show(&found),
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn find(name: &str) -> anyhow::Result<crate::session::lab::Lab> {
    labs::find(name).map_err(|error| UsageError::of(error).into())
}

fn page(text: &str) -> Result<PathBuf, String> {
    match named_file(text) {
        Some(("html", file)) => Ok(file),
        _ => Err("write html=FILE, such as html=lab.html".to_string()),
    }
}

fn experiment(
    name: &str,
    options: &RunOptions,
    page: Option<&Path>,
    how: &How,
) -> anyhow::Result<Exit> {
    let lab = find(name)?;
    let _turn = how.turn.take_alone(&options.stop)?;
    let mut progress = how.progress();
    let mut tell = |event: LabEvent<'_>| {
        // A terminal that is gone takes nothing from the result.
        drop(progress.writer.write_all(lab::event(&event).as_bytes()));
    };
    let ended = labs::run(&lab, options, &mut tell)?;
    let result = &ended.result;
    print(if how.json { json::render(result) } else { lab::result(result) })?;
    if let Some(file) = page {
        write_file(file, &page::lab(result, &page::assets()))?;
    }
    if ended.is_cut {
        say("stopped; the same command goes on from here");
        return Ok(Exit::CouldNotMeasure);
    }
    Ok(exit(result))
}

fn tune(name: &str, pairs: u32, how: &How) -> anyhow::Result<Exit> {
    let lab = find(name)?;
    let stop = interrupt::install_with_answer();
    let _turn = how.turn.take_alone(&stop)?;
    let mut progress = how.progress();
    let wanted = if how.quiet { None } else { Some(Wanted::NothingOnStandardOutput) };
    let options = labs::tune::TuneOptions {
        pairs,
        store: how.store.path.clone(),
        stop,
        reporters: &mut |place| {
            let reporter = |wanted| for_standard_streams(wanted, Some(place), Language::English);
            wanted.map(reporter).into_iter().collect()
        },
    };
    let mut tell = |event: LabTuneEvent<'_>| {
        // A terminal that is gone takes nothing from the result.
        drop(progress.writer.write_all(lab::tune_event(&event).as_bytes()));
    };
    let result = labs::tune::run(&lab, options, &mut tell)?;
    print(if how.json { json::render(&result) } else { lab::tuned(&result) })?;
    Ok(match result.holds {
        Holds::Yes => Exit::Done,
        Holds::No => Exit::NotMet,
        Holds::Undecided => Exit::Invalid,
    })
}

fn exit(result: &LabResult) -> Exit {
    let is_missing = result.runs.iter().any(|run| run.measured.is_none());
    let is_open = result.conclusions.iter().any(|one| one.holds == Holds::Undecided);
    if is_missing || is_open { Exit::Invalid } else { Exit::Done }
}
