//! How an experiment is to be run, as the command line has it.
//!
//! In and out: a value.

use std::path::PathBuf;

use crate::terms::StopSignal;

/// How an experiment is to be run.
pub struct RunOptions {
    pub is_quick: bool,
    /// Where what has been measured is kept until the experiment is over.
    pub kept_in: PathBuf,
    /// Go on where an earlier run of the same experiment was cut off.
    pub may_resume: bool,
    pub stop: StopSignal,
}
