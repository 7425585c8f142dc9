//! What app stands in a folder, and which server it uses. Only looks: the folder is never changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::bundle::{self, Bundle};
use super::php;
use crate::server::{ADAPTERS, About, Adapter, App, FOR_COMMANDS, Framework};

/// The file every Rack server starts from.
const RACKUP: &str = "config.ru";

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
const OTHER_APPS: [(&str, &str); 7] = [
    ("manage.py", "Python"),
    ("wsgi.py", "Python (WSGI)"),
    ("asgi.py", "Python (ASGI)"),
    ("pyproject.toml", "Python"),
    ("requirements.txt", "Python"),
    ("package.json", "Node.js"),
    ("go.mod", "Go"),
];

/// Why no app could be taken from a folder.
#[derive(Debug, Error)]
pub enum AppError {
    #[error("there is no folder {}; name the app's folder with --app", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("{} is no folder; name the app's folder with --app", path.display())]
    NotAFolder { path: PathBuf },
    #[error("could not look into {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "no app found: there is no config.ru in {} nor in the folders below it (two deep); go to \
         the app's folder, or name it with --app DIR",
        folder.display()
    )]
    NoApp { folder: PathBuf },
    #[error(
        "{} apps found in {}: {}; choose one, such as --app {}",
        apps.len(), folder.display(), joined(apps), apps[0].display()
    )]
    SeveralApps {
        folder: PathBuf,
        /// Relative to the folder, sorted; two or more.
        apps: Vec<PathBuf>,
    },
    #[error(
        "{} looks like a {kind} app, but there is no config.ru, which app servers start from; \
         create {} with these two lines:\n\n    {}\n    {}\n",
        evidence.display(), rackup.display(), lines[0], lines[1]
    )]
    NoRackup { evidence: PathBuf, kind: &'static str, rackup: PathBuf, lines: [String; 2] },
    #[error(
        "{} looks like a {kind} app; {} are the servers supported now, the last for PHP \
         (index.php) and the others for Ruby (config.ru); name another app with --app DIR",
        evidence.display(), listed(&known(|about| about.title), "and")
    )]
    UnsupportedApp { evidence: PathBuf, kind: &'static str },
    #[error(
        "{} names the server {server}, which is not supported now; to see what the app would hold \
         on {}, add gem \"{}\" to its Gemfile and run `bundle install`",
        evidence.display(), listed(&for_rack(|about| about.title), "or"), ADAPTERS[0].name()
    )]
    UnsupportedServer { evidence: PathBuf, server: String },
    #[error(
        "{} does not name {}; add gem \"{first}\" to the Gemfile and run `bundle install`, or say \
         --server {first} if the bundle gets it in another way",
        evidence.display(), listed(&for_rack(|about| about.name), "or"), first = ADAPTERS[0].name()
    )]
    ServerNotInBundle { evidence: PathBuf },
    #[error(
        "{server} does not run the app in {}; leave --server out, or choose {}",
        folder.display(), listed(others, "or")
    )]
    OtherServer {
        folder: PathBuf,
        server: &'static str,
        /// Those that do.
        others: Vec<&'static str>,
    },
    #[error(
        "{} has no lock file {} beside it, and Bundler would write one into the app's folder; run \
         `bundle install` there first",
        gemfile.display(), lock
    )]
    NoLock { gemfile: PathBuf, lock: &'static str },
    #[error("{program} is not in any folder of PATH; install it: {}", install.join(", or "))]
    NoProgram { program: &'static str, install: &'static [&'static str] },
}

/// This of every server that is known by name.
fn known(what: fn(&About) -> &'static str) -> Vec<&'static str> {
    let named = ADAPTERS.iter().filter(|adapter| adapter.name() != FOR_COMMANDS.name());
    named.map(|adapter| what(adapter.about())).collect()
}

/// This of every server that runs a Rack app.
fn for_rack(what: fn(&About) -> &'static str) -> Vec<&'static str> {
    let runs = |adapter: &&&dyn Adapter| adapter.about().runs.contains(&Framework::Rack);
    ADAPTERS.iter().filter(runs).map(|adapter| what(adapter.about())).collect()
}

/// `Puma, Unicorn or Thin`.
fn listed(names: &[&str], word: &str) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        names => names.concat(),
    }
}

fn joined(apps: &[PathBuf]) -> String {
    apps.iter().map(|app| app.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The app in `folder`, or in the only folder below it that has one; its server is not settled yet.
///
/// # Errors
/// None, several, or one that no server we know can run.
pub fn recognise(folder: &Path) -> Result<App, AppError> {
    let folder = fs::canonicalize(folder).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => AppError::NoFolder { folder: folder.to_path_buf() },
        _ => AppError::Unreadable { path: folder.to_path_buf(), source },
    })?;
    if !folder.is_dir() {
        return Err(AppError::NotAFolder { path: folder });
    }
    let has_rackup = folder.join(RACKUP).is_file();
    if let Some(app) = php::recognise(&folder).filter(|_| !has_rackup) {
        return Ok(app);
    }
    let folder = if has_rackup { folder } else { find_below(&folder)? };
    let bundle = bundle::read_bundle(&folder)?;
    let framework = framework(&folder, bundle.as_ref())?;
    Ok(App { is_bundled: bundle.is_some(), ..App::new(folder, framework, RACKUP) })
}

/// The app of a folder without a `config.ru` of its own.
fn find_below(folder: &Path) -> Result<PathBuf, AppError> {
    refuse_missing_rackup(folder)?;
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
    match apps.len() {
        0 => Err(other_app(folder)),
        1 => Ok(apps.remove(0)),
        _ => {
            let relative = |app: &PathBuf| app.strip_prefix(folder).unwrap_or(app).to_path_buf();
            Err(AppError::SeveralApps {
                folder: folder.to_path_buf(),
                apps: apps.iter().map(relative).collect(),
            })
        }
    }
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

fn framework(folder: &Path, bundle: Option<&Bundle>) -> Result<Framework, AppError> {
    let is_sinatra = || -> Result<bool, AppError> {
        Ok(bundle.is_some_and(|bundle| bundle.has("sinatra"))
            || requires_sinatra(&read(&folder.join(RACKUP))?)
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

/// A text file of the app; what is not UTF-8 in it does not matter to us.
pub(super) fn read(path: &Path) -> Result<String, AppError> {
    let bytes = fs::read(path)
        .map_err(|source| AppError::Unreadable { path: path.to_path_buf(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
