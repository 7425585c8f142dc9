//! What app stands in a folder, and which server it uses. Only looks: the folder is never changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::app_error::{AppError, read};
use super::bundle::{self, Bundle};
use super::{node, python};
use crate::server::{App, Framework};

/// The file every Rack server starts from.
const RACKUP: &str = "config.ru";

/// The page of a PHP app that answers for all others.
const FRONT: &str = "index.php";

/// The folder with a PHP app's pages, below its own: what nearly all frameworks call it, then the
/// names that some have; a site without a framework is all pages.
const PAGES: [&str; 5] = ["public", "web", "webroot", "pub", "."];

/// Folders that hold no app to tune: dependencies, builds, and the dummy apps of tests.
const SKIPPED: [&str; 10] = [
    "node_modules",
    "vendor",
    "tmp",
    "log",
    "public",
    "test",
    "spec",
    "target",
    "coverage",
    "venv",
];

/// Apps in a language whose servers are not supported yet, by a file that gives them away.
const OTHER_APPS: [(&str, &str); 1] = [("go.mod", "Go")];

/// What is known beforehand of the app that is looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppHint<'a> {
    /// What the server should run.
    pub entry: Option<&'a str>,
    /// The apps that the server runs which was asked for; empty: none was.
    pub runs: &'a [Framework],
}

impl AppHint<'_> {
    fn allows(&self, kinds: &[Framework]) -> bool {
        self.runs.is_empty() || kinds.iter().any(|kind| self.runs.contains(kind))
    }
}

/// Could a server be told to run this?
pub fn is_entry(entry: &str) -> bool {
    is_rackup(entry) || node::is_entry(entry) || is_below(entry) || python::is_entry(entry)
}

/// A file without an ending in a folder of the app's, which Node runs too: `bin/www`.
fn is_below(entry: &str) -> bool {
    let has_ending = Path::new(entry).extension().is_some();
    entry.contains('/') && !entry.contains(':') && !has_ending
}

fn is_rackup(entry: &str) -> bool {
    entry.ends_with(".ru")
}

/// The app in `folder`, or in the only folder below it that has one; its server is not settled yet.
///
/// # Errors
/// None, several, or one that no server we know can run.
pub fn recognise(folder: &Path) -> Result<App, AppError> {
    recognise_as(folder, AppHint::default())
}

/// The app in `folder` that fits the hint.
///
/// # Errors
/// As [`recognise`]; also when what the hint names is not there.
pub fn recognise_as(folder: &Path, hint: AppHint<'_>) -> Result<App, AppError> {
    let folder = folder_there(folder)?;
    if let Some(entry) = hint.entry {
        return with_entry(&folder, entry, hint);
    }
    if folder.join(RACKUP).is_file() && hint.allows(&RACK) {
        return rack_app(&folder, RACKUP);
    }
    if hint.allows(&RACK) {
        refuse_missing_rackup(&folder)?;
    }
    let missing = match in_other_language(&folder, hint) {
        Ok(Some(app)) => return Ok(app),
        Ok(None) => other_app(&folder),
        // A repository of several apps has files of another language's at its root.
        Err(error @ (AppError::NoEntry { .. } | AppError::NotBuilt { .. })) => error,
        Err(error) => return Err(error),
    };
    below(&folder, hint, missing)
}

/// The only app of Ruby's below this folder; of others it is said where they are, as much that is
/// no app to tune looks like one. `missing`: what is said where there is none.
fn below(folder: &Path, hint: AppHint<'_>, missing: AppError) -> Result<App, AppError> {
    let relative = |app: &PathBuf| app.strip_prefix(folder).unwrap_or(app).to_path_buf();
    let rack = if hint.allows(&RACK) { rack_below(folder)? } else { Vec::new() };
    match rack.as_slice() {
        [] => {}
        [app] => return rack_app(app, RACKUP),
        apps => {
            let apps = apps.iter().map(relative).collect();
            return Err(AppError::SeveralApps { folder: folder.to_path_buf(), apps });
        }
    }
    let is_known = matches!(missing, AppError::UnsupportedApp { .. } | AppError::NotBuilt { .. });
    let others = if is_known { Vec::new() } else { others_below(folder, hint)? };
    if others.is_empty() {
        return Err(missing);
    }
    let apps = others.iter().map(relative).collect();
    Err(AppError::AppsBelow { folder: folder.to_path_buf(), apps })
}

/// A folder that the user names, by its whole path.
///
/// # Errors
/// It is not there, is none, or may not be looked at.
pub fn folder_there(folder: &Path) -> Result<PathBuf, AppError> {
    let whole = fs::canonicalize(folder).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => AppError::NoFolder { folder: folder.to_path_buf() },
        _ => AppError::Unreadable { path: folder.to_path_buf(), source },
    })?;
    match whole.is_dir() {
        true => Ok(whole),
        false => Err(AppError::NotAFolder { path: whole }),
    }
}

const RACK: [Framework; 3] = [Framework::Rails, Framework::Sinatra, Framework::Rack];
const PYTHON: [Framework; 2] = [Framework::Wsgi, Framework::Asgi];

fn in_other_language(folder: &Path, hint: AppHint<'_>) -> Result<Option<App>, AppError> {
    // First: many PHP apps have a package.json for their pages' scripts.
    if hint.allows(&[Framework::Php])
        && let Some(app) = php_app(folder)
    {
        return Ok(Some(app));
    }
    if hint.allows(&PYTHON)
        && let Some(app) = python::recognise(folder, hint.runs)?
    {
        return Ok(Some(app));
    }
    if hint.allows(&[Framework::Node]) { node::recognise(folder) } else { Ok(None) }
}

