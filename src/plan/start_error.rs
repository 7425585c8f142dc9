//! Why a command of the user's cannot start a server, with the way out.
//!
//! In and out: a value.

use std::path::PathBuf;

use thiserror::Error;

use crate::server::command::PLACES;

/// A command that cannot start a server. Nothing of it is repeated but names.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StartError {
    #[error("it is empty; write for example 'bin/serve --workers {{workers}} --port {{port}}'")]
    Empty,
    #[error("a quotation mark in it is never closed")]
    OpenQuote,
    #[error(
        "{{{name}}} is no place that can be filled in{}; there are {}",
        close.map_or_else(String::new, |close| format!(" (did you mean {{{close}}}?)")),
        PLACES.map(|place| format!("{{{place}}}")).join(", ")
    )]
    UnknownPlace { name: String, close: Option<&'static str> },
    #[error(
        "it does not say where to listen: write {{port}} where the port belongs, such as \
         --port {{port}}; for a server that reads the variable PORT give it --env PORT={{port}}; \
         a server that listens on a unix socket needs {{socket}}"
    )]
    NoAddress,
    #[error("it has both {{port}} and {{socket}}; keep the one on which requests are answered")]
    TwoAddresses,
    #[error(
        "no shell is started, so '{word}' would be a plain word; write `sh -c 'exec ...'` around \
         it where a shell is needed"
    )]
    NeedsShell { word: String },
    #[error("no shell is started, so $PORT would stay as it is; write {{port}}")]
    ShellPort,
    #[error("'{name}=...' before a command is a shell's; give it as --env '{name}=...'")]
    Assignment { name: String },
    #[error("{program} is not in any folder of PATH, nor in {}", folder.display())]
    NoProgram { program: String, folder: PathBuf },
    #[error("{program} is in {}, where it is looked for only as ./{program}", folder.display())]
    NotHere { program: String, folder: PathBuf },
    #[error("{} is no program that may be run; 'chmod +x' makes it one", path.display())]
    NotExecutable { path: PathBuf },
}
