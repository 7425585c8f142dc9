//! `sweetspot sessions`: arguments.

use std::path::PathBuf;

use super::language::LanguageArgument;
use super::{Exit, UsageError, say};
use crate::report::terminal::{Channel, standard_output};
use crate::report::{self, Format, Style};
use crate::session::report::{Output, ReportError, Which, remark, replay_readable, write};
use crate::session::sessions;
use crate::store::{self, Store, StoreErrorKind};

const EXAMPLES: &str = "\
Examples:
  sweetspot sessions list
  sweetspot sessions show last --json
  sweetspot sessions rm 3";

/// Lists, shows and removes stored sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists all sessions, newest first.
    #[command(after_help = "Example: sweetspot sessions list --json")]
    List {
        /// Print JSON.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
        /// Print only the sessions' numbers.
        #[arg(short, long)]
        quiet: bool,
        #[command(flatten)]
        store: StoreArgument,
    },
    /// Shows one session: its decision, trials and plan.
    #[command(after_help = "Example: sweetspot sessions show last")]
    Show {
        /// The session's number, or 'last'.
        session: Which,
        /// Print JSON, as 'tune --json' does.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
        /// Print only the decision.
        #[arg(short, long)]
        quiet: bool,
        #[command(flatten)]
        language: LanguageArgument,
        #[command(flatten)]
        store: StoreArgument,
    },
    /// Removes one session for good.
    #[command(after_help = "Example: sweetspot sessions rm 3")]
    Rm {
        /// The session's number, or 'last'.
        session: Which,
        /// Print JSON: the number of the session that was removed.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
        /// Print nothing.
        #[arg(short, long)]
        quiet: bool,
        #[command(flatten)]
        store: StoreArgument,
    },
}

/// Which store.
#[derive(Debug, clap::Args)]
pub struct StoreArgument {
    /// The file that sessions are stored in.
    #[arg(long = "store", value_name = "FILE", default_value = store::DEFAULT_PATH)]
    pub path: PathBuf,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    act(arguments.action).map_err(with_exit_code)?;
    Ok(Exit::Done)
}

fn act(action: Action) -> Result<(), ReportError> {
    let style = Channel::standard_output().style;
    match action {
        Action::List { json, quiet, store } => {
            let entries = sessions::list(&Store::open_existing(&store.path)?)?;
            print(&match (json, quiet) {
                (true, _) => sessions::list_json(&entries),
                (_, true) => entries.iter().map(|entry| format!("{}\n", entry.id)).collect(),
                _ => sessions::list_text(&entries, style),
            })
        }
        Action::Show { session, json, quiet, language, store } => {
            let style = Style { language: language.language(), ..style };
            let story = replay_readable(&Store::open_existing(&store.path)?, session)?;
            if quiet {
                return print(&(report::decision(&story, style).join("\n") + "\n"));
            }
            let format = if json { Format::Json } else { Format::Text };
            write(&story, &[Output { format, path: None }], &mut standard_output(), style)?;
            if let (true, Some(remark)) = (json, remark(&story)) {
                say(format!("sweetspot: {remark}"));
            }
            Ok(())
        }
        Action::Rm { session, json, quiet, store } => {
            let id = sessions::remove(&mut Store::open_existing(&store.path)?, session)?;
            match (json, quiet) {
                (true, _) => print(&format!("{{\"removed\":{id}}}\n")),
                (_, true) => Ok(()),
                _ => print(&format!("removed session {id}\n")),
            }
        }
    }
}

fn print(text: &str) -> Result<(), ReportError> {
    super::print(text).map_err(ReportError::Output)
}

/// What was typed is wrong when it names a store, session or format that isn't there; all else is
/// the environment's doing.
pub(super) fn with_exit_code(error: ReportError) -> anyhow::Error {
    let is_usage = match &error {
        ReportError::Store(error) => {
            matches!(error.kind, StoreErrorKind::Missing | StoreErrorKind::NoSuchSession)
        }
        ReportError::NoSession { .. }
        | ReportError::BadSession { .. }
        | ReportError::BadFormat { .. }
        | ReportError::NoFile { .. }
        | ReportError::TwoOnStandardOutput { .. }
        | ReportError::TwoInOneFile { .. } => true,
        ReportError::Write { .. } | ReportError::Output(_) => false,
    };
    UsageError::only_if(is_usage, error)
}
