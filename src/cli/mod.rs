//! Arguments and exit codes; clap lives here and nowhere else.
//!
//! In: what was typed. Out: an exit code. A file a verb translates its arguments for `session/`;
//! must not measure or compute.

mod advise;
mod compare;
mod completions;
mod doctor;
mod ecs;
mod exit;
mod failed;
mod hidden;
mod interrupt;
mod lab;
mod language;
mod load;
mod manual;
mod observe;
mod options;
mod predict;
mod print;
mod progress;
mod push;
mod report;
mod resolved;
mod restore;
mod serve;
mod sessions;
mod tune;
mod turn;
mod verify;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};

use exit::{Exit, UsageError};
use print::{print, say};

#[derive(Parser)]
#[command(
    name = "sweetspot",
    version,
    about = "Finds, by measuring, how many workers and threads your app server should run",
    after_help = "Exit codes: 0 done (or SLO met); 1 could not measure; 2 the command line or plan \
                  is wrong; 3 SLO not met or regression found; 4 measured but invalid."
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    // Boxed: they have many more fields than the others.
    Tune(Box<tune::Arguments>),
    Load(Box<load::Options>),
    Watch(watch::Arguments),
    Predict(predict::Arguments),
    Compare(compare::Arguments),
    Observe(observe::Arguments),
    Advise(advise::Arguments),
    // Boxed: it has many fields as well.
    Verify(Box<verify::Arguments>),
    Report(report::Arguments),
    Restore(restore::Arguments),
    Serve(serve::Arguments),
    Sessions(sessions::Arguments),
    Lab(lab::Arguments),
    Doctor(doctor::Arguments),
    // For packages.
    #[command(hide = true)]
    Completions(completions::Arguments),
    #[command(flatten)]
    Hidden(hidden::Hidden),
}

/// Runs the command that was typed and returns its exit code; errors are printed here.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to standard output with exit code 0, mistakes to standard error
            // with 2.
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            drop(hide_value(error).print());
            return code.into();
        }
    };
    match run(arguments.verb) {
        Ok(exit) => exit.into(),
        Err(error) => {
            failed::print(&error);
            let is_usage = error.downcast_ref::<UsageError>().is_some();
            if is_usage { Exit::Usage.into() } else { Exit::CouldNotMeasure.into() }
        }
    }
}

/// A value that may be secret is not repeated: a URL may hold a password, a target a token.
fn hide_value(mut error: clap::Error) -> clap::Error {
    const MAY_BE_SECRET: [&str; 2] = ["--push ", "--target "];
    let is_meant = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => MAY_BE_SECRET.iter().any(|it| name.starts_with(it)),
        _ => false,
    };
    if is_meant {
        error.insert(ContextKind::InvalidValue, ContextValue::String("[hidden]".to_string()));
    }
    error
}

fn run(verb: Verb) -> anyhow::Result<Exit> {
    if !matches!(verb, Verb::Hidden(_)) {
        crate::session::guardian::end_abandoned().iter().for_each(say);
    }
    match verb {
        Verb::Tune(arguments) => tune::run(*arguments),
        Verb::Load(options) => load::run(*options),
        Verb::Watch(arguments) => watch::run(arguments),
        Verb::Predict(arguments) => predict::run(arguments),
        Verb::Compare(arguments) => compare::run(arguments),
        Verb::Observe(arguments) => observe::run(arguments),
        Verb::Advise(arguments) => advise::run(arguments),
        Verb::Verify(arguments) => verify::run(*arguments),
        Verb::Report(arguments) => report::run(arguments),
        Verb::Restore(arguments) => restore::run(&arguments),
        Verb::Serve(arguments) => serve::run(arguments),
        Verb::Sessions(arguments) => sessions::run(arguments),
        Verb::Lab(arguments) => lab::run(arguments),
        Verb::Doctor(arguments) => doctor::run(arguments),
        Verb::Completions(arguments) => completions::run(&arguments, Arguments::command()),
        Verb::Hidden(verb) => hidden::run(verb),
    }
}

#[cfg(test)]
mod tests;
