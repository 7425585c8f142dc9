//! `sweetspot report`: arguments.

use std::io;

use super::Exit;
use super::language::LanguageArgument;
use super::sessions::{StoreArgument, with_exit_code};
use crate::report::Format;
use crate::report::terminal::Channel;
use crate::session::report::{Output, ReportError, Which, check, remark, replay, write};
use crate::store::Store;

const EXAMPLES: &str = "\
Examples:
  sweetspot report last
  sweetspot report 3 -o markdown=report.md -o csv=trials.csv
  sweetspot report 3 --lang ja";

/// Writes reports of a stored session.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The session's number (see 'sweetspot sessions list'), or 'last'.
    session: Which,
    /// What to write and where: text, markdown, json or csv; without a path to standard output.
    /// Repeatable [default: text].
    #[arg(short = 'o', long = "output", value_name = "FORMAT[=PATH]")]
    outputs: Vec<Output>,
    #[command(flatten)]
    language: LanguageArgument,
    #[command(flatten)]
    store: StoreArgument,
    /// The same as -o json.
    #[arg(long)]
    json: bool,
    /// Do not say where the reports were written.
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    make(arguments).map_err(with_exit_code)?;
    Ok(Exit::Done)
}

fn make(arguments: Arguments) -> Result<(), ReportError> {
    let mut outputs = arguments.outputs;
    if arguments.json || outputs.is_empty() {
        let format = if arguments.json { Format::Json } else { Format::Text };
        outputs.push(Output { format, path: None });
    }
    check(&outputs)?;
    let story = replay(&Store::open_existing(&arguments.store.path)?, arguments.session)?;
    let style = Channel::standard_output().in_language(arguments.language.language()).style;
    let written = write(&story, &outputs, &mut io::stdout(), style)?;
    if arguments.quiet {
        return Ok(());
    }
    // On standard error, so that a report on standard output stays a report.
    if let Some(remark) = remark(&story) {
        eprintln!("sweetspot: {remark}");
    }
    for path in written {
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
