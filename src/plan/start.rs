//! `start`: a command of the user's that starts a server we don't know. Only looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::app::folder_there;
use super::error::{PlanError, Problem};
use super::options::Key;
use super::range::parse_counts;
use super::settings::{Given, Settings, Sourced};
use super::suggest::closest;
use crate::server::command::{CommandTemplate, PLACES, Runs, has_place, places};
use crate::server::{Adapter, App, FOR_COMMANDS, Framework};
use crate::terms::{Configuration, PlanSource};

/// What is asked of it when the user names no signal: SIGTERM.
const DEFAULT_STOP: i32 = 15;

/// The signals that servers end at, as in signal(7).
const SIGNALS: [(&str, i32); 8] = [
    ("TERM", 15),
    ("INT", 2),
    ("QUIT", 3),
    ("HUP", 1),
    ("USR1", 10),
    ("USR2", 12),
    ("WINCH", 28),
    ("KILL", 9),
];

/// Programs to which a command may be given as one word.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "fish"];

/// What a shell would understand, and a server takes for a word.
const OPERATORS: [&str; 8] = ["&&", "||", "|", ";", "&", ">", ">>", "<"];

/// Several numbers of something that the command has no place for.
pub const NO_WORKERS: Problem = Problem::NoPlace { place: "workers", variable: "WEB_CONCURRENCY" };
pub const NO_THREADS: Problem =
    Problem::NoPlace { place: "threads", variable: "RAILS_MAX_THREADS" };

/// The app that a command of the user's starts; `None` where the user gave none.
///
/// # Errors
/// A command that cannot start a server, a folder that is none, or another server named beside it.
pub fn app(
    settings: &Settings<'_>,
    env: &BTreeMap<String, String>,
    program_folders: &[PathBuf],
) -> Result<Option<Sourced<App>>, PlanError> {
    let Some(given) = settings.get(Key::Start) else {
        return match settings.get(Key::StopSignal) {
            Some(signal) => Err(signal.problem(Problem::NoStart)),
            None => Ok(None),
        };
    };
    if let Some(entry) = settings.get(Key::Entry) {
        return Err(entry.problem(Problem::EntryBesideStart));
    }
    let (folder, source) = folder(settings)?;
    let words = given.read_secret(|text| words(text, env))?;
    given.read_secret(|_| check_program(&words.value[0], &folder, program_folders))?;
    let stop_signal = settings.value(Key::StopSignal, |given| given.read(stop_signal))?;
    let command = CommandTemplate {
        text: given.read(|text| Ok::<_, Problem>(text.trim().to_string()))?.value,
        today: today(settings, &words.value, env),
        words: words.value,
        stop_signal: stop_signal.unwrap_or(DEFAULT_STOP),
        runs: Runs::Server,
    };
    let app = App { command: Some(command), ..App::new(folder, Framework::Other, "") };
    Ok(Some(Sourced { value: app, source }))
}

/// The folder of an app that is not recognised by its files: it is not looked into.
///
/// # Errors
/// There is none, or it may not be looked at.
pub fn folder(settings: &Settings<'_>) -> Result<(PathBuf, PlanSource), PlanError> {
    let (named, source) = match settings.path(Key::App) {
        Some(named) => (named.value, named.source),
        None => (settings.plan_folder.clone(), PlanSource::App),
    };
    Ok((folder_there(&named)?, source))
}

/// A command taken apart as a shell would, its places checked.
fn words(text: &str, env: &BTreeMap<String, String>) -> Result<Vec<String>, Problem> {
    let words = shlex::split(text).ok_or(Problem::OpenQuote)?;
    let first = words.first().ok_or(Problem::StartEmpty)?;
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    };
    if let Some((name, _)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
        return Err(Problem::Assignment { name: name.to_string() });
    }
    for (_, name) in words.iter().flat_map(|word| places(word)) {
        if !PLACES.contains(&name) {
            let (name, close) = (name.to_string(), closest(name, &PLACES));
            return Err(Problem::UnknownPlace { name, close, known: &PLACES });
        }
    }
    check_slips(env.values(), &PLACES)?;
    check_shell(&words)?;
    let has = |place| words.iter().chain(env.values()).any(|text| has_place(text, place));
    match (has("port") || names_port(&words), has("socket")) {
        (false, false) => Err(Problem::NoAddress),
        (true, true) => Err(Problem::TwoAddresses),
        _ => Ok(words),
    }
}

