//! `sweetspot report`: arguments.

use super::language::LanguageArgument;
use super::push::{PushArgument, push_to};
use super::sessions::{StoreArgument, with_exit_code};
use super::{Exit, say};
use crate::report::terminal::{Channel, standard_output};
use crate::report::{Format, Story};
use crate::session::push;
use crate::session::report::{Output, ReportError, Which, check, remark, replay_readable, write};
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
    /// What to write and where: text, markdown, json, csv (every table into FOLDER/), html, junit
    /// or prometheus; without a path to standard output. Repeatable [default: text, or nothing with
    /// --push].
    #[arg(short = 'o', long = "output", value_name = "FORMAT[=PATH]")]
    outputs: Vec<Output>,
    #[command(flatten)]
    push: PushArgument,
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
    let receivers = arguments.push.receivers()?;
    let story = make(arguments, !receivers.is_empty()).map_err(with_exit_code)?;
    Ok(push_to(&receivers, Exit::Done, |receiver| push::session(receiver, &story)))
}

/// Writes what was asked for. What is pushed need not be written as well.
fn make(arguments: Arguments, is_pushed: bool) -> Result<Story, ReportError> {
    let mut outputs = arguments.outputs;
    if arguments.json || (outputs.is_empty() && !is_pushed) {
        let format = if arguments.json { Format::Json } else { Format::Text };
        outputs.push(Output { format, path: None });
    }
    check(&outputs)?;
    let story = replay_readable(&Store::open_existing(&arguments.store.path)?, arguments.session)?;
    let style = Channel::standard_output().in_language(arguments.language.language()).style;
    let written = write(&story, &outputs, &mut standard_output(), style)?;
    if arguments.quiet {
        return Ok(story);
    }
    // On standard error, so that a report on standard output stays a report.
    if let Some(remark) = remark(&story) {
        say(format!("sweetspot: {remark}"));
    }
    for path in written {
        say(format!("wrote {}", path.display()));
    }
    Ok(story)
}
