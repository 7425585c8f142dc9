//! `sweetspot completions`: arguments.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use super::{Exit, manual, print};
use crate::plan::{Key, choices};

const EXAMPLES: &str = "\
Examples:
  sweetspot completions bash >~/.local/share/bash-completion/completions/sweetspot
  sweetspot completions --man ~/.local/share/man/man1";

/// Prints what a shell completes sweetspot's arguments by, or writes the manual's pages.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell
    #[arg(required_unless_present = "man")]
    shell: Option<Shell>,
    /// Write the manual's pages into this folder instead, one for each verb
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with = "shell")]
    man: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, whole: Command) -> anyhow::Result<Exit> {
    if let Some(shell) = arguments.shell {
        // It panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut completed(&whole), "sweetspot", &mut script);
        print(String::from_utf8_lossy(&script))?;
    }
    if let Some(folder) = &arguments.man {
        manual::write(whole, folder)
            .with_context(|| format!("could not write into {}", folder.display()))?;
    }
    Ok(Exit::Done)
}

/// The verbs that people type, with the words that their options take: a plan file may have these
/// options too, so it is not clap that checks them.
fn completed(whole: &Command) -> Command {
    let verbs = whole.get_subcommands().filter(|verb| !verb.is_hide_set());
    Command::new("sweetspot")
        .args(whole.get_arguments().cloned())
        .subcommands(verbs.cloned().map(|verb| verb.mut_args(with_words)))
}

fn with_words(argument: Arg) -> Arg {
    let name = argument.get_id().as_str();
    let key = Key::ALL.iter().find(|key| key.name() == name);
    match key.map(|key| choices(*key)) {
        Some(words) if !words.is_empty() => argument.value_parser(PossibleValuesParser::new(words)),
        _ => argument,
    }
}
