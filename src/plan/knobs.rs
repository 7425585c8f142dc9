//! `--knob` and `[[knob]]`: what is tried beside workers and threads, checked against what the
//! server has. Only computes.

mod ready_made;

use std::collections::BTreeMap;

use super::error::{Origin, PlanError};
use super::options::Key;
use super::settings::{Given, Settings, Sourced, flag, hidden, source_of};
use super::variable::check_variable;
use super::written_knob::{Subject, Written, WrittenError};
use crate::server::command::{Runs, has_place};
use crate::server::{self, Adapter, App};
use crate::terms::{Change, Cores, Variant};

/// Variables that say where to listen and how many workers there are, for every server.
const RESERVED: [&str; 2] = ["PORT", "WEB_CONCURRENCY"];

/// The changes of each knob, those that were typed in place of the plan file's, of an app that has
/// so many cores. `others`: changes that the plan has beside them.
///
/// # Errors
/// A knob that is none, or that this server does not have.
pub fn knobs(
    settings: &Settings<'_>,
    (app, cores): (&App, Cores),
    adapter: &'static dyn Adapter,
    others: &[Change],
) -> Result<Vec<Sourced<Vec<Change>>>, PlanError> {
    let mut knobs: Vec<Sourced<Vec<Change>>> = Vec::new();
    for (at, written) in written(settings)? {
        let problem = |error: WrittenError| hidden(at.clone(), error);
        for changes in changes(&written, app, adapter).map_err(problem)? {
            let earlier = || knobs.iter().flat_map(|knob| &knob.value);
            let all = || others.iter().chain(earlier()).chain(&changes);
            let (mut known, count) = (all(), all().count());
            let is_twice =
                |change: &&Change| all().filter(|other| other.name == change.name).count() > 1;
            if let Some(change) = known.find(is_twice) {
                return Err(problem(WrittenError::Repeated { change: change.name.clone() }));
            }
            let has_as_many = |it: &&Change| server::pods::cpus_in(&it.settings) == Some(cores);
            if let Some(change) = changes.iter().find(has_as_many) {
                return Err(problem(WrittenError::AsItIs { change: change.name.clone() }));
            }
            if count > Variant::MOST_CHANGES {
                return Err(problem(WrittenError::TooMany { count }));
            }
            knobs.push(Sourced { value: changes, source: source_of(&at) });
        }
    }
    Ok(knobs)
}

fn written(settings: &Settings<'_>) -> Result<Vec<(Origin, Written)>, PlanError> {
    if settings.typed.has(Key::Knob) {
        let read = |given: Given<'_>| given.read(typed).map(|it| (flag(Key::Knob), it.value));
        return settings.typed_all(Key::Knob).map(read).collect();
    }
    let Some(file) = &settings.file else { return Ok(Vec::new()) };
    let at = |line| file.at(Key::Knob, line);
    Ok(file.knobs.iter().map(|knob| (at(knob.line), knob.value.clone())).collect())
}

/// `NAME=value`, or several values after commas, or a ready-made set's name. Variables are written
/// in capitals, everything else is a setting.
fn typed(text: &str) -> Result<Written, WrittenError> {
    let set = text.trim().to_ascii_lowercase();
    if ready_made::NAMES.contains(&&*set) {
        return Ok(Written { name: None, subject: Subject::ReadyMade(set), values: Vec::new() });
    }
    let (name, values) = text.split_once('=').ok_or(WrittenError::NoEquals)?;
    let name = name.trim();
    let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let subject = match name.chars().all(is_variable) {
        true => Subject::Variable(name.to_string()),
        false => Subject::Setting(name.to_string()),
    };
    let values = values.split(',').map(|value| value.trim().to_string()).collect();
    Ok(Written { name: None, subject, values })
}

/// The changes of what was written: of one knob, or of each that a ready-made set has.
fn changes(
    written: &Written,
    app: &App,
    adapter: &'static dyn Adapter,
) -> Result<Vec<Vec<Change>>, WrittenError> {
    match &written.subject {
        Subject::Variables(_) | Subject::ReadyMade(_) if !written.values.is_empty() => {
            return Err(WrittenError::TwoValues);
        }
        Subject::Variable(_) | Subject::Setting(_) if written.values.is_empty() => {
            return Err(WrittenError::NoValues);
        }
        _ => {}
    }
    let one = |knob: &str, value: &str, env, settings| {
        let knob = written.name.as_deref().unwrap_or(knob).to_string();
        Change { name: format!("{knob}={value}"), knob, env, settings }
    };
    match &written.subject {
        Subject::ReadyMade(set) => of_set(set, app, adapter),
        Subject::Variables(variables) => {
            let name = written.name.clone().ok_or(WrittenError::NoName)?;
            variables.iter().try_for_each(|(name, _)| check_reserved(app, name))?;
            let env: BTreeMap<String, String> = variables.iter().cloned().collect();
            let is_there = |(name, value): (&String, &String)| app.env.get(name) == Some(value);
            if env.is_empty() {
                return Err(WrittenError::NoValues);
            }
            if env.iter().all(is_there) {
                return Err(WrittenError::AsItIs { change: name });
            }
            let settings = BTreeMap::new();
            Ok(vec![vec![Change { knob: name.clone(), name, env, settings }]])
        }
        Subject::Variable(name) => {
            check_reserved(app, name)?;
            let change = |value: &String| {
                let (name, value) = check_variable(name, value)?;
                let env = BTreeMap::from([(name.clone(), value.clone())]);
                let change = one(&name, &value, env, BTreeMap::new());
                match app.env.get(&name) == Some(&value) {
                    true => Err(WrittenError::AsItIs { change: change.name }),
                    false => Ok(change),
                }
            };
            written.values.iter().map(change).collect::<Result<_, _>>().map(|it| vec![it])
        }
        Subject::Setting(name) => {
            let is_users = app.pods.as_ref().is_some_and(|pods| pods.cut.is_none());
            if is_users && name == server::pods::CPUS {
                return Err(WrittenError::OfDeployment { name: name.clone() });
            }
            let change = |value: &String| {
                server::check_setting(adapter, app.proxy, name, value)?;
                let settings = BTreeMap::from([(name.clone(), value.clone())]);
                Ok(one(name, value, BTreeMap::new(), settings))
            };
            written.values.iter().map(change).collect::<Result<_, _>>().map(|it| vec![it])
        }
    }
}

/// Those of its knobs that the app does not have as they are already.
fn of_set(
    set: &str,
    app: &App,
    adapter: &'static dyn Adapter,
) -> Result<Vec<Vec<Change>>, WrittenError> {
    let mut all = Vec::new();
    for knob in ready_made::knobs(set, adapter.about())? {
        match changes(&knob, app, adapter) {
            Err(WrittenError::AsItIs { .. }) => {}
            changes => all.extend(changes?),
        }
    }
    Ok(all)
}

fn check_reserved(app: &App, name: &str) -> Result<(), WrittenError> {
    let is_filled_in =
        |value: &String| ["workers", "threads"].iter().any(|place| has_place(value, place));
    let is_applied = app.command.as_ref().is_some_and(|it| it.runs != Runs::Server);
    let is_elsewhere = app.pods.is_some() || is_applied;
    let is_setting = is_elsewhere && app.env.get(name).is_some_and(is_filled_in);
    match is_setting || RESERVED.contains(&name) {
        true => Err(WrittenError::Reserved { name: name.to_string() }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
