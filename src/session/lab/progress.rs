//! What an experiment has measured so far, in a file of its own, so that one which was cut off goes
//! on. It is there as long as the experiment is not over.
//!
//! In: runs. Out: the runs that are there already. Every change replaces the file as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::file_error::FileError;
use crate::files::{make_folder_of, replace};
use crate::lab::Lab;
use crate::session::fingerprint::Hash;
use crate::terms::{LabRun, Machine, StopSignal};

/// Why what was measured cannot be kept or taken up.
#[derive(Debug, Error)]
pub enum ProgressError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{} runs of this experiment were measured on {then}, and this machine has {now}: figures \
         of different machines are never set beside each other; go on there, or begin anew here \
         with --fresh-session",
        runs
    )]
    OtherMachine { runs: usize, then: String, now: String },
}

/// How an experiment is to be run.
pub struct RunOptions {
    pub is_quick: bool,
    /// Where what has been measured is kept until the experiment is over.
    pub kept_in: PathBuf,
    /// Go on where an earlier run of the same experiment was cut off.
    pub may_resume: bool,
    pub stop: StopSignal,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    /// Of the lab's files and of what is measured: runs of anything else are none of ours.
    fingerprint: String,
    machine: Machine,
    scale: Option<f64>,
    runs: Vec<LabRun>,
}

/// What is kept, and where.
pub struct Progress {
    path: PathBuf,
    kept: Kept,
}

impl Progress {
    /// What an earlier run of the same experiment has left, or a new beginning.
    ///
    /// # Errors
    /// It was left by another machine, or cannot be read or written.
    pub fn open(lab: &Lab, options: &RunOptions, machine: &Machine) -> Result<Self, ProgressError> {
        let course = if options.is_quick { "quick" } else { "full" };
        let path = options.kept_in.join(format!("lab-{}-{course}.json", lab.name));
        let fingerprint = fingerprint(lab);
        let left = read(&path)?.filter(|kept| kept.fingerprint == fingerprint);
        let kept = match left {
            Some(left) if options.may_resume && left.machine == *machine => left,
            Some(left) if options.may_resume && !left.runs.is_empty() => {
                return Err(ProgressError::OtherMachine {
                    runs: left.runs.len(),
                    then: described(&left.machine),
                    now: described(machine),
                });
            }
            _ => Kept { fingerprint, machine: machine.clone(), scale: None, runs: Vec::new() },
        };
        Ok(Self { path, kept })
    }

    pub fn runs(&self) -> &[LabRun] {
        &self.kept.runs
    }

    pub fn scale(&self) -> Option<f64> {
        self.kept.scale
    }

    pub fn set_scale(&mut self, scale: f64) -> Result<(), ProgressError> {
        self.kept.scale = Some(scale);
        self.write()
    }

    pub fn add(&mut self, run: LabRun) -> Result<(), ProgressError> {
        self.kept.runs.push(run);
        self.write()
    }

    /// The experiment is over: nothing is left to go on with.
    pub fn done(&self) -> Result<(), ProgressError> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(FileError::of("remove", &self.path)(source).into())
            }
            _ => Ok(()),
        }
    }

    fn write(&self) -> Result<(), ProgressError> {
        let text = serde_json::to_string(&self.kept).unwrap_or_default();
        make_folder_of(&self.path)
            .and_then(|()| replace(&self.path, text.as_bytes()))
            .map_err(FileError::of("write", &self.path))?;
        Ok(())
    }
}

/// A file that cannot be understood was left by another version: there is nothing to go on with.
fn read(path: &Path) -> Result<Option<Kept>, ProgressError> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FileError::of("read", path)(source).into()),
    }
}

fn described(machine: &Machine) -> String {
    format!("{} ({} cores, {})", machine.cpu_model, machine.cores, machine.memory_bytes)
}

fn fingerprint(lab: &Lab) -> String {
    let mut hash = Hash::keyed(&[]);
    hash.add(env!("CARGO_PKG_VERSION"));
    hash.add(&format!("{:?} {:?}", lab.definition, lab.setup));
    for (path, content) in &lab.app {
        hash.add(&path.display().to_string());
        hash.add_bytes(content);
    }
    hash.text()
}
