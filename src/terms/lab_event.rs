//! What happens while a published experiment is measured, or its app tuned: shown, never stored.

use super::configuration::Configuration;
use super::lab::{LabPair, LabRun};

/// What happens while an experiment runs.
pub enum LabEvent<'a> {
    /// Before anything is started.
    Begins {
        lab: &'a str,
        runs: usize,
        estimated_s: f64,
    },
    /// Runs that an earlier, interrupted run has measured are taken over.
    TakenUp {
        runs: usize,
    },
    Preparing {
        what: &'a str,
    },
    /// The article's rates are multiplied by this.
    Scaled {
        scale: f64,
        cpu_s_per_request: f64,
        published_s: f64,
    },
    Measured {
        index: usize,
        of: usize,
        run: &'a LabRun,
    },
}

/// What happens while an experiment's app is tuned.
pub enum LabTuneEvent<'a> {
    Preparing { what: &'a str },
    Tunes,
    Chose { chosen: Configuration, article: Configuration },
    Pair { index: u32, of: u32, pair: LabPair },
}
