//! What is asked, and why there may be no answer.
//!
//! In and out: values.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::session::watch::{Subject, WatchError};
use crate::terms::{Bytes, Configuration, Cores, Slo};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    pub source: Source,
    /// How many worker processes run; `None`: as many as are seen.
    pub workers: Option<u16>,
    /// Threads of each; `None`: as many as are seen.
    pub threads: Option<u16>,
    /// `None`: what the server's processes may use.
    pub cores: Option<Cores>,
    pub memory: Option<Bytes>,
    /// `None`: what suits the times of single requests.
    pub slo: Option<Slo>,
}

/// Who tells.
#[derive(Debug, Clone)]
pub enum Source {
    /// A server that runs here, with the probe in it.
    Server {
        subject: Subject,
        /// Where the probe tells; its folder is there.
        socket: PathBuf,
        length: Duration,
    },
    /// The rows of perfm's table, as CSV or JSON, of so many instances together.
    Perfm { file: PathBuf, instances: u32 },
}

/// Why nothing can be said.
#[derive(Debug, Error)]
pub enum AdviseError {
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error("could not listen at {}: {reason}", .socket.display())]
    Unheard { socket: PathBuf, reason: String },
    #[error(
        "nothing was told of any request in {length_s:.0} s; the server's processes have to load \
         the probe ('sweetspot advise --write-probe FOLDER' says how), to be able to reach {}, and \
         to get requests",
        .socket.display()
    )]
    NothingTold { length_s: f64, socket: PathBuf },
    #[error(
        "nothing was told in {length_s:.0} s of any request by what is watched, process {watched}, \
         and other processes told of theirs, such as {other}, by the id that it has for itself; \
         where what is watched is something else, such as a proxy in front of the app server, say \
         which process the app server is, with --pid, or the address at which it listens itself"
    )]
    OthersTold { length_s: f64, watched: String, other: u32 },
    #[error(
        "the server's processes have loaded a probe of another version, which is not understood; \
         write it anew with 'sweetspot advise --write-probe {}' (or take the gem of this version), \
         and start the server again",
        .folder.display()
    )]
    OtherVersion { folder: PathBuf },
    #[error("the server's processes ended before anything was told")]
    Ended,
    #[error(
        "how many threads a worker has is not seen from its threads' names; say it with --threads"
    )]
    ThreadsUnknown,
    #[error(transparent)]
    Perfm(#[from] PerfmError),
}

impl AdviseError {
    /// The user's to mend on the command line, rather than the environment's.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::ThreadsUnknown | Self::Perfm(_))
    }
}

/// Said while it watches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meanwhile {
    /// Nothing has been heard yet, or only of processes that are not watched.
    Silent { for_s: f64, has_others: bool },
    /// Once a second: since it began, and of how many requests was told.
    Seen { for_s: f64, requests: u64 },
}

/// What the user said, or else what is seen.
pub fn setting(
    question: &Question,
    workers: u16,
    threads: Option<u16>,
) -> Result<Configuration, AdviseError> {
    let workers = question.workers.unwrap_or(workers).max(1);
    let threads = question.threads.or(threads).ok_or(AdviseError::ThreadsUnknown)?;
    Configuration::new(workers, threads).map_err(|_| AdviseError::ThreadsUnknown)
}

/// Why a file says nothing.
#[derive(Debug, Error)]
pub enum PerfmError {
    #[error("could not read {}: {reason}", .file.display())]
    Read { file: PathBuf, reason: io::Error },
    #[error("{}: {what}", .file.display())]
    NotRows { file: PathBuf, what: String },
    #[error(
        "{}: it is perfm's analysis, which has means alone; export the rows of perfm_gvl_metrics \
         instead, as CSV with a header or as a JSON array",
        .file.display()
    )]
    Analysis { file: PathBuf },
    #[error("{}: it has no row with a time and a duration", .file.display())]
    NoRows { file: PathBuf },
    #[error("--perfm: say on how many cores an instance runs, with --cpus")]
    CoresUnknown,
    #[error("--perfm: say how many workers an instance runs, with --workers")]
    WorkersUnknown,
    #[error(
        "{}: no row says how many threads a worker has, as perfm does not know it of a server that \
         has workers; say it with --threads",
        .file.display()
    )]
    ThreadsUnknown { file: PathBuf },
}
