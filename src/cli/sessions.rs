//! `sweetspot sessions`: arguments.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{Exit, UsageError};
use crate::report::Format;
use crate::report::terminal::Channel;
use crate::session::report::{Output, ReportError, Which, remark, replay, write};
use crate::session::sessions;
use crate::store::{self, Store, StoreErrorKind};

/// Lists, shows and removes stored sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: sweetspot sessions show last")]
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
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgument,
    },
    /// Shows one session: its decision, trials and plan.
    #[command(after_help = "Example: sweetspot sessions show last")]
    Show {
        /// The session's number, or 'last'.
        session: Which,
        /// Print JSON, as 'tune --json' does.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgument,
    },
    /// Removes one session for good.
    #[command(after_help = "Example: sweetspot sessions rm 3")]
    Rm {
        /// The session's number, or 'last'.
        session: Which,
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
    match action {
        Action::List { json, store } => {
            let entries = sessions::list(&Store::open_existing(&store.path)?)?;
            let text = if json {
                sessions::list_json(&entries)
            } else {
                sessions::list_text(&entries, Channel::standard_output().style)
            };
            print(&text)
        }
        Action::Show { session, json, store } => {
            let story = replay(&Store::open_existing(&store.path)?, session)?;
            let format = if json { Format::Json } else { Format::Text };
            let output = Output { format, path: None };
            write(&story, &[output], &mut io::stdout(), Channel::standard_output().style)?;
            if let (true, Some(remark)) = (json, remark(&story)) {
                eprintln!("sweetspot: {remark}");
            }
            Ok(())
        }
        Action::Rm { session, store } => {
            let id = sessions::remove(&mut Store::open_existing(&store.path)?, session)?;
            print(&format!("removed session {id}\n"))
        }
    }
}

fn print(text: &str) -> Result<(), ReportError> {
    io::stdout().write_all(text.as_bytes()).map_err(ReportError::Output)
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
        | ReportError::TwoOnStandardOutput { .. } => true,
        ReportError::Write { .. } | ReportError::Output(_) => false,
    };
    if is_usage { UsageError { message: error.to_string() }.into() } else { error.into() }
}
