//! `sweetspot completions`: arguments.

use std::io;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Command, ValueHint};
use clap_complete::Shell;

use super::Exit;

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

pub fn run(arguments: &Arguments, mut whole: Command) -> anyhow::Result<Exit> {
    if let Some(shell) = arguments.shell {
        clap_complete::generate(shell, &mut whole, "sweetspot", &mut io::stdout());
    }
    if let Some(folder) = &arguments.man {
        let made =
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(whole, folder));
        made.with_context(|| format!("could not write into {}", folder.display()))?;
    }
    Ok(Exit::Done)
}
