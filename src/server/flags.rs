//! Workers, threads and kind of workers that the flags of a server's command give, as the files
//! that deploy the app have it.
//!
//! In: the flags. Out: the app's settings as they are with them. Only computes.

use super::{Inspection, Obeys};
use crate::terms::{Configuration, SettingsRemark};

/// As a server spells its flags for workers and threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagNames {
    pub workers: &'static [&'static str],
    pub threads: &'static [&'static str],
    /// Of the kind of its workers.
    pub kind: &'static [&'static str],
    /// Of its configuration file.
    pub config: &'static [&'static str],
    /// Other programs that start it and take these flags.
    pub through: &'static [&'static str],
}

impl FlagNames {
    /// It has none, or none that are read.
    pub const NONE: Self =
        Self { workers: &[], threads: &[], kind: &[], config: &[], through: &[] };
}

/// What a command gives by flags, which come before the server's own file and before variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    /// At least 1: none of Puma's is one process.
    pub workers: Option<u16>,
    /// The most of a worker; at least 1.
    pub threads: Option<u16>,
    /// The kind of workers, of servers that have several.
    pub kind: Option<String>,
    /// The variables that its numbers are taken from.
    pub obeys: Obeys,
    /// The file that has the command.
    pub file: &'static str,
    /// Those that are numbers, as they are written: no variable changes them.
    pub fixed: Vec<String>,
}

impl Flags {
    /// `has_threads`: there are threads to choose, else it runs one whatever the flags say.
    pub(super) fn apply_to(&self, inspection: &mut Inspection, has_threads: bool) {
        let Configuration { workers, threads } = inspection.current;
        let workers = self.workers.unwrap_or(workers.get());
        let threads = self.threads.filter(|_| has_threads).unwrap_or(threads.get());
        inspection.current = Configuration::new(workers, threads).unwrap_or(inspection.current);
        let Obeys { workers, max_threads, min_threads } = self.obeys.clone();
        let file = &mut inspection.obeys;
        file.workers = workers.or(file.workers.take());
        if max_threads.is_some() {
            (file.max_threads, file.min_threads) = (max_threads, min_threads);
        }
        if !self.fixed.is_empty() {
            let (file, flags) = (self.file.to_string(), self.fixed.join(" "));
            inspection.remarks.push(SettingsRemark::FlagsComeFirst { file, flags }.into());
        }
    }
}