/// Other braces are a value's own; a slip is not.
///
/// # Errors
/// A place in these texts is nearly one that is known.
pub fn check_slips<'a>(
    mut texts: impl Iterator<Item = &'a String>,
    known: &'static [&'static str],
) -> Result<(), Problem> {
    let slip = texts.find_map(|text| {
        places(text).into_iter().find_map(|(_, name)| {
            let close = closest(name, known).filter(|close| *close != name)?;
            Some(Problem::UnknownPlace { name: name.to_string(), close: Some(close), known })
        })
    });
    slip.map_or(Ok(()), Err)
}

fn is_shell(words: &[String]) -> bool {
    let first = words[0].rsplit('/').next().unwrap_or_default();
    SHELLS.contains(&first) || first == "env"
}

/// Mentions the variable as a shell writes it.
fn names_port(words: &[String]) -> bool {
    words.iter().any(|word| word.contains("$PORT") || word.contains("${PORT"))
}

fn check_shell(words: &[String]) -> Result<(), Problem> {
    if let Some(word) = words.iter().find(|word| OPERATORS.contains(&word.as_str())) {
        return Err(Problem::NeedsShell { word: word.clone() });
    }
    match names_port(words) && !is_shell(words) {
        true => Err(Problem::ShellPort),
        false => Ok(()),
    }
}

/// The first word has to be a program: of `PATH`, or with a `/` in it from the app's folder.
fn check_program(program: &str, folder: &Path, program_folders: &[PathBuf]) -> Result<(), Problem> {
    use std::os::unix::fs::PermissionsExt;
    let (program_name, folder_name) = (program.to_string(), folder.to_path_buf());
    let found = match program.contains('/') {
        true => Some(folder.join(program)).filter(|path| path.is_file()),
        false => program_folders.iter().map(|one| one.join(program)).find(|path| path.is_file()),
    };
    match found {
        None if !program.contains('/') && folder.join(program).is_file() => {
            Err(Problem::NotInPath { program: program_name, folder: folder_name })
        }
        None => Err(Problem::NoProgram { program: program_name, folder: folder_name }),
        Some(path) => {
            let mode = fs::metadata(&path).map_or(0, |found| found.permissions().mode());
            if mode & 0o111 == 0 { Err(Problem::NotExecutable { path }) } else { Ok(()) }
        }
    }
}

fn stop_signal(text: &str) -> Result<i32, Problem> {
    let name = text.trim().to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let named = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let number = name.parse().ok().filter(|number| (1..=31).contains(number));
    named
        .or(number)
        .ok_or_else(|| Problem::Signal { names: SIGNALS.map(|(name, _)| name).to_vec() })
}

/// The server that runs commands, where the user gave one.
///
/// # Errors
/// Another server was named beside the command, or this one without it.
pub fn server(settings: &Settings<'_>) -> Result<Option<Sourced<&'static dyn Adapter>>, PlanError> {
    let named = settings.get(Key::Server);
    let is_this = |given: &Given<'_>| given.text().trim() == FOR_COMMANDS.name();
    match (settings.get(Key::Start), named) {
        (Some(_), Some(named)) if !is_this(&named) => {
            Err(named.problem(Problem::ServerBesideStart))
        }
        (Some(start), _) => Ok(Some(Sourced { value: FOR_COMMANDS, source: start.source() })),
        (None, Some(named)) if is_this(&named) => Err(named.problem(Problem::StartMissing)),
        (None, _) => Ok(None),
    }
}

/// What stands for today's setting: one worker of one thread, unless the user gave the variable by
/// convention, or the one number that there is to try.
fn today(
    settings: &Settings<'_>,
    words: &[String],
    env: &BTreeMap<String, String>,
) -> Configuration {
    let has_workers = words.iter().chain(env.values()).any(|text| has_place(text, "workers"));
    let only = settings
        .get(Key::Workers)
        .filter(|_| !has_workers)
        .and_then(|given| given.read(parse_counts).ok().filter(|counts| counts.value.len() == 1));
    let named = env.get("WEB_CONCURRENCY").and_then(|text| text.trim().parse::<u16>().ok());
    let workers = only.map(|counts| counts.value[0]).or(named).unwrap_or(1);
    let one = Configuration::new(1, 1).expect("one of each can run");
    Configuration::new(workers, 1).unwrap_or(one)
}

#[cfg(test)]
mod tests;