/// The PHP app in this very folder; `None`: there is none.
fn php_app(folder: &Path) -> Option<App> {
    let pages = PAGES.iter().find(|pages| folder.join(pages).join(FRONT).is_file())?;
    Some(App::new(folder, Framework::Php, pages))
}

/// The app that starts from what the user names.
fn with_entry(folder: &Path, entry: &str, hint: AppHint<'_>) -> Result<App, AppError> {
    let is_file = is_rackup(entry) || node::is_entry(entry) || is_below(entry);
    let path = folder.join(entry);
    match entry {
        _ if is_file && !path.is_file() => Err(AppError::EntryMissing { path }),
        _ if is_rackup(entry) => rack_app(folder, entry),
        _ if is_file => Ok(node::app(folder, entry)),
        _ => python::with_entry(folder, entry, hint.runs),
    }
}

fn rack_app(folder: &Path, rackup: &str) -> Result<App, AppError> {
    let bundle = bundle::read_bundle(folder)?;
    let framework = framework(folder, bundle.as_ref(), rackup)?;
    Ok(App { is_bundled: bundle.is_some(), ..App::new(folder, framework, rackup) })
}

/// The folders below this one, two deep, that have a `config.ru`.
fn rack_below(folder: &Path) -> Result<Vec<PathBuf>, AppError> {
    let mut apps = Vec::new();
    for below in subfolders(folder)? {
        if below.join(RACKUP).is_file() {
            apps.push(below);
            continue;
        }
        // A folder that we may not look into holds no app that we could run.
        let deeper = subfolders(&below).unwrap_or_default();
        apps.extend(deeper.into_iter().filter(|deep| deep.join(RACKUP).is_file()));
    }
    Ok(apps)
}

/// The folders in this one that have an app of another language. Of Node's only those with a
/// package of their own: a page's scripts have such names too.
fn others_below(folder: &Path, hint: AppHint<'_>) -> Result<Vec<PathBuf>, AppError> {
    let has_app = |below: &PathBuf| match in_other_language(below, hint) {
        Ok(Some(app)) => app.framework != Framework::Node || below.join(node::PACKAGE).is_file(),
        Err(AppError::NotBuilt { .. }) => true,
        _ => false,
    };
    Ok(subfolders(folder)?.into_iter().filter(has_app).collect())
}

/// Sorted, without those that are hidden or hold no app. A link is not followed.
fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, AppError> {
    let unreadable = |source| AppError::Unreadable { path: folder.to_path_buf(), source };
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// A Rails or Sinatra app that has everything but a `config.ru`.
fn refuse_missing_rackup(folder: &Path) -> Result<(), AppError> {
    let missing = |evidence: PathBuf, kind, lines| {
        Err(AppError::NoRackup { evidence, kind, rackup: folder.join(RACKUP), lines })
    };
    if is_rails(folder) {
        let lines = ["require_relative \"config/environment\"", "run Rails.application"];
        return missing(folder.join("config/application.rb"), "Rails", lines.map(str::to_string));
    }
    let Some(source) = sinatra_source(folder)? else { return Ok(()) };
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let lines = [format!("require_relative \"{name}\""), format!("run {}", class_in(&source)?)];
    missing(source, "Sinatra", lines)
}

fn other_app(folder: &Path) -> AppError {
    let found = OTHER_APPS.iter().find(|(file, _)| folder.join(file).is_file());
    match found {
        Some((file, kind)) => AppError::UnsupportedApp { evidence: folder.join(file), kind },
        None => AppError::NoApp { folder: folder.to_path_buf() },
    }
}

fn framework(folder: &Path, bundle: Option<&Bundle>, rackup: &str) -> Result<Framework, AppError> {
    let is_sinatra = || -> Result<bool, AppError> {
        Ok(bundle.is_some_and(|bundle| bundle.has("sinatra"))
            || requires_sinatra(&read(&folder.join(rackup))?)
            || sinatra_source(folder)?.is_some())
    };
    Ok(match is_rails(folder) {
        true => Framework::Rails,
        false if is_sinatra()? => Framework::Sinatra,
        false => Framework::Rack,
    })
}

fn is_rails(folder: &Path) -> bool {
    ["config/application.rb", "config/environment.rb"]
        .iter()
        .all(|file| folder.join(file).is_file())
}

/// The Ruby file of this folder that requires Sinatra; `app.rb` before others.
fn sinatra_source(folder: &Path) -> Result<Option<PathBuf>, AppError> {
    let unreadable = |source| AppError::Unreadable { path: folder.to_path_buf(), source };
    let mut sources: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "rb") && path.is_file() {
            sources.push(path);
        }
    }
    sources.sort_by_key(|path| (!path.ends_with("app.rb"), path.clone()));
    for source in sources {
        if requires_sinatra(&read(&source)?) {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

/// Also `require "sinatra/base"` and the like.
fn requires_sinatra(ruby: &str) -> bool {
    ruby.lines().map(str::trim_start).any(|line| {
        let required = line.strip_prefix("require").map(|rest| rest.trim_start_matches(['(', ' ']));
        required.is_some_and(|rest| {
            ["\"sinatra\"", "'sinatra'", "\"sinatra/", "'sinatra/"]
                .iter()
                .any(|name| rest.starts_with(name))
        })
    })
}

/// What `config.ru` has to run: the class of a modular app, or the top-level app.
fn class_in(source: &Path) -> Result<String, AppError> {
    let ruby = read(source)?;
    let class = ruby.lines().find_map(|line| {
        let (name, parent) = line.trim_start().strip_prefix("class ")?.split_once('<')?;
        parent.trim_start().starts_with("Sinatra::").then(|| name.trim().to_string())
    });
    Ok(class.unwrap_or_else(|| "Sinatra::Application".to_string()))
}

#[cfg(test)]
mod tests;
