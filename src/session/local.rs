//! A tune, or a verification of one, on this machine: doctor's checks, the local place and the
//! store, put together.

use std::env;
use std::io;
use std::path::PathBuf;

use super::doctor::{self, DoctorSettings};
use super::tune::{self, Ended, Session, Tune, TuneError};
use super::verify::{self, Claim, Verified, VerifyError, Verifying};
use crate::monitor::host;
use crate::place::PlaceError;
use crate::place::local::{BOOT_PATIENCE, Local, LocalSettings, SYSTEM_PROGRAMS};
use crate::plan::{Invoker, Plan, Surroundings};
use crate::report::{Reporter, Stored};
use crate::server;
use crate::store::Store;
use crate::terms::{StopSignal, Task, Warning};

/// What is decided beside the plan.
pub struct RunOptions<'a> {
    pub stop: StopSignal,
    /// Makes the receivers of events, once it is known where the session is stored.
    pub reporters: &'a mut dyn FnMut(Stored) -> Vec<Box<dyn Reporter>>,
    /// Asked before threads are tried on an app that runs one today.
    pub consent: &'a mut dyn FnMut(&str) -> bool,
    /// Take up an unfinished session of the same plan.
    pub may_resume: bool,
}

/// Tunes the plan's app on this machine.
///
/// # Errors
/// As [`tune::run`]; also when the store cannot be opened or the machine cannot host the app.
pub fn tune(plan: &Plan, options: RunOptions<'_>) -> Result<Ended, TuneError> {
    let RunOptions { stop, reporters, consent, may_resume } = options;
    let (mut place, mut store, doubts) = ready(plan, &stop)?;
    let session = Session::new(plan, (&mut place, &mut store), reporters, stop, doubts);
    tune::run(Tune { session, consent, may_resume, beside: Vec::new() })
}

/// Measures on this machine whether a session's recommendation is still right. `plan` is that
/// session's again; of the options, `consent` and `may_resume` have no part in it.
///
/// # Errors
/// As [`verify::run`]; also when the store cannot be opened or the machine cannot host the app.
pub fn verify(
    claim: &Claim,
    plan: &Plan,
    (compares_machines, options): (bool, RunOptions<'_>),
) -> Result<Verified, VerifyError> {
    let RunOptions { stop, reporters, .. } = options;
    let (mut place, mut store, doubts) = ready(plan, &stop)?;
    let session = Session::new(plan, (&mut place, &mut store), reporters, stop, doubts);
    verify::run(Verifying { session, claim, compares_machines })
}

/// The place, the store, which is closed before the place ends its servers, and what doctor found.
fn ready(plan: &Plan, stop: &StopSignal) -> Result<(Local, Store, Vec<Warning>), TuneError> {
    // The store first: measuring for minutes and then failing to keep it would be a waste.
    let store = Store::open(&plan.store)?;
    let settings = settings(plan)?;
    let findings = doctor::check(&DoctorSettings {
        quick: true,
        app: plan.app.folder.clone(),
        store: plan.store.clone(),
    });
    let place = Local::new(settings, stop.clone())?;
    Ok((place, store, doctor::warnings(&findings)))
}

/// Where this was typed, as the plan has to know it.
///
/// # Errors
/// The current folder is gone.
pub fn surroundings() -> io::Result<Surroundings> {
    let host = host::read();
    let path = env::var_os("PATH").unwrap_or_default();
    let system = SYSTEM_PROGRAMS.iter().map(PathBuf::from);
    Ok(Surroundings {
        folder: env::current_dir()?,
        cores: host.cores(),
        memory: host.memory_bytes(),
        elsewhere: None,
        program_folders: env::split_paths(&path).chain(system).collect(),
        invoker: Invoker { uid: rustix::process::geteuid().as_raw(), sudo_uid: sudo_uid() },
    })
}

/// Who called sudo, if that is how we came to run.
fn sudo_uid() -> Option<u32> {
    env::var("SUDO_UID").ok()?.parse().ok()
}

/// The plan as the local place needs it.
///
/// # Errors
/// The plan names a server we don't know.
pub fn settings(plan: &Plan) -> Result<LocalSettings, PlaceError> {
    let adapter = server::find(&plan.server).ok_or_else(|| PlaceError::Environment {
        what: Task::StartService { name: plan.server.clone() },
        source: io::Error::new(io::ErrorKind::Unsupported, "no such app server is known"),
    })?;
    Ok(LocalSettings {
        changes: plan.changes.clone(),
        connection: plan.connection,
        timeout: plan.timeout,
        cores: plan.cores,
        memory: plan.memory,
        boot_patience: plan.boot_timeout.unwrap_or(BOOT_PATIENCE),
        ..LocalSettings::new(plan.app.clone(), adapter, plan.targets.clone())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::plan::{Key, Typed, resolve};

    #[test]
    fn a_server_is_given_the_time_to_boot_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let [app, programs] = ["app", "programs"].map(|name| folder.path().join(name));
        for (folder, file) in [(&app, "config.ru"), (&programs, "puma")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), "run App\n").unwrap();
        }
        let surroundings = Surroundings::of_test(app, [programs]);
        let patience = |typed: &Typed| {
            let plan = resolve(typed, &surroundings).unwrap();
            settings(&plan).unwrap().boot_patience
        };
        assert_eq!(patience(&Typed::default()), BOOT_PATIENCE);
        let asked = Typed::default().with(Key::BootTimeout, "5m");
        assert_eq!(patience(&asked), Duration::from_secs(300));
    }
}
