//! A tune of an app that runs elsewhere, a verification of one, and its undoing: the address, the
//! place and the store, put together.

use std::path::Path;

use super::cluster::requests;
use super::load::LoadVerbError;
use super::load::addresses::{addresses, reachable};
use super::load::tls;
use super::local::RunOptions;
use super::tune::{self, Ended, Session, Tune, TuneError};
use super::verify::{self, Claim, Verified, VerifyError, Verifying};
use crate::load::TlsOptions;
use crate::place::PlaceError;
use crate::place::ecs;
use crate::place::local::inherited_secrets;
use crate::place::remote::{
    self, AskMinutes, FILES_OF_HOST, ForHosts, Host, OnLoss, Ours, RemoteSettings, Unread,
};
use crate::plan::{Plan, Platform, Remote};
use crate::store::Store;
use crate::terms::{Configuration, Machine, StopSignal};

pub use crate::place::remote::{Destination, Occasion, PutBack, Tell};

/// Where the plan's app answers. Sends no request.
///
/// # Errors
/// The name is not known, or load may not be sent there.
pub fn destination(remote: &Remote) -> Result<Destination, LoadVerbError> {
    let url = &remote.url;
    let found = reachable(addresses(url, remote.allows_public)?);
    let tls = tls::settings(&TlsOptions::default(), url)?;
    let written = url.to_string();
    Ok(Destination {
        url: written.trim_end_matches('/').to_string(),
        addresses: found,
        host: url.host_header(),
        tls,
    })
}

/// Which release of the plan's app runs, where a command says that. Changes nothing.
///
/// # Errors
/// The command fails.
pub fn release(remote: &Remote) -> Result<Option<String>, TuneError> {
    let command = remote.commands.release.as_ref();
    let ask = |text: &String| remote::answer(text, &inherited_secrets(), &StopSignal::default());
    Ok(command.map(ask).transpose()?)
}

/// Tunes the plan's app. It is as it was before when this returns, or the error says that it isn't.
///
/// # Errors
/// As [`tune::run`]; also when the store cannot be opened.
pub fn tune(
    plan: &Plan,
    (to, remote): (&Destination, &Remote),
    options: RunOptions<'_>,
    tell: Tell,
) -> Result<Ended, TuneError> {
    let RunOptions { stop, reporters, consent, may_resume } = options;
    let mut store = Store::open(&plan.store)?;
    let mut place = place(plan, (to, remote), &stop, tell)?;
    let session = Session::new(plan, (&mut place, &mut store), reporters, stop, Vec::new());
    tune::run(Tune { session, consent, may_resume, beside: Vec::new() })
}

/// Measures whether a session's recommendation for the plan's app is still right. `plan` is that
/// session's again; of the options, `consent` and `may_resume` have no part in it.
///
/// # Errors
/// As [`verify::run`]; also when the store cannot be opened.
pub fn verify(
    claim: &Claim,
    plan: &Plan,
    (to, remote): (&Destination, &Remote),
    (compares_machines, options): (bool, RunOptions<'_>),
    tell: Tell,
) -> Result<Verified, VerifyError> {
    let RunOptions { stop, reporters, .. } = options;
    let mut store = Store::open(&plan.store).map_err(TuneError::from)?;
    let place = place(plan, (to, remote), &stop, tell);
    let mut place = place.map_err(TuneError::from)?;
    let session = Session::new(plan, (&mut place, &mut store), reporters, stop, Vec::new());
    verify::run(Verifying { session, claim, compares_machines })
}

/// Puts back what a session that was cut off has left, by the note beside this store. `None`:
/// nothing was left; else where the app answers. `tell`: the process that is waited for, where that
/// session's last command still runs.
///
/// # Errors
/// That session goes on, or the command fails.
pub fn restore(
    store: &Path,
    stop: &StopSignal,
    tell: &mut dyn FnMut(u32),
) -> Result<Option<PutBack>, TuneError> {
    Ok(remote::restore(store, &inherited_secrets(), stop, tell)?)
}

fn place(
    plan: &Plan,
    (to, remote): (&Destination, &Remote),
    stop: &StopSignal,
    tell: Tell,
) -> Result<remote::Remote, PlaceError> {
    let commands = &remote.commands;
    let least = Configuration { workers: plan.workers[0], threads: plan.threads[0] };
    let secrets = inherited_secrets()
        .with_given(plan.app.env.iter().map(|(name, value)| (&**name, &**value)))
        .with_requests(&plan.targets);
    let settings = RemoteSettings {
        to: to.clone(),
        machine: machine(plan, remote),
        today: remote.today,
        least,
        app: plan.app.clone(),
        changes: plan.changes.clone(),
        look_up: {
            let (url, allows_public) = (remote.url.clone(), remote.allows_public);
            Box::new(move || addresses(&url, allows_public).ok().map(reachable))
        },
        release: remote.release.clone(),
        apply: commands.apply.clone(),
        ready: commands.ready.clone(),
        observe: commands.observe.clone(),
        ask_minutes: ask_minutes(plan, remote),
        restore: commands.restore.clone(),
        hands_on: remote.by != Platform::Any,
        ours: commands.check.clone().map(|check| Ours { check, tell }),
        files: commands.files.clone(),
        from: remote.from.as_ref().map(|host| from(plan, remote, host)),
        targets: plan.targets.clone(),
        connection: plan.connection,
        timeout: plan.timeout,
        boot_patience: remote::boot_patience(plan.boot_timeout),
        secrets,
        store: plan.store.clone(),
    };
    remote::Remote::new(settings, stop.clone())
}

/// How its platform is asked what it recorded of it; `None`: it records nothing.
fn ask_minutes(plan: &Plan, remote: &Remote) -> Option<AskMinutes> {
    let Platform::Ecs(name) = &remote.by else { return None };
    let (name, reserved) = (name.clone(), remote.reserved.unwrap_or_default());
    let record = name.record(plan.store.parent().unwrap_or(&plan.app.folder));
    Some(Box::new(move |range, stop: &StopSignal| {
        ecs::minutes((&name, &record), reserved, range, stop)
            .map_err(|error| Unread { said: error.to_string(), is_lasting: error.is_lasting() })
    }))
}

/// How another host is to send the loads.
fn from(plan: &Plan, remote: &Remote, host: &Host) -> ForHosts {
    let (arguments, files) = requests::of(&plan.targets, plan.timeout, FILES_OF_HOST);
    let load = ["load".to_string(), remote.url.to_string()];
    let one = ["--generators".to_string(), "1".to_string()];
    ForHosts {
        hosts: vec![host.clone()],
        arguments: load.into_iter().chain(arguments).chain(one).collect(),
        files: files.into_iter().collect(),
        on_loss: OnLoss::End,
    }
}

/// What the user or its platform says of it; of its processor neither says anything.
fn machine(plan: &Plan, remote: &Remote) -> Machine {
    const SAID: &str = "a plan of an app elsewhere says what it may use, or its platform does";
    let (cores, memory) = remote.has.unzip();
    Machine {
        cpu_model: Machine::UNKNOWN.to_string(),
        cores: plan.cores.or(cores).expect(SAID),
        memory_bytes: plan.memory.or(memory).expect(SAID),
        kernel: Machine::UNKNOWN.to_string(),
    }
}
